"""What changed: change points put together, so that one cause is one line. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from windtunnel.history.nouns import Benchmark, ChangePoint, Commit, History
from windtunnel.site.groups import Group
from windtunnel.site.levels import Place
from windtunnel.site.paths import slug
from windtunnel.site.values import parameters_text, unit_of, value_text
from windtunnel.units import Direction, Unit, format_share

__all__ = ["Change", "all_changes", "changes_of", "which_text"]

_NAMED = 2
"""So many parameter combinations are named, of more there is a count."""


@dataclass(frozen=True)
class Change:
    """A benchmark that changed at one commit and one place, in one or more of its parameter combinations.

    Attributes:
        benchmark: which.
        place: where it was seen.
        commit: the first one with the new level.
        previous: the last one before it that was measured; the cause may be any commit after that.
        points: the change points, the largest change first; all in the same direction.
        of: how many combinations the benchmark has results for there.
    """

    benchmark: Benchmark
    place: Place
    commit: Commit
    previous: Commit
    points: tuple[ChangePoint, ...]
    of: int

    @property
    def ratio(self) -> float:
        """after / before of the largest change."""
        return self.points[0].ratio

    @property
    def tone(self) -> str:
        """ "better" or "worse"."""
        lower = self.benchmark.direction is Direction.LOWER_IS_BETTER
        return "worse" if self.rose is lower else "better"

    @property
    def rose(self) -> bool:
        """Whether the values are higher now."""
        return self.points[0].after > self.points[0].before

    @property
    def which(self) -> str:
        """The parameter combinations: ``5.40, keepalive``; ``12 of 40 combinations``; "" where there are none."""
        return which_text(self.benchmark, sorted(point.key.params for point in self.points), self.of)

    @property
    def words(self) -> str:
        """``6 % slower``, ``5 to 7 % faster``, ``12 % more``."""
        sizes = sorted(abs(point.ratio - 1) for point in self.points if math.isfinite(point.ratio))
        if not sizes:
            return f"{self._comparative} than nothing"
        low, high = (format_share(_rounded(size)) for size in (sizes[0], sizes[-1]))
        return f"{high if low == high else f'{low[:-2]} to {high}'} {self._comparative}"

    @property
    def levels(self) -> str:
        """``2.001 ms → 2.121 ms``, of the largest change."""
        point = self.points[0]
        return f"{value_text(point.before, self.benchmark)} → {value_text(point.after, self.benchmark)}"

    @property
    def anchor(self) -> str:
        """Tells it from the others on its class page: a fragment of an address."""
        return f"c-{self.commit.hash[:12]}-{slug(self.benchmark.metric)}"

    @property
    def _comparative(self) -> str:
        if unit_of(self.benchmark) is Unit.SECOND:
            return "slower" if self.rose else "faster"
        return "more" if self.rose else "less"


def which_text(benchmark: Benchmark, params: Sequence[tuple[str, ...]], of: int) -> str:
    """Some of a benchmark's `of` parameter combinations in words: their values, or a count of many; "" for none."""
    if not benchmark.param_names:
        return ""
    if len(params) <= _NAMED:
        return "; ".join(parameters_text(one) for one in params)
    return f"{len(params)} of {of} combinations"


def _rounded(size: float) -> float:
    """Two digits: a level is not known better than that."""
    return float(f"{size:.2g}")


def all_changes(history: History, groups: Iterable[Group]) -> list[Change]:
    """The changes of all classes, the newest first; of one commit the largest first."""
    return _newest_first(change for group in groups for change in _changes(history, group))


def changes_of(history: History, group: Group) -> list[Change]:
    """The changes of one class, the newest first."""
    return _newest_first(_changes(history, group))


def _newest_first(changes: Iterable[Change]) -> list[Change]:
    return sorted(changes, key=lambda one: (-one.commit.position, -_size(one.ratio), one.benchmark.name, one.place))


def _size(ratio: float) -> float:
    return abs(math.log(ratio)) if ratio > 0 and math.isfinite(ratio) else math.inf


def _changes(history: History, group: Group) -> Iterator[Change]:
    commits = history.commits()
    for benchmark in group.benchmarks:
        together: dict[tuple[Place, int, bool], list[ChangePoint]] = {}
        for point in history.change_points(benchmark.name):
            place = Place.of(point.key)
            together.setdefault((place, point.position, point.after > point.before), []).append(point)
        for (place, position, _), points in together.items():
            points.sort(key=lambda one: (-_size(one.ratio), one.key))
            previous = max(point.previous for point in points)
            of = _count(group, benchmark, place)
            yield Change(benchmark, place, commits[position], commits[previous], tuple(points), of)


def _count(group: Group, benchmark: Benchmark, place: Place) -> int:
    return sum(Place.of(one.key) == place for one in group.series[benchmark.name])
