"""One case of a run, ready for the page's template: tables as texts, launches and latencies as drawings. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from windtunnel.compare.rule import JUDGED
from windtunnel.load.histogram import bounds
from windtunnel.model import METRICS
from windtunnel.report.comparison_labels import LABELS
from windtunnel.report.comparison_words import direction_word
from windtunnel.site.charts.figure import figure
from windtunnel.site.charts.plots import Axis, Curve, Dot, distribution_chart, dots_chart
from windtunnel.site.charts.scale import Measure
from windtunnel.site.rundigest import BUCKETS, ArmDigest, CaseDigest, MetricDigest
from windtunnel.site.shapes import dots
from windtunnel.units import Unit, format_effect, format_value

__all__ = ["ReportRow", "ShownCase", "ShownMetric", "Strip", "effect_texts", "effect_words", "shown_case"]

_CHANGED = {"regression", "improvement"}


@dataclass(frozen=True)
class ShownMetric:
    """A row of the table of metrics."""

    label: str
    base: str
    head: str
    effect: str
    words: str
    decides: bool


@dataclass(frozen=True)
class ReportRow:
    """A row of the report, a cell for each arm."""

    label: str
    cells: tuple[str, ...]
    note: str


@dataclass(frozen=True)
class Strip:
    """The launches of one arm, of one metric."""

    label: str
    arm: str
    drawing: Markup
    low: str
    high: str


@dataclass(frozen=True)
class ShownCase:
    """All that the template prints of a case."""

    case: CaseDigest
    anchor: str
    verdict: str
    metrics: tuple[ShownMetric, ...]
    report: tuple[ReportRow, ...]
    percents: tuple[str, ...]
    served: tuple[tuple[str, tuple[str, ...]], ...]
    strips: tuple[Strip, ...]
    charts: tuple[Markup, ...]
    warnings: tuple[tuple[str, tuple[str, ...]], ...]
    log: tuple[str, ...]
    open: bool = False

    def opened(self) -> ShownCase:
        """The same, seen without a click."""
        return replace(self, open=True)


def shown_case(case: CaseDigest, number: int, verdict: str, *, charted: bool) -> ShownCase:
    """The `number`-th case of a page. `charted`: with charts in place of the strips; a page bears a few of them."""
    served = [(arm.name, tuple(time for _, time in arm.served)) for arm in case.arms if arm.served]
    logs = [case.log, *(arm.log for arm in case.arms)]
    return ShownCase(
        case,
        f"case-{number + 1}",
        verdict,
        tuple(_metric(case, one) for one in case.metrics),
        tuple(_report(case.arms)),
        next((tuple(percent for percent, _ in arm.served) for arm in case.arms if arm.served), ()),
        tuple(served),
        () if charted else tuple(_strips(case)),
        tuple(_charts(case, number)) if charted else (),
        tuple((arm.name, arm.remarks) for arm in case.arms if arm.remarks),
        next((log for log in logs if log), ()),
    )


def effect_texts(case: CaseDigest) -> tuple[str, ...]:
    """The effect on each judged metric, with its interval."""
    found = {one.name: one for one in case.metrics}
    return tuple(effect_words(found[name]) if name in found else "" for name in JUDGED)


def effect_words(one: MetricDigest) -> str:
    """An effect with its interval, and which way it goes where its verdict says so."""
    if one.ratio is None:
        return "n/a"
    low, high = (math.nan if end is None else end for end in (one.low, one.high))
    words = f" {direction_word(one.name, one.ratio)}" if one.verdict in _CHANGED else ""
    return format_effect(one.ratio, low, high) + words


def _metric(case: CaseDigest, one: MetricDigest) -> ShownMetric:
    return ShownMetric(
        LABELS[one.name], one.base, one.head, effect_words(one), one.words, one.name == case.decided_by
    )


def _report(arms: Sequence[ArmDigest]) -> Iterator[ReportRow]:
    """The rows of all arms side by side: the same row has the same label and the same turn under it."""
    found: dict[tuple[str, int], dict[str, tuple[str, str]]] = {}
    for arm in arms:
        turns: dict[str, int] = {}
        for label, value, spread, note in arm.rows:
            turns[label] = turns.get(label, 0) + 1
            found.setdefault((label, turns[label]), {})[arm.name] = (f"{value} {spread}".strip(), note)
    for (label, _), cells in found.items():
        notes = dict.fromkeys(note for _, note in cells.values() if note)
        texts = tuple(cells.get(arm.name, ("", ""))[0] for arm in arms)
        yield ReportRow(label, texts, "; ".join(notes))


# ---------------- drawings


def _strips(case: CaseDigest) -> Iterator[Strip]:
    for name in JUDGED:
        values = [value for arm in case.arms for value in arm.launches.get(name, ())]
        if not values:
            continue
        low, high = min(values), max(values)
        for number, arm in enumerate(case.arms):
            if own := arm.launches.get(name, ()):
                unit = METRICS[name].unit
                ends = format_value(min(own), unit), format_value(max(own), unit)
                yield Strip(LABELS[name], arm.name, dots(own, low, high, number), *ends)


def _charts(case: CaseDigest, number: int) -> Iterator[Markup]:
    curves = [Curve(arm.name, _buckets(arm)) for arm in case.arms if arm.latency]
    if curves:
        axis = Axis("seconds per request", Measure(Unit.SECOND))
        yield figure(distribution_chart(f"Latency under load, {case.id}", curves, axis), id=f"latency-{number + 1}")
    points = [dot for name in JUDGED for dot in _points(case, name)]
    if points:
        axis = Axis(f"against the middle of {case.arms[0].name}", Measure(Unit.RATIO))
        yield figure(dots_chart(f"Each launch, {case.id}", points, axis), id=f"launches-{number + 1}")


def _points(case: CaseDigest, name: str) -> Iterator[Dot]:
    """Every launch as a share beyond the median of the first arm, so that all metrics fit one scale."""
    values = {arm.name: arm.launches.get(name, ()) for arm in case.arms}
    first = values[case.arms[0].name] if case.arms else ()
    middle = statistics.median(first) if first else 0.0
    for arm, own in values.items():
        for value in own if middle > 0 else ():
            yield Dot(f"{LABELS[name]}, {arm}", value / middle - 1, arm)


def _buckets(arm: ArmDigest) -> list[tuple[float, float, float]]:
    return [
        (bounds(place * BUCKETS)[0], bounds((place + 1) * BUCKETS)[0], float(count))
        for place, count in sorted(arm.latency.items())
    ]
