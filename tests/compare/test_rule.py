"""The rule against a slow one written from its words, and what has to hold for it whatever the pairs are."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import plainly
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from windtunnel.compare.estimate import Sample, least_pairs
from windtunnel.compare.rule import JUDGED, Finding, Rule, Verdict, judge, minimum_detectable

SMALL = Rule(
    threshold=0.01,
    alpha=0.6,
    equivalence=0.6,
    looks=((4, 0.3, 0.2), (5, 0.2, 0.3), (8, 0.3, 0.3), (12, 0.2, 0.2)),
    guard=0.1,
    flag=0.4,
    fresh=2,
    most=12,
)
"""A rule that says something of a handful of pairs, so that every turn it can take is taken."""

rules = st.sampled_from([Rule(), SMALL, replace(SMALL, fresh=4, flag=0.1), replace(Rule(), alpha=0.05)])
metrics = st.sampled_from(JUDGED)
many = settings(max_examples=400)
some = settings(max_examples=100)


def _last(rule: Rule) -> int:
    return rule.looks[-1][0]


def _drawn(seed: int, rule: Rule) -> list[float]:
    return plainly.drawn(seed, _last(rule) + 4)


# ---------------- the oracle


@given(st.integers(0, 2**40), rules, metrics, st.booleans())
@many
def test_the_verdict_is_that_of_the_words(seed: int, rule: Rule, metric: str, ended: bool) -> None:
    values = _drawn(seed, rule)
    finding = judge(metric, values, rule, ended=ended)
    assert (finding.verdict, finding.pending) == plainly.verdict_of(metric, values, rule, ended=ended)[:2]


@given(plainly.series(14), st.booleans(), st.integers(1, 5), st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)))
@many
def test_the_verdict_is_that_of_the_words_for_any_few_values(
    values: list[float], ended: bool, fresh: int, levels: tuple[float, float]
) -> None:
    rule = replace(SMALL, fresh=fresh, alpha=levels[0], flag=levels[1])
    finding = judge(JUDGED[0], values, rule, ended=ended)
    assert (finding.verdict, finding.pending) == plainly.verdict_of(JUDGED[0], values, rule, ended=ended)[:2]


def test_the_series_that_are_drawn_meet_every_verdict_under_every_rule() -> None:
    """Else the comparison with the oracle would compare nothing."""
    for rule in (Rule(), SMALL):
        found = [judge(JUDGED[0], _drawn(seed, rule), rule) for seed in range(400)]
        assert {one.verdict for one in found} == {
            Verdict.REGRESSION,
            Verdict.IMPROVEMENT,
            Verdict.UNCHANGED,
            Verdict.INCONCLUSIVE,
        }
        assert {one.pending for one in found} == {-1, 0, 1}
        assert {one.suspect for one in found} == {False, True}


@given(plainly.series(30), metrics)
@some
def test_the_figures_are_those_of_all_pairs(values: list[float], metric: str) -> None:
    finding, whole = judge(metric, values, Rule()), Sample(values)
    assert (finding.metric, finding.count, finding.estimate) == (metric, len(values), whole.estimate)
    assert (finding.low, finding.high) == whole.interval(0.95)
    assert finding.low <= finding.estimate <= finding.high
    assert finding.error == whole.error
    assert (finding.reason == "") == (finding.verdict is not Verdict.INCONCLUSIVE)
    assert 0 <= finding.p <= 1


@given(plainly.series(40), metrics, rules)
@some
def test_p_is_the_best_look_by_what_it_was_worth(values: list[float], metric: str, rule: Rule) -> None:
    """Up to the look that was confirmed; a metric with a larger share of alpha is believed sooner."""
    finding, told = judge(metric, values, rule), [1.0]
    _, _, last = plainly.verdict_of(metric, values, rule)
    for count, spent, _ in plainly.taken(len(values), rule, True):
        if spent and count <= last:
            here = min(plainly.p_beyond(values[:count], 1), plainly.p_beyond(values[:count], -1))
            told.append(here / (spent * rule.shares[metric] * len(rule.shares)))
    assert finding.p == pytest.approx(min(told), rel=1e-6, abs=1e-12)


@given(plainly.series(40), metrics, rules)
@some
def test_what_is_told_has_a_p_that_alpha_allows(values: list[float], metric: str, rule: Rule) -> None:
    finding = judge(metric, values, rule)
    if finding.verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT}:
        assert finding.p <= rule.alpha / len(rule.shares) * (1 + 1e-12)
        assert abs(finding.estimate) > rule.border


# ---------------- the looks


@given(st.integers(0, 120), st.booleans(), rules)
@some
def test_looks_are_taken_as_planned_and_one_more_where_a_case_ends(count: int, ended: bool, rule: Rule) -> None:
    taken = rule.looks_at(count, ended=ended)
    assert list(taken) == [
        *(look for look in rule.looks if look[0] <= count),
        *(look for look in plainly.taken(count, rule, ended) if look not in rule.looks),
    ]
    assert sum(spent for _, spent, _ in taken) <= 1 + 1e-12
    assert sum(same for _, _, same in taken) <= 1 + 1e-12
    assert all(at <= count for at, _, _ in taken)


def test_the_looks_and_metrics_spend_no_more_than_there_is() -> None:
    rule = Rule()
    counts = [count for count, _, _ in rule.looks]
    assert counts == sorted(set(counts))
    assert sum(spent for _, spent, _ in rule.looks) <= 1 + 1e-12
    assert sum(same for _, _, same in rule.looks) <= 1 + 1e-12
    assert set(rule.shares) == set(JUDGED)
    assert sum(rule.shares.values()) == pytest.approx(1)
    assert sum(map(rule.level, JUDGED)) == pytest.approx(rule.alpha)
    assert math.exp(rule.border) == pytest.approx(1 + rule.threshold)


# ---------------- symmetries


def _mirrored(verdict: Verdict) -> Verdict:
    swapped = {Verdict.REGRESSION: Verdict.IMPROVEMENT, Verdict.IMPROVEMENT: Verdict.REGRESSION}
    return swapped.get(verdict, verdict)


@given(plainly.series(40), metrics, rules, st.booleans())
@some
def test_base_and_head_swapped_is_the_mirror_image(values: list[float], metric: str, rule: Rule, ended: bool) -> None:
    one = judge(metric, values, rule, ended=ended)
    other = judge(metric, [-value for value in values], rule, ended=ended)
    assert other.verdict is _mirrored(one.verdict)
    assert (other.estimate, other.low, other.high) == (-one.estimate, -one.high, -one.low)
    assert (other.p, other.error, other.pending) == (one.p, one.error, -one.pending)


@given(plainly.series(40), metrics, rules, st.randoms())
@some
def test_the_order_of_the_pairs_before_the_first_look_is_nothing(
    values: list[float], metric: str, rule: Rule, rng: random.Random
) -> None:
    first = rule.looks[0][0]
    mixed = rng.sample(values[:first], len(values[:first])) + values[first:]
    assert judge(metric, mixed, rule) == judge(metric, values, rule)


@given(plainly.series(40), metrics, rules, st.randoms())
@some
def test_the_order_of_the_pairs_between_two_looks_is_nothing(
    values: list[float], metric: str, rule: Rule, rng: random.Random
) -> None:
    mixed: list[float] = []
    ends = [count for count, _, _ in rule.looks_at(len(values), ended=True)]
    for start, end in zip([0, *ends], [*ends, len(values)], strict=True):
        mixed += rng.sample(values[start:end], len(values[start:end]))
    assert judge(metric, mixed, rule) == judge(metric, values, rule)


# ---------------- more of the same


@given(plainly.series(30), metrics, rules, st.integers(1, 40))
@some
def test_more_of_the_same_never_makes_nothing_of_a_regression(
    values: list[float], metric: str, rule: Rule, more: int
) -> None:
    before = judge(metric, values, rule)
    after = judge(metric, [*values, *[max(values)] * more], rule)
    if before.verdict is Verdict.REGRESSION:
        assert after.verdict is Verdict.REGRESSION


@given(plainly.series(30), rules)
@some
def test_a_change_upwards_by_any_constant_never_leads_from_regression_away(values: list[float], rule: Rule) -> None:
    """All log ratios larger by the same: the estimate moves with them, and a regression stays one."""
    before = judge(JUDGED[0], values, rule)
    after = judge(JUDGED[0], [value + 0.125 for value in values], rule)
    assert after.estimate == before.estimate + 0.125
    assert (after.low, after.high) == (before.low + 0.125, before.high + 0.125)
    if before.verdict is Verdict.REGRESSION:
        assert after.verdict is Verdict.REGRESSION


def _first_told(rule: Rule) -> tuple[int, int]:
    """With how many pairs a change is flagged and told at the earliest, since it is as clear as can be."""
    flagged = next(count for count, _, _ in rule.looks if count >= least_pairs(rule.flag))
    return flagged, next(
        count
        for count, spent, _ in rule.looks
        if spent and count >= max(least_pairs(rule.guard), flagged + rule.fresh)
    )


@pytest.mark.parametrize("rule", [Rule(), SMALL], ids=["default", "small"])
@pytest.mark.parametrize("metric", JUDGED)
def test_a_large_clear_change_is_always_found_and_told_as_soon_as_it_can_be(rule: Rule, metric: str) -> None:
    flagged, told = _first_told(rule)
    rng = random.Random(7)
    for sign, verdict in ((1, Verdict.REGRESSION), (-1, Verdict.IMPROVEMENT)):
        values = [sign * rng.uniform(0.19, 0.21) for _ in range(_last(rule) + 3)]
        for count in range(1, len(values) + 1):
            finding = judge(metric, values[:count], rule, ended=False)
            expected = (verdict, 0) if count >= told else (Verdict.INCONCLUSIVE, sign * int(count >= flagged))
            assert (finding.verdict, finding.pending) == expected
    assert told <= rule.most


def test_no_change_and_little_noise_is_unchanged_at_an_early_look() -> None:
    rule, rng = Rule(), random.Random(8)
    values = [rng.gauss(0, rule.border / 10) for _ in range(rule.looks[1][0])]
    assert judge(JUDGED[0], values, rule, ended=False).verdict is Verdict.UNCHANGED


def test_what_is_flagged_waits_for_fresh_pairs_and_falls_with_their_sign() -> None:
    early = [0.05, 0.06, 0.07, 0.08]
    waiting = judge(JUDGED[0], early, SMALL)
    assert (waiting.verdict, waiting.pending) == (Verdict.INCONCLUSIVE, 1)
    assert "confirm" in waiting.reason
    rest = [0.05, 0.06, 0.07, 0.08]
    assert judge(JUDGED[0], [*early, *rest], SMALL).verdict is Verdict.REGRESSION
    assert judge(JUDGED[0], [*early, *rest], replace(SMALL, fresh=5)).pending == 1
    assert judge(JUDGED[0], [*early, -0.001, -0.001, -0.001, -0.001], SMALL).verdict is Verdict.INCONCLUSIVE


def test_a_confirmed_change_that_all_pairs_deny_is_not_told() -> None:
    turned = [0.05, 0.06, 0.07, 0.08, 0.09, 0.05, 0.06, 0.07] + [-0.2] * 12
    finding = judge(JUDGED[0], turned, SMALL)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "the earlier pairs and the later ones say different things" in finding.reason


def test_a_change_that_comes_later_is_told_though_it_was_unchanged_first() -> None:
    still = [0.0001, -0.0001, 0.0002, -0.0002, 0.0001]
    rule = replace(SMALL, looks=((5, 0.2, 1.0), (12, 0.2, 0), (16, 0.6, 0)))
    assert judge(JUDGED[0], still, rule).verdict is Verdict.UNCHANGED
    moved = [*still, *[0.2 + place / 100 for place in range(11)]]
    assert judge(JUDGED[0], moved[:12], rule).verdict is Verdict.INCONCLUSIVE
    assert judge(JUDGED[0], moved, rule).verdict is Verdict.REGRESSION


# ---------------- the error rates, exactly


def _rate(series: Sequence[Sequence[float]], metric: str, rule: Rule, verdict: Verdict) -> float:
    return sum(judge(metric, values, rule).verdict is verdict for values in series) / len(series)


sizes_of_noise = st.lists(st.floats(1e-4, 1e3) | st.sampled_from([0.0, 0.05]), min_size=8, max_size=8)
heavy = [0.02 * math.tan(math.pi * (place + 0.5) / 20) + 0.03 for place in range(10)]
growing = [0.02 * 1.5**place for place in range(10)]


@given(sizes_of_noise)
@settings(max_examples=6)
@example(heavy)
@example(growing)
@example([0.05] * 10)
def test_a_wrong_regression_is_as_rare_as_the_guard_says(sizes: list[float]) -> None:
    """A/A: of all patterns of signs, whatever the sizes; it takes a look that the exact test passes."""
    patterns = list(plainly.flips(sizes))
    looks = [count for count, spent, _ in SMALL.looks_at(len(sizes), ended=True)[1:] if spent]
    for told in (Verdict.REGRESSION, Verdict.IMPROVEMENT):
        assert _rate(patterns, JUDGED[0], SMALL, told) <= SMALL.guard * len(looks)


def test_the_small_rule_does_tell_wrong_regressions_now_and_then() -> None:
    """Else the bound above would hold for nothing."""
    assert _rate(list(plainly.flips(growing)), JUDGED[0], SMALL, Verdict.REGRESSION) > SMALL.guard / 10


@given(sizes_of_noise, st.sampled_from([1, -1]))
@settings(max_examples=12)
@example(heavy, 1)
@example([size / 50 for size in growing], 1)
@example([size / 50 for size in growing], -1)
def test_a_change_by_the_threshold_is_called_unchanged_as_rarely_as_equivalence_says(
    sizes: list[float], direction: int
) -> None:
    """Noise about a change of just that size, all patterns of signs."""
    patterns = [[direction * SMALL.border + value for value in values] for values in plainly.flips(sizes)]
    assert _rate(patterns, JUDGED[0], SMALL, Verdict.UNCHANGED) <= SMALL.equivalence


Draw = Callable[[np.random.Generator, tuple[int, int]], "np.typing.NDArray[np.float64]"]

SAME_ARMS: dict[str, Draw] = {
    "normal": lambda rng, size: rng.normal(0, 0.05, size),
    "even": lambda rng, size: rng.uniform(-0.1, 0.1, size),
    "heavy": lambda rng, size: 0.03 * rng.standard_cauchy(size),
    "two humps": lambda rng, size: rng.choice([-0.06, 0.06], size) + rng.normal(0, 0.01, size),
    "three humps": lambda rng, size: rng.choice([-0.06, 0, 0, 0.06], size) + rng.normal(0, 0.005, size),
    "worse and worse": lambda rng, size: rng.normal(0, 0.01, size) * np.linspace(1, 10, size[1]),
    "better and better": lambda rng, size: rng.normal(0, 0.01, size) * np.linspace(10, 1, size[1]),
}
"""Noise of pairs of the same arms: with that of the machine, and where a launch's luck is one of two or three."""


