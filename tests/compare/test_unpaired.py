"""Two independent samples: against counting by hand, against scipy, and by how often the interval holds."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import combinations, product
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from windtunnel.compare.unpaired import Between, from_intervals, from_launches, least_launches, mean_of

positive = st.floats(1e-6, 1e3, allow_nan=False)
samples = st.lists(positive, min_size=1, max_size=9)
quick = settings(max_examples=60, deadline=None)


def _counted(count: int, others: int, level: float) -> int:
    """How many differences lie outside each end: the ranks of `count` among all, each choice counted."""
    found: Counter[int] = Counter()
    for places in combinations(range(count + others), count):
        found[sum(place - index for index, place in enumerate(places))] += 1
    total, seen = math.comb(count + others, count), 0
    for statistic in range(count * others + 1):
        seen += found[statistic]
        if seen > level * total:
            return statistic - 1
    raise AssertionError("all of it is more than a part")


@pytest.mark.parametrize(("count", "others"), [(4, 4), (4, 6), (7, 5), (8, 8)])
def test_the_ends_are_those_that_counting_gives(count: int, others: int) -> None:
    rng = random.Random(f"{count} {others}")
    these = [rng.uniform(1, 2) for _ in range(count)]
    those = [rng.uniform(1, 2) for _ in range(others)]
    quotients = sorted(one / other for one, other in product(these, those))
    outside = _counted(count, others, 0.025)
    found = from_launches(these, those, 0.95)
    assert found.low == pytest.approx(quotients[outside])
    assert found.high == pytest.approx(quotients[-1 - outside])


def test_the_estimate_is_the_middle_of_all_quotients() -> None:
    these, those = [2.0, 3.0, 5.0], [1.0, 4.0, 7.0]
    assert from_launches(these, those).ratio == pytest.approx(median(a / b for a, b in product(these, those)))


@quick
@given(samples, samples)
def test_the_other_way_round_it_is_the_inverse(these: list[float], those: list[float]) -> None:
    one, other = from_launches(these, those), from_launches(those, these)
    assert one.ratio == pytest.approx(1 / other.ratio)
    if math.isfinite(one.low):
        assert one.low == pytest.approx(1 / other.high)
        assert one.high == pytest.approx(1 / other.low)


@quick
@given(st.lists(positive, min_size=8, max_size=8, unique=True), st.floats(0.5, 2.0))
def test_the_interval_has_what_the_test_does_not_reject(these: list[float], factor: float) -> None:
    """1 is outside the interval exactly where Mann and Whitney's exact test rejects at 5 %."""
    those = [value * factor * (1 + index / 1e6) for index, value in enumerate(these)]
    found = from_launches(these, those)
    p = stats.mannwhitneyu(these, those, method="exact").pvalue
    if not {found.low, found.high} & {1.0} and len({*these, *those}) == 16:
        assert (found.low > 1 or found.high < 1) == (p <= 0.05)


def test_large_samples_go_by_the_normal_distribution_and_agree_with_the_exact_one() -> None:
    rng = random.Random(5)
    these = [rng.lognormvariate(0, 0.1) for _ in range(60)]
    small, large = from_launches(these[:41], these[:60]), from_launches(these[:42], these[:60])
    assert small.high / small.low == pytest.approx(large.high / large.low, rel=0.02)


def test_the_interval_holds_as_often_as_it_says() -> None:
    rng = random.Random(20261201)
    held = 0
    for _ in range(2000):
        these = [1.1 * rng.lognormvariate(0, 0.05) for _ in range(8)]
        those = [rng.lognormvariate(0, 0.02) for _ in range(8)]
        found = from_launches(these, those)
        held += found.low <= 1.1 <= found.high
    assert held >= 0.93 * 2000


def test_too_few_have_a_ratio_and_no_interval() -> None:
    few = least_launches(0.95) - 1
    found = from_launches([2.0] * few, [1.0] * few)
    assert found.ratio == pytest.approx(2)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert math.isfinite(from_launches([2.0] * (few + 1), [1.0] * (few + 1)).low)


@pytest.mark.parametrize("bad", [[], [0.0], [-1.0, 2.0], [math.inf], [math.nan]])
def test_what_has_no_quotient_is_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match="quotient"):
        from_launches(bad, [1.0])
    with pytest.raises(ValueError, match="quotient"):
        from_launches([1.0], bad)


# ---------------- two intervals


def test_one_exact_value_leaves_the_other_ones_interval() -> None:
    found = from_intervals(Between(2.0, 1.8, 2.4), Between(1.0, 1.0, 1.0))
    assert (found.ratio, found.low, found.high) == pytest.approx((2.0, 1.8, 2.4))


def test_the_other_ones_lower_end_is_what_makes_the_ratio_larger() -> None:
    found = from_intervals(Between(1.0, 1.0, 1.0), Between(1.0, 0.8, 1.1))
    assert (found.low, found.high) == pytest.approx((1 / 1.1, 1 / 0.8))


def test_the_widths_add_as_squares_of_logarithms() -> None:
    one = Between(1.0, math.exp(-0.03), math.exp(0.03))
    other = Between(1.0, math.exp(-0.04), math.exp(0.04))
    found = from_intervals(one, other)
    assert math.log(found.high) == pytest.approx(0.05)
    assert math.log(found.low) == pytest.approx(-0.05)


def test_the_combined_interval_keeps_the_confidence_of_the_two() -> None:
    """Two normal 99 % intervals, of quite different widths, make one of about 99 %."""
    rng = random.Random(99)
    quantile = stats.norm.ppf(0.995)
    held = 0
    for _ in range(4000):
        values = []
        for spread in (0.01, 0.03):
            middle = rng.gauss(0, spread)
            values.append(
                Between(*(math.exp(one) for one in (middle, middle - quantile * spread, middle + quantile * spread)))
            )
        found = from_intervals(*values)
        held += found.low <= 1 <= found.high
    assert 0.983 <= held / 4000 <= 0.996


@pytest.mark.parametrize("end", [0.0, -1.0, math.nan, math.inf])
def test_an_end_that_is_not_known_leaves_no_interval(end: float) -> None:
    found = from_intervals(Between(2.0, end, 2.4), Between(1.0, 0.9, 1.1))
    assert found.ratio == pytest.approx(2.0)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_a_value_without_a_quotient_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="quotient"):
        from_intervals(Between(bad), Between(1.0))


def test_the_mean_of_values_has_less_room_than_each_of_them() -> None:
    values = [Between(2.0, 2.0 / 1.1, 2.0 * 1.1), Between(8.0, 8.0 / 1.1, 8.0 * 1.1)]
    found = mean_of(values)
    assert found.ratio == pytest.approx(4.0)
    assert math.log(found.high / found.ratio) == pytest.approx(math.log(1.1) / math.sqrt(2))
    assert math.log(found.ratio / found.low) == pytest.approx(math.log(1.1) / math.sqrt(2))


def test_the_mean_of_values_without_an_interval_has_none() -> None:
    found = mean_of([Between(2.0, 1.9, 2.1), Between(2.0)])
    assert found.ratio == pytest.approx(2.0)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize("values", [[], [Between(0.0)], [Between(1.0), Between(math.inf)]])
def test_what_has_no_geometric_mean_is_refused(values: list[Between]) -> None:
    with pytest.raises(ValueError, match="positive"):
        mean_of(values)
