"""A comment fits, whatever the size of the matrix, and keeps what matters most."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_comparison_markdown import _tokens

from example_reports import MARKER, REPOSITORY, RUN, like, many
from windtunnel.report.around import Around
from windtunnel.report.comparison_labels import GROUPS
from windtunnel.report.markdown import LEAST, comparison_markdown
from windtunnel.report.pieces import RESERVED, Part, Section, fitted

AROUND = Around(REPOSITORY, RUN)


def _balanced(text: str) -> bool:
    html = [token.content for token in _tokens(text) if token.type == "html_block"]
    return sum(one.count("<details>") for one in html) == sum(one.count("</details>") for one in html)


# ---------------- thousands of cases


@given(
    st.lists(st.sampled_from(list(GROUPS)), min_size=1, max_size=12),
    st.sampled_from([0, 30, 300]),
    st.integers(LEAST, 70_000),
)
@example(["regression"], 300, LEAST)
@example(["failed"], 300, 65_000)
@example(list(GROUPS), 30, 60_000)
@settings(max_examples=8, deadline=None)
def test_two_thousand_cases_fit_whatever_they_are(groups: list[str], width: int, limit: int) -> None:
    run, comparison = many(groups, 2_000, width)
    text = comparison_markdown(run, comparison, limit=limit, marker=MARKER, around=AROUND)
    assert len(text) <= limit
    assert text.splitlines()[1].startswith("**")
    assert _balanced(text)
    if "Left out" in text:
        assert text.rstrip().endswith(f"The [summary of the measuring job]({RUN}) has all of it.")


@pytest.mark.parametrize("limit", [LEAST, 10_000, 60_000])
def test_what_got_slower_and_what_failed_are_kept_first(limit: int) -> None:
    text = comparison_markdown(*many(list(GROUPS), 2_000, 30), limit=limit, marker=MARKER, around=AROUND)
    assert "### Slower" in text
    assert "### Failed" in text
    slower = text.partition("### Slower")[2].partition("\n### ")[0].count("| 16 |")
    assert slower >= min(9, limit // 1_000)
    assert text.partition("Unchanged:")[2].count("| 16 |") <= slower


def test_the_largest_change_is_told_first() -> None:
    run, comparison = many(("regression",), 40)
    cases = []
    for number, one in enumerate(comparison.cases):
        metric = one.metrics[one.decided_by]
        cases.append(
            replace(one, metrics={**one.metrics, one.decided_by: replace(metric, effect=1.03 + number / 100)})
        )
    text = comparison_markdown(run, replace(comparison, cases=tuple(cases)), limit=LEAST)
    found = [
        float(one) for one in re.findall(r"\*\*\+(\d+\.\d)\S% ?\S?more", text.replace("\N{NO-BREAK SPACE}", " "))
    ]
    assert found == sorted(found, reverse=True)
    assert not found or found[0] == 42.0


def test_nothing_is_left_out_where_there_is_room() -> None:
    run, comparison = many(list(GROUPS), 200)
    text = comparison_markdown(run, comparison, limit=10**6)
    assert "Left out" not in text
    assert all(f"`{one.case.id}`" in text for one in comparison.cases)


# ---------------- the fitting itself

_rows = st.lists(st.text("abc", max_size=30), max_size=40).map(tuple)
_parts = st.builds(
    Part,
    what=st.sampled_from(["ants", "bees", "cats"]),
    head=st.text("xyz", max_size=60),
    rows=_rows,
    end=st.sampled_from(["", "end"]),
    rank=st.integers(0, 5),
)
_sections = st.lists(
    st.builds(Section, st.sampled_from(["", "### Title"]), st.lists(_parts, min_size=1, max_size=4).map(tuple)),
    max_size=5,
)


@given(_sections, st.integers(RESERVED + 100, 6_000))
def test_no_more_than_fits_is_told_and_all_of_it_where_it_does(sections: list[Section], limit: int) -> None:
    text = fitted("opening\n", sections, limit, "See there.")
    whole = fitted("opening\n", sections, 10**6, "See there.")
    assert len(text) <= limit
    assert "Left out" not in whole
    assert (text == whole) or "Left out" in text
    if len(whole) <= limit - RESERVED:
        assert text == whole
    assert fitted("opening\n", sections, len(whole) + RESERVED, "See there.") == whole


def test_what_is_left_out_is_counted() -> None:
    rows = tuple("r" * 90 for _ in range(100))
    text = fitted("", [Section("### Ants", (Part("ants", "", rows),))], RESERVED + 1_000, "See there.")
    left = 100 - text.count("r" * 90)
    assert f"**Left out for want of space:** {left} of 100 ants. See there." in text


def test_a_title_stands_alone_nowhere() -> None:
    large = Section("### Large", (Part("one", "x" * 5_000), Part("two", "y" * 5_000, rank=1)))
    text = fitted("", [large], RESERVED + 100, "See there.")
    assert "### Large" not in text
    assert "one, two" in text


def test_what_ranks_first_does_not_take_the_place_of_all_others() -> None:
    sections = [
        Section("", (Part("many", "", tuple("m" * 99 for _ in range(1_000)), rank=0),)),
        Section("", (Part("few", "", tuple("f" * 99 for _ in range(3)), rank=1),)),
    ]
    text = fitted("", sections, 4_000, "See there.")
    assert text.count("f" * 99) == 3
    assert 20 < text.count("m" * 99) < 1_000


def test_the_order_of_the_text_is_that_of_the_parts() -> None:
    sections = [Section("", (Part("late", "late", rank=9),)), Section("", (Part("soon", "soon", rank=0),))]
    assert fitted("", sections, 2_000, "") == "\nlate\n\nsoon\n"


def test_a_result_of_every_group_is_at_hand() -> None:
    assert [like(group).verdict for group in GROUPS]
