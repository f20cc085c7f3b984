"""One launch: target, services and load side-car, up and checked, as a context manager.

The side-car is started first and owns the network namespace (no network but loopback); target and services join it.
So the namespace's settings hold before the server binds, the worker already polls while the server starts (an exact
time to ready), and a target that dies takes nothing else with it. `site/design/launch.md` says more.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from windtunnel.errors import EngineError, Interrupted, InvalidLoad, LaunchFailed, SidecarLost, WindtunnelError
from windtunnel.launch.answer import mismatch
from windtunnel.launch.ending import ended, ending, memory_words
from windtunnel.launch.parts import Part, ended_parts
from windtunnel.launch.pinning import Pinning, pin
from windtunnel.launch.program import CALLED, Program
from windtunnel.launch.sidecar import Reading, Sidecar
from windtunnel.launch.slices import SliceRequest, run_slice
from windtunnel.model import Answer, Case, Host, Limits, ResolvedLaunch, Slice
from windtunnel.ports import ContainerSpec, Engine
from windtunnel.units import Missing, Value

__all__ = ["CGROUPS", "SIDECAR_LIMITS", "LaunchContext", "Running", "launched"]

CGROUPS = {"/sys/fs/cgroup": "/host/cgroup"}
SIDECAR_LIMITS = Limits(memory=1 << 30, cpus=1.0, pids=256)
_READY_STEP = 1.0
_END_NOTICED = 1.0
"""Seconds that an engine may need to notice that a container has ended."""
_EPHEMERAL = {"net.ipv4.ip_local_port_range": "10240 65535", "net.ipv4.tcp_tw_reuse": "1"}


@dataclass(frozen=True)
class LaunchContext:
    """What all launches of a command share: the engine, its machine, the load image, the labels.

    `aborting`, once set, keeps threads that are still starting launches from creating more containers. `mounts` is
    what the side-car sees of its machine, read-only: the cgroups; without them CPU comes from the engine.
    """

    engine: Engine
    host: Host
    load_image: str
    labels: Mapping[str, str]
    aborting: threading.Event = field(default_factory=threading.Event)
    mounts: Mapping[str, str] = field(default_factory=lambda: CGROUPS)


@dataclass
class Running:
    """A launch that is up and answers as expected. `target` and `holder` (of the side-car) are containers' ids.

    `program` is the target's own that makes the load, if it is one; `answer` is None where nothing is asked by HTTP.
    `parts` are all containers but the side-car's, the target's first: when one has ended, a slice proves nothing.
    """

    context: LaunchContext
    case: Case
    resolved: ResolvedLaunch
    target: str
    holder: str
    sidecar: Sidecar
    pinning: Pinning
    cgroup: int | None
    answer: Answer | None
    time_to_ready: Value
    warnings: tuple[str, ...] = ()
    program: Program | None = None
    parts: tuple[Part, ...] = ()
    _idle_from: Reading | None = field(default=None)

    def load(self, request: SliceRequest) -> Slice:
        """Load one slice; a slice that proves nothing has `invalid` set, see `failure`. Raises SidecarLost."""
        return run_slice(self, request)

    def failure(self, seen: Slice) -> InvalidLoad:
        """Why a slice proves nothing: what was wrong with it, what became of the target, and its log."""
        patience = _END_NOTICED if sum(seen.status.values()) < seen.requests else 0.0
        end = self._end(patience)
        reason = f"{end}: {seen.invalid}" if end else seen.invalid
        said = self.program.errors() if self.program is not None else ""
        return InvalidLoad(reason, detail=said or self.context.engine.logs(self.target))

    def explained(self, error: WindtunnelError) -> WindtunnelError:
        """`error`, which came up under load, with how the side-car ended where it was lost."""
        if not isinstance(error, SidecarLost):
            return error
        with suppress(EngineError):
            state = self.context.engine.state(self.holder)
            if not state.running:
                return SidecarLost(f"{error} ({ending(state, SIDECAR_LIMITS.memory)})", detail=error.detail)
        return error

    def _end(self, patience: float) -> str:
        """What became of the target and of what it needs, or "" when all of them run and have lost nothing."""
        ended(self.context.engine, self.target, patience)
        if end := ended_parts(self.context.engine, self.parts, " under load"):
            return end
        if self.sidecar.read().memory_kills:
            return f"{self.resolved.name} lost a process under load ({memory_words(self.resolved.limits.memory)})"
        return ""

    def cpu_seconds(self) -> Value:
        """By the engine's own statistics: the way out where no cgroup can be read."""
        try:
            return self.context.engine.cpu_seconds(self.target)
        except EngineError as error:
            return Missing(str(error))

    def mark_idle(self) -> None:
        """From here on nothing is asked of the target until `idle_cpu` is read."""
        self._idle_from = self.sidecar.read()

    def idle_cpu(self) -> Value:
        """CPU share since `mark_idle`."""
        now, then = self.sidecar.read(), self._idle_from
        if then is None or then.cpu is None or now.cpu is None:
            return Missing("the target's cgroup can't be read")
        if now.at - then.at < 0.02:
            return Missing("the launch was not idle long enough")
        return (now.cpu - then.cpu) / (now.at - then.at)

    def memory(self) -> tuple[Value, tuple[str, ...]]:
        """Peak memory (bytes, page cache included) since the container started, and what a reader should know of it.

        A server whose workers are started anew may lose some for memory between two slices that are in order.
        """
        seen = self.sidecar.read()
        peak = Missing("the target's cgroup tells no peak") if seen.memory is None else float(seen.memory)
        if not seen.memory_kills:
            return peak, ()
        return peak, (f"{self.resolved.name} lost a process ({memory_words(self.resolved.limits.memory)})",)


