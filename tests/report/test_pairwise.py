"""The values of a parameter against each other: from the launches of runs to ratios, and what is refused or told."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

import material
from example_versus import PERLS, case, in_turn, launches, measured
from windtunnel.compare.estimate import least_pairs
from windtunnel.errors import ConfigError
from windtunnel.report.pairwise import Board, boards, grouped, pooled, rated
from windtunnel.report.pairwise_words import boards_to_json, render_boards
from windtunnel.report.rates import Source
from windtunnel.sample.runfile import Arm, Failure, Run
from windtunnel.units import Missing

CLOSE = {("5.32", "close"): 1.0, ("5.36", "close"): 0.8, ("5.40", "close"): 0.5}
BOTH = {**CLOSE, **{(perl, "keepalive"): 0.4 for perl in PERLS}}


def _ids(*runs: Run) -> set[str]:
    return {one.id for run in runs for one in run.header.cases} | {one.case for run in runs for one in run.failures}


def _boards(*runs: Run, by: str = "perl", metric: str = "time_per_request") -> tuple[Board, ...]:
    return boards(pooled(runs, _ids(*runs)), by, metric)


def _board(*runs: Run, metric: str = "time_per_request") -> Board:
    (board,) = _boards(*runs, metric=metric)
    return board


def _text(*runs: Run, width: int | None = None) -> str:
    pool = pooled(runs, _ids(*runs))
    return render_boards(boards(pool, "perl", "time_per_request"), pool, width)


def test_there_is_a_board_for_each_combination_of_the_other_parameters() -> None:
    run = measured(BOTH)
    assert [board.fixed for board in _boards(run)] == [(("connection", "close"),), (("connection", "keepalive"),)]
    by_connection = _boards(run, by="connection")
    assert [board.fixed for board in by_connection] == [(("perl", perl),) for perl in PERLS]
    assert [[one.name for one in board.contenders] for board in by_connection] == [["close", "keepalive"]] * 3


def test_steps_follow_the_declaration_and_the_matrix_goes_from_slow_to_fast() -> None:
    board = _board(measured({("5.40", "close"): 0.5, ("5.32", "close"): 1.0, ("5.36", "close"): 0.8}))
    assert [(one.old, one.new) for one in board.steps] == [("5.40", "5.32"), ("5.32", "5.36"), ("5.40", "5.36")]
    assert [row.contender.name for row in board.matrix.rows] == ["5.32", "5.36", "5.40"]


def test_where_a_matrix_is_too_wide_its_intervals_go_and_nothing_else() -> None:
    run = measured(CLOSE)
    whole = _text(run)
    widest = max(len(line) for line in whole.splitlines()[:5])
    assert _text(run, width=widest) == whole
    narrow = _text(run, width=widest - 1)
    assert f"without the intervals, for which {widest - 1} columns are too few; a pipe or --json has them" in narrow
    rows = {text: text.splitlines()[2:5] for text in (whole, narrow)}
    assert "[" not in "".join(rows[narrow])
    assert [re.sub(r"\[.*?\]", "", line).split() for line in rows[whole]] == [line.split() for line in rows[narrow]]
    assert [line for line in narrow.splitlines() if "->" in line] == [
        line for line in whole.splitlines() if "->" in line
    ]


def test_names_without_an_order_have_no_steps() -> None:
    run = measured({("Starlet", "close"): 1.0, ("Starman", "close"): 0.8, ("5.40", "close"): 0.5})
    assert _board(run).steps == ()
    assert len(_board(run).matrix.rows) == 3
    two = measured({("Starlet", "close"): 1.0, ("Starman", "close"): 0.8})
    assert [(one.old, one.new) for one in _board(two).steps] == [("Starlet", "Starman")]


def test_a_ratio_is_that_of_rates_with_an_interval_around_it() -> None:
    first, second, whole = _board(measured(CLOSE)).steps
    assert (first.change.ratio, second.change.ratio, whole.change.ratio) == pytest.approx((1.25, 1.6, 2.0))
    for step in (first, second, whole):
        assert step.change.low < step.change.ratio < step.change.high
        assert step.change.high / step.change.low < 1.06


def test_what_the_machine_did_to_all_in_turn_is_not_in_their_ratio() -> None:
    """The launches are up to 4 % apart, each of them in the same way in all cases."""
    board = _board(in_turn(measured(CLOSE)))
    assert board.matrix.source is Source.TURNS
    for step, ratio in zip(board.steps, (1.25, 1.6, 2.0), strict=True):
        assert (step.change.low, step.change.ratio, step.change.high) == pytest.approx((ratio, ratio, ratio))


def test_another_metric_has_another_ratio_and_a_percentile_no_rate() -> None:
    assert _board(measured(CLOSE), metric="cpu_per_request").steps[0].change.ratio == pytest.approx(1.25)
    assert rated("cpu_per_request")
    assert not rated("latency_p99")
    assert not rated("peak_memory")
    memory = _board(measured(CLOSE), metric="peak_memory")
    assert memory.steps[0].change.ratio == pytest.approx(1.0)
    assert memory.matrix.first == "Value"


def test_too_few_launches_have_a_ratio_and_no_interval() -> None:
    pair = [case("5.32", "close"), case("5.40", "close")]
    few = tuple(launch for one, factor in zip(pair, (1.0, 0.5), strict=True) for launch in launches(one, factor, 1))
    run = Run(replace(material.HEADER, cases=tuple(pair)), few)
    (step,) = _board(run).steps
    assert step.change.ratio == pytest.approx(2.0)
    assert math.isnan(step.change.low)
    assert "without intervals" in _text(run)


def test_only_launches_that_both_have_are_pairs() -> None:
    run = in_turn(measured({("5.32", "close"): 1.0, ("5.40", "close"): 0.5}))
    first, *others = [one for one in run.launches if "5.32" in one.case]
    bad = replace(first.failing("invalid", "500 instead of 200"), slices=())
    kept = tuple(one for one in run.launches if "5.40" in one.case)
    odd = replace(others[0], slices=kept[0].slices)  # as if this launch had been twice as fast for once
    board = _board(replace(run, launches=(bad, odd, *others[1:], *kept)))
    assert [len(one.launches) for one in board.contenders] == [7, 8]
    slow, fast = board.contenders
    assert len(slow.turns["5.40"]) == len(fast.turns["5.32"]) == 7
    assert [round(math.exp(one), 2) for one in slow.turns["5.40"]] == [pytest.approx(1, abs=0.02), *[2.0] * 6]
    assert board.steps[0].change.ratio == pytest.approx(2.0)


def test_without_a_launch_of_both_there_is_a_ratio_and_no_interval() -> None:
    run = in_turn(measured({("5.32", "close"): 1.0, ("5.40", "close"): 0.5}))
    slow = [one for one in run.launches if "5.32" in one.case and one.number < 5]
    fast = [one for one in run.launches if "5.40" in one.case and one.number >= 5]
    (step,) = _board(replace(run, launches=(*slow, *fast))).steps
    assert step.change.ratio == pytest.approx(2.0, rel=0.05)
    assert math.isnan(step.change.low)


def test_what_was_not_loaded_in_turn_makes_no_pairs() -> None:
    run = in_turn(measured(BOTH))
    assert {board.matrix.source for board in _boards(run)} == {Source.TURNS}
    assert {board.matrix.source for board in _boards(run, by="connection")} == {Source.LAUNCHES}
    assert _board(*([in_turn(measured(CLOSE))] * 2)).matrix.source is Source.LAUNCHES
    assert "from pairs of launches that were loaded in turn" in _text(run)
    assert "which were not loaded in turn" in _text(measured(BOTH))


def test_launches_of_several_runs_count_together() -> None:
    one = measured({("5.32", "close"): 1.0, ("5.40", "close"): 0.5})
    assert [len(found.launches) for found in _board(one, one).contenders] == [16, 16]
    assert _board(one, one).notes == ()


def test_values_from_different_runs_are_told() -> None:
    old, new = measured({("5.32", "close"): 1.0}), measured({("5.40", "close"): 0.5})
    board = _board(old, new)
    assert board.steps[0].change.ratio == pytest.approx(2.0)
    assert "not all were measured in the same runs" in board.notes[0]


def test_two_machines_are_refused() -> None:
    run = measured(CLOSE)
    other = replace(run, header=replace(run.header, host=replace(material.HOST, cpu_model="Another")))
    with pytest.raises(ConfigError, match="figures of two machines"):
        pooled([run, other], _ids(run))


def test_another_workload_under_the_same_name_is_refused() -> None:
    run = measured(CLOSE)
    changed = [replace(one, workload=replace(one.workload, concurrency=17)) for one in run.header.cases]
    other = replace(run, header=replace(run.header, cases=tuple(changed)))
    with pytest.raises(ConfigError, match="has another workload in the run"):
        pooled([run, other], _ids(run))
    assert pooled([run, other], set()).cases == ()


def test_of_a_comparison_head_is_taken() -> None:
    run = measured(CLOSE)
    base = tuple(replace(one, arm="base", slices=(replace(material.LOAD, wall=9.0),)) for one in run.launches)
    arms = (Arm("base", "main", "1" * 40), Arm("head", "HEAD", "2" * 40))
    both = replace(run, header=replace(run.header, arms=arms), launches=(*base, *run.launches))
    assert _board(both).steps == _board(run).steps


def test_what_was_not_measured_has_its_reason() -> None:
    gone = case("5.40", "close").id
    failures = [
        Failure(gone, "head", "failed", "the image of starlet can't be built"),
        Failure("psgi.Starlet(5.8, close)", "head", "skipped", "this commit has no value '5.8' on the axis perl"),
    ]
    run = measured(CLOSE, failures)
    assert _board(run).unmeasured == {"5.40": "failed: the image of starlet can't be built"}
    text = _text(run)
    assert "not measured: perl 5.40: failed: the image of starlet can't be built" in text
    assert "not measured: psgi.Starlet(5.8, close): skipped: this commit has no value '5.8'" in text


def test_invalid_launches_make_no_rate() -> None:
    run = measured(CLOSE)
    bad = replace(
        run,
        launches=tuple(
            one.failing("invalid", "wrong length") if one.case == case("5.36", "close").id else one
            for one in run.launches
        ),
    )
    assert _board(bad).unmeasured == {"5.36": "invalid: wrong length"}
    assert [(step.old, step.new) for step in _board(bad).steps] == [("5.32", "5.40")]


def test_a_metric_that_is_missing_or_nothing_is_told() -> None:
    run = measured(CLOSE)
    lacking = replace(run, launches=tuple(replace(one, peak_memory=Missing("no peak")) for one in run.launches))
    assert set(_board(lacking, metric="peak_memory").unmeasured.values()) == {"no peak"}
    assert "divided" in _board(run, metric="idle_cpu").unmeasured["5.32"]


def test_slices_of_very_different_sizes_are_told() -> None:
    pair = [case("5.32", "close"), case("5.40", "close")]
    both = (*launches(pair[0], 1.0), *launches(pair[1], 0.5, requests=1600))
    board = _board(Run(replace(material.HEADER, cases=tuple(pair)), both))
    assert "5.32 160, 5.40 1,600" in board.notes[0]


def test_classes_without_the_parameter_and_single_values_have_no_board() -> None:
    cases = [case("5.32", "close"), case("5.40", "keepalive")]
    assert not grouped(cases, "perl")
    assert not grouped(cases, "python")
    assert _boards(measured(BOTH), by="workers") == ()


def test_the_text_has_matrix_and_steps() -> None:
    text = _text(measured(CLOSE))
    assert text.startswith("psgi.Starlet by perl: connection close   time per request as a rate, 8 launches each\n")
    rates = re.findall(r"^  (5\.\d+) +([\d,]+(?:\.\d+)?)/s", text, re.MULTILINE)
    assert [name for name, _ in rates] == ["5.32", "5.36", "5.40"]
    assert [float(rate.replace(",", "")) for _, rate in rates] == pytest.approx([4000, 5000, 8000], rel=0.01)
    steps = re.findall(r"^  perl (\S+) -> (\S+): +(\+[\d.]+) % \[(\+[\d.]+), (\+[\d.]+)\]$", text, re.MULTILINE)
    assert [(old, new) for old, new, *_ in steps] == [("5.32", "5.36"), ("5.36", "5.40"), ("5.32", "5.40")]
    assert [float(change) for _, _, change, *_ in steps] == pytest.approx([25, 60, 100], abs=0.11)
    assert text.endswith("95 % intervals from all launches of both, which were not loaded in turn.")


def test_the_documentation_shows_such_a_text() -> None:
    page = Path(__file__).resolve().parents[2] / "site" / "reports.md"
    text = _text(in_turn(measured(CLOSE, alike=False)))
    assert f'```text title="versus.txt"\n{text}\n```' in page.read_text("utf-8")
    assert least_pairs(0.025) == 6  # as it says


def test_the_json_says_the_same() -> None:
    run = measured(CLOSE)
    pool = pooled([run], _ids(run))
    report = json.loads(json.dumps(boards_to_json(_boards(run), pool, ["x"], 0), allow_nan=False))
    assert (report["format"], report["version"], report["runs"], report["outcome"]) == (
        "windtunnel-versus",
        1,
        ["x"],
        0,
    )
    (board,) = report["boards"]
    assert board["fixed"] == {"connection": "close"}
    assert board["matrix"]["5.36"]["5.32"]["ratio"] == pytest.approx(1.25)
    assert set(board["matrix"]["5.36"]) == {"5.32", "5.40"}
    assert [(one["from"], one["to"]) for one in board["steps"]] == [
        ("5.32", "5.36"),
        ("5.36", "5.40"),
        ("5.32", "5.40"),
    ]
    assert [len(one["launches"]) for one in board["values"]] == [8, 8, 8]


def test_every_key_of_the_json_is_described() -> None:
    run = measured(CLOSE)
    report = boards_to_json(_boards(run), pooled([run], _ids(run)), ["x"], 0)
    (board,) = report["boards"]
    page = (Path(__file__).resolve().parents[2] / "site" / "formats.md").read_text("utf-8")
    text = page.partition("## One value against another as JSON")[2].partition("\n## ")[0]
    assert {*report, *board, *board["values"][0], *board["steps"][0]} <= set(re.findall(r"`(\w+)`", text))
    assert f"Format `{report['format']}`, version {report['version']}." in text


def test_an_end_that_is_not_known_is_told_as_missing() -> None:
    pair = [case("5.32", "close"), case("5.40", "close")]
    few = tuple(launch for one in pair for launch in launches(one, 1.0, 1))
    run = Run(replace(material.HEADER, cases=tuple(pair)), few)
    report = boards_to_json(_boards(run), pooled([run], _ids(run)), ["x"], 0)
    assert report["boards"][0]["steps"][0]["low"] == {"missing": "too few launches for an interval"}
