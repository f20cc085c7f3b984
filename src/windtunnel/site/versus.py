"""Versus pages: the values of an axis against each other, as bars, as a matrix of rates, and from one to the next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from windtunnel.compare.unpaired import Between
from windtunnel.history.nouns import Commit, History
from windtunnel.report.rates import (
    NO_RATE,
    Contender,
    RateMatrix,
    Source,
    against,
    cell_words,
    matrix_words,
    ordered,
    rate_matrix,
    rate_of,
    source_of,
    steps,
    version_of,
)
from windtunnel.site import paths
from windtunnel.site.boards import RELEASES, Board, boards_of
from windtunnel.site.groups import Group, groups
from windtunnel.site.html import fill
from windtunnel.site.launches import Finder
from windtunnel.site.levels import Place
from windtunnel.site.page import Around, Page
from windtunnel.site.shapes import bar
from windtunnel.site.values import unit_of, value_text
from windtunnel.units import Unit

__all__ = ["VERSUS", "ShownBoard", "shown_board", "versus_pages", "versus_paths"]

VERSUS = "versus/index.html"

_BOARDS = 24
"""Boards of a page; what is beyond them is told, and is in the class page's table."""

_MATRIX = 8
"""A matrix with more columns is read by nobody; the bars say how each does against the best."""

_PAIRS = 12


@dataclass(frozen=True)
class _Bar:
    name: str
    drawing: Markup
    rate: str
    value: str
    behind: str


@dataclass(frozen=True)
class ShownBoard:
    """All that the template prints of a board. `pairs` are from, to, and how the one does against the other."""

    board: Board
    title: str
    commit: Commit
    bars: tuple[_Bar, ...]
    matrix: RateMatrix | None
    cells: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...]
    pairs: tuple[tuple[str, str, str], ...]
    words: str
    best: str
    lead: str
    rated: bool
    first: bool = False


@dataclass(frozen=True)
class _Listed:
    name: str
    link: str
    axes: str
    best: str
    lead: str
    against: str


def versus_paths(history: History) -> Mapping[str, str]:
    """The pages of the classes that have an axis of two values or more."""
    several = {one.group for one in history.benchmarks() if any(len(values) > 1 for values in one.params)}
    tagged = sum(bool(commit.tags) for commit in history.commits()) > 1
    names = {one.group for one in history.benchmarks()} if tagged else several
    return {name: f"versus/{one}.html" for name, one in paths.unique_slugs(sorted(names)).items()}


def versus_pages(history: History, around: Around) -> Iterator[Page]:
    """A page for each class that has anything to set against anything, and their list."""
    commits, finder, found = history.commits(), Finder(history), versus_paths(history)
    classes = paths.class_paths(history)
    listed = []
    for group in groups(history):
        if group.name not in found:
            continue
        boards, more = boards_of(group, commits, finder, _BOARDS)
        shown = [shown_board(board, commits, boards[0].place) for board in boards]
        path = found[group.name]
        yield Page(path, f"{group.name}, versus", _body(path, classes[group.name], group, (shown, more), around))
        if shown:
            listed.append(_row(path, group, shown))
    yield _index(listed)


def _body(
    path: str, class_page: str, group: Group, boards: tuple[Sequence[ShownBoard], bool], around: Around
) -> Markup:
    shown, more = boards
    return fill(
        "versus.html",
        group=group,
        around=around,
        boards=shown,
        more=more,
        releases=RELEASES,
        home=paths.relative(path, paths.HOME),
        index=paths.relative(path, VERSUS),
        class_page=paths.relative(path, class_page),
    )


def _row(path: str, group: Group, shown: Sequence[ShownBoard]) -> _Listed:
    first = shown[0]
    axes = dict.fromkeys(one.board.axis for one in shown)
    return _Listed(
        group.name,
        paths.relative(VERSUS, path),
        ", ".join(axes),
        first.best,
        first.lead,
        first.board.benchmark.metric,
    )


