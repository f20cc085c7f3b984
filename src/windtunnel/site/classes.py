"""A page for each benchmark class: its chart, its newest values, where it changed, and where it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from markupsafe import Markup

from windtunnel.history.nouns import History
from windtunnel.site import paths
from windtunnel.site.changes import Change, changes_of
from windtunnel.site.charts import figure, history_chart
from windtunnel.site.comparisons import compared_paths, comparison_paths
from windtunnel.site.groups import Group, groups
from windtunnel.site.html import fill, paragraphs
from windtunnel.site.levels import Place, months_start, places
from windtunnel.site.page import Around, Page, Resource
from windtunnel.site.tables import Table, latest_csv, tables
from windtunnel.site.versus import versus_paths

__all__ = ["class_pages"]

_OPEN = 40
"""Rows of a table that are seen at once."""

_FOLDED = 260
"""Further rows that a page has, folded; what is beyond them is in the data file."""

_CHANGES = 60
_PLACES = 12


@dataclass(frozen=True)
class _Shown:
    """A table cut to what a page bears."""

    table: Table
    open: int = _OPEN
    folded: int = _FOLDED

    @property
    def left_out(self) -> int:
        """Rows that are in the data file alone."""
        return max(0, len(self.table.rows) - self.open - self.folded)


@dataclass(frozen=True)
class _Site:
    """What all class pages need."""

    history: History
    around: Around
    paths: Mapping[str, str]
    versus: Mapping[str, str]
    runs: Mapping[str, str]
    relative: Mapping[str, str]
    start: int


def class_pages(history: History, around: Around) -> Iterator[Page | Resource]:
    """All class pages, each with its chart's data and a data file of its newest values."""
    site = _Site(
        history,
        around,
        paths.class_paths(history),
        versus_paths(history),
        comparison_paths(history),
        compared_paths(history),
        months_start(history, around.today),
    )
    for group in groups(history):
        path = site.paths[group.name]
        chart = history_chart(history, group, around, path.removesuffix(".html"))
        body = _body(site, group, figure(chart, id="history") if chart else Markup(""))
        yield Page(path, group.name, body, charts=chart is not None, summary=_summary(group))
        yield Resource(_data_path(path), latest_csv(history, group, site.start))
        yield from chart.resources if chart else ()


def _data_path(path: str) -> str:
    return f"{path.removesuffix('.html')}.latest.csv"


def _summary(group: Group) -> str:
    return f"{group.text.partition('.')[0]} {' '.join(one.metric for one in group.benchmarks)}"


def _body(site: _Site, group: Group, chart: Markup) -> Markup:
    path = site.paths[group.name]
    known = places(group.everything)
    changes = changes_of(site.history, group)
    return fill(
        "class.html",
        group=group,
        around=site.around,
        commits=site.history.commits(),
        text=paragraphs(group.text),
        chart=chart,
        shown=list(_shown(site, group, known)),
        changes=changes[:_CHANGES],
        more_changes=max(0, len(changes) - _CHANGES),
        places=known[:_PLACES],
        more_places=max(0, len(known) - _PLACES),
        machines={one.name: one for one in site.history.machines()},
        versus=paths.relative(path, site.versus[group.name]) if group.name in site.versus and known else "",
        relative=paths.relative(path, site.relative[group.name]) if group.name in site.relative else "",
        axes=_axes(group),
        runs={change.commit.hash: _run(site, path, change) for change in changes if change.commit.hash in site.runs},
        data=paths.relative(path, _data_path(path)),
        home=paths.relative(path, paths.HOME),
        all_changes=paths.relative(path, paths.CHANGES),
        all_machines=paths.relative(path, paths.MACHINES),
        all_benchmarks=paths.relative(path, paths.BENCHMARKS),
    )


def _run(site: _Site, path: str, change: Change) -> str:
    return paths.relative(path, site.runs[change.commit.hash])


def _axes(group: Group) -> list[str]:
    """The names of the parameters that have several values."""
    found = {
        name: None
        for one in group.benchmarks
        for name, values in zip(one.param_names, one.params, strict=False)
        if len(values) > 1
    }
    return list(found)


def _shown(site: _Site, group: Group, known: list[Place]) -> Iterator[_Shown]:
    """The tables of the places; all but the first place get few rows."""
    for number, place in enumerate(islice(known, _PLACES)):
        for table in tables(group, place, site.start):
            yield _Shown(table) if number == 0 else _Shown(table, 0, _OPEN)
