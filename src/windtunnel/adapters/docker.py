"""The Docker engine, through its API: implements `windtunnel.ports.Engine`.

Everything goes through the API of the engine that ``DOCKER_HOST`` names (else the docker command's current context,
else the default socket), so Docker Desktop, a rootless engine and one on another machine work alike. Each thread has
its own connection.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import docker
import docker.errors
import docker.types

from windtunnel.adapters.channel import AttachedChannel
from windtunnel.adapters.dockerclient import address, connection, translated
from windtunnel.adapters.dockerimages import DockerImages, platform_of
from windtunnel.ports import (
    Channel,
    ContainerInfo,
    ContainerSpec,
    ContainerState,
    EngineInfo,
)

__all__ = ["DockerEngine", "address"]

_LOG_BYTES = 16_384


def _timestamp(text: str | None) -> float | None:
    """The engine's RFC 3339 time (with nanoseconds) as seconds since the epoch; None for its zero value."""
    if not text or text.startswith("0001-"):
        return None
    head, _, fraction = text.rstrip("Z").partition(".")
    zone = "+00:00"
    for sign in "+-":
        if sign in fraction:
            fraction, _, offset = fraction.partition(sign)
            zone = sign + offset
    whole = datetime.datetime.fromisoformat(head + zone).timestamp()
    return whole + (float(f"0.{fraction}") if fraction else 0.0)


class DockerEngine(DockerImages):
    """See `windtunnel.ports.Engine` for what the methods promise."""

    @translated
    def info(self) -> EngineInfo:
        """One call each to the engine's /version and /info."""
        version, info = self._api.version(), self._api.info()
        return EngineInfo(
            name=next((part["Name"] for part in version.get("Components") or ()), "Engine"),
            version=version.get("Version", "?"),
            api_version=version.get("ApiVersion", "?"),
            cores=int(info.get("NCPU", 0)),
            memory=int(info.get("MemTotal", 0)),
            kernel=info.get("KernelVersion", "?"),
            cgroup_version=str(info.get("CgroupVersion", "1")),
            storage_driver=info.get("Driver", ""),
            security=tuple(info.get("SecurityOptions") or ()),
            local=address().startswith(("unix:", "npipe:")),
            warnings=tuple(info.get("Warnings") or ()),
            platform=platform_of(version),
        )

    # ---------------- containers

    @translated
    def create(self, spec: ContainerSpec) -> tuple[str, tuple[str, ...]]:
        """Never privileged, no published port, bounded memory without swap, bounded log."""
        created = self._api.create_container(
            spec.image,
            command=list(spec.command) if spec.command is not None else None,
            name=spec.name,
            labels=dict(spec.labels),
            environment=dict(spec.env),
            stdin_open=spec.interactive,
            host_config=self._host_config(spec),
        )
        return created["Id"], tuple(created.get("Warnings") or ())

    def _host_config(self, spec: ContainerSpec) -> Any:
        whole = float(spec.limits.cpus).is_integer()
        return self._api.create_host_config(
            network_mode=spec.network,
            init=True,
            mem_limit=spec.limits.memory,
            memswap_limit=spec.limits.memory,
            pids_limit=spec.limits.pids,
            cpuset_cpus=spec.cpuset or None,
            # A container pinned to whole cores needs no quota, and a quota throttles in bursts of 100 ms.
            nano_cpus=None if spec.cpuset and whole else int(spec.limits.cpus * 1e9),
            sysctls=dict(spec.sysctls) or None,
            binds=[f"{source}:{inside}:ro" for source, inside in spec.read_only_mounts.items()],
            security_opt=["no-new-privileges"],
            log_config=docker.types.LogConfig(type="json-file", config={"max-size": "1m", "max-file": "1"}),
        )

    @translated
    def start(self, container: str) -> None:
        """Start a created container."""
        self._api.start(container)

    @translated
    def state(self, container: str) -> ContainerState:
        """One inspect call."""
        seen = self._api.inspect_container(container)
        state, host = seen["State"], seen["HostConfig"]
        running = bool(state.get("Running"))
        return ContainerState(
            running=running,
            exit_code=None if running else state.get("ExitCode"),
            oom_killed=bool(state.get("OOMKilled")),
            started=_timestamp(state.get("StartedAt")),
            cpuset=host.get("CpusetCpus") or "",
            memory=int(host.get("Memory") or 0),
        )

    @translated
    def logs(self, container: str, tail: int = 40) -> str:
        """Both streams, the last `tail` lines (of 16 KiB at most); "" where the container is gone."""
        try:
            raw: bytes = self._api.logs(container, stdout=True, stderr=True, tail=tail)
        except docker.errors.NotFound:
            return ""
        return raw[-_LOG_BYTES:].decode("utf-8", "replace")

    @translated
    def attach(self, container: str, name: str = "the load side-car") -> Channel:
        """A connection of its own: it is held as long as the channel lives."""
        client = docker.APIClient(version=self._version or "auto", timeout=self._timeout, **connection())
        params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        return AttachedChannel(client.attach_socket(container, params=params), client, name)

    @translated
    def cpu_seconds(self, container: str) -> float:
        """From one statistics sample; some engines take a second for it."""
        stats = self._api.stats(container, stream=False, one_shot=self._can_one_shot())
        return float(stats["cpu_stats"]["cpu_usage"]["total_usage"]) / 1e9

    def _can_one_shot(self) -> bool:
        major, minor = (int(part) for part in str(self._api.api_version).split("."))
        return (major, minor) >= (1, 41)

    @translated
    def remove(self, container: str) -> None:
        """Kill and remove with its anonymous volumes."""
        try:
            self._api.remove_container(container, force=True, v=True)
        except docker.errors.NotFound:
            return
        except docker.errors.APIError as error:
            if "already in progress" not in str(error):
                raise

    @translated
    def containers(self, label: str) -> tuple[ContainerInfo, ...]:
        """By label, whatever their state."""
        return tuple(_container_infos(self._api.containers(all=True, filters={"label": label})))


def _container_infos(entries: list[dict[str, Any]]) -> Iterator[ContainerInfo]:
    for entry in entries:
        yield ContainerInfo(
            id=entry["Id"],
            name=(entry.get("Names") or ["/?"])[0].lstrip("/"),
            labels=dict(entry.get("Labels") or {}),
            running=entry.get("State") == "running",
            created=float(entry.get("Created") or 0),
            build_step=entry.get("State") == "created" and "#(nop)" in (entry.get("Command") or ""),
        )
