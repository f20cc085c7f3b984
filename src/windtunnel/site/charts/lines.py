"""A chart of values over a number: throughput over concurrency, say. Pure: data in, `Chart` out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.report.visible import visible
from windtunnel.site.charts import theme
from windtunnel.site.charts.chart import Chart, Spec, Table
from windtunnel.site.charts.plots import SCHEMA, WIDTH, Axis
from windtunnel.site.charts.scale import Measure, Scale, rounded

__all__ = ["Path", "Spot", "lines_chart"]

_HEIGHT = 220
_LABEL = 60
_WIDE = 8.0
"""Values of x that lie further apart than this factor get equal room for equal ratios."""


@dataclass(frozen=True)
class Spot:
    """A value (base unit) at `x`, with the ends of what was seen there; not finite where there is none."""

    x: float
    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Path:
    """A line: its name, and its spots by rising x."""

    label: str
    spots: Sequence[Spot]


def lines_chart(title: str, paths: Sequence[Path], over: Axis, axis: Axis, *, notes: tuple[str, ...] = ()) -> Chart:
    """A line with dots for each path, and a bar over what was seen around each dot. Spots without a finite value are
    in the table alone; at most eight paths are drawn.
    """
    drawn = [path for path in paths[: theme.MOST_LINES] if any(math.isfinite(spot.value) for spot in path.spots)]
    scale = axis.measure.scale(spot.value for path in drawn for spot in path.spots)
    rows = [row for path in drawn for row in _rows(path, over.measure, axis.measure, scale)]
    spec = _spec([path.label for path in drawn], rows, (over, axis), scale) if rows else _nothing()
    return Chart(title, spec, _words(title, drawn, over, axis), _table(paths, over, axis), notes)


def _rows(path: Path, over: Measure, measure: Measure, scale: Scale) -> Iterator[dict[str, Any]]:
    name = visible(path.label, _LABEL)
    for spot in path.spots:
        if math.isfinite(spot.value):
            row = {"x": rounded(spot.x), "v": rounded(spot.value / scale.size), "l": name}
            if math.isfinite(spot.low) and math.isfinite(spot.high):
                row |= {"a": rounded(spot.low / scale.size), "b": rounded(spot.high / scale.size)}
            yield {**row, "t": f"{name} at {over.text(spot.x)}: {measure.text(spot.value)}"}


def _spec(labels: Sequence[str], rows: list[dict[str, Any]], axes: tuple[Axis, Axis], scale: Scale) -> Spec:
    names = [visible(label, _LABEL) for label in labels]
    colours = {"domain": names, "range": list(theme.LINES[: len(names)])}
    dashes = {"domain": names, "range": [list(dash) for dash in theme.DASHES[: len(names)]]}
    legend = {"columns": 2, "labelLimit": 240} if len(names) > 1 else None
    colour = {"field": "l", "type": "nominal", "scale": colours, "legend": legend}
    dash = {"field": "l", "type": "nominal", "scale": dashes, "legend": legend}
    y = _y(axes[1], scale)
    whiskers = {"y": {**y, "field": "a"}, "y2": {"field": "b"}, "color": colour}
    return {
        "$schema": SCHEMA,
        "config": theme.config(),
        "width": WIDTH,
        "height": _HEIGHT,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": rows},
        "encoding": {"x": _x(axes[0], [row["x"] for row in rows])},
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.a) && isValid(datum.b)"}],
                "mark": {"type": "rule", "strokeWidth": 1.4, "opacity": 0.7},
                "encoding": whiskers,
            },
            {"mark": {"type": "line"}, "encoding": {"y": y, "color": colour, "strokeDash": dash}},
            {
                "mark": {"type": "point", "filled": True, "size": 36, "opacity": 1},
                "encoding": {"y": y, "color": colour, "tooltip": {"field": "t", "type": "nominal"}},
            },
        ],
    }


def _x(axis: Axis, places: Sequence[float]) -> Spec:
    """With a tick at each value, as far as there is room."""
    apart = max(places) > _WIDE * min(places) > 0
    kind = {"type": "log", "nice": False, "padding": 12} if apart else {"zero": False, "nice": False, "padding": 12}
    ticks = {"values": sorted(set(places)), "labelOverlap": True, "grid": False, "format": ",.6~r"}
    title = visible(axis.title, _LABEL)
    return {"field": "x", "type": "quantitative", "title": title, "scale": kind, "axis": ticks}


def _y(axis: Axis, scale: Scale) -> Spec:
    title = visible(axis.title, _LABEL)
    return {
        "field": "v",
        "type": "quantitative",
        "title": f"{title} ({scale.name})" if scale.name else title,
        "scale": {"type": "log", "nice": True} if axis.log else {"zero": True},
        "axis": {"tickCount": 5, "format": ",.6~r"},
    }


def _nothing() -> Spec:
    mark = {"type": "text", "text": "There is no value to draw.", "color": theme.FOREGROUND, "align": "left", "x": 0}
    return {
        "$schema": SCHEMA,
        "config": theme.config(),
        "width": WIDTH,
        "height": 30,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": [{}]},
        "mark": {**mark, "fontSize": 12},
    }


def _table(paths: Sequence[Path], over: Axis, axis: Axis) -> Table:
    """A row for each x, a column for each path."""
    known = {path.label: {spot.x: spot for spot in path.spots} for path in paths}
    places = sorted({spot.x for path in paths for spot in path.spots})
    rows = tuple(
        (over.measure.text(x), *(_cell(known[path.label].get(x), axis.measure) for path in paths)) for x in places
    )
    return Table((visible(over.title, _LABEL), *(visible(path.label, _LABEL) for path in paths)), rows)


def _cell(spot: Spot | None, measure: Measure) -> str:
    if spot is None or not math.isfinite(spot.value):
        return "n/a"
    if not (math.isfinite(spot.low) and math.isfinite(spot.high)):
        return measure.text(spot.value)
    return f"{measure.text(spot.value)} ({measure.text(spot.low)} to {measure.text(spot.high)})"


def _words(title: str, paths: Sequence[Path], over: Axis, axis: Axis) -> str:
    """For each line the highest value and where it is."""
    tops = [
        (path.label, max((s for s in path.spots if math.isfinite(s.value)), key=lambda s: s.value)) for path in paths
    ]
    if not tops:
        return f"{visible(title, 200)}: there is no value."
    told = [
        f"{visible(label, _LABEL)} is highest at {over.measure.text(spot.x)}, {axis.measure.text(spot.value)}"
        for label, spot in tops
    ]
    return f"{visible(title, 200)}, over {visible(over.title, _LABEL)}: {'; '.join(told)}."
