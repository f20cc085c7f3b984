"""All benchmarks by name, also those without a result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from windtunnel.history.nouns import Benchmark, History, Series
from windtunnel.site import paths
from windtunnel.site.groups import Group, groups
from windtunnel.site.html import fill
from windtunnel.site.page import Around, Page

__all__ = ["Entry", "entries", "listing_page"]


@dataclass(frozen=True)
class Entry:
    """A benchmark in the list.

    Attributes:
        declared: how many parameter combinations it has.
        measured: how many of them ever had a value.
        newest: position of the newest value or failure, -1 where there is none.
    """

    benchmark: Benchmark
    declared: int
    measured: int
    newest: int


def listing_page(history: History, around: Around) -> Iterator[Page]:
    """The page."""
    body = fill(
        "listing.html",
        around=around,
        commits=history.commits(),
        groups=[(group, entries(group)) for group in groups(history)],
        links={group: paths.relative(paths.BENCHMARKS, path) for group, path in paths.class_paths(history).items()},
    )
    yield Page(paths.BENCHMARKS, "Benchmarks", body, section="Performance", summary="all benchmarks by name")


def entries(group: Group) -> list[Entry]:
    """The benchmarks of a class."""
    return [_entry(benchmark, group.series[benchmark.name]) for benchmark in group.benchmarks]


def _entry(benchmark: Benchmark, series: tuple[Series, ...]) -> Entry:
    measured = {one.key.params for one in series if any(map(math.isfinite, one.values))}
    newest = max((one.positions[-1] for one in series if len(one)), default=-1)
    return Entry(benchmark, math.prod(len(values) for values in benchmark.params), len(measured), newest)
