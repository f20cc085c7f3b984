"""From a run to its verdicts, one state after the other, and false discoveries over a whole matrix."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from comparisons import (
    CASE,
    HEADER,
    OTHERS,
    bad,
    factors,
    launch_of,
    pairs_by_metric,
    pairs_with,
    run_of,
    slice_of,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.compare.rule import JUDGED, Rule, Verdict, judge
from windtunnel.compare.verdict import ENOUGH_BAD, CaseResult, Comparison, compare, compare_case, rule_of
from windtunnel.errors import Exit
from windtunnel.model import METRICS, Case, Launch
from windtunnel.sample.runfile import ComparePlan, Failure, Run
from windtunnel.units import Missing

CPU, TIME, RESPONSE = JUDGED
ENOUGH = Rule().most
"""So many pairs are always enough for a clear effect."""
SLOWER, FASTER, SAME = factors(0.1, ENOUGH), factors(-0.1, ENOUGH), factors(0, ENOUGH)
STILL = factors(0, ENOUGH, seed=1)
UNCLEAR = factors(0, 9, noise=0.2)


def _only(comparison: Comparison) -> CaseResult:
    (case,) = comparison.cases
    return case


def _one(launches: Sequence[Launch], *failures: Failure) -> CaseResult:
    return _only(compare(run_of(launches, failures)))


# ---------------- the plain ones


@pytest.mark.parametrize(
    ("series", "verdict", "outcome", "strict"),
    [
        (SLOWER, Verdict.REGRESSION, Exit.REGRESSION, Exit.REGRESSION),
        (FASTER, Verdict.IMPROVEMENT, Exit.OK, Exit.OK),
        (SAME, Verdict.UNCHANGED, Exit.OK, Exit.OK),
        (UNCLEAR, Verdict.INCONCLUSIVE, Exit.OK, Exit.INCONCLUSIVE),
    ],
)
def test_cpu_decides(series: list[float], verdict: Verdict, outcome: Exit, strict: Exit) -> None:
    comparison = compare(run_of(pairs_with(CASE, series)))
    assert (comparison.outcome, comparison.strict) == (outcome, strict)
    case = _only(comparison)
    assert (case.verdict, case.decided_by, case.pairs) == (verdict, CPU, len(series))
    assert (case.reason != "") == (verdict is Verdict.INCONCLUSIVE)
    assert case.notes == ()
    assert comparison.having(verdict) == (case,)


def test_the_figures_are_those_of_the_launches() -> None:
    metrics = _one(pairs_with(CASE, SLOWER)).metrics
    assert list(metrics)[: len(JUDGED)] == list(JUDGED)
    assert set(metrics) == set(METRICS)
    cpu = metrics[CPU]
    assert isinstance(cpu.effect, float)
    assert isinstance(cpu.low, float)
    assert isinstance(cpu.high, float)
    assert isinstance(cpu.mde, float)
    assert cpu.base == pytest.approx(0.03 / 160)
    assert cpu.effect == pytest.approx(1.1, rel=0.001)
    assert cpu.low <= cpu.effect <= cpu.high
    assert cpu.pairs == len(SLOWER)
    assert cpu.finding == judge(CPU, [math.log(0.03 * one) - math.log(0.03) for one in SLOWER], Rule()) or (
        cpu.finding is not None and cpu.finding.estimate == pytest.approx(math.log(cpu.effect))
    )
    assert cpu.mde >= Rule().threshold
    throughput = metrics["throughput"]
    assert (throughput.finding, throughput.verdict, throughput.mde) == (None, None, Missing("not judged"))
    assert throughput.effect == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize("slow", [TIME, RESPONSE])
def test_time_may_make_it_worse_and_nothing_better(slow: str) -> None:
    worse = [SLOWER if name == slow else SAME for name in JUDGED]
    case = _one(pairs_by_metric(CASE, *worse))
    assert (case.verdict, case.decided_by, case.codes) == (Verdict.REGRESSION, slow, (Exit.REGRESSION,))
    assert case.metrics[CPU].verdict is Verdict.UNCHANGED
    better = [FASTER if name == slow else SAME for name in JUDGED]
    case = _one(pairs_by_metric(CASE, *better))
    assert (case.verdict, case.decided_by) == (Verdict.UNCHANGED, CPU)
    assert case.metrics[slow].verdict is Verdict.IMPROVEMENT
    mixed = [FASTER if name == CPU else SLOWER for name in JUDGED]
    assert _one(pairs_by_metric(CASE, *mixed)).verdict is Verdict.REGRESSION


def test_time_that_is_not_clear_leaves_the_case_alone() -> None:
    noisy = factors(0, ENOUGH, noise=0.3)
    case = _one(pairs_by_metric(CASE, SAME, noisy, noisy))
    assert (case.verdict, case.metrics[TIME].verdict) == (Verdict.UNCHANGED, Verdict.INCONCLUSIVE)


def test_base_and_head_swapped_turn_the_verdict() -> None:
    names = {"base": "head", "head": "base"}
    for series, verdict in ((SLOWER, Verdict.IMPROVEMENT), (FASTER, Verdict.REGRESSION), (SAME, Verdict.UNCHANGED)):
        launches = [replace(launch, arm=names[launch.arm]) for launch in pairs_with(CASE, series)]
        assert _one(launches).verdict is verdict


def test_the_order_of_the_lines_is_nothing() -> None:
    rng = random.Random(4)
    for series in (SLOWER, SAME, UNCLEAR):
        launches = pairs_with(CASE, series)
        mixed = _one(rng.sample(launches, len(launches)))
        assert mixed == replace(_one(launches), notes=mixed.notes)


def test_a_rule_of_the_readers_own_goes_before_that_of_the_file() -> None:
    run = run_of(pairs_with(CASE, SLOWER))
    assert rule_of(run) == Rule(threshold=0.02, most=44)
    header = replace(run.header, compare=ComparePlan(threshold=0.2, most=10))
    assert rule_of(replace(run, header=header)) == Rule(threshold=0.2, most=10)
    assert rule_of(replace(run, header=replace(run.header, compare=None))) == Rule()
    assert _only(compare(replace(run, header=header))).verdict is not Verdict.REGRESSION
    assert _only(compare(replace(run, header=header), Rule())).verdict is Verdict.REGRESSION


def test_warnings_of_the_launches_are_told_once() -> None:
    launches = [replace(one, warnings=("one core for both",)) for one in pairs_with(CASE, SAME)]
    assert _one(launches).notes == ("one core for both",)


# ---------------- what is missing


def _blind(launches: Sequence[Launch]) -> list[Launch]:
    gone = Missing("no cgroup to read")
    return [replace(one, slices=tuple(replace(part, cpu=gone) for part in one.slices)) for one in launches]


@pytest.mark.parametrize(
    ("series", "verdict"),
    [(SAME, Verdict.INCONCLUSIVE), (FASTER, Verdict.INCONCLUSIVE), (SLOWER, Verdict.REGRESSION)],
)
def test_without_cpu_only_a_regression_can_be_told(series: list[float], verdict: Verdict) -> None:
    case = _one(_blind(pairs_by_metric(CASE, SAME, series, SAME)))
    assert case.verdict is verdict
    if verdict is Verdict.INCONCLUSIVE:
        assert case.reason == "cpu_per_request was not measured: no cgroup to read"
    assert (case.metrics[CPU].verdict, case.metrics[CPU].effect) == (None, Missing("no cgroup to read"))
    assert "cpu_per_request was not measured: no cgroup to read" in (case.reason, *case.notes)


def test_pairs_without_one_figure_are_never_a_pass() -> None:
    launches = [replace(one, slices=()) for one in pairs_with(CASE, SAME)]
    comparison = compare(run_of(launches))
    case = _only(comparison)
    assert (case.verdict, case.codes) == (Verdict.INCONCLUSIVE, (Exit.INCONCLUSIVE,))
    assert case.reason
    assert comparison.strict is Exit.INCONCLUSIVE


def test_no_pair_at_all_is_nothing_measured() -> None:
    for launches in ([], [launch_of(CASE, "base", 1)], [launch_of(CASE, "base", 1), launch_of(CASE, "head", 2)]):
        comparison = compare(run_of(launches))
        assert (comparison.outcome, _only(comparison).verdict) == (Exit.NOTHING_MEASURED, Verdict.INCONCLUSIVE)
        assert _only(comparison).reason == "no pair was measured"
    assert compare(run_of([], cases=())).outcome is Exit.NOTHING_MEASURED


def test_one_pair_has_an_effect_and_no_interval() -> None:
    case = _one(pairs_with(CASE, [1.5]))
    cpu = case.metrics[CPU]
    assert cpu.effect == pytest.approx(1.5)
    assert isinstance(cpu.low, Missing)
    assert isinstance(cpu.high, Missing)
    assert isinstance(cpu.mde, Missing)
    assert case.verdict is Verdict.INCONCLUSIVE
    assert "too few" in case.reason


# ---------------- what went wrong


@pytest.mark.parametrize(
    ("outcome", "arm", "verdict", "code"),
    [
        ("invalid", "head", Verdict.INVALID, Exit.INVALID),
        ("invalid", "base", Verdict.INVALID, Exit.INVALID),
        ("failed", "head", Verdict.FAILED, Exit.HEAD_BROKEN),
        ("failed", "base", Verdict.FAILED, Exit.INFRASTRUCTURE),
        ("lost", "head", Verdict.FAILED, Exit.INFRASTRUCTURE),
        ("lost", "base", Verdict.FAILED, Exit.INFRASTRUCTURE),
    ],
)
def test_one_bad_launch_is_told_and_two_decide(outcome: str, arm: str, verdict: Verdict, code: Exit) -> None:
    wrong = [bad(CASE, arm, ENOUGH + number, outcome) for number in range(1, ENOUGH_BAD + 1)]
    one = compare(run_of([*pairs_with(CASE, SAME), *wrong[:-1]]))
    assert (_only(one).verdict, _only(one).bad) == (Verdict.UNCHANGED, {arm: tuple(wrong[:-1])})
    all_ = compare(run_of([*pairs_with(CASE, SLOWER), *wrong]))
    case = _only(all_)
    assert (case.verdict, case.codes, case.bad) == (verdict, (code,), {arm: tuple(wrong)})
    assert (case.reason, case.detail) == (f"{arm}: 3 of 160 wrong", "the end of its log")
    assert all_.outcome is all_.strict is code


def test_one_bad_launch_decides_where_there_is_no_good_pair() -> None:
    comparison = compare(run_of([bad(CASE, "head", 1)]))
    assert (_only(comparison).verdict, comparison.outcome) == (Verdict.INVALID, Exit.INVALID)


def test_a_bad_launch_of_either_arm_is_not_two_of_one() -> None:
    launches = [*pairs_with(CASE, SAME), bad(CASE, "base", 90), bad(CASE, "head", 91)]
    assert _one(launches).verdict is Verdict.UNCHANGED


def test_where_both_arms_are_broken_heads_fault_is_told_and_all_codes_are() -> None:
    launches = [bad(CASE, arm, number, "failed", arm) for number in (1, 2) for arm in ("base", "head")]
    comparison = compare(run_of(launches))
    case = _only(comparison)
    assert (case.reason, set(case.codes)) == ("head: head", {Exit.HEAD_BROKEN, Exit.INFRASTRUCTURE})
    assert comparison.outcome is Exit.HEAD_BROKEN


def test_launches_of_an_arm_that_no_comparison_has_are_nothing() -> None:
    """A run file is written by others."""
    launches = [*pairs_with(CASE, SAME), *(bad(CASE, "third", number) for number in (1, 2, 3))]
    assert _one(launches).verdict is Verdict.UNCHANGED
    assert compare(run_of([bad(CASE, "third", 1)] * 3)).outcome is Exit.NOTHING_MEASURED


@pytest.mark.parametrize("amounts", [(1e-300, 1e300), (1e300, 1e-300)])
def test_amounts_beyond_all_measure_are_judged_and_no_crash(amounts: tuple[float, float]) -> None:
    launches = []
    for number in range(1, 14):
        for arm, amount in zip(("base", "head"), amounts[:: 1 if number % 5 else -1], strict=True):
            huge = replace(slice_of("load"), requests=1, cpu=amount)
            launches.append(launch_of(CASE, arm, number, slices=(huge, slice_of("single"))))
    case = _one(launches)
    assert isinstance(case.metrics[CPU].effect, Missing)
    assert isinstance(case.metrics[CPU].mde, Missing)


# ---------------- what was not launched on both arms


@pytest.mark.parametrize(
    ("arm", "kind", "verdict", "told", "outcome"),
    [
        ("head", "failed", Verdict.FAILED, "", Exit.HEAD_BROKEN),
        ("base", "failed", Verdict.FAILED, "", Exit.INFRASTRUCTURE),
        ("head", "skipped", Verdict.SKIPPED, "absent", Exit.NOTHING_MEASURED),
        ("head", "identical", Verdict.SKIPPED, "identical", Exit.OK),
        ("base", "first", Verdict.SKIPPED, "first", Exit.OK),
    ],
)
@pytest.mark.parametrize("stranger", [False, True])
def test_what_could_not_be_compared(
    arm: str, kind: str, verdict: Verdict, told: str, outcome: Exit, stranger: bool
) -> None:
    """Whether it was a case of the run already, or not yet."""
    failure = Failure(CASE.id, arm, kind, "the reason", "a log")
    comparison = compare(run_of([], [failure], () if stranger else (CASE,)))
    case = _only(comparison)
    assert (case.case.id, case.verdict, case.kind) == (CASE.id, verdict, told)
    assert case.codes == ((outcome,) if verdict is Verdict.FAILED else ())
    assert case.reason == (f"{arm}: the reason" if verdict is Verdict.FAILED else "the reason")
    assert case.detail == ("a log" if verdict is Verdict.FAILED else "")
    assert comparison.outcome is comparison.strict is outcome


def test_heads_failure_is_told_before_bases() -> None:
    failures = [Failure(CASE.id, arm, "failed", arm) for arm in ("base", "head")]
    comparison = compare(run_of([], failures))
    assert (_only(comparison).reason, comparison.outcome) == ("head: head", Exit.HEAD_BROKEN)


def test_what_base_does_not_have_shows_heads_own_figures() -> None:
    first = Failure(CASE.id, "base", "first", "base has no such target")
    case = _one([launch_of(CASE, "head", number, (2, 1, 1)) for number in (1, 2, 3)], first)
    assert (case.verdict, case.kind, case.codes) == (Verdict.SKIPPED, "first", ())
    assert case.metrics[CPU].head == pytest.approx(2 * 0.03 / 160)
    assert case.metrics[CPU].base == case.metrics[CPU].effect == Missing("base has no such target")
    assert case.metrics[CPU].verdict is None


def test_a_first_run_whose_launches_go_wrong_is_no_pass() -> None:
    first = Failure(CASE.id, "base", "first", "base has no such target")
    good = launch_of(CASE, "head", 1)
    for launches, verdict in (
        ([bad(CASE, "head", 1)], Verdict.INVALID),
        ([good, bad(CASE, "head", 2)], Verdict.SKIPPED),
        ([good, bad(CASE, "head", 2), bad(CASE, "head", 3, "failed")], Verdict.FAILED),
    ):
        assert _one(launches, first).verdict is verdict


# ---------------- the control arm


def _with_control(series: Sequence[float], control: Sequence[float]) -> list[Launch]:
    return [
        *pairs_with(CASE, series),
        *(one for one in pairs_with(CASE, control, "control") if one.arm == "control"),
    ]


@pytest.mark.parametrize("control", [SLOWER, FASTER])
@pytest.mark.parametrize("series", [SLOWER, FASTER])
def test_a_change_that_base_shows_against_itself_is_the_machines(series: list[float], control: list[float]) -> None:
    comparison = compare(run_of(_with_control(series, control)))
    case = _only(comparison)
    assert (case.verdict, comparison.outcome, comparison.strict) == (
        Verdict.INCONCLUSIVE,
        Exit.OK,
        Exit.INCONCLUSIVE,
    )
    assert CPU in case.reason
    assert "control" in case.reason


def test_a_quiet_control_arm_changes_nothing() -> None:
    for series in (SLOWER, FASTER, SAME, UNCLEAR):
        plain, controlled = _one(pairs_with(CASE, series)), _one(_with_control(series, STILL))
        assert controlled == replace(plain, control=controlled.control)
        assert set(controlled.control) == set(JUDGED)
    assert _one(_with_control(SAME, SLOWER)).verdict is Verdict.UNCHANGED


# ---------------- the matrix


def _matrix(effects: Sequence[float], noise: float, count: int, seed: int = 0) -> Run:
    cases = OTHERS[: len(effects)]
    launches = [
        launch
        for number, (case, effect) in enumerate(zip(cases, effects, strict=True))
        for launch in pairs_with(case, factors(effect, count, noise=noise, seed=seed + number))
    ]
    return run_of(launches, cases=cases)


def _discoveries(ps: Sequence[float], share: float) -> set[int]:
    """Which are told: those within k / all of the share, for the largest k of which k are (Benjamini, Hochberg)."""
    told: set[int] = set()
    for size in range(1, len(ps) + 1):
        within = {place for place, p in enumerate(ps) if p <= share * size / len(ps)}
        told = within if len(within) >= size else told
    return told


@given(st.integers(0, 10_000), st.sampled_from([0.05, 1e-3, 1e-5, 1e-9]))
@settings(max_examples=10)
def test_false_discoveries_are_controlled_over_all_metrics_of_all_cases(seed: int, share: float) -> None:
    rng = random.Random(seed)
    run = _matrix([rng.choice([0, 0, 0.03, 0.05, -0.04]) for _ in range(6)], 0.01, 20, seed)
    rule = replace(Rule(), false_discoveries=share)
    alone = [compare_case(run, case, rule) for case in run.header.cases]
    findings = [
        (case.case.id, name, one.finding)
        for case in alone
        for name, one in case.metrics.items()
        if one.finding is not None
    ]
    told = _discoveries([finding.p for _, _, finding in findings], share)
    kept = {findings[place][:2] for place in told}
    changes = {Verdict.REGRESSION, Verdict.IMPROVEMENT}
    for before, after in zip(alone, compare(run, rule).cases, strict=True):
        for name, one in before.metrics.items():
            if one.verdict in changes and (before.case.id, name) not in kept:
                assert after.metrics[name].verdict is Verdict.INCONCLUSIVE
                assert after.metrics[name].reason == "not clear enough among 6 cases"
            else:
                assert after.metrics[name] == one
        if before.verdict in changes and (before.case.id, before.decided_by) not in kept:
            assert after.verdict is not before.verdict or after.decided_by != before.decided_by
        else:
            assert after.verdict is before.verdict


def test_a_change_too_faint_for_the_matrix_is_inconclusive_there_and_told_alone() -> None:
    """And nothing else of the case is told twice."""
    run = run_of(_shortened(factors(0.04, ENOUGH, noise=0.02), CASE))
    lone = _only(compare(run, replace(Rule(), false_discoveries=1.0)))
    assert (lone.verdict, len(lone.notes)) == (Verdict.REGRESSION, 1)
    faint = _only(compare(run, replace(Rule(), false_discoveries=1e-30)))
    assert (faint.verdict, faint.codes) == (Verdict.INCONCLUSIVE, (Exit.INCONCLUSIVE,))
    assert faint.reason == "not clear enough among 1 cases"
    assert faint.notes == lone.notes


def _shortened(series: Sequence[float], case: Case) -> list[Launch]:
    """Pairs without slices at concurrency 1."""
    return [
        replace(one, slices=tuple(part for part in one.slices if part.role != "single"))
        for one in pairs_with(case, series)
    ]


def test_what_is_not_told_helps_nobody_else_to_be_told() -> None:
    """A head that answers wrong is quick, but that is no discovery."""
    faint, broken = pairs_with(CASE, factors(0.05, ENOUGH, noise=0.02)), OTHERS[:20]
    found = _only(compare(run_of(faint), replace(Rule(), false_discoveries=1.0))).metrics[CPU].finding
    assert found is not None
    assert found.verdict is Verdict.REGRESSION
    assert found.p > 0
    rule = replace(Rule(), false_discoveries=2 * found.p)  # a third of it is not enough, all of it would be
    quick = [factors(-0.5, ENOUGH)] * len(JUDGED)
    launches = [launch for case in broken for launch in pairs_by_metric(case, *quick)]
    wrong = [bad(case, "head", 90 + number) for case in broken for number in range(ENOUGH_BAD)]
    among = compare(run_of([*faint, *launches, *wrong], cases=(CASE, *broken)), rule)
    assert _only(compare(run_of(faint), rule)).verdict is among.cases[0].verdict is Verdict.INCONCLUSIVE
    right = compare(run_of([*faint, *launches], cases=(CASE, *broken)), rule)
    assert right.cases[0].verdict is Verdict.REGRESSION
    assert (among.outcome, right.outcome) == (Exit.INVALID, Exit.REGRESSION)


# ---------------- several at once


@pytest.mark.parametrize(
    ("kinds", "outcome", "strict"),
    [
        ("same unclear", Exit.OK, Exit.INCONCLUSIVE),
        ("unclear invalid", Exit.INVALID, Exit.INVALID),
        ("slower invalid", Exit.REGRESSION, Exit.REGRESSION),
        ("slower base", Exit.INFRASTRUCTURE, Exit.INFRASTRUCTURE),
        ("slower base head invalid", Exit.HEAD_BROKEN, Exit.HEAD_BROKEN),
        ("same base", Exit.INFRASTRUCTURE, Exit.INFRASTRUCTURE),
        ("absent absent", Exit.NOTHING_MEASURED, Exit.NOTHING_MEASURED),
        ("absent identical", Exit.OK, Exit.OK),
        ("absent same", Exit.OK, Exit.OK),
        ("empty invalid", Exit.INVALID, Exit.INVALID),
    ],
)
def test_the_worst_of_several_outcomes_is_the_exit_code(kinds: str, outcome: Exit, strict: Exit) -> None:
    launches: list[Launch] = []
    failures: list[Failure] = []
    cases = OTHERS[: len(kinds.split())]
    for case, kind in zip(cases, kinds.split(), strict=True):
        if kind in {"same", "slower", "unclear"}:
            launches += pairs_with(case, {"same": SAME, "slower": SLOWER, "unclear": UNCLEAR}[kind])
        elif kind == "invalid":
            launches += [bad(case, "head", number) for number in (1, 2)]
        elif kind in {"base", "head"}:
            failures.append(Failure(case.id, kind, "failed", "did not build"))
        elif kind != "empty":
            failures.append(Failure(case.id, "head", {"absent": "skipped"}.get(kind, kind), "a reason"))
    comparison = compare(run_of(launches, failures, cases))
    assert (comparison.outcome, comparison.strict) == (outcome, strict)
    assert len(comparison.cases) == len(cases)


def test_the_header_has_the_arms_by_name() -> None:
    assert [arm.name for arm in HEADER.arms] == ["base", "head"]
