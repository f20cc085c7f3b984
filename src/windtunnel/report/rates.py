"""Who is faster than whom: a rate matrix in the style of Perl's cmpthese, and steps from one to the next. Pure.

Rows and columns go from the slowest to the fastest; a cell says how much faster the row is than the column, in per
cent, with its interval. The first column is the rate per second for what is a time, else the value itself.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

from windtunnel.compare.estimate import Sample
from windtunnel.compare.rule import CONFIDENCE
from windtunnel.compare.unpaired import Between, from_intervals, from_launches, least_launches
from windtunnel.report.visible import visible
from windtunnel.units import Direction, Unit, format_change, format_effect, format_value

__all__ = [
    "NO_RATE",
    "Contender",
    "RateMatrix",
    "RateRow",
    "Source",
    "Step",
    "against",
    "cell_words",
    "matrix_words",
    "ordered",
    "rate_matrix",
    "rate_of",
    "rate_rows",
    "render_rates",
    "source_of",
    "steps",
    "version_of",
]

NO_RATE = frozenset({"latency_mean", "latency_p50", "latency_p90", "latency_p99", "time_to_ready"})
"""Metrics that are times, and of which so many a second mean nothing."""

_SAME = "--"
_VERSION = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){0,5})")
_NAME = 40


class Source(Enum):
    """What the intervals come from."""

    TURNS = "turns"
    LAUNCHES = "launches"
    INTERVALS = "intervals"


@dataclass(frozen=True)
class Contender:
    """One of those that are compared: a value of one metric, all in the same unit.

    Attributes:
        name: what it is called.
        value: the metric's value, in the base unit.
        low, high: the 99 % interval that asv has of it; NaN where there is none.
        launches: the metric of each launch where a run file has them.
        turns: by the name of another that was loaded in turn with this one: the log ratio of this one's metric to
            that one's, for each of the launches that both have.
    """

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    launches: tuple[float, ...] = ()
    turns: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether a quotient can be made of it."""
        return self.value > 0 and math.isfinite(self.value)


@dataclass(frozen=True)
class RateRow:
    """A contender against all: `cells` has None on the diagonal."""

    contender: Contender
    rate: str
    cells: tuple[Between | None, ...]


@dataclass(frozen=True)
class RateMatrix:
    """The matrix.

    Attributes:
        rows: from the slowest (worst) to the fastest (best); the columns are in the same order.
        first: what the first column is called ("Rate" or "Value").
        source: what the intervals come from.
        left_out: names of those that have no positive value, which nothing can be divided by.
    """

    rows: tuple[RateRow, ...]
    first: str
    source: Source
    left_out: tuple[str, ...] = field(default=())


@dataclass(frozen=True)
class Step:
    """From one contender to another: `change` is how the new one does against the old one."""

    old: str
    new: str
    change: Between


def source_of(contenders: Sequence[Contender]) -> Source:
    """Launches where everyone has enough of them for an interval; one matrix is never made of two kinds."""
    least = least_launches(CONFIDENCE)
    enough = all(len(one.launches) >= least and min(one.launches) > 0 for one in contenders)
    return Source.LAUNCHES if contenders and enough else Source.INTERVALS


def against(this: Contender, other: Contender, rated: bool, source: Source) -> Between:
    """How this one does against the other: the ratio of rates (1.1 is 10 % faster) for times that are `rated`, else
    that of values.

    Of what was loaded in turn it comes from pairs: Hodges and Lehmann's estimate of their log ratios, with the
    interval of the signed-rank test (see `windtunnel.compare.estimate`). Raises ValueError for a value that is not
    positive and finite.
    """
    if source is Source.TURNS:
        return _from_turns(this, other, -1 if rated else 1)
    one, two = (other, this) if rated else (this, other)
    if source is Source.LAUNCHES:
        return from_launches(one.launches, two.launches, CONFIDENCE)
    return from_intervals(Between(one.value, one.low, one.high), Between(two.value, two.low, two.high))


def _from_turns(this: Contender, other: Contender, sign: int) -> Between:
    ratios = this.turns.get(other.name, ())
    if not ratios:  # no launch of both was good
        return Between((this.value / other.value) ** sign)
    sample = Sample([sign * ratio for ratio in ratios])
    low, high = (math.exp(end) if math.isfinite(end) else math.nan for end in sample.interval(CONFIDENCE))
    return Between(math.exp(sample.estimate), low, high)