def _index(listed: Sequence[_Listed]) -> Page:
    body = fill("versus-index.html", rows=listed, home=paths.relative(VERSUS, paths.HOME))
    return Page(VERSUS, "Versus", body, section="Performance")


# ---------------- a board


def shown_board(board: Board, commits: Sequence[Commit], usual: Place) -> ShownBoard:
    """A board as the template prints it; its title names the place where that is not the `usual` one."""
    unit, direction = unit_of(board.benchmark), board.benchmark.direction
    rated = unit is Unit.SECOND and board.benchmark.metric.removeprefix("track_") not in NO_RATE
    usable = [one for one in board.contenders if one.usable]
    best_first = list(reversed(ordered(usable, direction)))
    matrix = rate_matrix(board.contenders, unit, direction, rated) if 2 <= len(usable) <= _MATRIX else None
    source = source_of(usable)
    lead = against(best_first[0], best_first[-1], rated, source) if len(usable) > 1 else None
    return ShownBoard(
        board,
        _title(board) + (f" ({_named(board.place, usual)})" if board.place != usual else ""),
        commits[board.position],
        tuple(_bars(board, rated, best_first)),
        matrix,
        tuple(_cells(matrix)) if matrix else (),
        tuple(_pairs(usable, rated)),
        matrix_words(matrix if matrix else rate_matrix(best_first[:2], unit, direction, rated)),
        best_first[0].name if best_first else "",
        f"{cell_words(lead)} against {best_first[-1].name}" if lead else "",
        rated,
    )


def _title(board: Board) -> str:
    fixed = ", ".join(f"{name} {value}" for name, value in board.fixed)
    return f"{board.benchmark.label or board.benchmark.metric} by {board.axis}" + (f": {fixed}" if fixed else "")


def _named(place: Place, usual: Place) -> str:
    """The place by what it has other than the usual one."""
    parts = [(place.machine, usual.machine), (place.environment, usual.environment)]
    return ", ".join(own for own, other in parts if own != other)


def _bars(board: Board, rated: bool, best_first: Sequence[Contender]) -> Iterator[_Bar]:
    """In the order of the axis; what has a rate is drawn as that, so that longer is better."""
    source = source_of(best_first)
    scaled = {one.name: _scaled(one, rated) for one in board.contenders}
    ends = [end for three in scaled.values() for end in three if math.isfinite(end)]
    most = max(ends, default=0.0)
    for one in board.contenders:
        behind = "" if not one.usable else cell_words(_against_best(one, best_first[0], rated, source))
        yield _Bar(
            one.name,
            bar(*scaled[one.name], most),
            rate_of(one, Unit.SECOND, rated) if rated else "",
            value_text(one.value, board.benchmark),
            behind,
        )


def _against_best(one: Contender, best: Contender, rated: bool, source: Source) -> Between | None:
    return None if one is best else against(one, best, rated, source)


def _scaled(one: Contender, rated: bool) -> tuple[float, float, float]:
    if not rated:
        return one.value, one.low, one.high
    ends = [1 / end if end > 0 and math.isfinite(end) else math.nan for end in (one.value, one.high, one.low)]
    return ends[0], ends[1], ends[2]


def _cells(matrix: RateMatrix) -> Iterator[tuple[str, str, tuple[tuple[str, str], ...]]]:
    """Each row's name, rate, and cells: the change, and its interval in brackets."""
    for row in matrix.rows:
        words = [cell_words(cell).partition(" [") for cell in row.cells]
        yield row.contender.name, row.rate, tuple((change, bracket.strip() + ends) for change, bracket, ends in words)


def _pairs(usable: Sequence[Contender], rated: bool) -> Iterator[tuple[str, str, str]]:
    """From each version to the next, and from the first to the last, where the names are versions or numbers."""
    versions = {one.name: version_of(one.name) for one in usable}
    if len(usable) < 2 or len(usable) > _PAIRS or not all(versions.values()):
        return
    rising = sorted(usable, key=lambda one: versions[one.name])
    for step in steps(rising, rated, source_of(usable)):
        yield step.old, step.new, cell_words(step.change)
