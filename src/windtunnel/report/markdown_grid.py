"""Cases as a matrix, version by configuration: the verdicts of a benchmark class at one glance. Pure.

A class whose cases differ in two parameters is one table; one that differs in more is a table for each value of the
others. What the parameters are is taken from the cases, never from their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from windtunnel.compare.verdict import CaseResult
from windtunnel.report.comparison_words import effect_parts, group_of
from windtunnel.report.pieces import Part, Section, cell, code, tight
from windtunnel.units import Missing, format_change

__all__ = ["Grid", "grids_of", "matrix_sections"]

_COLUMNS = 12
"""A wider table fits no page."""

_NAME = 40
_OPEN_TABLES = 6
_LONG = 30
_LEAST = 4
_TELLING = frozenset({"regression", "improvement", "failed", "invalid"})
"""Of what a table is open, so that it is seen."""

_WITHOUT_FIGURE = frozenset({"failed", "invalid", "unmeasured", "first", "skipped"})


@dataclass(frozen=True)
class Grid:
    """A table of cases of one benchmark class.

    Attributes:
        benchmark: the class.
        fixed: the parameters that are the same in the whole table and not in the whole class, with their values.
        down, across: the parameters of the rows and of the columns.
        rows, columns: their values, in the order in which the cases have them.
        cells: the cases, by row and column; not every place need have one.
    """

    benchmark: str
    fixed: tuple[tuple[str, str], ...]
    down: str
    across: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], CaseResult]

    @property
    def telling(self) -> bool:
        """Whether something changed or broke in it."""
        return any(group_of(one) in _TELLING for one in self.cells.values())

    @property
    def blank(self) -> bool:
        """Whether all of it is one sign without a figure, which a list says better."""
        groups = {group_of(one) for one in self.cells.values()}
        return len(groups) == 1 and groups <= _WITHOUT_FIGURE


# ---------------- from cases to tables


def grids_of(cases: Iterable[CaseResult]) -> list[Grid]:
    """Every table that there is, in the order of the cases."""
    classes: dict[tuple[str, tuple[str, ...]], list[CaseResult]] = {}
    for one in cases:
        names = tuple(name for name, _ in one.case.params)
        classes.setdefault((one.case.benchmark, names), []).append(one)
    return [grid for (_, names), found in classes.items() for grid in _of_class(names, found)]


def _of_class(names: Sequence[str], cases: Sequence[CaseResult]) -> list[Grid]:
    if len(names) < 2 or len(cases) < _LEAST:
        return []
    values = [_distinct(_value(one, place) for one in cases) for place in range(len(names))]
    varying = [place for place in range(len(names)) if len(values[place]) > 1]
    axes = _axes({place: len(values[place]) for place in varying})
    if axes is None:
        return []
    others = [place for place in varying if place not in axes]
    tables: dict[tuple[str, ...], list[CaseResult]] = {}
    for one in cases:
        tables.setdefault(tuple(_value(one, place) for place in others), []).append(one)
    made = [_grid(names, axes, others, found) for found in tables.values()]
    return [grid for grid in made if grid is not None]


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _value(one: CaseResult, place: int) -> str:
    return one.case.params[place][1]


def _axes(counts: Mapping[int, int]) -> tuple[int, int] | None:
    """Down goes what has most values, across what has most of the rest and still fits."""
    down = max(counts, key=lambda place: counts[place], default=None)
    across = max(
        (place for place in counts if place != down and counts[place] <= _COLUMNS),
        key=lambda place: counts[place],
        default=None,
    )
    return None if down is None or across is None else (down, across)


def _grid(
    names: Sequence[str], axes: tuple[int, int], others: Sequence[int], cases: Sequence[CaseResult]
) -> Grid | None:
    """A table, unless it would be mostly empty, or two cases claim one place."""
    down, across = axes
    cells = {(_value(one, down), _value(one, across)): one for one in cases}
    rows, columns = (_distinct(_value(one, place) for one in cases) for place in axes)
    dense = 2 * len(cells) >= len(rows) * len(columns)
    if len(cells) < max(_LEAST, len(cases)) or min(len(rows), len(columns)) < 2 or not dense:
        return None
    fixed = tuple((names[place], _value(cases[0], place)) for place in others)
    return Grid(cases[0].case.benchmark, fixed, names[down], names[across], rows, columns, cells)


# ---------------- from tables to text


def matrix_sections(cases: Sequence[CaseResult], rank: int, folded_rank: int) -> tuple[list[Section], list[Section]]:
    """The tables in which something is to be seen, open; and all others together, closed."""
    grids = [grid for grid in grids_of(cases) if not grid.blank]
    telling = [grid for grid in grids if grid.telling]
    shown, folded = telling[:_OPEN_TABLES], [*telling[_OPEN_TABLES:], *(one for one in grids if not one.telling)]
    parts = tuple(_part(grid, _legend(shown) if grid is shown[0] else "", rank) for grid in shown)
    return [Section("### Matrix", parts)] if parts else [], _folded(folded, folded_rank)


def _part(grid: Grid, legend: str, rank: int) -> Part:
    """A table as a whole; only a long one may be cut between its rows."""
    end = f"\n{legend}" if legend else ""
    if len(grid.rows) > _LONG:
        return Part("rows of the matrix", _head(grid), _rows(grid), end, rank)
    return Part("tables of the matrix", "\n".join([_head(grid), *_rows(grid)]), end=end, rank=rank)


def _folded(grids: Sequence[Grid], rank: int) -> list[Section]:
    if not grids:
        return []
    what = "nothing got slower or faster in it" if not any(one.telling for one in grids) else "the other tables"
    tables = tuple("\n".join([_head(grid), *_rows(grid), ""]) for grid in grids)
    head = f"<details><summary>Matrix: {what}</summary>\n"
    return [Section("", (Part("tables of the matrix", head, tables, f"{_legend(grids)}\n\n</details>", rank),))]


def _head(grid: Grid) -> str:
    fixed = "".join(f", {code(f'{name} = {value}', most=2 * _NAME)}" for name, value in grid.fixed)
    corner = f"{cell(grid.down, most=_NAME)} ↓ {cell(grid.across, most=_NAME)} →"
    columns = " | ".join(cell(value, most=_NAME) for value in grid.columns)
    return f"{code(grid.benchmark)}{fixed}\n\n| {corner} | {columns} |\n|:--|{':--|' * len(grid.columns)}"


def _rows(grid: Grid) -> tuple[str, ...]:
    return tuple(
        f"| {cell(row, most=_NAME)} | "
        + " | ".join(_cell(grid.cells.get((row, column))) for column in grid.columns)
        + " |"
        for row in grid.rows
    )


def _cell(result: CaseResult | None) -> str:
    return "" if result is None else tight(_CELLS[group_of(result)](result))


_SHORT = {"time_per_request": "time", "response_time": "response"}
"""What a figure is of, where it is not CPU."""


def _change(result: CaseResult) -> str:
    one = result.metrics.get(result.decided_by)
    if one is None or isinstance(one.effect, Missing):
        return ""
    change, _, _ = effect_parts(one)
    return " ".join(part for part in (change, _SHORT.get(one.metric, "")) if part)


def _inconclusive(result: CaseResult) -> str:
    one = result.metrics.get(result.decided_by)
    seen = "" if one is None or isinstance(one.mde, Missing) else f"({format_change(1 + one.mde)})"
    return " ".join(part for part in ("~", _change(result), seen) if part)


_CELLS: Mapping[str, Callable[[CaseResult], str]] = {
    "regression": lambda one: f"**▲ {_change(one)}**",
    "improvement": lambda one: f"▼ {_change(one)}",
    "unchanged": lambda one: f"= {_change(one)}",
    "inconclusive": _inconclusive,
    "failed": lambda _one: "! failed",
    "invalid": lambda _one: "! invalid",
    "unmeasured": lambda _one: "? not measured",
    "first": lambda _one: "new",
    "skipped": lambda one: "= identical" if one.kind == "identical" else "–",
}

_SIGNS = {
    "regression": "▲\N{NO-BREAK SPACE}slower",
    "improvement": "▼\N{NO-BREAK SPACE}faster",
    "unchanged": "=\N{NO-BREAK SPACE}unchanged",
    "inconclusive": "~\N{NO-BREAK SPACE}could not be told (in brackets the slowdown that could have been seen)",
}
"""What does not speak for itself."""


def _legend(grids: Sequence[Grid]) -> str:
    groups = {group_of(one) for grid in grids for one in grid.cells.values()}
    signs = [words for name, words in _SIGNS.items() if name in groups]
    told = f"CPU per request, where nothing else is named. {', '.join(signs)}." if signs else ""
    return told.strip()
