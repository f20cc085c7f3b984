"""Sweeps of a run on its page: what is kept of them, and their two charts. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from windtunnel.model import METRICS
from windtunnel.report.sweep import SHOWN, Point, Sweep, verdict_words
from windtunnel.report.visible import visible
from windtunnel.site.charts.figure import figure
from windtunnel.site.charts.lines import Path, Spot, lines_chart
from windtunnel.site.charts.plots import Axis
from windtunnel.site.charts.scale import Measure
from windtunnel.units import Missing, Unit, Value

__all__ = ["MOST_SWEEPS", "ShownSweep", "SweepDigest", "SweptPoint", "shown_sweep", "sweep_digest"]

MOST_SWEEPS = 4
"""Sweeps that a page draws: each has three charts, which take 45 kilobytes."""

_OVER: Mapping[str, Axis] = {
    "concurrency": Axis("concurrency", Measure(Unit.COUNT)),
    "rate": Axis("requests per second that arrive", Measure(Unit.PER_SECOND)),
}


@dataclass(frozen=True)
class SweptPoint:
    """A value of what is swept; `figures` has median, least and greatest over launches of each metric known."""

    value: float
    figures: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class SweepDigest:
    """A sweep as pages know it. `by` is "concurrency" or "rate", `words` where it ends."""

    by: str
    name: str
    arm: str
    words: str
    points: tuple[SweptPoint, ...]


@dataclass(frozen=True)
class ShownSweep:
    """What the template prints of a sweep."""

    title: str
    words: str
    charts: tuple[Markup, ...]


def sweep_digest(sweep: Sweep) -> SweepDigest:
    """What is kept of a sweep; its texts may be a stranger's."""
    points = tuple(SweptPoint(point.value, dict(_figures(point))) for point in sweep.points)
    return SweepDigest(sweep.by, visible(sweep.name), visible(sweep.arm, 60), verdict_words(sweep), points)


def _figures(point: Point) -> Iterator[tuple[str, tuple[float, float, float]]]:
    for name in SHOWN:
        if name in point.metrics:
            metric = point.metrics[name]
            values = [_known(value) for value in (metric.median, metric.low, metric.high)]
            if all(math.isfinite(value) for value in values):
                yield name, (values[0], values[1], values[2])


def _known(value: Value) -> float:
    return math.nan if isinstance(value, Missing) else value


def shown_sweep(sweep: SweepDigest, number: int, *, several: bool) -> ShownSweep:
    """The `number`-th sweep of a page, with its charts; `several` arms make each be named."""
    title = f"{sweep.name}{f' [{sweep.arm}]' if several else ''} over {sweep.by}"
    over = _OVER.get(sweep.by, Axis(sweep.by, Measure(Unit.COUNT)))
    spread = "The bars go from the lowest launch to the highest."
    throughput = lines_chart(
        f"Throughput, {title}",
        [_path("throughput", "throughput", sweep.points)],
        over,
        Axis("requests", Measure(Unit.PER_SECOND)),
        notes=(sweep.words, spread),
    )
    latency = lines_chart(
        f"Latency, {title}",
        [_path("latency_p50", "median (p50)", sweep.points), _path("latency_p99", "p99", sweep.points)],
        over,
        Axis("latency", Measure(Unit.SECOND), log=True),
        notes=(spread,),
    )
    cost = lines_chart(
        f"CPU per request, {title}",
        [_path("cpu_per_request", "CPU per request", sweep.points)],
        over,
        Axis(METRICS["cpu_per_request"].description, Measure(Unit.SECOND)),
        notes=(spread,),
    )
    named = {"throughput": throughput, "latency": latency, "cpu": cost}
    charts = tuple(figure(chart, id=f"sweep-{name}-{number + 1}") for name, chart in named.items())
    return ShownSweep(title, sweep.words, charts)


def _path(metric: str, label: str, points: Sequence[SweptPoint]) -> Path:
    return Path(label, [_spot(point, point.figures.get(metric)) for point in points])


def _spot(point: SweptPoint, figures: tuple[float, float, float] | None) -> Spot:
    return Spot(point.value, math.nan) if figures is None else Spot(point.value, *figures)
