"""One slice: argv, run, parse, judge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from windtunnel.load import generator
from windtunnel.load.check import judge
from windtunnel.load.histogram import build
from windtunnel.model import LoadResult, Slice
from windtunnel.units import Missing, Value

if TYPE_CHECKING:
    from windtunnel.launch.launch import Running
    from windtunnel.launch.sidecar import SliceOutput

__all__ = ["SliceRequest", "run_slice"]

_LOG = "/dev/shm/requests.log"  # noqa: S108 - inside the side-car, in memory
_GENERATOR_BOUND = 0.9


@dataclass(frozen=True)
class SliceRequest:
    """What to load: `requests` by `concurrency` at once, given up after `deadline` seconds."""

    role: Literal["load", "single", "warmup"]
    requests: int
    concurrency: int
    deadline: float


def run_slice(running: Running, request: SliceRequest) -> Slice:
    """Load once. Whatever is wrong with load or answers ends up in `invalid`; only a lost side-car raises."""
    workload, port = running.case.workload, running.resolved.port or 0
    tool = generator(workload.generator)
    argv = tool.argv(workload, port=port, requests=request.requests, concurrency=request.concurrency, log=_LOG)
    before = running.cpu_seconds() if running.cgroup is None else None
    seen = running.sidecar.load(argv, _LOG, workload, (request.requests, request.deadline))
    cpu = _cpu(running, seen, before)
    result = tool.parse(seen.output)
    invalid, warnings = judge(
        result,
        requests=request.requests if tool.FIXED_COUNT else None,
        concurrency=request.concurrency,
        expect=workload.expect,
        length=running.answer.length if workload.method != "HEAD" else 0,
        keepalive=workload.keepalive,
    )
    if not tool.FIXED_COUNT:  # it runs for a time, and only tells afterwards how many requests that were
        request = replace(request, requests=result.completed)
    return _slice(request, seen, result, cpu, (invalid, warnings))


def _cpu(running: Running, seen: SliceOutput, before: Value | None) -> Value:
    if running.cgroup is not None:
        return Missing("the target's cgroup was not readable") if seen.cpu is None else seen.cpu
    after = running.cpu_seconds()
    if isinstance(before, float) and isinstance(after, float):
        return after - before
    return before if isinstance(before, Missing) else after


def _slice(
    request: SliceRequest, seen: SliceOutput, result: LoadResult, cpu: Value, verdict: tuple[str, tuple[str, ...]]
) -> Slice:
    share, server = _share(seen.generator_cpu, seen.output.wall), _share(cpu, seen.output.wall)
    invalid, warnings = verdict
    return Slice(
        role=request.role,
        concurrency=request.concurrency,
        requests=request.requests,
        wall=result.seconds,
        cpu=cpu,
        body_bytes=result.body_bytes,
        total_bytes=result.total_bytes,
        status=dict(result.status),
        failed=_failed(result, invalid),
        latency=build(result.latencies),
        mean_latency=result.mean_latency,
        generator_share=share,
        server_share=server,
        started=seen.started,
        invalid=invalid,
        warnings=(*warnings, *_saturation(share, server)),
    )


def _failed(result: LoadResult, invalid: str) -> dict[str, int]:
    """What went wrong by kind. A workload may expect a 404, which the generator by itself counts as failed."""
    return {kind: count for kind, count in result.failed.items() if invalid or kind != "status"}


def _share(cpu: Value, wall: float) -> Value:
    if isinstance(cpu, Missing):
        return cpu
    return cpu / wall if wall > 0 else Missing("no time passed")


def _saturation(share: Value, server: Value) -> tuple[str, ...]:
    """The generator at its limit while the server is not: the figure is the generator's."""
    if isinstance(share, float) and isinstance(server, float) and share > _GENERATOR_BOUND > server:
        return (f"the load generator was at its limit ({share:.0%} of a core), the server was not ({server:.0%})",)
    return ()
