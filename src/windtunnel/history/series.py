"""Rows of the index -> series. Pure.

The index has a row per file; a series takes one cell of each. Cells lie in columns of doubles, so a series is a slice
with a stride, and nothing is done cell by cell while a benchmark's parameters stay as they are.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from windtunnel.history.asvrows import ABSENT
from windtunnel.history.nouns import Series, SeriesKey

__all__ = ["Cells", "Grid", "series_of"]

_ALL_FAILED = 10_000
"""So many combinations at most are shown of a benchmark that has failed everywhere, always."""


@dataclass(frozen=True)
class Grid:
    """Parameter combinations: the product of the axes, the last one running fastest."""

    axes: tuple[tuple[str, ...], ...]

    @cached_property
    def size(self) -> int:
        return math.prod(map(len, self.axes))

    @cached_property
    def plain(self) -> bool:
        """Whether no axis has a value twice."""
        return all(len(set(axis)) == len(axis) for axis in self.axes)

    def at(self, index: int) -> tuple[str, ...]:
        """The combination with that number."""
        found = []
        for axis in reversed(self.axes):
            index, digit = divmod(index, len(axis))
            found.append(axis[digit])
        return tuple(reversed(found))

    def places(self, count: int, current: Grid) -> Sequence[int]:
        """Where the first `count` combinations are in the `current` grid; -1 where they are not."""
        if self.axes == current.axes and self.plain:
            return range(count)
        if len(self.axes) != len(current.axes):
            return [-1] * count
        numbers = [{value: number for number, value in reversed(list(enumerate(axis)))} for axis in current.axes]
        return [self._place(index, current, numbers) for index in range(count)]

    def _place(self, index: int, current: Grid, numbers: Sequence[Mapping[str, int]]) -> int:
        place = 0
        for value, axis, number in zip(self.at(index), current.axes, numbers, strict=True):
            if value not in number:
                return -1
            place = place * len(axis) + number[value]
        return place


@dataclass(frozen=True)
class Cells:
    """The cells of a benchmark that a file has; `values` None means that all of them failed."""

    position: int
    grid: Grid | None
    values: array[float] | None
    low: array[float] | None
    high: array[float] | None


def series_of(
    benchmark: str, current: Grid, machine: str, environment: str, rows: Sequence[Cells]
) -> Iterator[Series]:
    """The series of one machine and environment, in the order of the combinations.

    Several files of one commit are averaged, as asv does it.
    """
    table = _Table(current, sorted(rows, key=lambda row: row.position))
    for column, place in enumerate(table.columns):
        found = table.column(column)
        if found is not None:
            yield Series(SeriesKey(benchmark, current.at(place), machine, environment), *found)


_Column = tuple["array[int]", "array[float]", "array[float]", "array[float]"]


class _Table:
    """Rows that have all the same columns: the combinations that any file has something of."""

    def __init__(self, current: Grid, rows: Sequence[Cells]) -> None:
        self.current = current
        self.columns = self._columns(rows)
        self.where = {place: column for column, place in enumerate(self.columns)}
        merged = list(_merged([(row.position, *self._row(row)) for row in rows]))
        self.positions: array[int] = array("q", [row[0] for row in merged])
        self.values = _joined(row[1] for row in merged)
        self.low = _joined(row[2] for row in merged)
        self.high = _joined(row[3] for row in merged)

    def column(self, number: int) -> _Column | None:
        """None where no file has anything of it."""
        width = len(self.columns)
        values, low, high = self.values[number::width], self.low[number::width], self.high[number::width]
        if not values.count(ABSENT):
            return self.positions, values, low, high
        kept = [at for at, value in enumerate(values) if value != ABSENT]
        if not kept:
            return None
        positions = array("q", [self.positions[at] for at in kept])
        return positions, _picked(values, kept), _picked(low, kept), _picked(high, kept)

    def _columns(self, rows: Sequence[Cells]) -> Sequence[int]:
        used: set[int] = set()
        for grid, count in {(row.grid, len(row.values)) for row in rows if row.values and row.grid}:
            used.update(grid.places(count, self.current))
        used.discard(-1)
        return sorted(used) or range(min(self.current.size, _ALL_FAILED))

    def _row(self, row: Cells) -> tuple[array[float], array[float], array[float]]:
        width = len(self.columns)
        none = array("d", [math.nan]) * width
        if row.values is None or row.grid is None:
            return none, none, none
        if len(row.values) == width and row.grid.axes == self.current.axes and row.grid.plain:
            return row.values, row.low or none, row.high or none
        places = row.grid.places(len(row.values), self.current)
        targets = [self.where.get(place, -1) for place in places]
        return (
            _scattered(row.values, targets, array("d", [ABSENT]) * width),
            _scattered(row.low, targets, none[:]) if row.low else none,
            _scattered(row.high, targets, none[:]) if row.high else none,
        )


def _joined(rows: Iterable[array[float]]) -> array[float]:
    return array("d", b"".join(row.tobytes() for row in rows))


def _picked(values: array[float], kept: Sequence[int]) -> array[float]:
    return array("d", [values[at] for at in kept])


def _scattered(values: array[float], targets: Sequence[int], into: array[float]) -> array[float]:
    for value, target in zip(values, targets, strict=True):
        if target >= 0:
            into[target] = value
    return into


# ---------------- several files of one commit

_Row = tuple[int, "array[float]", "array[float]", "array[float]"]


def _merged(rows: Sequence[_Row]) -> Iterator[_Row]:
    """One row for each position."""
    start = 0
    while start < len(rows):
        end = start + 1
        while end < len(rows) and rows[end][0] == rows[start][0]:
            end += 1
        yield rows[start] if end == start + 1 else _averaged(rows[start:end])
        start = end


def _averaged(rows: Sequence[_Row]) -> _Row:
    values = array("d", (_mean(cells) for cells in zip(*(row[1] for row in rows), strict=True)))
    low, high = (
        array("d", (_mean(cells) for cells in zip(*(row[at] for row in rows), strict=True))) for at in (2, 3)
    )
    return rows[0][0], values, low, high


def _mean(cells: Sequence[float]) -> float:
    """Of what was measured; a failure where all that was tried failed."""
    measured = [value for value in cells if math.isfinite(value)]
    if measured:
        return sum(measured) / len(measured)
    return math.nan if any(map(math.isnan, cells)) else ABSENT
