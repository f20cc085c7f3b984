"""From slices to the metrics of a launch, from launches to those of a case. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from windtunnel.load.histogram import merge, quantile
from windtunnel.model import METRICS, Launch, Slice
from windtunnel.units import Missing, Value

__all__ = ["OPEN_LOOP", "CaseSummary", "MetricSummary", "launch_metrics", "summarise", "warnings_of"]


@dataclass(frozen=True)
class MetricSummary:
    """A metric over launches: median, relative standard deviation between launches, extremes, how many launches."""

    median: Value
    spread: float | None
    low: Value
    high: Value
    launches: int


@dataclass(frozen=True)
class CaseSummary:
    """A case of one arm: its metrics over the launches that are "ok", and what went wrong in all of them.

    `percentiles` is latency in seconds by percent, over all load slices of all good launches together.
    """

    case: str
    arm: str
    metrics: Mapping[str, MetricSummary]
    percentiles: Mapping[float, float]
    status: Mapping[str, int]
    failed: Mapping[str, int]
    requests: int
    launches: int
    outcomes: Mapping[str, int]
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]


OPEN_LOOP = Missing("open loop: requests arrive at a fixed rate, whatever the server's capacity")
"""Time per request where a rate was asked for: it would tell that rate, not the server."""

_WORTH_TELLING = 0.1
"""The share of slices that must have a warning for a reader to be told."""

PERCENTS = (50.0, 66.0, 75.0, 80.0, 90.0, 95.0, 98.0, 99.0, 100.0)
"""The percentiles that ab prints, plus none."""


def launch_metrics(launch: Launch) -> Mapping[str, Value]:
    """Every metric of `METRICS` for one launch; what was not measured is Missing, with the reason."""
    if launch.outcome != "ok":
        why = Missing(launch.reason or launch.outcome)
        return dict.fromkeys(METRICS, why)
    load = [one for one in launch.slices if one.role == "load"]
    single = [one for one in launch.slices if one.role == "single"]
    histogram = merge(*(one.latency for one in load))
    per_request = _median([_ratio(_time(one), one.requests) for one in load])
    open_loop = any(one.rate is not None for one in load)
    return {
        "cpu_per_request": _median([_ratio(one.cpu, one.requests) for one in load]),
        "time_per_request": OPEN_LOOP if open_loop else per_request,
        # The mean, not the median: a rare wait is what this metric is there to see.
        "response_time": _mean([_ratio(_time(one), one.requests) for one in single]),
        "throughput": _over(1, per_request),
        "latency_mean": _mean([one.mean_latency for one in load]),
        **{f"latency_p{percent}": _quantile(histogram, percent / 100) for percent in (50, 90, 99)},
        "transfer_rate": _median([_over(one.total_bytes, _time(one)) for one in load]),
        "body_rate": _median([_over(one.body_bytes, _time(one)) for one in load]),
        "peak_memory": launch.peak_memory,
        "time_to_ready": launch.time_to_ready,
        "idle_cpu": launch.idle_cpu,
        "image_size": launch.image_size,
    }


def summarise(launches: Sequence[Launch]) -> CaseSummary:
    """All launches of one case and arm, in any order. `launches` must not be empty."""
    launches = sorted(launches, key=lambda launch: launch.number)
    good = [launch for launch in launches if launch.outcome == "ok"]
    seen = [launch_metrics(launch) for launch in good]
    slices = [one for launch in launches for one in launch.slices if one.role != "warmup"]
    histogram = merge(*(one.latency for launch in good for one in launch.slices if one.role == "load"))
    bad = [launch for launch in launches if launch.outcome != "ok"]
    return CaseSummary(
        case=launches[0].case,
        arm=launches[0].arm,
        metrics={name: _over_launches([metrics[name] for metrics in seen], bad) for name in METRICS},
        percentiles={percent: quantile(histogram, percent / 100) for percent in PERCENTS}
        if any(histogram.values())
        else {},
        status=_totals([one.status for one in slices]),
        failed=_totals([one.failed for one in slices]),
        requests=sum(one.requests for one in slices),
        launches=len(good),
        outcomes=Counter(launch.outcome for launch in launches),
        reasons=tuple(dict.fromkeys(launch.reason for launch in bad)),
        warnings=warnings_of(launches),
    )


def warnings_of(launches: Sequence[Launch]) -> tuple[str, ...]:
    """What these launches warn of, each once: their own warnings, then those of slices with how many have them.

    What only a few slices have is left out: one slow moment of the machine is no property of the figures.
    """
    counted = [one for launch in launches for one in launch.slices if one.role != "warmup"]
    found = Counter(warning for one in counted for warning in dict.fromkeys(one.warnings))
    told = [
        warning if count == len(counted) else f"{warning} (in {count} of {len(counted)} slices)"
        for warning, count in found.items()
        if count >= _WORTH_TELLING * len(counted)
    ]
    return tuple(dict.fromkeys([*(warning for launch in launches for warning in launch.warnings), *told]))


def _over_launches(values: Sequence[Value], bad: Sequence[Launch]) -> MetricSummary:
    known = [value for value in values if not isinstance(value, Missing)]
    if not known:
        reasons = [value.reason for value in values if isinstance(value, Missing)] + [one.reason for one in bad]
        why = Missing(reasons[0] if reasons else "no launch")
        return MetricSummary(why, None, why, why, 0)
    middle = statistics.median(known)
    spread = statistics.stdev(known) / abs(middle) if len(known) > 1 and middle else None
    return MetricSummary(middle, spread, min(known), max(known), len(known))


def _ratio(value: Value, requests: int) -> Value:
    if isinstance(value, Missing):
        return value
    return value / requests if requests > 0 else Missing("no request was made")


def _time(one: Slice) -> Value:
    """Wall seconds of a slice, which no load can do without."""
    return Missing("no time passed") if one.wall == 0 else one.wall


def _over(amount: Value, seconds: Value) -> Value:
    """`amount` per second."""
    if isinstance(amount, Missing):
        return amount
    if isinstance(seconds, Missing):
        return seconds
    return amount / seconds if seconds > 0 else Missing("no time passed")


def _quantile(histogram: Mapping[int, int], q: float) -> Value:
    if not any(histogram.values()):
        return Missing("no latency of single requests is known")
    return quantile(histogram, q)


def _combined(values: Sequence[Value], how: Callable[[list[float]], float]) -> Value:
    known = [value for value in values if not isinstance(value, Missing)]
    if len(known) < len(values) or not known:
        missing = [value for value in values if isinstance(value, Missing)]
        return missing[0] if missing else Missing("no slice of this kind")
    return how(known)


def _median(values: Sequence[Value]) -> Value:
    return _combined(values, statistics.median)


def _mean(values: Sequence[Value]) -> Value:
    return _combined(values, statistics.fmean)


def _totals(counts: Sequence[Mapping[str, int]]) -> Mapping[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(total)
