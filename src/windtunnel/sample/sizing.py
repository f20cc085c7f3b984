"""How many requests a slice has: found out on a launch that is up."""

from __future__ import annotations

from windtunnel.launch.launch import Running
from windtunnel.launch.slices import SliceRequest
from windtunnel.load import fixes_count
from windtunnel.model import LaunchPlan
from windtunnel.sample.schedule import Sizes, fixed_sizes, size_open_slice, size_slice

__all__ = ["measure_sizes"]

_FIRST_PROBE = 2
_PROBE_SECONDS = 0.02
_PROBE_GROWTH = 8
_PROBES = 8
_STEADY = 1.2
_SLOW_PROBE = 0.5
_OPEN_PROBE = 0.25
_KEPT_UP = 0.8


def measure_sizes(running: Running, plan: LaunchPlan) -> Sizes:
    """Grow a load until it lasts long enough to tell the rate, at both concurrencies.

    Raises InvalidLoad where one of those loads proves nothing, SidecarLost.
    """
    workload = running.case.workload
    concurrency = workload.concurrency
    if not fixes_count(workload.generator):  # it runs for whole seconds, whatever is asked
        return Sizes(size_slice(0.0, concurrency, 1.0), size_slice(0.0, 1, 1.0), 1.0, 1.0)
    if workload.rate is not None:
        return _open_sizes(running, plan, workload.rate)
    fixed = fixed_sizes(workload)
    load_rate = _rate(running, plan, concurrency)
    single_rate = _rate(running, plan, 1)
    load = fixed[0] if fixed else size_slice(load_rate, concurrency, plan.seconds)
    single = fixed[1] if fixed else size_slice(single_rate, 1, plan.seconds)
    return Sizes(load, single, load / load_rate, single / single_rate)


def _open_sizes(running: Running, plan: LaunchPlan, rate: float) -> Sizes:
    """Of an open loop: it lasts as long as its arrivals do, or longer where the server is slower than they come.

    Then it is sized by what the server can do: the heap grows for as long as the load lasts.
    """
    workload = running.case.workload
    fixed = fixed_sizes(workload)
    single_rate = _rate(running, plan, 1)
    single = fixed[1] if fixed else size_slice(single_rate, 1, plan.seconds)
    most = min(rate, single_rate * workload.concurrency)  # no server gets faster than that by being asked more often
    probe = max(_FIRST_PROBE, round(most * _OPEN_PROBE))
    seen = running.load(SliceRequest("warmup", probe, workload.concurrency, plan.deadline, rate))
    if seen.invalid:
        raise running.failure(seen)
    wall = seen.wall if isinstance(seen.wall, float) else plan.deadline
    done = probe / wall
    answered = done if done < _KEPT_UP * rate else rate
    load = fixed[0] if fixed else size_open_slice(answered, plan.seconds)
    return Sizes(load, single, load / answered, single / single_rate)


def _rate(running: Running, plan: LaunchPlan, concurrency: int) -> float:
    """Requests per second, from loads that grow until they last long enough and no longer get faster.

    The first ones meet a cold server, and a burst of other work can slow any of them, so the fastest counts.
    """
    requests, best = _FIRST_PROBE * concurrency, 0.0
    for _ in range(_PROBES):
        seen = running.load(SliceRequest("warmup", requests, concurrency, plan.deadline))
        if seen.invalid:
            raise running.failure(seen)
        wall = seen.wall if isinstance(seen.wall, float) else plan.deadline
        before, best = best, max(best, seen.requests / wall)
        steady = wall >= _PROBE_SECONDS and best < before * _STEADY
        if steady or wall >= _SLOW_PROBE:
            break
        requests = max(requests, min(size_slice(best, concurrency, plan.seconds), requests * _PROBE_GROWTH))
    return best
