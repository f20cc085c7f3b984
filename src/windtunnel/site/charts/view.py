"""What a history chart shows at first: which benchmark, which parameters, which place; and its rows. Pure.

The script does the same for every other choice of the reader's (view.js); a test holds the two against each other.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.history.nouns import Benchmark, Series
from windtunnel.report.visible import visible
from windtunnel.site.charts import theme
from windtunnel.site.charts.columns import as_read
from windtunnel.site.charts.scale import Scale, rounded
from windtunnel.site.groups import Group
from windtunnel.site.levels import Place, main_place
from windtunnel.site.values import bare

__all__ = [
    "NEWEST",
    "Line",
    "View",
    "far_apart",
    "first_shown",
    "first_view",
    "lines_of",
    "point_rows",
    "shown_values",
]

NEWEST = 300
"""How many commits with values are shown at first, the newest ones; a telephone has about that many pixels."""

_VALUE = 32
_LABEL = 60
_FAR = 20


@dataclass(frozen=True)
class View:
    """One choice of what to see.

    Attributes:
        benchmark: the metric.
        chosen: for each parameter the indexes of its values, rising; a line for every combination that has results.
        place: where it was measured.
        newest: how many commits at most, the newest ones.
    """

    benchmark: Benchmark
    chosen: tuple[tuple[int, ...], ...]
    place: Place
    newest: int = NEWEST


@dataclass(frozen=True)
class Line:
    """A line of a chart: its name in the legend, and its values."""

    label: str
    series: Series


def shown_values(benchmark: Benchmark) -> list[list[str]]:
    """The values of each parameter as they are read."""
    return [[visible(bare(value), _VALUE) for value in values] for values in benchmark.params]


def first_view(group: Group) -> View | None:
    """What is shown before anybody chooses; None for a group without results.

    One line per value for as many parameters as eight lines allow, the last parameters first; of the others the value
    that the newest result has.
    """
    benchmark = group.main
    place = main_place(group.series[benchmark.name])
    if place is None:
        return None
    here = [one for one in group.series[benchmark.name] if Place.of(one.key) == place]
    return View(benchmark, _spread(benchmark, here), place)


def _spread(benchmark: Benchmark, series: Sequence[Series]) -> tuple[tuple[int, ...], ...]:
    newest = max(series, key=lambda one: one.positions[-1] if len(one) else -1)
    known = [_indexes(benchmark, one) for one in series]
    chosen: list[tuple[int, ...]] = [(index,) for index in _indexes(benchmark, newest)]
    for axis in reversed(range(len(chosen))):
        wider = [*chosen]
        wider[axis] = tuple(sorted({one[axis] for one in known if len(one) == len(chosen)}))
        if len(wider[axis]) > theme.MOST_LINES and axis == len(chosen) - 1:
            wider[axis] = _some(wider[axis])
        if math.prod(len(one) for one in wider) <= theme.MOST_LINES:
            chosen = wider
    return tuple(chosen)


def _some(values: Sequence[int]) -> tuple[int, ...]:
    """Eight of many, from the first to the last."""
    most = theme.MOST_LINES
    return tuple(values[round(number * (len(values) - 1) / (most - 1))] for number in range(most))


def _indexes(benchmark: Benchmark, series: Series) -> tuple[int, ...]:
    """Which value of each parameter a series has; () for one whose parameters the benchmark no longer has."""
    pairs = zip(series.key.params, benchmark.params, strict=False)
    found = tuple(values.index(value) for value, values in pairs if value in values)
    return found if len(found) == len(benchmark.params) else ()


def lines_of(view: View, series: Iterable[Series]) -> list[Line]:
    """The lines of a view, at most eight, in the order of the parameters' values."""
    here = {_indexes(view.benchmark, one): one for one in series if Place.of(one.key) == view.place}
    wanted = (one for one in itertools.product(*view.chosen) if one in here)
    return [Line(_label(view, one), as_read(here[one])) for one in itertools.islice(wanted, theme.MOST_LINES)]


def _label(view: View, combination: Sequence[int]) -> str:
    """The values of the parameters in which lines differ."""
    texts = shown_values(view.benchmark)
    parts = [texts[axis][index] for axis, index in enumerate(combination) if len(view.chosen[axis]) > 1]
    return visible(", ".join(parts), _LABEL) or view.benchmark.metric


def far_apart(lines: Sequence[Line]) -> bool:
    """Whether lines are so far apart that a linear scale would show the upper ones alone."""
    known = [[value for value in line.series.values if math.isfinite(value)] for line in lines]
    if not all(value > 0 for values in known for value in values):
        return False
    middles = [statistics.median(values) for values in known if values]
    return len(middles) > 1 and max(middles) > _FAR * min(middles)


def first_shown(lines: Sequence[Line], newest: int) -> int:
    """The position from which on values are shown."""
    known = sorted(set().union(*(line.series.positions for line in lines)))
    return known[-newest] if len(known) > newest else (known[0] if known else 0)


def point_rows(line: Line, first: int, scale: Scale) -> Iterator[dict[str, Any]]:
    """A row per value from position `first` on; `g` changes after a failure, so that nothing is drawn across it."""
    run = 0
    one = line.series
    for position, value, low, high in zip(one.positions, one.values, one.low, one.high, strict=True):
        if position < first:
            continue
        if not math.isfinite(value):
            run += 1
            yield {"x": position, "l": line.label}
            continue
        row: dict[str, Any] = {"x": position, "v": rounded(value / scale.size), "l": line.label, "g": run}
        if math.isfinite(low) and math.isfinite(high):
            row |= {"a": rounded(low / scale.size), "b": rounded(high / scale.size)}
        yield row
