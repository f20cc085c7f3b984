"""The rate matrix, beside one that Perl's cmpthese printed."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.report.rates import (
    Contender,
    Source,
    matrix_words,
    rate_matrix,
    rate_rows,
    render_rates,
    source_of,
)
from windtunnel.units import Direction, Unit

CMPTHESE = """\
                  Rate  perl_memcahed memcached_fast   libmemcached
perl_memcahed   3837/s             --           -80%           -88%
memcached_fast 18939/s           394%             --           -42%
libmemcached   32895/s           757%            74%             --
"""
"""Three cache clients, as a report of 2008 has them."""


def _times(**rates: float) -> list[Contender]:
    return [Contender(name, 1 / rate) for name, rate in rates.items()]


def _percents(text: str) -> list[list[int]]:
    return [
        [round(float(cell)) for cell in re.findall(r"([-+]?\d+(?:\.\d+)?) ?%", line)] for line in text.splitlines()
    ]


def test_the_cells_are_those_of_cmpthese() -> None:
    measured = _times(libmemcached=32895, perl_memcahed=3837, memcached_fast=18939)
    text = render_rates(rate_matrix(measured, Unit.SECOND), intervals=False)
    assert _percents(text) == _percents(CMPTHESE)
    names = [line.split()[0] for line in CMPTHESE.splitlines()]
    assert [line.split()[0] for line in text.splitlines()] == names
    assert re.findall(r"([\d,]+)/s", text) == ["3,837", "18,939", "32,895"]


def test_launches_give_the_interval_where_everyone_has_enough() -> None:
    launches = tuple(0.001 * (1 + place / 1000) for place in range(8))
    both = [
        Contender("slow", 0.002, launches=tuple(2 * one for one in launches)),
        Contender("fast", 0.001, 0, 0, launches),
    ]
    matrix = rate_matrix(both, Unit.SECOND)
    assert matrix.source is Source.LAUNCHES
    cell = matrix.rows[1].cells[0]
    assert cell is not None
    assert cell.ratio == pytest.approx(2)
    assert 1.98 < cell.low < 2 < cell.high < 2.02
    assert "95 %" in matrix_words(matrix)
    assert "launches" in matrix_words(matrix)


def test_one_who_has_no_launches_makes_all_go_by_intervals() -> None:
    launches = (0.001,) * 8
    both = [Contender("slow", 0.002, 0.0019, 0.0021), Contender("fast", 0.001, 0.00095, 0.00105, launches)]
    matrix = rate_matrix(both, Unit.SECOND)
    assert matrix.source is Source.INTERVALS
    assert "99 %" in matrix_words(matrix)
    cell = matrix.rows[1].cells[0]
    assert cell is not None
    assert cell.low < 2 < cell.high
    assert source_of([Contender("x", 1.0, launches=(1.0, 0.0, 1.0, 1.0, 1.0))]) is Source.INTERVALS
    assert source_of([]) is Source.INTERVALS


def test_what_is_no_time_shows_its_value_and_sorts_by_its_direction() -> None:
    sizes = [Contender("small", 1 << 20), Contender("big", 3 << 20)]
    matrix = rate_matrix(sizes, Unit.BYTE)
    assert rate_rows(matrix, intervals=False) == [
        ["", "Value", "big", "small"],
        ["big", "3.000 MiB", "--", "+200.0 %"],
        ["small", "1.000 MiB", "-66.7 %", "--"],
    ]
    assert "more" in matrix_words(matrix)
    higher = rate_matrix(sizes, Unit.BYTE, Direction.HIGHER_IS_BETTER)
    assert [row.contender.name for row in higher.rows] == ["small", "big"]


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_value_that_divides_nothing_is_named(bad: float) -> None:
    matrix = rate_matrix([Contender("broken", bad), *_times(a=10, b=20)], Unit.SECOND)
    assert matrix.left_out == ("broken",)
    assert [row.contender.name for row in matrix.rows] == ["a", "b"]


def test_nothing_is_told_in_words() -> None:
    assert render_rates(rate_matrix([], Unit.SECOND)) == "nothing was measured that could be compared"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(1e-9, 1e6), min_size=1, max_size=6))
def test_a_row_is_faster_than_those_above_it(values: list[float]) -> None:
    matrix = rate_matrix([Contender(str(place), value) for place, value in enumerate(values)], Unit.SECOND)
    assert all(one.contender.value >= other.contender.value for one, other in pairwise(matrix.rows))
    for place, row in enumerate(matrix.rows):
        assert [cell is None for cell in row.cells] == [place == other for other in range(len(values))]
        assert all(cell is None or cell.ratio >= 1 - 1e-9 for cell in row.cells[:place])


def test_names_steer_no_terminal() -> None:
    text = render_rates(rate_matrix([Contender("\x1b[31mred\nline", 1.0), Contender("b", 2.0)], Unit.SECOND))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 3


def test_a_time_that_is_no_rate_is_told_as_it_is() -> None:
    measured = [Contender("a", 0.004), Contender("b", 0.002)]
    assert rate_rows(rate_matrix(measured, Unit.SECOND, rated=False)) == [
        ["", "Value", "a", "b"],
        ["a", "4.000 ms", "--", "+100.0 %"],
        ["b", "2.000 ms", "-50.0 %", "--"],
    ]


def test_a_matrix_without_intervals_claims_none() -> None:
    assert "without intervals" in matrix_words(rate_matrix(_times(a=10, b=20), Unit.SECOND))
    assert "99 %" not in matrix_words(rate_matrix(_times(a=10, b=20), Unit.SECOND))