@contextmanager
def launched(context: LaunchContext, case: Case, resolved: ResolvedLaunch) -> Iterator[Running]:
    """Start everything, wait until it answers, check the answer; remove everything at the end, whatever happens.

    Raises:
        LaunchFailed: a container ended, or nothing answered in time (its log is in `detail`).
        InvalidLoad: it answers, but not as the workload expects.
        SidecarLost, EngineError: infrastructure.
    """
    containers = _Containers(context)
    try:
        yield _start(containers, case, resolved)
    finally:
        containers.remove()


class _Containers:
    """The containers of one launch, by role, in the order of their creation."""

    def __init__(self, context: LaunchContext) -> None:
        self.context = context
        self.ids: list[str] = []
        self.warnings: list[str] = []
        self.sidecar: Sidecar | None = None
        self.program: Program | None = None
        self._suffix = secrets.token_hex(4)

    def create(self, role: str, spec: ContainerSpec) -> str:
        if self.context.aborting.is_set():
            raise Interrupted("the command is ending")
        identifier, warnings = self.context.engine.create(spec)
        self.ids.append(identifier)
        self.warnings += [f"{role}: {warning}" for warning in warnings]
        return identifier

    def name(self, role: str) -> str:
        safe = "".join(char if char.isalnum() else "-" for char in role)
        return f"windtunnel-{safe}-{self._suffix}"

    def labels(self, role: str) -> dict[str, str]:
        return {**self.context.labels, "windtunnel.role": role}

    def remove(self) -> None:
        """All at once: each is killed, none is waited for."""
        for conversation in (self.program, self.sidecar):
            if conversation is not None:
                conversation.close()
        with ThreadPoolExecutor(max(1, len(self.ids))) as pool:
            list(pool.map(self._remove, self.ids))

    def _remove(self, identifier: str) -> None:
        with suppress(EngineError):  # what is left is found by its label, at the latest by the next command
            self.context.engine.remove(identifier)


def _start(containers: _Containers, case: Case, resolved: ResolvedLaunch) -> Running:
    context, engine = containers.context, containers.context.engine
    pinning = pin(context.host, resolved.limits.cpus)
    holder = _create_sidecar(containers, pinning, resolved)
    services = [(part, _create(containers, part, holder, pinning)) for part in resolved.services]
    target = _create(containers, resolved, holder, pinning)
    worker = _create_worker(containers, case, resolved, (holder, target), pinning)
    parts = _parts(resolved, target, services, worker)
    channel = engine.attach(holder)
    containers.sidecar = sidecar = Sidecar(channel)
    _start_container(engine, holder, "the load side-car")
    for service, identifier in services:
        _start_service(engine, sidecar, service, identifier)
    if worker is not None:
        containers.program = Program(engine.attach(worker, CALLED), resolved.name)
    _start_container(engine, target, resolved.name)
    time_to_ready = _await(engine, sidecar, case, resolved, target)
    if worker is not None and worker != target:
        _start_container(engine, worker, f"the worker of {resolved.name}")
    cgroup, cpusets = sidecar.watch([target])
    answer = _checked(containers, case, resolved, parts)
    running = Running(context, case, resolved, target, holder, sidecar, pinning, cgroup, answer, time_to_ready)
    running.program, running.parts = containers.program, parts
    running.warnings = (
        *resolved.warnings,
        *containers.warnings,
        *_doubts(pinning, cgroup, cpusets[0], case, resolved),
    )
    running.mark_idle()
    return running


