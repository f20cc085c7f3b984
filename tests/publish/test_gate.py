"""The conclusion of a check, for every state that a comparison can have."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from pretend_forge import NOON

from example_comparisons import CLOSE, IDENTICAL, KEEPALIVE, RULE, RUNS, Measured, Sides, case, judged, launch, run_of
from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import CaseResult, Comparison, compare
from windtunnel.errors import Exit
from windtunnel.publish.forge import Conclusion
from windtunnel.publish.gate import TITLE, conclude
from windtunnel.report.around import Acceptance
from windtunnel.sample.runfile import Failure, Run

ACCEPTED = Acceptance("maintainer", "it is worth it", NOON)

EXPECTED: dict[str, Conclusion] = {
    "regression": "failure",
    "waiting": "failure",
    "improvement": "success",
    "unchanged": "success",
    "one-unchanged": "success",
    "inconclusive": "neutral",
    "invalid": "failure",
    "head-does-not-start": "failure",
    "head-build": "failure",
    "base-build": "neutral",
    "identical": "success",
    "first": "success",
    "mixed": "failure",
    "control": "failure",
    "control-alarm": "neutral",
    "unfinished": "neutral",
    "no-cpu": "neutral",
    "nothing": "neutral",
    "merged": "failure",
    "missing-shard": "failure",
}

ACCEPTABLE = {"regression", "waiting", "control", "merged", "missing-shard"}
"""States in which nothing but a regression fails."""


def test_every_example_has_its_conclusion() -> None:
    assert EXPECTED.keys() == RUNS.keys()


@pytest.mark.parametrize("name", RUNS)
def test_with_the_gate_on(name: str) -> None:
    assert conclude(RUNS[name], judged(name), "on", None)[0] == EXPECTED[name]


@pytest.mark.parametrize("name", RUNS)
def test_acceptance_turns_a_regression_and_nothing_else(name: str) -> None:
    conclusion, _ = conclude(RUNS[name], judged(name), "on", ACCEPTED)
    assert conclusion == ("neutral" if name in ACCEPTABLE else EXPECTED[name])


@pytest.mark.parametrize("accepted", [None, ACCEPTED])
@pytest.mark.parametrize("name", RUNS)
def test_with_the_gate_off_nothing_fails_and_nothing_passes(name: str, accepted: Acceptance | None) -> None:
    conclusion, title = conclude(RUNS[name], judged(name), "off", accepted)
    assert conclusion == "neutral"
    assert title == conclude(RUNS[name], judged(name), "on", accepted)[1]


@pytest.mark.parametrize("name", RUNS)
def test_the_title_is_one_sentence_that_fits(name: str) -> None:
    _, title = conclude(RUNS[name], judged(name), "on", None)
    assert 0 < len(title) <= TITLE
    assert "\n" not in title


def test_the_title_says_that_a_regression_was_accepted() -> None:
    _, plain = conclude(RUNS["regression"], judged("regression"), "on", None)
    _, title = conclude(RUNS["regression"], judged("regression"), "on", ACCEPTED)
    assert title == f"Accepted: {plain[0].lower()}{plain[1:]}"


def test_what_is_no_regression_is_not_called_accepted() -> None:
    assert not conclude(RUNS["unchanged"], judged("unchanged"), "on", ACCEPTED)[1].startswith("Accepted")


# ---------------- whose fault


def broken(*outcomes: tuple[str, str]) -> tuple[Run, Comparison]:
    """Two launches for each arm and outcome, beside a case that is unchanged."""
    extra = [
        replace(launch(CLOSE, arm, number), outcome=outcome, reason="why", slices=())
        for arm, outcome in outcomes
        for number in (1, 2)
    ]
    run = run_of([Measured(KEEPALIVE)], cases=[CLOSE], extra=extra)
    return run, compare(run, RULE)


@pytest.mark.parametrize(
    ("outcomes", "conclusion"),
    [
        ([("head", "invalid"), ("base", "ok")], "failure"),
        ([("head", "invalid"), ("base", "invalid")], "neutral"),
        ([("base", "invalid"), ("head", "ok")], "neutral"),
        ([("head", "failed"), ("base", "ok")], "failure"),
        ([("head", "failed")], "failure"),
        ([("head", "failed"), ("base", "failed")], "neutral"),
        ([("base", "failed"), ("head", "ok")], "neutral"),
        ([("head", "lost"), ("base", "ok")], "neutral"),
        ([("head", "invalid"), ("base", "lost")], "failure"),
        ([("head", "invalid"), ("control", "invalid")], "neutral"),
    ],
)
def test_head_fails_the_check_where_it_alone_is_to_blame(
    outcomes: list[tuple[str, str]], conclusion: Conclusion
) -> None:
    run, comparison = broken(*outcomes)
    assert conclude(run, comparison, "on", None)[0] == conclusion
    assert conclude(run, comparison, "on", ACCEPTED)[0] == conclusion


def test_a_build_that_fails_on_both_sides_is_not_heads_fault() -> None:
    failures = [Failure(CLOSE.id, arm, "failed", "no space left on device") for arm in ("base", "head")]
    run = run_of([Measured(KEEPALIVE)], failures, cases=[CLOSE])
    assert conclude(run, compare(run, RULE), "on", None)[0] == "neutral"


def test_a_regression_fails_although_the_run_was_cut_short() -> None:
    run = run_of([Measured(KEEPALIVE, Sides(cpu=1.06))], cases=[CLOSE], finished=False)
    assert conclude(run, compare(run, RULE), "on", None)[0] == "failure"


def test_a_run_that_was_cut_short_never_passes() -> None:
    run = run_of([Measured(KEEPALIVE)], finished=False)
    conclusion, title = conclude(run, compare(run, RULE), "on", None)
    assert conclusion == "neutral"
    assert title.startswith("Unfinished")


def test_cases_that_a_commit_lacks_are_no_reason_to_fail_or_pass() -> None:
    absent = Failure("psgi.Starlet(5.8, close)", "head", "skipped", "no such value")
    identical = Failure(KEEPALIVE.id, "head", "identical", IDENTICAL)
    alone, beside = run_of(failures=[absent]), run_of(failures=[absent, identical], cases=[KEEPALIVE])
    assert conclude(alone, compare(alone, RULE), "on", None)[0] == "neutral"
    assert conclude(beside, compare(beside, RULE), "on", None)[0] == "success"


# ---------------- several cases


KINDS: dict[str, tuple[CaseResult, Conclusion]] = {
    "regression": (CaseResult(KEEPALIVE, Verdict.REGRESSION, pairs=9, codes=(Exit.REGRESSION,)), "failure"),
    "improvement": (CaseResult(KEEPALIVE, Verdict.IMPROVEMENT, pairs=9), "success"),
    "unchanged": (CaseResult(KEEPALIVE, Verdict.UNCHANGED, pairs=9), "success"),
    "inconclusive": (CaseResult(KEEPALIVE, Verdict.INCONCLUSIVE, pairs=9), "neutral"),
    "unmeasured": (CaseResult(KEEPALIVE, Verdict.INCONCLUSIVE), "neutral"),
    "infrastructure": (CaseResult(KEEPALIVE, Verdict.FAILED, codes=(Exit.INFRASTRUCTURE,)), "neutral"),
    "identical": (CaseResult(KEEPALIVE, Verdict.SKIPPED, kind="identical"), "success"),
    "first": (CaseResult(KEEPALIVE, Verdict.SKIPPED, kind="first"), "success"),
    "head": (
        CaseResult(
            KEEPALIVE,
            Verdict.FAILED,
            bad={"head": (launch(KEEPALIVE, "head", 1).failing("failed", "why"),)},
            codes=(Exit.HEAD_BROKEN,),
        ),
        "failure",
    ),
    "invalid": (
        CaseResult(
            KEEPALIVE,
            Verdict.INVALID,
            bad={"head": (launch(KEEPALIVE, "head", 1).failing("invalid", "why"),)},
            codes=(Exit.INVALID,),
        ),
        "failure",
    ),
}
GRAVITY = ["failure", "neutral", "success"]


@pytest.mark.parametrize(("one", "other"), list(itertools.product(KINDS, KINDS)))
def test_the_gravest_case_decides(one: str, other: str) -> None:
    results = (KINDS[one][0], replace(KINDS[other][0], case=case("5.32")))
    comparison = Comparison(results, RULE, Exit.OK, Exit.OK)
    whole = run_of([Measured(KEEPALIVE)])
    wanted = min(KINDS[one][1], KINDS[other][1], key=GRAVITY.index)
    if not {"regression", "improvement", "unchanged", "inconclusive", "identical", "first"} & {one, other}:
        wanted = min(wanted, "neutral", key=GRAVITY.index)  # nothing was measured
    assert conclude(whole, comparison, "on", None)[0] == wanted
    accepted = ["neutral" if kind == "regression" else KINDS[kind][1] for kind in (one, other)]
    wanted = min(*accepted, wanted if wanted == "neutral" else "success", key=GRAVITY.index)
    assert conclude(whole, comparison, "on", ACCEPTED)[0] == wanted
