"""Charts without a history: bars, dots, distributions. Pure: data in, `Chart` out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.report.visible import visible
from windtunnel.site.charts import theme
from windtunnel.site.charts.chart import Chart, Spec, Table
from windtunnel.site.charts.scale import Measure, Scale, rounded

__all__ = ["SCHEMA", "WIDTH", "Axis", "Bar", "Curve", "Dot", "bars_chart", "distribution_chart", "dots_chart"]

WIDTH = 560
"""Of the plot in the static drawing; the script fits it to the page. Letters stay as large as they are."""

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_LABEL = 40
_ROW = 26


@dataclass(frozen=True)
class Axis:
    """What the numbers of a chart are.

    Attributes:
        title: in words ("time per request").
        measure: their unit; `measure_of(benchmark.unit)`, or `Measure(Unit.SECOND)`.
        log: whether equal ratios take equal space.
    """

    title: str
    measure: Measure
    log: bool = False


@dataclass(frozen=True)
class Bar:
    """One bar: a value in the base unit with its interval (NaN: none). Bars of a `group` have a colour."""

    label: str
    value: float
    low: float = math.nan
    high: float = math.nan
    group: str = ""


@dataclass(frozen=True)
class Dot:
    """One value of a row ("time per request, base"); `series` decides its colour and shape."""

    row: str
    value: float
    series: str = ""
    label: str = ""


@dataclass(frozen=True)
class Curve:
    """A distribution: its buckets as (begin, end, count), in the base unit, rising. Buckets may leave gaps."""

    label: str
    buckets: Sequence[tuple[float, float, float]]


def bars_chart(title: str, bars: Sequence[Bar], axis: Axis, *, notes: tuple[str, ...] = ()) -> Chart:
    """Horizontal bars from zero, in the order given, each with its interval as a whisker. Bars that have no finite
    value are in the table alone."""
    drawn = [bar for bar in bars if math.isfinite(bar.value)]
    scale = axis.measure.scale(bar.value for bar in drawn)
    rows = [_bar_row(number, bar, axis.measure, scale) for number, bar in enumerate(drawn)]
    spec = _spec({"layer": [_bars(), _whiskers()]}, rows, height=_ROW * max(1, len(rows)))
    spec["encoding"] = {"y": _row_names(), "x": _x(axis, scale, field="v"), "tooltip": _TOOLTIP}
    if any(bar.group for bar in drawn):
        spec["layer"][0]["encoding"]["color"] = _colour(_distinct(bar.group for bar in drawn))
    spec = spec if rows else _nothing()
    table = Table(("", axis.title, "interval"), tuple((_name(bar), *_bar_texts(bar, axis.measure)) for bar in bars))
    return Chart(title, spec, _ends(title, [(_name(bar), bar.value) for bar in drawn], axis), table, notes)


def dots_chart(title: str, dots: Sequence[Dot], axis: Axis, *, notes: tuple[str, ...] = ()) -> Chart:
    """A row of dots per `Dot.row`, in the order of their first dots, with a line at the middle value of each."""
    drawn = [dot for dot in dots if math.isfinite(dot.value)]
    scale = axis.measure.scale(dot.value for dot in drawn)
    names = _distinct(dot.row for dot in drawn)
    rows = [_dot_row(dot, axis.measure, scale) for dot in drawn]
    spec = _spec(
        {"layer": [_middles(), _dots(_distinct(dot.series for dot in drawn))]}, rows, height=_ROW * max(1, len(names))
    )
    spec["encoding"] = {"y": _row_names()}
    for layer in spec["layer"]:
        layer["encoding"]["x"] = {**_x(axis, scale, field="v"), **layer["encoding"].pop("x", {})}
    spec = spec if rows else _nothing()
    table = Table(("", axis.title), tuple((_dot_name(dot), axis.measure.text(dot.value)) for dot in dots))
    middles = [(name, _middle([dot.value for dot in drawn if dot.row == name])) for name in names]
    return Chart(title, spec, _ends(title, middles, axis), table, notes)


def distribution_chart(title: str, curves: Sequence[Curve], axis: Axis, *, notes: tuple[str, ...] = ()) -> Chart:
    """How often what takes how long: the share of each of some sixty steps of equal ratio, a line for a curve."""
    known = [curve for curve in curves if sum(count for _, _, count in curve.buckets) > 0]
    scale = axis.measure.scale(middle for curve in known for middle in _weighted(curve))
    shares = {curve.label: _shares(curve, _edges(known)) for curve in known}
    rows = [row for curve in known for row in _share_rows(curve.label, shares[curve.label], axis.measure, scale)]
    spec = _spec({"layer": [_steps([curve.label for curve in known])]}, rows, height=200)
    spec["encoding"] = {"x": _x(Axis(axis.title, axis.measure, log=True), scale, field="v"), "tooltip": _TOOLTIP}
    spec = spec if rows else _nothing()
    table = Table(
        ("", *(f"{share:.0%} within" for share in _PARTS)), tuple(_quantile_row(curve, axis) for curve in curves)
    )
    middles = [(curve.label, _quantile(curve, 0.5)) for curve in known]
    return Chart(title, spec, _ends(f"{title}, medians", middles, axis), table, notes)


_TOOLTIP = {"field": "t", "type": "nominal"}
_PARTS = (0.5, 0.9, 0.99, 1.0)
_STEPS = 60


def _spec(body: Spec, rows: list[dict[str, Any]], height: int) -> Spec:
    return {
        "$schema": SCHEMA,
        "config": theme.config(),
        "width": WIDTH,
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": rows},
        **body,
    }


def _nothing() -> Spec:
    """A drawing that says that there is none: without a value, scales have no ends."""
    mark = {"type": "text", "text": "There is no value to draw.", "color": theme.FOREGROUND, "align": "left", "x": 0}
    return _spec({"mark": {**mark, "fontSize": 12}}, [{}], height=30)


def _row_names() -> Spec:
    return {
        "field": "n",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, "labelLimit": 240, "domain": False, "ticks": False},
    }


def _x(axis: Axis, scale: Scale, field: str) -> Spec:
    title = f"{visible(axis.title, _LABEL)} ({scale.name})" if scale.name else visible(axis.title, _LABEL)
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "nice": True} if axis.log else {"zero": True},
        "axis": {"tickCount": 5, "labelOverlap": True},
    }


def _bars() -> Spec:
    return {"mark": {"type": "bar", "color": theme.LINES[0], "height": {"band": 0.62}}, "encoding": {}}


def _whiskers() -> Spec:
    return {
        "mark": {"type": "rule", "strokeWidth": 2, "color": theme.FOREGROUND},
        "transform": [{"filter": "isValid(datum.a) && isValid(datum.b)"}],
        "encoding": {"x": {"field": "a", "type": "quantitative"}, "x2": {"field": "b"}},
    }


def _bar_row(number: int, bar: Bar, measure: Measure, scale: Scale) -> dict[str, Any]:
    value, interval = _bar_texts(bar, measure)
    words = f"{_name(bar)}: {value}{f' [{interval}]' if interval else ''}"
    row = {"n": _name(bar), "i": number, "v": _scaled(bar.value, scale), "t": words, "s": visible(bar.group, _LABEL)}
    return {**row, "a": _scaled(bar.low, scale), "b": _scaled(bar.high, scale)}


def _bar_texts(bar: Bar, measure: Measure) -> tuple[str, str]:
    ends = math.isfinite(bar.low) and math.isfinite(bar.high)
    return measure.text(bar.value), f"{measure.text(bar.low)} to {measure.text(bar.high)}" if ends else ""


def _name(bar: Bar) -> str:
    return visible(f"{bar.group} {bar.label}" if bar.group else bar.label, 2 * _LABEL)


def _scaled(value: float, scale: Scale) -> float | None:
    return rounded(value / scale.size)


def _colour(names: Sequence[str]) -> Spec:
    chosen = [theme.LINES[number % len(theme.LINES)] for number in range(len(names))]
    return {"field": "s", "type": "nominal", "scale": {"domain": list(names), "range": chosen}}


def _distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(visible(name, _LABEL) for name in names))


def _middles() -> Spec:
    return {
        "mark": {"type": "tick", "thickness": 2, "color": theme.FOREGROUND, "size": _ROW * 0.8},
        "encoding": {"x": {"aggregate": "median"}},
    }


def _dots(series: Sequence[str]) -> Spec:
    encoding: Spec = {"tooltip": _TOOLTIP}
    if any(series):
        encoding |= {
            "color": _colour(series),
            "shape": {"field": "s", "type": "nominal", "scale": {"domain": list(series)}},
        }
    mark = {"type": "point", "filled": True, "opacity": 0.75, "size": 45, "color": theme.LINES[0]}
    return {"mark": mark, "encoding": encoding}


def _dot_row(dot: Dot, measure: Measure, scale: Scale) -> dict[str, Any]:
    return {
        "n": visible(dot.row, _LABEL),
        "s": visible(dot.series, _LABEL),
        "v": _scaled(dot.value, scale),
        "t": f"{_dot_name(dot)}: {measure.text(dot.value)}",
    }


def _dot_name(dot: Dot) -> str:
    return visible(" ".join(part for part in (dot.row, dot.series, dot.label) if part), 2 * _LABEL)


def _ends(title: str, values: Sequence[tuple[str, float]], axis: Axis) -> str:
    """The sentence that tells the lowest and the highest."""
    words = f"{title}: {axis.title} of {len(values)}"
    if not values:
        return f"{title}: there is no value."
    lowest, highest = min(values, key=lambda one: one[1]), max(values, key=lambda one: one[1])
    tell = [f"{visible(name, _LABEL)} with {axis.measure.text(value)}" for name, value in (lowest, highest)]
    return f"{words}; lowest {tell[0]}, highest {tell[1]}." if len(values) > 1 else f"{words}, {tell[0]}."


def _middle(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _weighted(curve: Curve) -> list[float]:
    return [_quantile(curve, share) for share in (0.25, 0.5, 0.75)]


def _edges(curves: Sequence[Curve]) -> list[float]:
    """Edges of steps of equal ratio that hold everything but the slowest thousandth, which has the last step."""
    begins = [begin for curve in curves for begin, _, count in curve.buckets if count > 0 and begin > 0]
    if not begins:
        return [1e-9, 1.0]
    low, high = min(begins), max(_quantile(curve, 0.999) for curve in curves)
    growth = max(math.log(max(high, low * 1.02) / low) / _STEPS, math.log(1.02))
    steps = max(1, math.ceil(math.log(max(high, low * 1.02) / low) / growth))
    return [low * math.exp(growth * number) for number in range(steps + 1)]


def _shares(curve: Curve, edges: Sequence[float]) -> list[tuple[float, float, float]]:
    total = sum(count for _, _, count in curve.buckets)
    counts = [0.0] * (len(edges) - 1)
    growth = math.log(edges[1] / edges[0])
    for begin, end, count in curve.buckets:
        middle = math.sqrt(begin * end) if begin > 0 else end
        place = int(math.log(max(middle, edges[0]) / edges[0]) / growth)
        counts[min(place, len(counts) - 1)] += count
    return [(edges[number], edges[number + 1], count / total) for number, count in enumerate(counts)]


def _share_rows(
    label: str, shares: Sequence[tuple[float, float, float]], measure: Measure, scale: Scale
) -> Iterable[dict[str, Any]]:
    name = visible(label, _LABEL)
    for begin, end, share in shares:
        words = f"{name}: {share:.2%} from {measure.text(begin)} to {measure.text(end)}"
        yield {"s": name, "v": _scaled(begin, scale), "p": rounded(share, 4), "t": words}
    last = shares[-1]
    yield {"s": name, "v": _scaled(last[1], scale), "p": 0, "t": f"{name}: beyond {measure.text(last[1])}"}


def _steps(labels: Sequence[str]) -> Spec:
    names = _distinct(labels)
    dashes = {"field": "s", "type": "nominal", "scale": {"domain": names, "range": list(theme.DASHES[: len(names)])}}
    share = {
        "field": "p",
        "type": "quantitative",
        "title": "share of requests",
        "axis": {"format": ".0%", "tickCount": 4},
    }
    return {
        "mark": {"type": "line", "interpolate": "step-after"},
        "encoding": {"y": share, "color": _colour(names), "strokeDash": dashes},
    }


def _quantile(curve: Curve, share: float) -> float:
    """The upper edge of the bucket that the quantile lies in: nothing within it is told apart."""
    needed = share * sum(count for _, _, count in curve.buckets) * (1 - 1e-12)
    running = 0.0
    for _, end, count in curve.buckets:
        running += count
        if count and running >= needed:
            return end
    return math.nan


def _quantile_row(curve: Curve, axis: Axis) -> tuple[str, ...]:
    return (visible(curve.label, _LABEL), *(axis.measure.text(_quantile(curve, share)) for share in _PARTS))