def _create_sidecar(containers: _Containers, pinning: Pinning, resolved: ResolvedLaunch) -> str:
    ports = sorted({part.port for part in (*resolved.services, resolved) if part.port})
    reserved = {"net.ipv4.ip_local_reserved_ports": ",".join(map(str, ports))} if ports else {}
    spec = ContainerSpec(
        image=containers.context.load_image,
        name=containers.name("sidecar"),
        labels=containers.labels("sidecar"),
        limits=SIDECAR_LIMITS,
        cpuset=pinning.generator,
        network="none",
        sysctls={**_EPHEMERAL, **reserved},
        read_only_mounts=containers.context.mounts,
        interactive=True,
    )
    return containers.create("load side-car", spec)


def _create_worker(
    containers: _Containers, case: Case, resolved: ResolvedLaunch, ids: tuple[str, str], pinning: Pinning
) -> str | None:
    """The container whose process makes the load, if it is the target's own; `ids` are side-car's and target's.

    A client's is the target itself. A server's is another one of its image, on the load generator's processor.
    """
    if case.workload.generator != "program":
        return None
    if resolved.port is None:
        return ids[1]
    if resolved.worker is None:
        raise LaunchFailed(f"{resolved.name} has no worker to make the load at this commit")
    spec = ContainerSpec(
        image=resolved.image,
        name=containers.name(f"{resolved.name}-worker"),
        labels=containers.labels(f"worker of {resolved.name}"),
        command=resolved.worker,
        env=dict(resolved.env),
        limits=SIDECAR_LIMITS,
        cpuset=pinning.generator,
        network=f"container:{ids[0]}",
        interactive=True,
    )
    return containers.create(f"worker of {resolved.name}", spec)


def _create(containers: _Containers, part: ResolvedLaunch, holder: str, pinning: Pinning) -> str:
    spec = ContainerSpec(
        image=part.image,
        name=containers.name(part.name),
        labels=containers.labels(f"part {part.name}"),
        command=part.command,
        env=dict(part.env),
        limits=part.limits,
        cpuset=pinning.server,
        network=f"container:{holder}",
        interactive=part.port is None and part.worker is not None,
    )
    return containers.create(part.name, spec)


def _parts(
    resolved: ResolvedLaunch, target: str, services: Sequence[tuple[ResolvedLaunch, str]], worker: str | None
) -> tuple[Part, ...]:
    """The target first: what it ended of is more to the point than what ended with it."""
    parts = [Part(resolved.name, target, resolved.limits.memory)]
    parts += [Part(f"service {service.name}", one, service.limits.memory) for service, one in services]
    if worker is not None and worker != target:
        parts.append(Part(f"the worker of {resolved.name}", worker, SIDECAR_LIMITS.memory))
    return tuple(parts)


def _start_container(engine: Engine, identifier: str, name: str) -> None:
    try:
        engine.start(identifier)
    except EngineError as error:
        # The engine refuses to start what the image asks for (no such command, say): the image's fault, not its.
        if "exec" in str(error) or "no such file" in str(error):
            raise LaunchFailed(f"{name} can't be started: {error}") from error
        raise


def _start_service(engine: Engine, sidecar: Sidecar, service: ResolvedLaunch, identifier: str) -> None:
    _start_container(engine, identifier, service.name)
    if service.port is not None and not sidecar.listens(service.port, service.ready.timeout):
        message = f"service {service.name} does not listen on port {service.port} after {service.ready.timeout:g} s"
        raise LaunchFailed(_with_end(engine, identifier, service, message), detail=engine.logs(identifier))


