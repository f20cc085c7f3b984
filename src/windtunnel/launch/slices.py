"""One slice: argv, run, parse, judge."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from windtunnel.errors import InvalidLoad
from windtunnel.load import OPEN_LOOP, generator, openloop, program
from windtunnel.load.check import judge
from windtunnel.load.histogram import build
from windtunnel.model import LoadResult, Slice
from windtunnel.units import Missing, Value

if TYPE_CHECKING:
    from windtunnel.launch.launch import Running
    from windtunnel.launch.program import Program
    from windtunnel.launch.sidecar import SliceOutput

__all__ = ["SliceRequest", "run_slice"]

_LOG = "/dev/shm/requests.log"  # noqa: S108 - inside the side-car, in memory
_PERCENTS = (0, 50, 66, 75, 80, 90, 95, 98, 99, 100)
"""Of the percentiles that a generator prints itself, those that any report shows."""
_GENERATOR_BOUND = 0.9


@dataclass(frozen=True)
class SliceRequest:
    """What to load: `requests` by `concurrency` at once, given up after `deadline` seconds.

    With a `rate` so many arrive per second, and `concurrency` is how many can be under way at most.
    """

    role: Literal["load", "single", "warmup"]
    requests: int
    concurrency: int
    deadline: float
    rate: float | None = None


def run_slice(running: Running, request: SliceRequest) -> Slice:
    """Load once. Whatever is wrong with load or answers ends up in `invalid`; only a lost side-car raises."""
    if running.program is not None:
        return _run_program(running, running.program, request)
    workload, port = running.case.workload, running.resolved.port or 0
    tool = generator(workload.generator) if request.rate is None else OPEN_LOOP
    argv = tool.argv(workload, port=port, requests=request.requests, concurrency=request.concurrency, log=_LOG)
    before = running.cpu_seconds() if running.cgroup is None else None
    seen = running.sidecar.load(argv, _LOG, workload, (request.requests, request.deadline))
    cpu = _cpu(running, seen, before)
    result = tool.parse(seen.output)
    invalid, warnings = judge(
        result,
        requests=request.requests if tool.FIXED_COUNT else None,
        concurrency=request.concurrency if request.rate is None else None,
        expect=workload.expect,
        length=0 if workload.method == "HEAD" else running.answer.length if running.answer else None,
        keepalive=workload.keepalive,
    )
    if not tool.FIXED_COUNT:  # it runs for a time, and only tells afterwards how many requests that were
        request = replace(request, requests=result.completed)
    return _slice(
        request, seen.started, result, (invalid, warnings), _Shares(cpu, seen.generator_cpu, seen.output.wall)
    )


def _run_program(running: Running, asked: Program, request: SliceRequest) -> Slice:
    """The same with the target's own program: it makes the load, and says what became of it."""
    before = _spent(running)
    try:
        called = asked.call(running.case.workload, request.requests, request.concurrency, request.deadline)
    except InvalidLoad as error:
        nothing = Missing("the program gave no answer")
        lost = {"error": request.requests}
        result = LoadResult(requested=request.requests, completed=0, seconds=nothing, failed=lost)
        return _slice(request, time.time(), result, (str(error), ()), _Shares(nothing, nothing, 0.0))
    cpu = _difference(before, _spent(running))
    answered = called.answered
    wrong = program.judge(answered, request.requests, called.wall, _busy(running, cpu))
    # By our own clock: whatever the program says of its time, these shares stay plausible.
    shares = _Shares(cpu, _own(running, answered.cpu, called.wall), called.wall)
    result = program.load_result(answered, request.requests, request.concurrency)
    return _slice(request, called.started, result, (wrong, ()), shares)


def _busy(running: Running, cpu: Value) -> Value | None:
    """Processor seconds of a program per processor that it may use; only a client's are read."""
    if running.resolved.port is not None or isinstance(cpu, Missing):
        return None
    return cpu / max(1.0, running.resolved.limits.cpus)


def _own(running: Running, told: Value, wall: float) -> Value:
    """Processor seconds of what makes the load, where that is not what is measured. It has one processor."""
    if running.resolved.port is None:
        return Missing("the client is what is measured")
    if not isinstance(told, Missing) and told > wall:
        return Missing("the program tells more processor time than there was")
    return told


def _spent(running: Running) -> Value:
    """CPU seconds of the target so far."""
    if running.cgroup is None:
        return running.cpu_seconds()
    seen = running.sidecar.read().cpu
    return Missing("the target's cgroup was not readable") if seen is None else seen


def _difference(before: Value, after: Value) -> Value:
    if isinstance(before, Missing):
        return before
    return after if isinstance(after, Missing) else after - before


def _cpu(running: Running, seen: SliceOutput, before: Value | None) -> Value:
    if running.cgroup is not None:
        return Missing("the target's cgroup was not readable") if seen.cpu is None else seen.cpu
    return _difference(Missing("not read") if before is None else before, running.cpu_seconds())


@dataclass(frozen=True)
class _Shares:
    """CPU seconds of the target and of what loads it, and over how many seconds of wall time."""

    target: Value
    generator: Value
    wall: float


def _slice(
    request: SliceRequest, started: float, result: LoadResult, verdict: tuple[str, tuple[str, ...]], spent: _Shares
) -> Slice:
    share, server = _share(spent.generator, spent.wall), _share(spent.target, spent.wall)
    invalid, warnings = verdict
    invalid = "; ".join(filter(None, [invalid, _outrun(share, warnings)]))
    return Slice(
        role=request.role,
        concurrency=request.concurrency,
        requests=request.requests,
        wall=result.seconds,
        cpu=spent.target,
        body_bytes=result.body_bytes,
        total_bytes=result.total_bytes,
        status=dict(result.status),
        failed=_failed(result, invalid),
        latency=build(result.latencies),
        mean_latency=result.mean_latency,
        generator_share=share,
        server_share=server,
        started=started,
        invalid=invalid,
        warnings=(*warnings, *_saturation(share, server)),
        rate=request.rate,
        percentiles={percent: result.percentiles[percent] for percent in _PERCENTS if percent in result.percentiles},
        kept=result.kept,
    )


def _failed(result: LoadResult, invalid: str) -> dict[str, int]:
    """What went wrong by kind. A workload may expect a 404, which the generator by itself counts as failed."""
    return {kind: count for kind, count in result.failed.items() if invalid or kind != "status"}


def _share(cpu: Value, wall: float) -> Value:
    if isinstance(cpu, Missing):
        return cpu
    return cpu / wall if wall > 0 else Missing("no time passed")


def _outrun(share: Value, warnings: Sequence[str]) -> str:
    """An open loop in which requests piled up proves something of the server only if the generator had time left."""
    if isinstance(share, float) and share > _GENERATOR_BOUND and openloop.BEHIND in warnings:
        return "the load generator was at its limit and could not make this rate here; ask for a lower one"
    return ""


def _saturation(share: Value, server: Value) -> tuple[str, ...]:
    """The generator at its limit while the server is not: the figure is the generator's."""
    if isinstance(share, float) and isinstance(server, float) and share > _GENERATOR_BOUND > server:
        return (f"the load generator was at its limit ({share:.0%} of a core), the server was not ({server:.0%})",)
    return ()
