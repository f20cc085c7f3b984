"""The layers of a chart over commits: rules, bands, lines, points, failures, change points. Pure.

Its named data sets: `points` (x, v, a, b: value and interval in the unit of the axis; l: line; g: run without a
failure), `failed` (x, l), `changes` (x, v, l, t: words; u: upwards; w: worse; h: address), `machines` (x, t).
"""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel.history.nouns import Commit
from windtunnel.site.charts import theme
from windtunnel.site.charts.chart import Spec
from windtunnel.site.charts.plots import SCHEMA, WIDTH

__all__ = ["history_spec", "logarithmic", "ticks"]

HEIGHT = 300
TICKS = 6


def history_spec(title: str, labels: Sequence[str]) -> Spec:
    """The chart without its values, on a linear scale."""
    return {
        "$schema": SCHEMA,
        "config": theme.config(),
        "width": WIDTH,
        "height": HEIGHT,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "encoding": {"x": _x()},
        "layer": [
            _machine_rules(),
            _bands(title),
            _lines(title, labels),
            _points(title),
            _failures(),
            _marks(title),
        ],
    }


def logarithmic(spec: Spec) -> Spec:
    """The same chart with equal space for equal ratios; all values have to be above 0."""
    for layer in spec["layer"]:
        if "field" in (height := layer["encoding"].get("y", {})):
            height["scale"] = {"type": "log", "nice": True, "padding": height["scale"]["padding"]}
    return spec


_LINE = {"field": "l", "type": "nominal"}


def _x() -> Spec:
    axis = {"title": "commits, oldest first", "grid": False, "labelOverlap": True, "labelFlush": True}
    scale = {"zero": False, "nice": False, "padding": 8}
    return {"field": "x", "type": "quantitative", "scale": scale, "axis": axis}


def _y(field: str, title: str) -> Spec:
    scale = {"zero": False, "nice": True, "padding": 6}
    return {
        "field": field,
        "type": "quantitative",
        "scale": scale,
        "title": title,
        "axis": {"format": ",.6~r", "tickCount": 6},
    }


def _machine_rules() -> Spec:
    mark = {"type": "rule", "strokeDash": [2, 3], "color": theme.MUTED, "strokeWidth": 1.5}
    return {"data": {"name": "machines"}, "mark": mark, "encoding": {"tooltip": {"field": "t"}}}


def _bands(title: str) -> Spec:
    return {
        "data": {"name": "points"},
        "transform": [{"filter": "isValid(datum.a)"}],
        "mark": {"type": "area", "opacity": 0.16},
        "encoding": {
            "y": _y("a", title),
            "y2": {"field": "b"},
            "color": {"field": "l", "type": "nominal"},
            "detail": {"field": "g"},
        },
    }


def _lines(title: str, labels: Sequence[str]) -> Spec:
    colours = {"domain": list(labels), "range": list(theme.LINES[: len(labels)])}
    dashes = {"domain": list(labels), "range": [list(dash) for dash in theme.DASHES[: len(labels)]]}
    legend = {"columns": 2, "labelLimit": 240} if len(labels) > 1 else None
    encoding = {
        "y": _y("v", title),
        "color": {"field": "l", "type": "nominal", "scale": colours, "legend": legend},
        "strokeDash": {"field": "l", "type": "nominal", "scale": dashes, "legend": legend},
        "detail": {"field": "g"},
    }
    return {"data": {"name": "points"}, "mark": {"type": "line"}, "encoding": encoding}


def _points(title: str) -> Spec:
    mark = {"type": "point", "filled": True, "size": 14, "opacity": 1}
    return {
        "name": "values",
        "data": {"name": "points"},
        "mark": mark,
        "encoding": {"y": _y("v", title), "color": _LINE},
    }


def _failures() -> Spec:
    """A failed value has no height: its cross stands at the foot of the chart."""
    mark = {"type": "point", "shape": "M-.6,-.6L.6,.6M-.6,.6L.6,-.6", "size": 70, "strokeWidth": 1.8, "opacity": 1}
    encoding = {"y": {"value": HEIGHT - 5}, "color": _LINE, "tooltip": {"field": "t"}}
    return {"name": "failed", "data": {"name": "failed"}, "mark": mark, "encoding": encoding}


def _marks(title: str) -> Spec:
    either = {
        "shape": {"condition": {"test": "datum.u", "value": "triangle-up"}, "value": "triangle-down"},
        "fill": {"condition": {"test": "datum.w", "value": theme.WORSE}, "value": theme.BETTER},
    }
    mark = {
        "type": "point",
        "size": 170,
        "opacity": 1,
        "stroke": theme.GROUND,
        "strokeWidth": 1.2,
        "aria": True,
        "cursor": "pointer",
    }
    texts = {"tooltip": {"field": "t"}, "href": {"field": "h"}, "description": {"field": "t"}}
    return {
        "name": "changes",
        "data": {"name": "changes"},
        "mark": mark,
        "encoding": {"y": _y("v", title), **either, **texts},
    }


def ticks(shown: Sequence[int], commits: Sequence[Commit]) -> Spec:
    """Dates at a few commits; the axis itself counts commits."""
    if not shown:
        return {"values": []}
    wanted = [shown[0] + (shown[-1] - shown[0]) * number / (TICKS - 1) for number in range(TICKS)]
    values = sorted({min(shown, key=lambda at, near=near: abs(at - near)) for near in wanted})  # type: ignore[misc]
    names = ",".join(f'"{at}":"{commits[at].date.date().isoformat()}"' for at in values)
    return {"values": values, "labelExpr": f"({{{names}}})[datum.value]"}
