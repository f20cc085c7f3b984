"""The page that answers the five posts: its tables are those of the runs that are kept, and say what these say."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from benchlib.answers import (
    KEPT,
    PAIRS,
    Claim,
    Question,
    agreement,
    claims_table,
    kept,
    pairs_table,
    read_questions,
    told,
)

from windtunnel.compare.unpaired import Between
from windtunnel.errors import ConfigError

QUESTIONS = {one.name: one for one in read_questions()}


def _placed(page: Path, name: str) -> str:
    match = re.search(rf"<!-- {name} -->\n(.*?)<!-- end of {name} -->", page.read_text("utf-8"), re.DOTALL)
    assert match is not None
    return match[1].strip()


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_page_has_what_the_kept_run_says(name: str) -> None:
    question = QUESTIONS[name]
    assert _placed(question.page, name) == told(question, kept(question)).strip()


def test_pairs_say_more_than_the_same_launches_without() -> None:
    text = pairs_table(QUESTIONS["starlet"], kept(QUESTIONS["starlet"]))
    assert _placed(PAIRS, "pairs") == text.strip()
    assert all(float(row.split("|")[-2]) > 1 for row in text.splitlines()[2:])


def test_every_kept_run_is_on_the_page() -> None:
    assert {path.name for path in KEPT.iterdir()} == {f"{one.run}.jsonl.xz" for one in QUESTIONS.values()}


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (1.02, 1.04, "yes, by less"),
        (1.06, 1.20, "yes"),
        (1.2, 1.4, "yes, by more"),
        (0.99, 1.3, "can't be told apart here"),
        (0.8, 0.9, "no, the other way round"),
        (math.nan, math.nan, "too few launches to tell"),
    ],
)
def test_agreement_is_about_the_interval(low: float, high: float, said: str) -> None:
    assert agreement(1.1, Between((low + high) / 2, low, high)) == said


def test_values_in_order_are_each_set_against_the_one_before_and_the_first() -> None:
    question = QUESTIONS["waitress"]
    rows = [re.split(r" *\| *", row)[1:-1] for row in told(question, kept(question)).splitlines() if "/s |" in row]
    (board,) = question.boards(kept(question))
    assert [cells[0] for cells in rows] == [one.name for one in board.contenders]
    assert rows[0][2:] == ["--", "--"]
    assert rows[1][2] == rows[1][3]  # the first is the one before
    changes = [float(cells[2].split("\N{NO-BREAK SPACE}")[0]) for cells in rows[1:]]
    assert changes == [pytest.approx(100 * (step.change.ratio - 1), abs=0.05) for step in board.steps[:-1]]
    assert rows[-1][3].startswith(f"{100 * (board.steps[-1].change.ratio - 1):.1f}")


def _starlet() -> tuple[Question, Claim]:
    question = QUESTIONS["starlet"]
    return question, question.claims[0]


def test_sides_that_change_places_turn_the_answer_round() -> None:
    question, claim = _starlet()
    found = question.boards(kept(question))
    turned = replace(claim, faster=claim.slower, slower=claim.faster)
    rows = claims_table(replace(question, claims=(claim, turned)), found).splitlines()[2:]
    there, back = (float(re.split(r" *\| *", row)[4].split()[0]) for row in rows)
    assert there * back == pytest.approx(1, abs=0.02)
    assert there != back


def test_a_side_that_was_not_measured_is_told() -> None:
    question, claim = _starlet()
    found = question.boards(kept(question))
    text = claims_table(replace(question, claims=(replace(claim, faster="5.16"),)), found)
    assert "| 5.16: no such value | not known |" in text


def test_a_claim_about_no_matrix_is_refused() -> None:
    question, claim = _starlet()
    found = question.boards(kept(question))
    with pytest.raises(ConfigError, match="no matrix has"):
        claims_table(replace(question, claims=(replace(claim, fixed={"connection": "pigeon"}),)), found)
