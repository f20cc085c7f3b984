"""Who stands against whom: for each axis of a class the values of one commit, one machine and one environment. Pure.

A board is one axis of one benchmark with everything else held: the other parameters, the machine, the environment and
the commit, which is the newest that has a value for all. The releases of a project are an axis, too: there the commit
is what differs.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

from windtunnel.history.nouns import Benchmark, Commit, Series
from windtunnel.report.rates import Contender
from windtunnel.site.groups import Group
from windtunnel.site.levels import Place, places
from windtunnel.site.values import parameters_text

__all__ = ["RELEASES", "Board", "Launches", "boards_of"]

RELEASES = "release"
"""The name of the axis whose values are tags."""

_PLACES = 3
"""Machines and environments of a benchmark that have boards: those with the newest values."""

_CONTENDERS = 60
_RELEASES = 8

Launches = Callable[[Series, int], tuple[float, ...]]
"""The launches behind a value of a series at a position; () where no run file has them."""


@dataclass(frozen=True)
class Board:
    """One axis with everything else held.

    Attributes:
        benchmark, axis: what is measured, and the name of the axis.
        fixed: names and values of the other parameters.
        place: machine and environment.
        position: the commit; of releases the newest one.
        contenders: in the order of the axis, each with its value.
        missing: values of the axis that this commit does not have.
        left_out: how many more there are than a page bears.
    """

    benchmark: Benchmark
    axis: str
    fixed: tuple[tuple[str, str], ...]
    place: Place
    position: int
    contenders: tuple[Contender, ...]
    missing: tuple[str, ...] = ()
    left_out: int = 0


def boards_of(group: Group, commits: Sequence[Commit], launches: Launches, most: int) -> tuple[list[Board], bool]:
    """Boards of a class, `most` of them at most, and whether there are more.

    Each axis of each benchmark has its first board before any has its second.
    """
    kinds = [*_axes(group, launches), *_releases(group, commits)]
    found = (board for turn in zip_longest(*kinds) for board in turn if board is not None)
    boards = list(islice(found, most + 1))
    chosen = boards[:most]
    order = {id(board): place for place, board in enumerate(chosen)}
    firsts: dict[tuple[str, str], int] = {}
    for board in chosen:
        firsts.setdefault((board.benchmark.name, board.axis), order[id(board)])
    chosen.sort(key=lambda one: (firsts[one.benchmark.name, one.axis], order[id(one)]))
    return chosen, len(boards) > most


def _axes(group: Group, launches: Launches) -> Iterator[Iterator[Board]]:
    for benchmark in group.benchmarks:
        for axis, values in enumerate(benchmark.params):
            if len(values) > 1:
                yield _boards(benchmark, axis, group.series[benchmark.name], launches)


def _boards(benchmark: Benchmark, axis: int, series: Sequence[Series], launches: Launches) -> Iterator[Board]:
    for place in places(series)[:_PLACES]:
        combinations = _combinations(benchmark, axis, [one for one in series if Place.of(one.key) == place])
        for fixed, several in combinations.items():
            board = _board(benchmark, axis, fixed, several, launches)
            if board is not None:
                yield board


def _combinations(
    benchmark: Benchmark, axis: int, series: Sequence[Series]
) -> Mapping[tuple[str, ...], dict[str, Series]]:
    """By the other parameters, in the order they are declared in: the series by their value on the axis.

    What is not declared any more is history, and stands against nothing.
    """
    ranks = [{value: rank for rank, value in enumerate(values)} for values in benchmark.params]
    known = [one for one in series if _declared(one, ranks)]
    known.sort(key=lambda one: [rank[value] for rank, value in zip(ranks, one.key.params, strict=True)])
    found: dict[tuple[str, ...], dict[str, Series]] = {}
    for one in known:
        params = one.key.params
        found.setdefault((*params[:axis], *params[axis + 1 :]), {})[params[axis]] = one
    return found


def _declared(one: Series, ranks: Sequence[Mapping[str, int]]) -> bool:
    params = one.key.params
    return len(params) == len(ranks) and all(value in rank for value, rank in zip(params, ranks, strict=True))


def _board(
    benchmark: Benchmark, axis: int, fixed: tuple[str, ...], several: Mapping[str, Series], launches: Launches
) -> Board | None:
    position = _newest(list(several.values()))
    if position is None:
        return None
    there = {value: one for value, one in several.items() if math.isfinite(_at(one, position))}
    shown = list(there.items())[:_CONTENDERS]
    names = [name for number, name in enumerate(benchmark.param_names) if number != axis]
    return Board(
        benchmark,
        benchmark.param_names[axis] if axis < len(benchmark.param_names) else f"parameter {axis + 1}",
        tuple(zip(names, map(_bare, fixed), strict=False)),
        Place.of(shown[0][1].key),
        position,
        tuple(_contender(_bare(value), one, position, launches) for value, one in shown),
        tuple(_bare(value) for value in benchmark.params[axis] if value not in there)[:_CONTENDERS],
        max(0, len(there) - _CONTENDERS),
    )


def _bare(value: str) -> str:
    return parameters_text((value,))


def _contender(name: str, one: Series, position: int, launches: Launches) -> Contender:
    place = bisect_left(one.positions, position)
    return Contender(name, one.values[place], one.low[place], one.high[place], launches(one, position))


def _at(one: Series, position: int) -> float:
    place = bisect_left(one.positions, position)
    return one.values[place] if place < len(one) and one.positions[place] == position else math.nan


def _newest(series: Sequence[Series]) -> int | None:
    """The newest position where all have a value; else where most have one, two at least."""
    last = [_last(one) for one in series]
    known = [position for position in last if position is not None]
    if len(known) < 2:
        return None
    common = min(known)
    if len(known) == len(series) and all(math.isfinite(_at(one, common)) for one in series):
        return common
    times = Counter(
        position
        for one in series
        for position, value in zip(one.positions, one.values, strict=True)
        if math.isfinite(value)
    )
    position, count = max(times.items(), key=lambda found: (found[1], found[0]))
    return position if count >= 2 else None


def _last(one: Series) -> int | None:
    return next((one.positions[at] for at in reversed(range(len(one))) if math.isfinite(one.values[at])), None)


# ---------------- releases


def _releases(group: Group, commits: Sequence[Commit]) -> Iterator[Iterator[Board]]:
    tagged = [commit for commit in commits if commit.tags]
    if len(tagged) > 1:
        for benchmark in group.benchmarks:
            yield _release_boards(benchmark, group.series[benchmark.name], tagged)


def _release_boards(benchmark: Benchmark, series: Sequence[Series], tagged: Sequence[Commit]) -> Iterator[Board]:
    for place in places(series)[:1]:
        for one in series:
            there = [commit for commit in tagged if math.isfinite(_at(one, commit.position))][-_RELEASES:]
            if Place.of(one.key) == place and len(there) > 1:
                contenders = (_contender(commit.tags[-1], one, commit.position, _none) for commit in there)
                fixed = zip(benchmark.param_names, map(_bare, one.key.params), strict=False)
                yield Board(benchmark, RELEASES, tuple(fixed), place, there[-1].position, tuple(contenders))


def _none(_series: Series, _position: int) -> tuple[float, ...]:
    """Launches of two commits come from two runs, and the machine was another one then, as far as anybody knows."""
    return ()