def rate_matrix(
    contenders: Sequence[Contender],
    unit: Unit,
    direction: Direction = Direction.LOWER_IS_BETTER,
    rated: bool | None = None,
    source: Source | None = None,
) -> RateMatrix:
    """Everyone against everyone. Those without a positive value are left out, and named.

    Args:
        contenders: in any order; values of one unit.
        unit: which.
        direction: which way is better.
        rated: whether the inverse of the value is a rate per second. None takes it for one where the unit is seconds;
            a percentile of a latency has none.
        source: what the intervals come from; None takes launches where everyone has enough of them. Whoever has no
            other intervals asks for launches: where there are too few of two, these two have none.
    """
    rated = unit is Unit.SECOND if rated is None else rated
    rows = ordered([one for one in contenders if one.usable], direction)
    source = source_of(rows) if source is None else source
    return RateMatrix(
        tuple(
            RateRow(
                row,
                rate_of(row, unit, rated),
                tuple(None if row is column else against(row, column, rated, source) for column in rows),
            )
            for row in rows
        ),
        "Rate" if rated else "Value",
        source,
        tuple(one.name for one in contenders if not one.usable),
    )


def steps(contenders: Sequence[Contender], rated: bool, source: Source) -> tuple[Step, ...]:
    """From each to the next, in the order that they are given in; with more than two, also from first to last.

    Raises ValueError for a value that is not positive and finite.
    """
    ends = [(contenders[0], contenders[-1])] if len(contenders) > 2 else []
    return tuple(
        Step(old.name, new.name, against(new, old, rated, source)) for old, new in [*pairwise(contenders), *ends]
    )


def version_of(name: str) -> tuple[int, ...]:
    """The numbers of a version ("v5.40" is 5 and 40) or of a number; empty for any other name."""
    match = _VERSION.fullmatch(name)
    return tuple(map(int, match[1].split("."))) if match else ()


def ordered(contenders: Sequence[Contender], direction: Direction) -> list[Contender]:
    """From the worst to the best."""
    return sorted(contenders, key=lambda one: one.value, reverse=direction is Direction.LOWER_IS_BETTER)


def rate_of(one: Contender, unit: Unit, rated: bool) -> str:
    """The rate per second, or the value in its own unit."""
    if not rated:
        return format_value(one.value, unit)
    return format_value(1 / one.value if one.usable else None, Unit.PER_SECOND)


def cell_words(cell: Between | None, *, intervals: bool = True) -> str:
    """A cell: ``+10.2 % [+9.0, +11.4]``, and ``--`` for one against itself."""
    if cell is None:
        return _SAME
    return format_effect(cell.ratio, cell.low, cell.high) if intervals else format_change(cell.ratio)


def rate_rows(matrix: RateMatrix, *, intervals: bool = True) -> list[list[str]]:
    """The matrix as a table of texts, its head first. The names are as they are: whoever prints them escapes them."""
    head = ["", matrix.first, *(row.contender.name for row in matrix.rows)]
    return [
        head,
        *(
            [row.contender.name, row.rate, *(cell_words(one, intervals=intervals) for one in row.cells)]
            for row in matrix.rows
        ),
    ]


def render_rates(matrix: RateMatrix, *, intervals: bool = True) -> str:
    """The matrix for a terminal: names on the left, figures on the right; without rows, a word that says so."""
    if not matrix.rows:
        return "nothing was measured that could be compared"
    rows = rate_rows(matrix, intervals=intervals)
    texts = [[visible(cell, _NAME) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return "\n".join(
        "  ".join(
            f"{cell:{'<' if place == 0 else '>'}{width}}"
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in texts
    )


def matrix_words(matrix: RateMatrix) -> str:
    """What a cell means, and what its interval comes from, in a sentence or two."""
    faster = "faster" if matrix.first == "Rate" else "more"
    share = f"{CONFIDENCE * 100:.0f} %"
    source = {
        Source.TURNS: f"{share} intervals from pairs of launches that were loaded in turn",
        Source.LAUNCHES: f"{share} intervals from all launches of both, which were not loaded in turn",
        Source.INTERVALS: "99 % intervals, put together from the two that asv has",
    }[matrix.source]
    known = any(cell is not None and math.isfinite(cell.low) for row in matrix.rows for cell in row.cells)
    source = source if known else "without intervals, for too little was measured to have any"
    return f"A cell says how much {faster} the row is than the column; {source}."
