"""Small drawings without letters: bars with intervals, dots, a distribution, a chain. Pure.

A page has dozens of them, and each is a few lines of SVG that stretch to whatever place they get; names and figures
stand beside them in the page's own letters, so they are as readable on a phone and need no second description.
Nothing from outside gets in here but numbers. Colours are variables of the style sheet (pages.css).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

__all__ = ["WIDTH", "Link", "bar", "chain", "colour", "distribution", "dots"]

WIDTH = 1000
"""Units from the left end of every drawing to the right one."""

_COLOURS = 3
_HIGH = 100


def colour(number: int) -> str:
    """The colour of the `number`-th of several things, from 0; those that are too many share them."""
    return f"var(--wt-shape-{number % _COLOURS + 1})"


def _svg(kind: str, height: int, shapes: Sequence[str]) -> Markup:
    inside = "".join(shapes)
    return Markup(  # noqa: S704 - numbers and our own words
        f'<svg class="wt-shape wt-{kind}" viewBox="0 0 {WIDTH} {height}" preserveAspectRatio="none" '
        f'aria-hidden="true" focusable="false">{inside}</svg>'
    )


def _n(value: float) -> str:
    """A coordinate, to a tenth of a unit."""
    return f"{value:.1f}".removesuffix(".0")


def _line(points: Sequence[tuple[float, float]], stroke: str, more: str = "") -> str:
    path = "L".join(f"{_n(x)} {_n(y)}" for x, y in points)
    return f'<path d="M{path}" style="stroke:{stroke}" fill="none" vector-effect="non-scaling-stroke"{more}/>'


# ---------------- bars


def bar(value: float, low: float, high: float, most: float) -> Markup:
    """A bar from 0 to `value` on a scale up to `most`, with a whisker over its interval (NaN for none)."""
    if not (most > 0 and math.isfinite(value)):
        return _svg("bar", 10, [])
    shapes = [f'<rect x="0" y="1" width="{_n(_at(value, most))}" height="8" style="fill:{colour(0)}"/>']
    if math.isfinite(low) and math.isfinite(high):
        left, right = _at(low, most), _at(high, most)
        whisker = f"M{_n(left)} 5H{_n(right)}M{_n(left)} 2.5v5M{_n(right)} 2.5v5"
        shapes.append(f'<path class="wt-whisker" d="{whisker}" vector-effect="non-scaling-stroke"/>')
    return _svg("bar", 10, shapes)


def _at(value: float, most: float) -> float:
    return WIDTH * min(1.0, max(0.0, value / most))


# ---------------- dots


def dots(values: Sequence[float], low: float, high: float, number: int = 0) -> Markup:
    """One dot for each value between `low` and `high`, and a stroke at their middle."""
    span = high - low
    places = [WIDTH * (0.02 + 0.96 * ((value - low) / span if span > 0 else 0.5)) for value in values]
    path = "".join(f"M{_n(place)} {3 + 4 * (index % 2)}h.01" for index, place in enumerate(places))
    round_ = ' stroke-width="6" stroke-linecap="round" vector-effect="non-scaling-stroke" fill="none"'
    shapes = [f'<path d="{path}" style="stroke:{colour(number)}"{round_}/>']
    if places:
        middle = sorted(places)[len(places) // 2]
        shapes.append(_line([(middle, 0), (middle, 10)], "currentColor", ' stroke-width="1.5"'))
    return _svg("dots", 10, shapes)


# ---------------- a distribution


def distribution(histograms: Sequence[Mapping[int, int]]) -> Markup:
    """Histograms over the same buckets of equal ratio, each as the outline of its shares."""
    known = [one for one in histograms if one]
    if not known:
        return _svg("distribution", _HIGH, [])
    first, last = min(map(min, known)), max(map(max, known))
    most = max(max(one.values()) / sum(one.values()) for one in known)
    shapes = [_outline(one, first, last, most, number) for number, one in enumerate(histograms) if one]
    return _svg("distribution", _HIGH, shapes)


def _outline(histogram: Mapping[int, int], first: int, last: int, most: float, number: int) -> str:
    step = WIDTH / (last - first + 1)
    total = sum(histogram.values())
    points: list[tuple[float, float]] = [(0, _HIGH)]
    for index in range(first, last + 1):
        height = _HIGH - 0.96 * _HIGH * histogram.get(index, 0) / total / most
        points += [(step * (index - first), height), (step * (index - first + 1), height)]
    dash = ' stroke-dasharray="5 3"' if number else ""
    return _line([*points, (WIDTH, _HIGH)], colour(number), f' stroke-width="1.6"{dash}')


# ---------------- a chain


@dataclass(frozen=True)
class Link:
    """A place of a chain: where, which value, and its interval."""

    at: float
    value: float
    low: float
    high: float


def chain(
    segments: Sequence[Sequence[Link]], low: float, high: float, number: int = 0, marks: Sequence[float] = ()
) -> Markup:
    """Chains from left to right, `at` from 0 to 1, each with the band of its interval; nothing is drawn between them.

    The line across is at a value of 1, dashed ones from top to bottom are at the `marks`.
    """

    def up(value: float) -> float:
        return _HIGH * (high - value) / (high - low) if high > low else _HIGH / 2

    shapes = [_line([(0, up(1.0)), (WIDTH, up(1.0))], "currentColor", ' stroke-width="1" stroke-opacity="0.55"')]
    dashed = ' stroke-width="1" stroke-dasharray="3 3"'
    shapes += [_line([(WIDTH * mark, 0), (WIDTH * mark, _HIGH)], "currentColor", dashed) for mark in marks]
    for segment in segments:
        upper = [(WIDTH * one.at, up(one.high)) for one in segment]
        lower = [(WIDTH * one.at, up(one.low)) for one in reversed(segment)]
        area = "L".join(f"{_n(x)} {_n(y)}" for x, y in [*upper, *lower])
        shapes.append(f'<path d="M{area}Z" style="fill:{colour(number)}" fill-opacity="0.18"/>')
        shapes.append(
            _line([(WIDTH * one.at, up(one.value)) for one in segment], colour(number), ' stroke-width="1.8"')
        )
    return _svg("chain", _HIGH, shapes)
