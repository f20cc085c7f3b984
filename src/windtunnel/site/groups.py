"""Benchmarks by the page they are on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from windtunnel.history.nouns import Benchmark, ChangePoint, History, Series
from windtunnel.site.levels import Place, main_place

__all__ = ["Group", "groups"]

_FIRST = ("time_request", "track_cpu_per_request", "track_time_per_request", "track_response_time")
"""What a class is judged by, so what is shown of it first."""

_KINDS = ("time", "timeraw", "track", "peakmemory", "memory")


@dataclass(frozen=True)
class Group:
    """A class of benchmarks (or a module's functions), with everything that is known of it.

    Attributes:
        name: `Benchmark.group`.
        benchmarks: what it measures; the one that stands for it comes first.
        series: by the name of the benchmark; () for one without a result.
        change_points: of all of them.
    """

    name: str
    benchmarks: tuple[Benchmark, ...]
    series: Mapping[str, tuple[Series, ...]]
    change_points: tuple[ChangePoint, ...]

    @property
    def main(self) -> Benchmark:
        """What stands for the class on a card: the first one with a result."""
        return next((one for one in self.benchmarks if self.series[one.name]), self.benchmarks[0])

    @property
    def everything(self) -> tuple[Series, ...]:
        """All series."""
        return tuple(one for several in self.series.values() for one in several)

    @property
    def place(self) -> Place | None:
        """Where it was measured last; None where it never was."""
        return main_place(self.everything)

    @property
    def text(self) -> str:
        """The documentation string, of whichever of its benchmarks has one."""
        return next((one.text for one in self.benchmarks if one.text.strip()), "")


_known: WeakKeyDictionary[History, list[Group]] = WeakKeyDictionary()


def groups(history: History) -> list[Group]:
    """All groups, by name. A history does not change while pages are made of it, so this is done once for each."""
    if history not in _known:
        _known[history] = _groups(history)
    return _known[history]


def _groups(history: History) -> list[Group]:
    members: dict[str, list[Benchmark]] = {}
    for benchmark in history.benchmarks():
        members.setdefault(benchmark.group, []).append(benchmark)
    return [_group(history, name, members[name]) for name in sorted(members)]


def _group(history: History, name: str, benchmarks: list[Benchmark]) -> Group:
    ordered = tuple(sorted(benchmarks, key=_importance))
    return Group(
        name,
        ordered,
        series={one.name: history.series(one.name) for one in ordered},
        change_points=tuple(point for one in ordered for point in history.change_points(one.name)),
    )


def _importance(benchmark: Benchmark) -> tuple[int, int, str]:
    first = _FIRST.index(benchmark.metric) if benchmark.metric in _FIRST else len(_FIRST)
    kind = _KINDS.index(benchmark.kind) if benchmark.kind in _KINDS else len(_KINDS)
    return first, kind, benchmark.name
