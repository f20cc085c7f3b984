"""The Docker engine, through its API: implements `windtunnel.ports.Engine`.

Everything goes through the API of the engine that ``DOCKER_HOST`` names (else the docker command's current context,
else the default socket), so Docker Desktop, a rootless engine and one on another machine work alike. Each thread has
its own connection.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import docker
import docker.errors
import docker.types
import requests.exceptions
from docker.context import ContextAPI

from windtunnel.adapters.channel import AttachedChannel
from windtunnel.adapters.imagebuild import buildx_available, buildx_build, classic_build
from windtunnel.errors import EngineError
from windtunnel.ports import (
    BuildRequest,
    Channel,
    ContainerInfo,
    ContainerSpec,
    ContainerState,
    EngineInfo,
    HistoryEntry,
    ImageInfo,
    LineSink,
)

__all__ = ["DockerEngine", "address"]

_LOG_BYTES = 16_384

_YOUNG = "10m"

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")


def address() -> str:
    """Where the engine is looked for."""
    return os.environ.get("DOCKER_HOST") or _context_address() or "unix:///var/run/docker.sock"


def _context_address() -> str:
    """What ``docker context use`` chose; "" for the default, and where the docker command's files can't be read."""
    with contextlib.suppress(OSError, ValueError, KeyError, docker.errors.DockerException):
        context = ContextAPI.get_current_context()
        return str(context.Host or "") if context is not None and context.Name != "default" else ""
    return ""


def _connection() -> dict[str, Any]:
    """Arguments of a client of that engine."""
    return {"base_url": address(), **docker.utils.kwargs_from_env()}


def _explained(error: Exception) -> EngineError:
    """`error` of the client library as ours, with the way out."""
    if isinstance(error, docker.errors.APIError):
        return EngineError(f"the container engine refused: {error.explanation or error}")
    return EngineError(
        f"no container engine answers at {address()}; start one (on Debian or Ubuntu: tools/docker-engine) "
        "or point DOCKER_HOST at one that runs",
        detail=str(error),
    )


def _translated(call: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
    @functools.wraps(call)
    def wrapper(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        try:
            return call(*args, **kwargs)
        except (docker.errors.DockerException, requests.exceptions.RequestException, OSError) as error:
            raise _explained(error) from error

    return wrapper


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


class DockerEngine:
    """See `windtunnel.ports.Engine` for what the methods promise."""

    def __init__(self, timeout: float = 60.0) -> None:
        self._timeout = timeout
        self._local = threading.local()
        self._version: str | None = None

    @property
    def _api(self) -> Any:
        client = getattr(self._local, "client", None)
        if client is None:
            client = docker.APIClient(version=self._version or "auto", timeout=self._timeout, **_connection())
            self._version = client.api_version
            self._local.client = client
        return client

    @_translated
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
        )

    # ---------------- images

    @_translated
    def image(self, reference: str) -> ImageInfo | None:
        """The image, or None."""
        try:
            return _image_info(self._api.inspect_image(reference))
        except docker.errors.ImageNotFound:
            return None

    @_translated
    def history(self, reference: str) -> tuple[HistoryEntry, ...]:
        """Oldest first. The engine tells sizes, not emptiness: a layer is empty when its instruction makes none."""
        entries = [
            HistoryEntry(entry.get("CreatedBy", ""), _is_empty(entry), int(entry.get("Size") or 0))
            for entry in self._api.history(reference)
        ]
        return tuple(reversed(entries))

    @_translated
    def pull(self, reference: str, on_line: LineSink) -> ImageInfo:
        """Pull by name; the registry's refusal is an EngineError."""
        repository, tag = docker.utils.parse_repository_tag(reference)
        for event in self._api.pull(repository, tag=tag or "latest", stream=True, decode=True):
            if "error" in event:
                raise EngineError(f"cannot pull {reference}: {event['error']}")
            if event.get("status") and "progress" not in event:
                on_line(f"{event.get('id', '')} {event['status']}".strip())
        return _image_info(self._api.inspect_image(reference))

    @_translated
    def build(self, request: BuildRequest, on_line: LineSink) -> ImageInfo:
        """buildx where the docker command has it and the engine can, else the classic builder."""
        network = self._build_network()
        if buildx_available():
            buildx_build(request, network, on_line)
        else:
            classic_build(self._api, request, network, on_line)
        return _image_info(self._api.inspect_image(request.tag))

    def _build_network(self) -> str:
        """ "default", or "host" where the engine has no bridge (no iptables there): a build has to reach packages."""
        return "default" if self._api.networks(names=["bridge"]) else "host"

    @_translated
    def remove_image(self, reference: str) -> None:
        """Untag, and remove what nothing else uses; an image that is gone is fine."""
        with contextlib.suppress(docker.errors.ImageNotFound):
            self._api.remove_image(reference, force=True)

    @_translated
    def images(self, label: str) -> tuple[ImageInfo, ...]:
        """Tagged and untagged."""
        found = self._api.images(filters={"label": label})
        return tuple(_image_info(self._api.inspect_image(entry["Id"])) for entry in found)

    @_translated
    def prune_dangling(self, label: str) -> int:
        """Untagged images with the label. Young ones stay: one that is being built has no tag until its very end."""
        freed = self._api.prune_images(filters={"dangling": True, "label": [label], "until": _YOUNG})
        return int(freed.get("SpaceReclaimed") or 0)

    # ---------------- containers

    @_translated
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

    @_translated
    def start(self, container: str) -> None:
        """Start a created container."""
        self._api.start(container)

    @_translated
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

    @_translated
    def logs(self, container: str, tail: int = 40) -> str:
        """Both streams, the last `tail` lines (of 16 KiB at most); "" where the container is gone."""
        try:
            raw: bytes = self._api.logs(container, stdout=True, stderr=True, tail=tail)
        except docker.errors.NotFound:
            return ""
        return raw[-_LOG_BYTES:].decode("utf-8", "replace")

    @_translated
    def attach(self, container: str) -> Channel:
        """A connection of its own: it is held as long as the channel lives."""
        client = docker.APIClient(version=self._version or "auto", timeout=self._timeout, **_connection())
        params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        return AttachedChannel(client.attach_socket(container, params=params), client)

    @_translated
    def cpu_seconds(self, container: str) -> float:
        """From one statistics sample; some engines take a second for it."""
        stats = self._api.stats(container, stream=False, one_shot=self._can_one_shot())
        return float(stats["cpu_stats"]["cpu_usage"]["total_usage"]) / 1e9

    def _can_one_shot(self) -> bool:
        major, minor = (int(part) for part in str(self._api.api_version).split("."))
        return (major, minor) >= (1, 41)

    @_translated
    def remove(self, container: str) -> None:
        """Kill and remove with its anonymous volumes."""
        try:
            self._api.remove_container(container, force=True, v=True)
        except docker.errors.NotFound:
            return
        except docker.errors.APIError as error:
            if "already in progress" not in str(error):
                raise

    @_translated
    def containers(self, label: str) -> tuple[ContainerInfo, ...]:
        """By label, whatever their state."""
        return tuple(_container_infos(self._api.containers(all=True, filters={"label": label})))


def _image_info(seen: dict[str, Any]) -> ImageInfo:
    return ImageInfo(
        id=seen["Id"],
        layers=tuple((seen.get("RootFS") or {}).get("Layers") or ()),
        size=int(seen.get("Size") or 0),
        created=seen.get("Created") or "",
        labels=dict((seen.get("Config") or {}).get("Labels") or {}),
    )


def _is_empty(entry: dict[str, Any]) -> bool:
    created = entry.get("CreatedBy", "")
    return (
        entry.get("Size", 0) == 0
        and ("#(nop)" in created or created.split(" ", 1)[0] in _METADATA)
        and not any(word in created for word in (" COPY ", " ADD ", " WORKDIR "))
    )


_METADATA = frozenset(
    ("ARG", "CMD", "ENV", "LABEL", "EXPOSE", "ENTRYPOINT", "USER", "STOPSIGNAL", "VOLUME", "SHELL", "HEALTHCHECK")
)


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
