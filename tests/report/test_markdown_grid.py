"""Cases as a matrix: which cases make one, what stands where, and what is open to the eye."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_comparison_markdown import _tokens

from example_reports import assembled, like, many, matrix_case, shown
from windtunnel.compare.verdict import CaseResult
from windtunnel.report.comparison_labels import GROUPS
from windtunnel.report.markdown import comparison_markdown
from windtunnel.report.markdown_grid import grids_of, matrix_sections

NAMES = ("perl", "connection", "workers", "logging")


def _results(*values: Sequence[str], group: str = "unchanged", benchmark: str = "psgi.Starlet") -> list[CaseResult]:
    """A case for every combination of the values."""
    names = NAMES[: len(values)]
    return [replace(like(group), case=matrix_case(one, names, benchmark)) for one in product(*values)]


def _text(results: Sequence[CaseResult]) -> str:
    return comparison_markdown(*assembled(results), limit=10**6)


def _open(text: str) -> str:
    """What is seen at once."""
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


# ---------------- from cases to tables


def test_two_parameters_are_rows_and_columns() -> None:
    (grid,) = grids_of(_results(("5.32", "5.36", "5.40"), ("close", "keepalive")))
    assert (grid.down, grid.rows) == ("perl", ("5.32", "5.36", "5.40"))
    assert (grid.across, grid.columns) == ("connection", ("close", "keepalive"))
    assert not grid.fixed


def test_the_longer_side_goes_down() -> None:
    (grid,) = grids_of(_results(("5.36", "5.40"), ("a", "b", "c")))
    assert (grid.down, grid.across) == ("connection", "perl")


def test_a_parameter_that_never_changes_is_no_side() -> None:
    (grid,) = grids_of(_results(("5.36", "5.40"), ("close",), ("10", "50")))
    assert (grid.down, grid.across, grid.fixed) == ("perl", "workers", ())


def test_more_parameters_are_a_table_for_each_value_of_the_others() -> None:
    grids = grids_of(_results(("5.32", "5.36", "5.40"), ("close", "keepalive"), ("10", "50"), ("on", "off")))
    assert [grid.fixed for grid in grids] == [
        (("workers", workers), ("logging", logging)) for workers in ("10", "50") for logging in ("on", "off")
    ]
    assert all((grid.down, grid.across) == ("perl", "connection") for grid in grids)


def test_each_benchmark_class_has_tables_of_its_own() -> None:
    results = [*_results(("1", "2"), ("a", "b")), *_results(("1", "2"), ("a", "b"), benchmark="static.File")]
    assert [grid.benchmark for grid in grids_of(results)] == ["psgi.Starlet", "static.File"]


@pytest.mark.parametrize(
    "results",
    [
        [],
        _results(("5.36", "5.40")),
        _results(("5.36", "5.40"), ("close",)),
        _results(("5.32", "5.36", "5.40", "5.42"), ("close",)),
        _results([str(one) for one in range(20)], [str(one) for one in range(20)]),
    ],
    ids=["nothing", "one parameter", "one that changes", "a column", "wider than a page"],
)
def test_what_makes_no_table(results: list[CaseResult]) -> None:
    assert not grids_of(results)


def test_a_table_that_would_be_mostly_empty_is_none() -> None:
    diagonal = [one for one in _results("abcdef", "abcdef") if len({value for _, value in one.case.params}) == 1]
    assert not grids_of(diagonal)


def test_a_place_without_a_case_stays_empty() -> None:
    *results, _ = _results(("5.32", "5.36", "5.40"), ("close", "keepalive"))
    assert "| `5.40` | =\N{NO-BREAK SPACE}0.0\N{NO-BREAK SPACE}% |  |" in _text(results)


def test_two_cases_that_claim_one_place_make_no_table() -> None:
    results = _results(("5.36", "5.40"), ("close", "keepalive"))
    assert not grids_of([*results, results[0]])


def test_parameters_are_those_of_the_case_whatever_is_in_them() -> None:
    (grid,) = grids_of(_results(("a, b", "c|d"), ("e)", "(f")))
    assert (grid.rows, grid.columns) == (("a, b", "c|d"), ("e)", "(f"))


values = st.lists(st.text(max_size=3), min_size=1, max_size=4, unique=True)


@given(st.lists(values, min_size=1, max_size=4), st.data())
def test_every_case_stands_where_its_parameters_say_and_once_at_most(
    sides: list[list[str]], data: st.DataObject
) -> None:
    results = _results(*sides)
    chosen = data.draw(st.lists(st.sampled_from(results), unique_by=lambda one: one.case.params, max_size=40))
    seen = []
    for grid in grids_of(chosen):
        for (row, column), one in grid.cells.items():
            params = dict(one.case.params)
            assert (params[grid.down], params[grid.across]) == (row, column)
            assert all(params[name] == value for name, value in grid.fixed)
            seen.append(one.case.params)
    assert len(seen) == len(set(seen))
    assert set(seen) <= {one.case.params for one in chosen}


# ---------------- what is seen


def test_a_table_is_open_where_something_changed_or_broke() -> None:
    for group in ("regression", "improvement", "failed", "invalid"):
        results = [*_results(("1", "2"), ("a", "b"))[:3], replace(like(group), case=matrix_case("2b", NAMES[:2]))]
        assert "### Matrix" in _open(_text(results))


@pytest.mark.parametrize("group", ["unchanged", "inconclusive", "skipped", "first", "unmeasured"])
def test_a_table_is_closed_where_nothing_did(group: str) -> None:
    text = _text([*_results(("1", "2"), ("a", "b"))[:3], replace(like(group), case=matrix_case("2b", NAMES[:2]))])
    assert "### Matrix" not in text
    assert "<details><summary>Matrix: nothing got slower or faster in it</summary>" in text
    assert "→ |" not in _open(text)


def test_what_is_shown_is_the_metric_that_decided() -> None:
    text = _open(comparison_markdown(shown("grid").run, shown("grid").comparison)).replace("\N{NO-BREAK SPACE}", " ")
    (row,) = re.findall(r"^\| `5\.40` \|.*", text, re.MULTILINE)
    assert row == "| `5.40` | **▲ +6.0 %** | **▲ +8.0 % response** | ! invalid |"
    assert "▼ -7.0 %" in text
    assert re.search(r"~ \+1\.9 % \(\+\d\.\d %\)", text)


_SIGNS = {
    "regression": r"\*\*▲ \+\d+\.\d %( response)?\*\*",
    "failed": "! failed",
    "invalid": "! invalid",
    "improvement": r"▼ -\d+\.\d %",
    "inconclusive": r"~ \+\d+\.\d % \(\+\d+\.\d %\)",
    "unmeasured": r"\? not measured",
    "unchanged": r"= 0\.0 %",
    "first": "new",
    "skipped": "= identical",
}


@pytest.mark.parametrize("group", GROUPS)
def test_every_group_has_a_sign(group: str) -> None:
    *others, last = _results(("1", "2"), ("a", "b"))
    open_, closed = matrix_sections([*others, replace(like(group), case=last.case)], 0, 1)
    (part, *_) = (open_ or closed)[0].parts
    text = "\n".join([part.head, *part.rows]).replace("\N{NO-BREAK SPACE}", " ")
    assert re.search(rf"^\| `2` \| = 0\.0 % \| {_SIGNS[group]} \|$", text, re.MULTILINE), text


@pytest.mark.parametrize("group", ["failed", "invalid", "unmeasured", "first", "skipped"])
def test_a_table_of_one_sign_without_a_figure_is_none(group: str) -> None:
    results = [replace(like(group), case=one.case) for one in _results(("1", "2"), ("a", "b"))]
    assert matrix_sections(results, 0, 1) == ([], [])


def test_all_rows_of_a_table_are_as_wide_as_its_head() -> None:
    results = [
        *_results(("a|b", "`", "\\"), ("|", "c|")),
        *_results(("1", "2"), ("x", "y"), group="regression", benchmark="a|b"),
    ]
    text = _text(results)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        cells = [
            sum(one.type in {"td_open", "th_open"} for one in _tokens(f"{head}\n"))
            for head in (table, "\n".join(table.splitlines()[:2]))
        ]
        assert cells[0] == cells[1] * (len(table.splitlines()) - 1)


def test_many_tables_are_open_up_to_a_number() -> None:
    text = _open(comparison_markdown(*many(("unchanged", "regression"), 1_000), limit=10**6))
    assert text.count("↓") == 6


def test_only_a_long_table_is_cut() -> None:
    perls = [f"5.{number}" for number in range(40)]
    short, long = (
        matrix_sections(
            [
                *_results(rows, ("a", "b"))[:-1],
                replace(like("regression"), case=matrix_case((rows[-1], "b"), NAMES[:2])),
            ],
            0,
            1,
        )[0][0].parts[0]
        for rows in (perls[:30], perls)
    )
    assert not short.rows
    assert len(long.rows) == 40


def test_a_matrix_names_what_its_signs_mean() -> None:
    legend = "CPU per request, where nothing else is named. ▲ slower, ▼ faster, = unchanged, ~ could not be told"
    text = comparison_markdown(shown("grid").run, shown("grid").comparison)
    assert legend in text.replace("\N{NO-BREAK SPACE}", " ")
