"""The newest values of a class as tables: a row for each parameter combination, a column for each metric. Pure."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from windtunnel.history.nouns import Benchmark, ChangePoint, History
from windtunnel.site.groups import Group
from windtunnel.site.levels import Level, Place, is_at, level_of
from windtunnel.site.values import bare, value_text
from windtunnel.units import Direction, format_change

__all__ = ["Cell", "Row", "Table", "latest_csv", "tables", "tone"]

_NOTABLE = 0.02
"""Changes smaller than that have no colour: the figures still say them."""


@dataclass(frozen=True)
class Cell:
    """One value as a page shows it.

    Attributes:
        text: the value, "failed", or "" where there is none.
        change: against a month ago, or "".
        tone: "better", "worse" where a new level was found within the month, "failed", or "".
        old: the position of the commit it is of, where that is not the newest of the table; else -1.
    """

    text: str = ""
    change: str = ""
    tone: str = ""
    old: int = -1


@dataclass(frozen=True)
class Row:
    """A parameter combination, in the words of its values, and a cell per metric."""

    params: tuple[str, ...]
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """The benchmarks of a class that have the same parameters, at one place.

    Attributes:
        param_names, metrics: the heads of the columns.
        rows: in the order of the parameters' values.
        newest: position of the newest commit in it.
    """

    place: Place
    param_names: tuple[str, ...]
    metrics: tuple[str, ...]
    rows: tuple[Row, ...]
    newest: int


def tables(group: Group, place: Place, start: int) -> Iterator[Table]:
    """The tables of a class at a place; `start` is `levels.months_start`."""
    shapes: dict[tuple[str, ...], list[Benchmark]] = {}
    for benchmark in group.benchmarks:
        if any(is_at(one, place) for one in group.series[benchmark.name]):
            shapes.setdefault(benchmark.param_names, []).append(benchmark)
    for names, benchmarks in shapes.items():
        yield _table(group, place, start, (names, benchmarks))


def _table(group: Group, place: Place, start: int, shape: tuple[tuple[str, ...], list[Benchmark]]) -> Table:
    names, benchmarks = shape
    levels = {
        (benchmark.name, series.key.params): level_of(series, start)
        for benchmark in benchmarks
        for series in group.series[benchmark.name]
        if is_at(series, place)
    }
    newest = max(level.position for level in levels.values())
    lately = {(one.key.benchmark, one.key.params) for one in _lately(group, place, start)}
    combinations = sorted({params for _, params in levels}, key=_order(benchmarks))
    rows = tuple(
        Row(
            tuple(bare(value) for value in params),
            tuple(
                _cell(one, levels.get((one.name, params)), newest, changed=(one.name, params) in lately)
                for one in benchmarks
            ),
        )
        for params in combinations
    )
    return Table(place, names, tuple(one.metric for one in benchmarks), rows, newest)


def _order(benchmarks: Sequence[Benchmark]) -> Ranking:
    return Ranking(benchmarks[0].params)


class Ranking:
    """A sorting key for combinations: the order in which the values are declared; unknown ones come last."""

    def __init__(self, params: Sequence[Sequence[str]]) -> None:
        self._ranks = [{value: rank for rank, value in enumerate(values)} for values in params]

    def __call__(self, params: Sequence[str]) -> tuple[tuple[int, str], ...]:
        """The key of one combination."""
        ranks = [*self._ranks, *({} for _ in params)]
        return tuple((rank.get(value, len(rank)), value) for rank, value in zip(ranks, params, strict=False))


def _lately(group: Group, place: Place, start: int) -> Iterator[ChangePoint]:
    """Where a new level began since `start`: what only moved with the noise has no colour."""
    for one in group.change_points:
        if one.position >= start and Place.of(one.key) == place:
            yield one


def _cell(benchmark: Benchmark, level: Level | None, newest: int, *, changed: bool) -> Cell:
    if level is None:
        return Cell()
    old = -1 if level.position == newest else level.position
    if math.isnan(level.value):
        return Cell("failed", tone="failed", old=old)
    change = format_change(level.change) if math.isfinite(level.change) else ""
    colour = tone(level.change, benchmark.direction) if changed else ""
    return Cell(value_text(level.value, benchmark), change, colour, old)


def tone(ratio: float, direction: Direction) -> str:
    """Whether a ratio after / before is "better" or "worse"; "" where it is hardly anything, or not known."""
    if not math.isfinite(ratio) or abs(ratio - 1) < _NOTABLE:
        return ""
    lower = direction is Direction.LOWER_IS_BETTER
    return "better" if (ratio < 1) is lower else "worse"


def latest_csv(history: History, group: Group, start: int) -> bytes:
    """The newest value of every series of a class, as CSV (RFC 4180) in base units; a failure is an empty value.

    A text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(
        ["benchmark", "parameters", "machine", "environment", "commit", "unit", "value", "low", "high", "change"]
    )
    commits = history.commits()
    for benchmark in group.benchmarks:
        for series in group.series[benchmark.name]:
            if not len(series):
                continue
            level = level_of(series, start)
            key = series.key
            texts = [key.benchmark, ", ".join(key.params), key.machine, key.environment]
            figures = [level.value, level.low, level.high, level.change]
            row = [*texts, commits[level.position].hash, benchmark.unit, *_plain(figures)]
            writer.writerow([_harmless(cell) for cell in row])
    return out.getvalue().encode("utf-8", "replace")


def _plain(figures: Iterable[float]) -> list[str]:
    return [repr(figure) if math.isfinite(figure) else "" for figure in figures]


def _harmless(text: str) -> str:
    formula = text[:1] in {"=", "+", "@", "\t", "\r"} or (text[:1] == "-" and not _is_number(text))
    return f"'{text}" if formula else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