@pytest.mark.parametrize("noise", SAME_ARMS)
def test_the_default_rule_tells_wrong_regressions_as_rarely_as_alpha_says(noise: str) -> None:
    """A rate of just alpha would be within the bound in all but 1 of 10,000 such experiments."""
    rule, cases = Rule(), 6_000
    series = SAME_ARMS[noise](np.random.default_rng(13), (cases, rule.most))
    doubtful = series[_guarded(series, rule)].tolist()
    for metric in JUDGED:
        wrong = sum(judge(metric, values, rule).verdict is Verdict.REGRESSION for values in doubtful)
        assert wrong <= _unlikely(cases, rule.level(metric))


def _guarded(series: np.typing.NDArray[np.float64], rule: Rule) -> np.typing.NDArray[np.bool_]:
    """Which of these pass the exact test at a look: no others can be told, and these are few."""
    passed = np.zeros(len(series), bool)
    for count, _, _ in rule.looks:
        seen = series[:, :count]
        ranks = np.argsort(np.argsort(np.abs(seen), axis=1), axis=1) + 1
        tail = np.array([float(plainly.tail(count, total)) for total in range(count * (count + 1) // 2 + 1)])
        passed |= tail[(ranks * (seen > 0)).sum(axis=1)] <= rule.guard
    return passed


def _unlikely(tries: int, rate: float) -> int:
    """The least count that is exceeded in fewer than 1 of 10,000 such experiments (binomial)."""
    left, count = 1.0, 0
    while True:
        left -= math.comb(tries, count) * rate**count * (1 - rate) ** (tries - count)
        if left < 1e-4:
            return count
        count += 1


# ---------------- the smallest change


def _found(sd: float, count: int) -> Finding:
    rng = random.Random(count)
    return judge(JUDGED[0], [rng.gauss(0, sd) for _ in range(count)], Rule())


def test_the_mde_grows_with_the_noise_and_shrinks_with_the_pairs() -> None:
    rule = Rule()
    by_noise = [minimum_detectable(_found(sd, 16), rule) for sd in (0.001, 0.01, 0.03, 0.1)]
    assert by_noise == sorted(by_noise)
    by_pairs = [minimum_detectable(_found(0.03, count), rule) for count in (8, 16, 34, 76)]
    assert by_pairs == sorted(by_pairs, reverse=True)
    assert min(by_noise + by_pairs) >= rule.threshold
    assert minimum_detectable(_found(0.01, 2), rule) == math.inf


@given(plainly.series(40), metrics)
@some
def test_no_mde_is_below_the_threshold_or_no_number(values: list[float], metric: str) -> None:
    rule = Rule()
    assert minimum_detectable(judge(metric, values, rule), rule) >= rule.threshold * (1 - 1e-12)
