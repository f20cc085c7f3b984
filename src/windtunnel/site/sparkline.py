"""A small line without axes: whether something went up or down lately. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

__all__ = ["sparkline"]

_WIDTH, _HEIGHT, _EDGE = 160, 36, 4
_MOST = 60
"""Points; what lies closer is put together."""

_LEAST = 0.05
"""The height of the picture is at least that much of a change (as a logarithm), so that noise looks like noise."""


def sparkline(line: Sequence[tuple[int, float]]) -> Markup:
    """An SVG of (position, logarithm); nothing where there are fewer than two points.

    It says nothing that is not beside it in words, so a screen reader passes over it.
    """
    if len(line) < 2:
        return Markup("")
    points = _placed(_thinned(line))
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    x, y = points[-1]
    return Markup(
        '<svg class="wt-spark" viewBox="0 0 {} {}" width="{}" height="{}" aria-hidden="true" focusable="false">'
        '<path d="{}"/><circle cx="{}" cy="{}" r="2.5"/></svg>'
    ).format(_WIDTH, _HEIGHT, _WIDTH, _HEIGHT, path, f"{x:.1f}", f"{y:.1f}")


def _thinned(line: Sequence[tuple[int, float]]) -> list[tuple[float, float]]:
    """At most `_MOST` points: means of neighbours."""
    count = min(len(line), _MOST)
    parts = [line[number * len(line) // count : (number + 1) * len(line) // count] for number in range(count)]
    return [(sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part)) for part in parts]


def _placed(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    left, right = points[0][0], points[-1][0]
    low, high = min(y for _, y in points), max(y for _, y in points)
    middle, span = (low + high) / 2, max(high - low, _LEAST)
    wide, tall = _WIDTH - 2 * _EDGE, _HEIGHT - 2 * _EDGE
    return [
        (_EDGE + wide * (x - left) / (right - left), _EDGE + tall * (0.5 - (y - middle) / span)) for x, y in points
    ]
