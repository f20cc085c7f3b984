"""The typed side of the conversation with the worker in the load side-car (`load/image/worker.py`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.errors import SidecarLost
from windtunnel.load.output import Output
from windtunnel.model import Answer, Host, Ready, Workload
from windtunnel.ports import Channel, EngineInfo

__all__ = ["Readiness", "Reading", "Sidecar", "SliceOutput", "host_of"]

_SLACK = 15.0
"""Seconds beyond an operation's own deadline before the side-car counts as lost."""


@dataclass(frozen=True)
class Readiness:
    """Whether it is, and what was seen.

    Attributes:
        at: when, in seconds since the epoch on the machine under load.
        last: the status that the last question got, or what went wrong with it.
        status: the status of the last whole answer; empty where there was none.
    """

    ready: bool
    at: float
    last: str
    status: str


@dataclass(frozen=True)
class Reading:
    """CPU seconds and peak memory (bytes) so far, at a monotonic time; None where they can't be read.

    `memory_kills` is how many of the target's processes the kernel has killed at the container's memory limit.
    """

    cpu: float | None
    memory: int | None
    at: float
    memory_kills: int | None = None


@dataclass(frozen=True)
class SliceOutput:
    """What a generator printed, and what was read around it: CPU seconds of target and generator."""

    output: Output
    started: float
    cpu: float | None
    generator_cpu: float


def host_of(seen: Mapping[str, Any], engine: EngineInfo) -> Host:
    """The machine, from what the worker's `probe` has seen of it and what the engine says of itself."""
    siblings = tuple(tuple(group) for group in seen["siblings"])
    return Host(
        cpu_model=seen["cpu_model"],
        cores=len(siblings),
        online=tuple(seen["online"]),
        siblings=siblings,
        memory=seen["memory"],
        kernel=seen["kernel"],
        governor=seen["governor"],
        cgroup=seen["cgroup"],
        load=seen["load"],
        engine=engine.name,
        engine_version=engine.version,
        storage_driver=engine.storage_driver,
        generators=seen["generators"],
    )


class Sidecar:
    """One worker, one request at a time."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def close(self) -> None:
        """Let go of the worker; it ends by itself."""
        self._channel.close()

    def _ask(self, operation: str, patience: float, /, **arguments: object) -> dict[str, Any]:
        self._channel.send(json.dumps({"op": operation, **arguments}).encode())
        try:
            answer = json.loads(self._channel.receive(patience + _SLACK))
        except TimeoutError as error:
            message = f"the load side-car did not answer {operation!r} within {patience + _SLACK:.0f} s"
            raise SidecarLost(message, detail=self._channel.errors()) from error
        except ValueError as error:
            raise SidecarLost(f"the load side-car answered {operation!r} with something else than JSON") from error
        if not answer.get("ok"):
            raise SidecarLost(f"the load side-car failed at {operation!r}: {answer.get('error')}")
        return dict(answer)

    def probe(self, engine: EngineInfo) -> Host:
        """The machine under load."""
        return host_of(self._ask("probe", 30.0), engine)

    def watch(self, containers: Sequence[str]) -> tuple[int | None, tuple[str | None, ...]]:
        """Whose cgroups are read from now on: the cgroup version (None: unreadable) and their processors."""
        seen = self._ask("watch", 10.0, containers=list(containers))
        return seen["cgroup"], tuple(seen["cpusets"])

    def listens(self, port: int, timeout: float) -> bool:
        """Wait until `port` accepts connections."""
        return bool(self._ask("listens", timeout, port=port, timeout=timeout)["ready"])

    def ready(self, port: int, ready: Ready, h2: bool, timeout: float, patience: float) -> Readiness:
        """Ask for `timeout` seconds whether it is; a question that is open then may take until `patience`.

        With `h2` in HTTP/2 without TLS, as the workload will: a server need not speak anything else.
        """
        seen = self._ask(
            "ready",
            max(timeout, patience),
            port=port,
            path=ready.path,
            status=ready.status,
            h2=h2,
            timeout=timeout,
            patience=patience,
        )
        return Readiness(bool(seen["ready"]), float(seen["at"]), str(seen["last"]), str(seen["status"]))

    def check(self, port: int, workload: Workload, timeout: float) -> tuple[Answer | None, str, bool]:
        """Ask once as the workload does: the answer and the start of its body, or None and what went wrong.

        Then whether the connection stayed open although the workload wants it closed.
        """
        headers: Mapping[str, str] = dict(workload.headers)
        seen = self._ask(
            "check",
            2 * timeout,  # a connection that was to be closed may take a second question
            port=port,
            timeout=timeout,
            method=workload.method,
            path=workload.path,
            headers=headers,
            body=workload.body,
            h2=workload.h2,
            keepalive=workload.keepalive,
        )
        if seen["answer"] is None:
            return None, str(seen["why"]), False
        return Answer(**seen["answer"]), str(seen["sample"]), bool(seen["kept"])

    def load(self, argv: Sequence[str], log: str, workload: Workload, request: tuple[int, float]) -> SliceOutput:
        """Run a generator once; `request` is how many requests it was told to send, and its deadline in seconds."""
        requests, deadline = request
        seen = self._ask("load", deadline, argv=list(argv), log=log, body=workload.body, deadline=deadline)
        output = Output(
            stdout=seen["stdout"],
            stderr=seen["stderr"],
            exit_code=seen["exit"],
            log=seen["log"],
            timed_out=seen["timed_out"],
            wall=seen["wall"],
            requested=requests,
        )
        return SliceOutput(output, seen["started"], seen["cpu"], seen["generator_cpu"])

    def read(self) -> Reading:
        """CPU and memory now."""
        seen = self._ask("read", 5.0)
        return Reading(seen["cpu"], seen["memory"], seen["at"], seen["memory_kills"])
