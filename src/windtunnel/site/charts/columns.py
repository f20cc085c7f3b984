"""The data files of history charts: small, and only those are fetched that a view needs. Pure.

Values are whole numbers in steps of a power of ten that leaves each six significant digits; the ends of an interval
are told by their distance to the value. Positions are differences. A file holds some tens of thousands of values of
neighbouring series, so that a grid of thousands of parameter combinations is never fetched whole.

    index   {"machines": [...], "environments": [...], "metrics": [{"series": [[combination, machine, environment]],
             "starts": [first series of each file], "changes": [[combination, machine, environment, position,
             previous, before, after]]}]}
    file    {"positions": [[first, difference ...]], "series": [[positions, step, [values], [below], [above]]]}
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from windtunnel.history.nouns import Benchmark, ChangePoint, Commit, Series, SeriesKey
from windtunnel.report.visible import visible
from windtunnel.site.charts.draw import compact
from windtunnel.site.charts.scale import rounded
from windtunnel.site.groups import Group
from windtunnel.site.page import Resource

__all__ = ["COMMITS", "as_read", "combination", "commits_file", "data_files", "index_path"]

COMMITS = "data/commits.json"

_FULL = 12_000
"""Values of a file after which the next one begins: some 60 kB on the wire at worst."""

_DIGITS = 6
_LARGEST_SIZE = 300
"""The largest power of ten that is multiplied by at once: those from 309 on are no floats."""

_SUBJECT = 100


def index_path(folder: str) -> str:
    """Where the index of a class's data files is."""
    return f"{folder}/index.json"


def file_path(folder: str, metric: int, number: int) -> str:
    """Where a data file is."""
    return f"{folder}/{metric}.{number}.json"


def commits_file(commits: Sequence[Commit]) -> Resource:
    """All commits, once for the whole site: what a chart says of them when a pointer is over a value."""
    seconds = [int(commit.date.timestamp()) for commit in commits]
    columns = {
        "hash": [commit.hash for commit in commits],
        "date": list(_differences(seconds)),
        "subject": [visible(commit.subject, _SUBJECT) for commit in commits],
    }
    return Resource(COMMITS, compact(columns).encode("utf-8", "replace"))


def data_files(group: Group, folder: str) -> Iterator[Resource]:
    """The data files of a class and their index."""
    places = _Places(group)
    metrics = []
    for number, benchmark in enumerate(group.benchmarks):
        series = places.sorted(group.series[benchmark.name], benchmark)
        files = list(_files(series))
        metrics.append(_metric(benchmark, series, files, places, group.change_points))
        for part, file in enumerate(files):
            yield Resource(file_path(folder, number, part), compact(_file(file)).encode())
    index = {"machines": places.machines, "environments": places.environments, "metrics": metrics}
    yield Resource(index_path(folder), compact(index).encode("utf-8", "replace"))


def combination(benchmark: Benchmark, params: Sequence[str]) -> int:
    """The number of a parameter combination among all of a benchmark's, the last parameter running fastest.

    -1 for one that the benchmark no longer has.
    """
    number = 0
    if len(params) != len(benchmark.params):
        return -1
    for value, values in zip(params, benchmark.params, strict=True):
        if value not in values:
            return -1
        number = number * len(values) + values.index(value)
    return number


class _Places:
    """Machines and environments of a class by number."""

    def __init__(self, group: Group) -> None:
        keys = [one.key for one in group.everything]
        self.machines = sorted({key.machine for key in keys})
        self.environments = sorted({key.environment for key in keys})

    def numbers(self, key: SeriesKey, benchmark: Benchmark) -> list[int]:
        """combination, machine, environment."""
        place = [self.machines.index(key.machine), self.environments.index(key.environment)]
        return [combination(benchmark, key.params), *place]

    def sorted(self, series: Iterable[Series], benchmark: Benchmark) -> list[tuple[list[int], Series]]:
        """With their numbers, by place, so that what is seen together lies together."""
        known = [(self.numbers(one.key, benchmark), one) for one in series]
        kept = [one for one in known if one[0][0] >= 0]
        return sorted(kept, key=lambda one: (one[0][1], one[0][2], one[0][0]))


_Numbered = list[tuple[list[int], Series]]


def _files(series: _Numbered) -> Iterator[_Numbered]:
    part: _Numbered = []
    size = 0
    for one in series:
        part.append(one)
        size += len(one[1])
        if size >= _FULL:
            yield part
            part, size = [], 0
    if part:
        yield part


def _metric(
    benchmark: Benchmark,
    series: _Numbered,
    files: Sequence[_Numbered],
    places: _Places,
    changes: Iterable[ChangePoint],
) -> dict[str, Any]:
    starts = [sum(len(file) for file in files[:number]) for number in range(len(files))]
    mine = [
        [*places.numbers(one.key, benchmark), one.position, one.previous, rounded(one.before), rounded(one.after)]
        for one in changes
        if one.key.benchmark == benchmark.name and _known(one.key, places)
    ]
    return {"series": [numbers for numbers, _ in series], "starts": starts, "changes": mine}


def _known(key: SeriesKey, places: _Places) -> bool:
    return key.machine in places.machines and key.environment in places.environments


def _file(part: _Numbered) -> dict[str, Any]:
    tables: dict[tuple[int, ...], int] = {}
    rows = []
    for _, one in part:
        table = tables.setdefault(tuple(one.positions), len(tables))
        rows.append([table, *_columns(one)])
    return {"positions": [list(_differences(table)) for table in tables], "series": rows}


def _differences(numbers: Sequence[int]) -> Iterator[int]:
    before = 0
    for number in numbers:
        yield number - before
        before = number


_Whole = list[int | None]


def _columns(series: Series) -> tuple[int, _Whole, _Whole, _Whole]:
    """step, values, below, above; a value that failed is null, and so is an interval that is not known."""
    step = _step(series.values)
    values, low, high = (_whole(column, step) for column in (series.values, series.low, series.high))
    return step, values, _distances(values, low), _distances(high, values)


def as_read(series: Series) -> Series:
    """A series as who reads its data file has it: to six digits."""
    step = _step(series.values)
    columns = (_parts(_whole(column, step), step) for column in (series.values, series.low, series.high))
    values, low, high = (array("d", column) for column in columns)
    return Series(series.key, series.positions, values, low, high)


def _whole(column: Iterable[float], step: int) -> _Whole:
    # All in one expression: there are millions of them. What is not finite minus itself is not 0.
    # The end of an interval that is out of all proportion to the values is none.
    size = 10.0 ** min(-step, _LARGEST_SIZE)
    rest = 10.0 ** max(-step - _LARGEST_SIZE, 0)
    return [round(whole) if (whole := value * size * rest) - whole == 0 else None for value in column]


def _parts(numbers: _Whole, step: int) -> Iterator[float]:
    """As the script has them: a division by a whole power of ten is exact to the last digit."""
    for number in numbers:
        if number is None:
            yield math.nan
        else:
            yield float(number / 10**-step if step < 0 else number * 10**step)


def _distances(ones: _Whole, others: _Whole) -> _Whole:
    pairs = zip(ones, others, strict=True)
    return [None if one is None or other is None else one - other for one, other in pairs]


def _step(values: Sequence[float]) -> int:
    """The power of ten that leaves the smallest value six digits, and the largest no more than twelve."""
    sizes = [abs(value) for value in values if value and value - value == 0]
    if not sizes:
        return 0
    smallest, largest = math.floor(math.log10(min(sizes))), math.floor(math.log10(max(sizes)))
    return max(smallest - _DIGITS + 1, largest - 11)
