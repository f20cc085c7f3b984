"""The first page: what changed lately, what fails, and a card for each class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from windtunnel.history.nouns import History
from windtunnel.site import paths
from windtunnel.site.cards import Card, Failure, card_of, failures_of
from windtunnel.site.changes import Change, all_changes
from windtunnel.site.groups import groups
from windtunnel.site.html import fill
from windtunnel.site.levels import months_start
from windtunnel.site.page import Around, Page
from windtunnel.site.runpages import RUNS
from windtunnel.site.sparkline import sparkline
from windtunnel.site.versus import VERSUS

__all__ = ["home_page"]

_LATELY = 10
_FAILURES = 8
_SECTION = "Performance"


@dataclass(frozen=True)
class _Seen:
    """What the page is made of."""

    cards: Sequence[Card]
    lately: Sequence[Change]
    older: Sequence[Change]
    failures: Sequence[Failure]


def home_page(history: History, around: Around) -> Iterator[Page]:
    """The page; of a history without results it says how to get some."""
    if not history.commits():
        yield Page(paths.HOME, _SECTION, fill("nothing.html", around=around), section=_SECTION)
        return
    yield Page(paths.HOME, _SECTION, _body(history, around), section=_SECTION, summary="what changed lately")


def _body(history: History, around: Around) -> Markup:
    seen = _seen(history, around)
    links = paths.class_paths(history)
    return fill(
        "home.html",
        around=around,
        newest=history.commits()[-1],
        commits=history.commits(),
        counts=_counts(seen.lately),
        lately=seen.lately[:_LATELY],
        more=max(0, len(seen.lately) - _LATELY),
        older=seen.older[: 0 if seen.lately else _LATELY],
        broken=[one for one in seen.failures if one.since >= 0],
        failures=[one for one in seen.failures if one.since < 0],
        most=_FAILURES,
        cards=seen.cards,
        spark=sparkline,
        links=links,
        unreadable=len(history.unreadable()),
        runs=len(history.runs()),
        to=_Links(),
    )


def _seen(history: History, around: Around) -> _Seen:
    start, known = months_start(history, around.today), groups(history)
    changes = all_changes(history, known)
    lately = [change for change in changes if change.commit.position >= start]
    by_group: Mapping[str, list[Change]] = {group.name: [] for group in known}
    for change in lately:
        by_group[change.benchmark.group].append(change)
    cards = [card_of(group, start, by_group[group.name]) for group in known]
    failures = [failure for group in known for failure in failures_of(group, start)]
    failures.sort(key=lambda one: -one.since)
    return _Seen(sorted(cards, key=_importance), lately, changes[len(lately) :], failures)


def _importance(card: Card) -> tuple[bool, float, str]:
    return not card.line, -card.weight, card.name


def _counts(lately: Sequence[Change]) -> dict[str, int]:
    """How many benchmarks got better and worse."""
    return {tone: len({one.benchmark.name for one in lately if one.tone == tone}) for tone in ("worse", "better")}


@dataclass(frozen=True)
class _Links:
    """Where the first page leads to."""

    benchmarks: str = paths.relative(paths.HOME, paths.BENCHMARKS)
    changes: str = paths.relative(paths.HOME, paths.CHANGES)
    versus: str = paths.relative(paths.HOME, VERSUS)
    runs: str = paths.relative(paths.HOME, RUNS)
    feed: str = paths.relative(paths.HOME, paths.FEED)
    machines: str = paths.relative(paths.HOME, paths.MACHINES)
