"""What a comparison looks like in a terminal, in every state it can be in.

The files under golden/ are what it should look like; `UPDATE_GOLDEN=1 pytest tests/report` writes them anew, and
then it is for a person to read the difference.
"""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from example_comparisons import CLOSE, KEEPALIVE, RULE, RUNS, Measured, Sides, case, foreign, judged, run_of
from example_reports import STATES
from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import compare
from windtunnel.errors import Exit
from windtunnel.model import METRICS
from windtunnel.report.comparison import render_comparison
from windtunnel.report.comparison_origin import reproduce
from windtunnel.report.comparison_words import LABELS, direction_word, grouped, headline
from windtunnel.report.visible import tail, visible
from windtunnel.sample.runfile import Run

GOLDEN = Path(__file__).parent / "golden"
FORMS = ("txt", "md", "json", "xml")


def _golden(name: str, text: str) -> str:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def _text(name: str) -> str:
    return render_comparison(RUNS[name], judged(name))


def _judged_text(run: Run) -> str:
    return render_comparison(run, compare(run, RULE))


@pytest.mark.parametrize("name", RUNS)
def test_the_text_is_as_it_should_look(name: str) -> None:
    text = _text(name) + "\n"
    assert text == _golden(f"comparison-{name}.txt", text)


def test_no_golden_file_of_a_comparison_is_left_over() -> None:
    found = {path.name for path in GOLDEN.glob("com[mp]*")}
    named = {f"comparison-{name}.{form}" for name in RUNS for form in FORMS}
    assert found == named | {f"comment-{name}.md" for name in STATES}


def test_every_verdict_and_outcome_is_among_the_examples() -> None:
    found = [judged(name) for name in RUNS]
    assert {one.verdict for comparison in found for one in comparison.cases} == set(Verdict)
    outcomes = {comparison.outcome for comparison in found} | {comparison.strict for comparison in found}
    assert outcomes == set(Exit) - {Exit.USAGE, Exit.INTERRUPTED}
    assert all(any(grouped(one)[group] for one in found) for group in grouped(found[0]))


@pytest.mark.parametrize("name", RUNS)
def test_no_line_is_too_wide_for_a_terminal(name: str) -> None:
    for line in _text(name).splitlines():
        assert line == line.rstrip()
        assert len(line) <= 120 or re.match(r"time |control |  +control \(", line), line


# ---------------- what is said first


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("regression", "1 of 2 cases got slower, 1 is unchanged"),
        ("waiting", "The only case got slower"),
        ("one-unchanged", "No change larger than 2 % in 1 case"),
        ("unchanged", "No change of CPU per request larger than 2 % in 12 cases; in 1 a time got shorter"),
        ("inconclusive", "2 of 3 cases could not be told, 1 is unchanged"),
        ("head-build", "All 6 cases failed"),
        ("head-does-not-start", "Both cases failed"),
        ("identical", "Nothing to measure: all 3 cases are identical in base and head"),
        ("first", "First run: head only, base has none of the 2 cases that were measured"),
        ("nothing", "Nothing was measured: 1 case skipped"),
        ("unfinished", "Unfinished; so far: 1 of 3 cases could not be told, 2 were not measured"),
    ],
)
def test_the_outcome_is_told_in_words(name: str, said: str) -> None:
    assert headline(RUNS[name], judged(name)) == said
    assert _text(name).startswith(f"{said}.\n")


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "The only case could not be told"),
        (2, "Neither case could be told"),
        (4, "None of the 4 cases could be told"),
    ],
)
def test_where_nothing_could_be_told_that_is_said_of_all(count: int, said: str) -> None:
    whole = judged("inconclusive")
    one = next(case for case in whole.cases if case.verdict is Verdict.INCONCLUSIVE)
    assert headline(RUNS["inconclusive"], replace(whole, cases=(one,) * count)) == said


def test_no_more_is_said_of_the_times_than_what_was_seen() -> None:
    """CPU decides the case, so an unchanged one may have a time that is not known to be unchanged."""
    run = run_of([Measured(KEEPALIVE, pairs=16)])
    blurred = [
        replace(
            one,
            slices=tuple(
                replace(each, wall=0.04 * (1.4 if (one.number + (one.arm == "head")) % 2 else 1.0))
                for each in one.slices
            ),
        )
        for one in run.launches
    ]
    assert "of CPU per request" in _judged_text(replace(run, launches=tuple(blurred))).splitlines()[0]
    assert "a time could not be told" in _judged_text(replace(run, launches=tuple(blurred))).splitlines()[0]


@pytest.mark.parametrize("name", RUNS)
def test_there_is_something_to_do_exactly_where_the_exit_code_says_so(name: str) -> None:
    comparison = judged(name)
    to_do = "\nTo do: " in _text(name)
    assert to_do == (comparison.outcome is not Exit.OK and RUNS[name].complete)


def test_all_outcomes_of_a_mixed_run_are_acted_on() -> None:
    advice = _text("mixed").partition("\n\n")[0]
    for part in ("make head build", "find what made head slower", "which answers were wrong"):
        assert part in advice


def test_what_needs_someone_comes_first() -> None:
    text = _text("mixed")
    titles = ("Regression", "Failed", "Invalid", "Improvement", "Inconclusive", "Unchanged", "New in head", "Skipped")
    places = [text.index(f"\n{title}: ") for title in titles]
    assert places == sorted(places)


