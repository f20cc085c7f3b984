"""Boards of the values of a parameter as text and as JSON. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.compare.rule import CONFIDENCE
from windtunnel.compare.unpaired import Between
from windtunnel.model import METRICS
from windtunnel.report.pairwise import Board, Pool, rated
from windtunnel.report.rates import cell_words, matrix_words, render_rates
from windtunnel.report.visible import visible
from windtunnel.units import Missing, Value

__all__ = ["FORMAT", "VERSION", "boards_to_json", "render_boards"]

FORMAT = "windtunnel-versus"
VERSION = 1

_INDENT = "  "


def render_boards(boards: Sequence[Board], pool: Pool, width: int | None = None) -> str:
    """All of them for a terminal, then what was no case at all, and what the cells mean.

    Where `width` columns are too few for a matrix, its cells go without their intervals, and a line says so.
    """
    legends = dict.fromkeys(matrix_words(board.matrix) for board in boards if len(board.contenders) > 1)
    others = [f"not measured: {visible(name)}: {visible(why)}" for name, why in _others(pool).items()]
    parts = ["\n".join(lines) for lines in (*(_lines(board, width) for board in boards), others) if lines]
    return "\n\n".join([*parts, *legends])


def _others(pool: Pool) -> Mapping[str, str]:
    """Why something was not even a case."""
    known = {case.id for case in pool.cases}
    return {name: why for name, why in pool.failures.items() if name not in known}


def _lines(board: Board, width: int | None) -> list[str]:
    inside = [*_matrix(board, width), *_steps(board)]
    told = [f"not measured: {_named(board, name)}: {visible(why)}" for name, why in board.unmeasured.items()]
    notes = [f"note: {visible(note)}" for note in board.notes]
    return [_title(board), *(f"{_INDENT}{line}".rstrip() for line in [*inside, *told, *notes])]


def _matrix(board: Board, width: int | None) -> list[str]:
    whole = render_rates(board.matrix).splitlines()
    if width is None or max(map(len, whole)) + len(_INDENT) <= width:
        return whole
    return [
        *render_rates(board.matrix, intervals=False).splitlines(),
        f"without the intervals, for which {width} columns are too few; a pipe or --json has them",
    ]


def _title(board: Board) -> str:
    fixed = ", ".join(f"{visible(name)} {visible(value)}" for name, value in board.fixed)
    return f"{visible(board.benchmark)} by {visible(board.by)}{': ' + fixed if fixed else ''}   {_metric(board)}"


def _metric(board: Board) -> str:
    """The metric, and how many launches each contender has."""
    counts = sorted({len(one.launches) for one in board.contenders})
    shown = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1]))) if counts else "no"
    launches = f"{shown} launch{'es' if counts != [1] else ''} each"
    return f"{board.metric.replace('_', ' ')}{' as a rate' if rated(board.metric) else ''}, {launches}"


def _named(board: Board, name: str) -> str:
    return f"{visible(board.by)} {visible(name)}"


def _steps(board: Board) -> list[str]:
    if not board.steps:
        return []
    names = [f"{_named(board, one.old)} -> {visible(one.new)}:" for one in board.steps]
    width = max(map(len, names))
    return ["", *(f"{name:<{width}} {cell_words(one.change)}" for name, one in zip(names, board.steps, strict=True))]


# ---------------- for programs


def boards_to_json(boards: Sequence[Board], pool: Pool, runs: Sequence[str], outcome: int) -> dict[str, Any]:
    """The same as JSON values. Ratios are of rates where `rated`, else of values: 1.1 is 10 % more.

    `runs` are the ids of the runs that it comes from, `outcome` is the exit code.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "runs": list(runs),
        "outcome": outcome,
        "confidence": CONFIDENCE,
        "boards": [_board_json(board) for board in boards],
        "unmeasured": dict(_others(pool)),
    }


def _board_json(board: Board) -> dict[str, Any]:
    return {
        "benchmark": board.benchmark,
        "by": board.by,
        "fixed": dict(board.fixed),
        "metric": board.metric,
        "unit": METRICS[board.metric].unit.value,
        "rated": rated(board.metric),
        "values": [
            {"name": one.name, "median": one.value, "launches": list(one.launches)} for one in board.contenders
        ],
        "matrix": {
            row.contender.name: {
                column.contender.name: _between(cell)
                for column, cell in zip(board.matrix.rows, row.cells, strict=True)
                if cell is not None
            }
            for row in board.matrix.rows
        },
        "steps": [{"from": one.old, "to": one.new, **_between(one.change)} for one in board.steps],
        "unmeasured": dict(board.unmeasured),
        "notes": list(board.notes),
    }


def _between(one: Between) -> Mapping[str, Any]:
    return {name: _known(value) for name, value in (("ratio", one.ratio), ("low", one.low), ("high", one.high))}


def _known(value: Value) -> Any:
    if isinstance(value, Missing) or not math.isfinite(value):
        return {"missing": "too few launches for an interval"}
    return value
