"""A sweep as text: its table, a chart in plain characters, and what it comes to. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from windtunnel.model import METRICS
from windtunnel.report.sweep import SHOWN, Point, Sweep, swept_text, verdict_words
from windtunnel.units import Missing, Unit, Value, format_spread, format_value

__all__ = ["render_sweep"]

_HEADS = {"throughput": "requests/s", "latency_p50": "p50", "latency_p99": "p99", "cpu_per_request": "CPU/request"}
_LEAST_PANEL = 36
"""Characters that a chart takes at least; two of them stand side by side where there is room."""


def render_sweep(sweep: Sweep, *, width: int = 100, several: bool = False) -> str:
    """Title, table, chart, verdict and what is to be known of single points, in lines of about `width` characters.

    With `several` arms in the run the sweep's is named.
    """
    arm = f" [{sweep.arm}]" if several else ""
    notes = [
        *(f"  ! {sweep.by} {swept_text(point.value)}: {why}" for point in sweep.points for why in point.reasons),
        *_notes(sweep),
    ]
    title = f"{sweep.name}{arm}   over {sweep.by}"
    parts = [[title, *_table(sweep)], _chart(sweep, width), [f"  {verdict_words(sweep)}", *notes]]
    return "\n\n".join("\n".join(part) for part in parts)


def _notes(sweep: Sweep) -> Iterator[str]:
    """A warning once, with the points that have it."""
    found: dict[str, list[str]] = {}
    for point in sweep.points:
        for warning in point.warnings:
            found.setdefault(warning, []).append(swept_text(point.value))
    for warning, values in found.items():
        where = "" if len(values) == len(sweep.points) else f"{sweep.by} {', '.join(values)}: "
        yield f"  note: {where}{warning}"


def _table(sweep: Sweep) -> list[str]:
    rows = [[sweep.by, *(cell for name in SHOWN for cell in (_HEADS[name], ""))]]
    rows += [[swept_text(point.value), *_cells(point)] for point in sweep.points]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [_line(row, widths) for row in rows]


def _cells(point: Point) -> Iterator[str]:
    for name in SHOWN:
        metric = point.metrics.get(name)
        yield format_value(metric.median, METRICS[name].unit) if metric else "n/a"
        yield format_spread(metric.spread) if metric else ""


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Figures to the right of their columns, each with its spread close behind."""
    line = f"  {row[0]:>{widths[0]}}"
    for at in range(1, len(row), 2):
        line += f"   {row[at]:>{widths[at]}} {row[at + 1]:<{widths[at + 1]}}"
    return line.rstrip()


def _chart(sweep: Sweep, width: int) -> list[str]:
    """Throughput as bars from 0, and beside (or below) it p50 and p99 on a scale of equal ratios."""
    labels = [sweep.by, *(swept_text(point.value) for point in sweep.points)]
    room = max(map(len, labels))
    names = [f"  {label:>{room}} |" for label in labels]
    half = (width - room - 5) // 2
    if half >= _LEAST_PANEL:
        left, right = _bars(sweep.points, half), _times(sweep.points, half)
        rows = (f"{name}{bar:<{half}}|{times}" for name, bar, times in zip(names, left, right, strict=True))
        return [row.rstrip() for row in rows]
    size = max(_LEAST_PANEL, width - room - 4)
    panels = (_bars(sweep.points, size), _times(sweep.points, size))
    return [f"{name}{text}".rstrip() for panel in panels for name, text in zip(names, panel, strict=True)]


def _bars(points: Sequence[Point], size: int) -> list[str]:
    values = [_median(point, "throughput") or 0.0 for point in points]
    most = max(values, default=0.0)
    return [
        f"requests/s, up to {format_value(most, Unit.PER_SECOND)}",
        *("#" * _cell(one, 0.0, most, size) for one in values),
    ]


def _times(points: Sequence[Point], size: int) -> list[str]:
    pairs = [(_median(point, "latency_p50"), _median(point, "latency_p99")) for point in points]
    known = [value for pair in pairs for value in pair if value]
    if not known:
        return ["p50 and p99: not known", *("" for _ in points)]
    low, high = min(known), max(known)
    ends = f"{format_value(low, Unit.SECOND)} to {format_value(high, Unit.SECOND)}"
    return [f"o p50 x p99 {ends}", *(_range(pair, low, high, size) for pair in pairs)]


def _range(pair: tuple[float | None, float | None], low: float, high: float, size: int) -> str:
    """``o----x`` between two values; where they fall together ``*``."""
    cells = [" "] * size
    places = [_cell(math.log(value), math.log(low), math.log(high), size - 1) for value in pair if value]
    for place in range(min(places, default=0), max(places, default=-1)):
        cells[place] = "-"
    for place, mark in zip(places, "ox" if pair[0] else "x", strict=False):
        cells[place] = mark if cells[place] in {" ", "-"} else "*"
    return "".join(cells)


def _cell(value: float, low: float, high: float, size: int) -> int:
    return round(size * (value - low) / (high - low)) if high > low else 0


def _median(point: Point, name: str) -> float | None:
    value: Value | None = point.metrics[name].median if name in point.metrics else None
    return None if value is None or isinstance(value, Missing) else value