def _await(engine: Engine, sidecar: Sidecar, case: Case, resolved: ResolvedLaunch, target: str) -> Value:
    """Seconds from the container's start to its first good answer."""
    if resolved.port is None:
        return Missing("a client serves nothing")
    ready = resolved.ready
    deadline, step = time.monotonic() + ready.timeout, min(_READY_STEP, ready.timeout)
    answered = ""
    while True:
        # In steps, so that a target that ends at once is not waited for to the deadline. A question that is open when
        # a step ends is waited for: a first answer may take longer than a step.
        seen = sidecar.ready(resolved.port, ready, case.workload.h2, step, deadline - time.monotonic())
        answered = seen.status or answered
        state = engine.state(target)
        if seen.ready:
            return Missing("the engine tells no start time") if state.started is None else seen.at - state.started
        if not state.running or time.monotonic() >= deadline:
            break
    # The last question is often cut short by the deadline; what the server said before is the reason then.
    last = f"{seen.last}; before that: {answered}" if answered not in {"", seen.last} else seen.last
    message = (
        f"{resolved.name} did not answer {ready.status} to GET {ready.path} on port {resolved.port} "
        f"within {ready.timeout:g} s (last: {last})"
    )
    raise LaunchFailed(_with_end(engine, target, resolved, message), detail=engine.logs(target))


def _with_end(engine: Engine, identifier: str, part: ResolvedLaunch, message: str) -> str:
    """`message`, and that the container has ended, if so: that comes first, since all else follows from it."""
    with suppress(EngineError):
        state = ended(engine, identifier)
        if state is not None:
            return f"{part.name} ended ({ending(state, part.limits.memory)}); {message}"
    return message


def _checked(containers: _Containers, case: Case, resolved: ResolvedLaunch, parts: Sequence[Part]) -> Answer | None:
    """Ask once: by the target's own program, or with an HTTP client that has nothing to do with the load."""
    engine, sidecar, target = containers.context.engine, containers.sidecar, parts[0].container
    if containers.program is not None:
        _prepared(containers.program, engine, case, parts, resolved.ready.timeout)
        return None
    if resolved.port is None or sidecar is None:
        raise LaunchFailed(f"{resolved.name} has no port to load")
    asked = f"{case.workload.method} {case.workload.path}"
    answer, sample, kept = sidecar.check(resolved.port, case.workload, resolved.ready.timeout)
    if answer is None:
        message = _with_end(engine, target, resolved, f"{asked} failed: {sample}")
        raise InvalidLoad(message, detail=engine.logs(target))
    if wrong := mismatch(answer, case.workload.expect):
        raise InvalidLoad(f"{asked} gave {wrong}", detail=sample)
    if kept:
        raise InvalidLoad(
            f"{resolved.name} leaves the connection open after an answer to Connection: close, so kept connections "
            "would be measured; set keepalive = True in the workload, or have the server close them"
        )
    return answer


def _prepared(program: Program, engine: Engine, case: Case, parts: Sequence[Part], timeout: float) -> None:
    """See that the target's own program does its first call; where it does not, say also who has ended."""
    try:
        program.prepare(case.workload, timeout)
    except (LaunchFailed, InvalidLoad) as error:
        target = parts[0].container
        ended(engine, target, _END_NOTICED)
        message = "; ".join(part for part in (ended_parts(engine, parts), str(error)) if part)
        raise type(error)(message, detail=error.detail or engine.logs(target)) from error


def _doubts(
    pinning: Pinning, cgroup: int | None, cpuset: str | None, case: Case, resolved: ResolvedLaunch
) -> tuple[str, ...]:
    """What travels with the figures: dropped limits, missing readings, too few workers."""
    alone = resolved.port is None and resolved.limits.cpus <= 1  # a client's launch has no load generator
    doubts = [pinning.note] if pinning.note and not alone else []
    if cgroup is None:
        doubts.append("the target's cgroup can't be read: CPU comes from the engine's statistics (slow, coarse)")
    if pinning.server and cpuset not in (None, "") and _expand(cpuset or "") != _expand(pinning.server):
        doubts.append(f"pinning to processor {pinning.server} was not taken: the target runs on {cpuset}")
    workers, concurrency = resolved.workers, case.workload.concurrency
    if workers is not None and case.workload.keepalive and concurrency > workers:
        doubts.append(f"{concurrency} kept-alive connections on {workers} workers: some of them starve")
    return tuple(doubts)


def _expand(cpus: str) -> frozenset[int]:
    """A processor list ("0-2,5") as a set."""
    numbers: set[int] = set()
    for part in cpus.split(","):
        low, _, high = part.partition("-")
        if low.strip().isdigit():
            numbers.update(range(int(low), int(high or low) + 1))
    return frozenset(numbers)
