"""Estimate, test and interval against signed ranks worked out plainly, and against scipy."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import plainly
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st

from windtunnel.compare.estimate import Sample, _upper_tail, hodges_lehmann, least_pairs, student_tail

some = settings(max_examples=150)
grid = st.integers(-plainly.GRID, plainly.GRID).map(lambda number: number / plainly.GRID)
lists = st.lists(grid | st.sampled_from([-0.5, 0.0, 0.5]), min_size=1, max_size=14)
shifts = grid | st.sampled_from([0.0, 0.5])
confidences = st.sampled_from([0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 0.998])


# ---------------- the distribution


@pytest.mark.parametrize("count", range(13))
def test_the_tail_is_that_of_all_patterns_of_signs(count: int) -> None:
    totals = Counter(
        sum(itertools.compress(range(1, count + 1), signs)) for signs in itertools.product((0, 1), repeat=count)
    )
    wanted = [
        sum(times for total, times in totals.items() if total >= least) / 2**count
        for least in range(count * (count + 1) // 2 + 1)
    ]
    assert list(_upper_tail(count)) == wanted  # shares of a power of two: exact


@pytest.mark.parametrize("count", [20, 34, 76, 120])
def test_the_tail_of_many_pairs_is_right_to_its_far_end(count: int) -> None:
    tail = _upper_tail(count)
    assert len(tail) == count * (count + 1) // 2 + 1
    assert tail[-1] == 2.0**-count
    for least in range(0, len(tail), 7):
        assert tail[least] == pytest.approx(float(plainly.tail(count, least)), rel=1e-12)


@given(st.lists(st.floats(-10, 10).filter(bool), min_size=1, max_size=30, unique_by=abs))
@some
def test_p_is_scipys(values: list[float]) -> None:
    sample = Sample(values)
    for p, alternative in ((sample.p_above(), "greater"), (sample.p_below(), "less")):
        expected = scipy.stats.wilcoxon(values, alternative=alternative, method="exact").pvalue
        assert p == pytest.approx(expected, rel=1e-9)


@given(lists, shifts)
@some
def test_p_is_that_of_ranks_given_out_against_the_change(values: list[float], shift: float) -> None:
    sample = Sample(values)
    assert sample.p_above(shift) == pytest.approx(float(plainly.p_above(values, shift)), rel=1e-12)
    assert sample.p_below(shift) == pytest.approx(float(plainly.p_below(values, shift)), rel=1e-12)


@given(lists.map(lambda values: values[:7]))
@some
def test_no_way_to_break_ties_gives_a_larger_p(values: list[float]) -> None:
    """Every order in which values of the same size may be ranked is tried; zeros take either sign."""
    told = Sample(values).p_above()
    places = range(len(values))
    for order in itertools.permutations(places) if len(values) <= 5 else [tuple(places)]:
        ranked = sorted(order, key=lambda place: abs(values[place]))
        total = sum(rank for rank, place in enumerate(ranked, 1) if values[place] > 0)
        assert told >= float(plainly.tail(len(values), total)) - 1e-12


@given(plainly.magnitudes)
@settings(max_examples=25)
@example([1.0] * 8)
@example([0.0, 0.0, 1.0, 1.0, 2.0])
@example([10.0**power for power in range(9)])
def test_under_the_null_p_is_small_no_more_often_than_it_says(sizes: list[float]) -> None:
    """All sign patterns, not a sample of them: whatever the sizes are, P(p <= a) <= a for every a."""
    told = sorted(Sample(values).p_above() for values in plainly.flips(sizes))
    for rank, p in enumerate(told, 1):
        if rank == len(told) or told[rank] > p:
            assert rank / len(told) <= p * (1 + 1e-12)


def test_without_ties_the_null_distribution_is_used_up_to_the_last_bit() -> None:
    """Then P(p <= a) is a itself at each a that can be reached: careful, and not more careful than it has to be."""
    rng = random.Random(5)
    told = sorted(Sample(values).p_above() for values in plainly.flips([rng.lognormvariate(0, 2) for _ in range(12)]))
    for rank, p in enumerate(told, 1):
        if rank == len(told) or told[rank] > p:
            assert rank / len(told) == p


@given(st.floats(1e-12, 1.0))
@example(0.5)
@example(2.0**-11)
@example(math.nextafter(2.0**-11, 0))
def test_so_many_pairs_can_reach_a_level(level: float) -> None:
    least = least_pairs(level)
    clear = [1.0 + place for place in range(least)]
    assert Sample(clear).p_above() <= level * (1 + 1e-11)
    assert least == 1 or Sample(clear[1:]).p_above() > level * (1 - 1e-11)


# ---------------- the estimate


@given(lists)
@some
def test_the_estimate_is_the_median_of_all_means_of_two(values: list[float]) -> None:
    assert hodges_lehmann(values) == Sample(values).estimate == plainly.middle(values)


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=12), st.floats(0, 1), st.randoms())
@some
def test_the_estimate_lies_in_every_interval(values: list[float], confidence: float, rng: random.Random) -> None:
    sample = Sample(values)
    low, high = sample.interval(confidence)
    assert low <= sample.estimate <= high
    mixed = rng.sample(values, len(values))
    assert Sample(mixed).walsh == sample.walsh
    assert min(values) <= sample.estimate <= max(values)


@given(lists, shifts, confidences)
@some
def test_a_shift_of_all_values_moves_everything_by_itself(
    values: list[float], shift: float, confidence: float
) -> None:
    before, after = Sample(values), Sample([value + shift for value in values])
    assert after.estimate == before.estimate + shift
    assert after.interval(confidence) == tuple(end + shift for end in before.interval(confidence))
    assert after.p_above(shift) == before.p_above()
    assert after.error == pytest.approx(before.error)


@given(lists, shifts, confidences)
@some
def test_the_mirror_image_of_the_values_has_that_of_everything(
    values: list[float], shift: float, confidence: float
) -> None:
    one, other = Sample(values), Sample([-value for value in values])
    assert other.estimate == -one.estimate
    assert other.p_below(-shift) == one.p_above(shift)
    assert other.interval(confidence) == tuple(-end for end in reversed(one.interval(confidence)))
    assert other.error == one.error


# ---------------- the interval


@given(lists, confidences)
@some
def test_the_interval_is_what_neither_test_rejects(values: list[float], confidence: float) -> None:
    """Tried at every Walsh average, between every two, and outside of all; in exact arithmetic."""
    low, high = Sample(values).interval(confidence)
    level = Fraction((1 - confidence) / 2)
    means = sorted({(Fraction(one) + Fraction(other)) / 2 for one in values for other in values})
    between = [(one + other) / 2 for one, other in itertools.pairwise(means)]
    for shift in [means[0] - 1, *means, *between, means[-1] + 1]:
        kept = all(
            plainly.tail(len(values), plainly.statistic([sign * value for value in values], sign * float(shift)))
            > level
            for sign in (1, -1)
        )
        assert kept == (low <= shift <= high)


@given(lists, st.sampled_from([0.5, 0.8, 0.95]))
@settings(max_examples=50)
def test_the_interval_is_found_by_bisection_too(values: list[float], confidence: float) -> None:
    """Each end is where a one-sided test changes its mind."""
    sample, level = Sample(values), (1 - confidence) / 2
    low, high = sample.interval(confidence)
    if math.isinf(low):
        assert high == math.inf
        assert sample.p_above(-10) > level
        return
    assert _where(lambda shift: sample.p_above(shift) <= level, -10, 10) == pytest.approx(low, abs=1e-9)
    assert _where(lambda shift: sample.p_below(-shift) <= level, -10, 10) == pytest.approx(-high, abs=1e-9)


def _where(rejects: Callable[[float], bool], inside: float, outside: float) -> float:
    """Up to where a test rejects that rejects at `inside` and not at `outside`."""
    for _ in range(80):
        half = (inside + outside) / 2
        inside, outside = (half, outside) if rejects(half) else (inside, half)
    return outside


@given(plainly.magnitudes.map(lambda sizes: sizes[:8]), st.sampled_from([0.5, 0.8, 0.9, 0.95]))
@settings(max_examples=30)
def test_the_interval_covers_as_often_as_it_says(sizes: list[float], confidence: float) -> None:
    """Over all sign patterns of any sizes about a middle of 0, exactly."""
    found = [Sample(values).interval(confidence) for values in plainly.flips(sizes)]
    covering = sum(low <= 0 <= high for low, high in found)
    assert covering / len(found) >= confidence - 1e-12


@given(lists)
@some
def test_more_confidence_is_never_a_narrower_interval(values: list[float]) -> None:
    found = [Sample(values).interval(confidence) for confidence in (0, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 1)]
    for (low, high), (lower, higher) in itertools.pairwise(found):
        assert lower <= low <= high <= higher
    assert found[-1] == (-math.inf, math.inf)


# ---------------- few values, and bad ones


def test_nothing_is_said_without_values() -> None:
    sample = Sample([])
    assert (sample.count, sample.p_above(), sample.p_below()) == (0, 1.0, 1.0)
    assert sample.interval(0.95) == (-math.inf, math.inf)
    assert sample.error == math.inf
    with pytest.raises(ValueError, match="no values"):
        _ = sample.estimate
    with pytest.raises(ValueError, match="no values"):
        hodges_lehmann([])


@pytest.mark.parametrize("count", range(1, 6))
def test_up_to_five_values_have_no_interval_of_95_percent(count: int) -> None:
    sample = Sample([0.01 * place for place in range(1, count + 1)])
    assert sample.interval(0.95) == (-math.inf, math.inf)
    assert sample.p_above() == 2.0**-count
    assert math.isinf(sample.error) == (count < 3)


def test_six_values_have_one_from_end_to_end() -> None:
    values = [0.3, 0.1, 0.2, 0.6, 0.4, 0.5]
    assert Sample(values).interval(0.95) == (0.1, 0.6)


@given(st.integers(1, 12), grid)
def test_values_that_are_all_the_same_have_no_width(count: int, value: float) -> None:
    sample = Sample([value] * count)
    assert sample.estimate == value
    assert sample.error == (math.inf if count < 3 else 0)
    assert sample.p_above(value) == sample.p_below(value) == 1


@given(lists, st.sampled_from([math.nan, math.inf, -math.inf]), st.integers(0, 14))
def test_what_is_no_number_is_refused(values: list[float], bad: float, place: int) -> None:
    values.insert(place, bad)
    with pytest.raises(ValueError, match="not finite"):
        Sample(values)


# ---------------- the standard error


@pytest.mark.parametrize("count", [3, 4, 5, 6, 8, 12, 20, 34])
def test_the_error_is_about_that_of_theory(count: int) -> None:
    """Normal values: the estimate's variance is pi / 3 that of the mean (Hodges and Lehmann, 1963).

    Few values have wide intervals, as they have for Student's t: there the error is too large, and never too small.
    """
    rng = random.Random(count)
    samples = [Sample([rng.gauss(0, 1) for _ in range(count)]) for _ in range(400)]
    theory = math.sqrt(math.pi / 3 / count)
    assert 0.9 < statistics.median(sample.error for sample in samples) / theory < 1 + 4 / count
    assert statistics.stdev(sample.estimate for sample in samples) == pytest.approx(theory, rel=0.2)


@given(lists)
@some
def test_the_error_and_its_p_are_those_worked_out_plainly(values: list[float]) -> None:
    sample = Sample(values)
    assert sample.error == pytest.approx(plainly.error(values), rel=1e-9)
    for direction in (1, -1):
        assert sample.p_beyond(direction) == pytest.approx(plainly.p_beyond(values, direction), rel=1e-9, abs=1e-15)


@given(st.floats(-1e6, 1e6) | st.floats(-8, 8), st.integers(1, 120))
@some
@example(0.0, 1)
@example(1e300, 1)
@example(1.8596601538078298e-08, 1)
def test_students_tail_is_scipys(value: float, freedom: int) -> None:
    """Near nought scipy itself loses digits: there the tail is 1/2 less the value times the density, to its cube."""
    if abs(value) < 1e-4:
        expected = 0.5 - value * float(scipy.stats.t.pdf(0, freedom))
    else:
        expected = float(scipy.stats.t.sf(value, freedom))
    assert student_tail(value, freedom) == pytest.approx(expected, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("count", [8, 12, 20])
def test_the_p_by_the_error_is_small_no_more_often_than_it_says(count: int) -> None:
    """Under the null, for normal values and heavy tails; no theorem, so it is tried, with half as much to spare."""
    rng = random.Random(count)
    for draw in (lambda: rng.gauss(0, 1), lambda: math.tan(math.pi * (rng.random() - 0.5))):
        told = [Sample([draw() for _ in range(count)]).p_beyond(1) for _ in range(3000)]
        for level in (0.05, 0.01):
            assert sum(p <= level for p in told) / len(told) <= level * 1.5


def test_the_error_is_about_that_of_the_bootstrap() -> None:
    """Also where values are not normal, which theory does not know of."""
    rng = random.Random(1)
    for _ in range(5):
        values = [rng.gauss(0, rng.choice([0.5, 3])) for _ in range(25)]
        again = [hodges_lehmann(rng.choices(values, k=25)) for _ in range(300)]
        assert 0.6 < Sample(values).error / statistics.stdev(again) < 1.7