def test_only_what_was_inconclusive_may_have_missed_something() -> None:
    assert "may have been missed" in _text("inconclusive")
    assert "may have been missed" not in _text("control-alarm")
    assert "may have been missed" not in _text("no-cpu")


# ---------------- words and figures


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_a_name_and_a_word_for_either_direction(metric: str) -> None:
    assert LABELS[metric]
    worse, better = direction_word(metric, 1.1), direction_word(metric, 0.9)
    if METRICS[metric].direction.value == "higher":
        worse, better = better, worse
    assert (worse, better) in {("slower", "faster"), ("more CPU", "less CPU"), ("worse", "better")}


def test_more_requests_per_second_are_faster_and_more_time_is_slower() -> None:
    lines = _text("improvement").splitlines()
    rate = next(line for line in lines if "Requests per second" in line)
    time = next(line for line in _text("regression").splitlines() if "Time per request" in line)
    assert "+" in rate
    assert rate.endswith("faster")
    assert "+" in time
    assert "slower" in time


def test_the_mde_stands_beside_what_is_inconclusive_and_not_where_too_few_pairs_could_tell_anything() -> None:
    blocks = _text("inconclusive").split("\n\n")
    enough = next(block for block in blocks if "20 pairs" in block)
    too_few = next(block for block in blocks if "   4 pairs" in block)
    assert enough.count("could have seen +") == 3
    assert "could have seen" not in too_few


def test_many_unchanged_cases_are_counted_and_those_with_something_to_tell_are_listed() -> None:
    text = _text("unchanged")
    assert "psgi.Starlet(5.42, http2)" in text
    assert "psgi.Starlet(5.32, close)" not in text
    assert "and 11 more: CPU per request -0.5 % to +0.5 %" in text


def test_cases_that_fail_for_one_reason_are_told_once() -> None:
    text = _text("head-build")
    assert text.count("can't be built") == 1
    assert text.count("Plack.pm") == 1


def test_a_bad_launch_that_did_not_decide_is_told() -> None:
    assert "1 head launch left out: lost: the load side-car ended" in _text("waiting")


def test_what_all_cases_note_is_told_once() -> None:
    assert _text("regression").count("hyper-threads") == 1


def test_the_threshold_that_is_judged_by_is_the_one_that_is_told() -> None:
    run = RUNS["regression"]
    comparison = compare(run, replace(RULE, threshold=0.12))
    text = render_comparison(run, comparison)
    assert text.startswith("No change larger than 12 % in 2 cases.")
    assert "threshold 12 %" in text


# ---------------- how to measure again


def _pattern(run: Run, name: str) -> str:
    return shlex.split(reproduce(run, name))[-1]


@given(st.text(min_size=1, max_size=40), st.text(max_size=40))
def test_the_command_finds_the_case_and_no_other(name: str, other: str) -> None:
    found = re.compile(_pattern(RUNS["regression"], name))
    assert found.search(name)
    assert bool(found.search(other)) == (other == name) or other == f"{name}\n"
    assert all(char.isprintable() for char in reproduce(RUNS["regression"], name))


def test_a_case_of_a_usual_name_reads_well() -> None:
    shown = reproduce(RUNS["regression"], KEEPALIVE.id)
    assert shown.endswith(r"--bench '^psgi\.Starlet\(5\.40, keepalive\)$'")
    assert shown.startswith("windtunnel compare 5e6f7a8b905e 1a2b3c4d5e1a ")
    assert " 5e6f7a8b905e --worktree " in reproduce(RUNS["unfinished"], CLOSE.id)


@given(st.text(min_size=1, max_size=20))
def test_what_is_no_commit_gets_into_no_command(text: str) -> None:
    words = shlex.split(reproduce(foreign("--output=x")[0], text))
    assert words[:4] == ["windtunnel", "compare", "BASE", "HEAD"]


# ---------------- strings from outside


@given(
    st.text(min_size=1, max_size=30) | st.sampled_from(["\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\rb", "\u202eb"])
)
def test_nothing_from_outside_steers_a_terminal(text: str) -> None:
    shown = render_comparison(*foreign(text))
    assert all(char.isprintable() or char in "\n\u200d" or unicodedata.category(char) == "Zs" for char in shown)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", shown)
    shown.encode()  # a lone half of a character could not be written anywhere


def test_colours_of_a_log_are_dropped_and_its_shape_is_kept() -> None:
    assert tail("one\n\x1b[1;31m  two\x1b[0m\n\tthree\n\n") == ["one", "  two", "    three"]
    assert tail("\n".join(map(str, range(100))), 2) == ["98", "99"]
    assert visible("a\n  b\tc ") == "a b c"
    assert visible("x" * 400, 10) == "x" * 9 + "…"


def test_a_matrix_with_no_case_at_all_is_told() -> None:
    assert _judged_text(run_of()).startswith("Nothing was measured.\nTo do: see why")


def test_a_name_that_is_very_long_is_cut() -> None:
    long = case("5." + "4" * 500)
    assert max(map(len, _judged_text(run_of([Measured(long, Sides(cpu=1.1))])).splitlines())) < 700


def test_the_page_about_reports_shows_one_as_it_is() -> None:
    page = (Path(__file__).parents[2] / "site/reports.md").read_text("utf-8")
    shown = re.search(r'^```text title="comparison-regression.txt"\n(.*?)^```$', page, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert shown[1] == _text("regression") + "\n"
