"""The noise of pairs is split into its levels: held to an analysis of variance done plainly, and to known noise."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nested_noise import Levels, groups, pairs

import material
from windtunnel.compare.effects import Pair
from windtunnel.compare.variance import Nested, Noise, costs_of, nested, noise_of, noises_of
from windtunnel.load.histogram import build
from windtunnel.model import Launch, Slice
from windtunnel.units import Missing

GROUPS = st.lists(st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=1, max_size=6), min_size=2, max_size=7)


def squares(values: list[float]) -> float:
    """The sum of squares about the mean, from all differences of two: without a mean."""
    return sum((one - other) ** 2 for one, other in combinations(values, 2)) / len(values)


def outside(values: list[list[float]]) -> float:
    """The sum of squares between groups: all of it, less what is inside them."""
    return squares([one for group in values for one in group]) - sum(map(squares, values))


def oracle(values: list[list[float]]) -> tuple[float, float]:
    """Both components, before one that is negative is taken for 0.

    What the sum of squares between groups holds of the variance between them is found by experiment: a group of ones
    among zeros, each in turn, since groups are independent of each other.
    """
    total, count = sum(map(len, values)), len(values)
    within = sum(map(squares, values)) / (total - count)
    share = sum(
        outside([[float(index == chosen)] * len(group) for index, group in enumerate(values)])
        for chosen in range(count)
    )
    return (outside(values) - (count - 1) * within) / share, within


@given(GROUPS)
def test_the_components_are_those_of_a_plain_analysis_of_variance(values: list[list[float]]) -> None:
    assume(any(len(group) > 1 for group in values))
    found = nested(values)
    assert isinstance(found, Nested)
    between, within = oracle(values)
    assert found.within == pytest.approx(within, abs=1e-12)
    assert found.between == pytest.approx(max(0.0, between), abs=1e-12)
    if abs(between) > 1e-12:
        assert found.negative == (between < 0)


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]], [[1.0], [2.0], [3.0]], [[], [1.0, 2.0]]])
def test_one_luck_is_not_told_from_the_other_without_two_of_each(values: list[list[float]]) -> None:
    assert isinstance(nested(values), Missing)


@pytest.mark.parametrize("sizes", [(8, 8), (2, 14)])
@pytest.mark.parametrize("levels", [Levels(0.02, 0.06), Levels(0.05, 0.02), Levels(0.0, 0.06)])
def test_known_components_are_found_again(levels: Levels, sizes: tuple[int, int]) -> None:
    # five standard errors of a variance of so many values; a launch's mean has the slices' share in it
    count = 2000
    found = nested(groups(levels, count, sizes, seed=7))
    assert isinstance(found, Nested)
    mean_variance = levels.launch**2 + levels.slice**2 / 2
    assert abs(found.between - levels.launch**2) < 5 * mean_variance * math.sqrt(2 / count)
    assert abs(found.within - levels.slice**2) < 5 * levels.slice**2 * math.sqrt(2 / (7 * count))


def test_small_samples_are_right_on_average() -> None:
    """Without the clipping of what is negative the estimate would have no bias; here it is negative next to never."""
    levels, count = Levels(0.05, 0.05), 600
    found = [nested(groups(levels, 12, (4, 12), seed)) for seed in range(count)]
    between = [one.between for one in found if isinstance(one, Nested)]
    assert len(between) == count
    error = statistics.stdev(between) / math.sqrt(count)
    assert abs(statistics.fmean(between) - levels.launch**2) < 5 * error


def test_launches_that_are_more_alike_than_their_slices_say_so() -> None:
    found = nested([[-1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    assert found == Nested(0.0, 2.0, negative=True)


# ---------------- from launches


@pytest.mark.parametrize("metric", ["cpu_per_request", "time_per_request", "response_time"])
def test_a_metric_comes_from_its_own_slices(metric: str) -> None:
    levels = Levels(0.03, 0.06)
    found = noise_of(metric, pairs(levels, 400, slices=8, singles=6))
    assert isinstance(found, Noise)
    assert found.pairs == 400
    assert math.sqrt(found.variances.launch) == pytest.approx(levels.launch, rel=0.25)
    assert math.sqrt(found.variances.slice) == pytest.approx(levels.slice, rel=0.1)
    assert found.holds_nothing


def test_only_the_slices_of_its_role_count() -> None:
    """Slices at concurrency 1 that are far noisier leave the metrics of load as they are."""
    quiet = pairs(Levels(0.01, 0.02), 30)
    wild = [
        Pair(
            pair.number,
            pair.base,
            replace(
                pair.other,
                slices=tuple(
                    replace(one, wall=one.wall * (1 + pair.number % 3)) if one.role == "single" else one
                    for one in pair.other.slices
                    if isinstance(one.wall, float)
                ),
            ),
        )
        for pair in quiet
    ]
    before, after = noises_of(quiet), noises_of(wild)
    assert after["cpu_per_request"] == before["cpu_per_request"]
    assert after["time_per_request"] == before["time_per_request"]
    assert after["response_time"] != before["response_time"]


def test_what_a_pair_spreads_by_is_what_a_comparison_sees() -> None:
    """With the plan that was measured, the variance of a pair is that of the estimate times the number of pairs."""
    found = noise_of("cpu_per_request", pairs(Levels(0.02, 0.05), 40, slices=8))
    assert isinstance(found, Noise)
    assert found.of_pair(8) == pytest.approx(found.seen**2)
    assert found.of_pair(4) > found.of_pair(8) > found.of_pair(30)
    assert found.of_pair(0) == math.inf


def test_a_slice_that_ran_into_something_does_not_spoil_the_forecast() -> None:
    """The variance between slices has it in full; a comparison takes the middle of the slices and hardly sees it."""
    spoilt = [
        replace(pair, other=_spoilt(pair.other)) if pair.number % 5 == 0 else pair
        for pair in pairs(Levels(0.005, 0.02), 60)
    ]
    clean = noise_of("cpu_per_request", pairs(Levels(0.005, 0.02), 60))
    found = noise_of("cpu_per_request", spoilt)
    assert isinstance(clean, Noise)
    assert isinstance(found, Noise)
    assert found.variances.slice > 10 * clean.variances.slice
    assert found.of_pair(8) < 3 * clean.of_pair(8)


def _spoilt(launch: Launch) -> Launch:
    first, second, *rest = launch.slices
    assert isinstance(second.cpu, float)
    return replace(launch, slices=(first, replace(second, cpu=3 * second.cpu), *rest))


def test_a_metric_that_was_not_measured_says_why() -> None:
    why = Missing("the target's cgroup was not readable")
    found = noises_of([_without_cpu(pair, why) for pair in pairs(Levels(0.01, 0.02), 6)])
    assert found["cpu_per_request"] == why
    assert isinstance(found["time_per_request"], Noise)


def _without_cpu(pair: Pair, why: Missing) -> Pair:
    slices = tuple(replace(one, cpu=why) for one in pair.base.slices)
    return replace(pair, base=replace(pair.base, slices=slices))


def test_too_few_pairs_have_no_variance() -> None:
    found = noise_of("cpu_per_request", pairs(Levels(0.01, 0.02), 3))
    assert found == Missing("3 good pairs are too few, it takes 4")


# ---------------- requests


def test_the_part_of_the_requests_is_that_of_their_mean() -> None:
    """Two latencies, half the requests each: the relative variance of the mean of n is ((b - a) / (b + a))^2 / n."""
    latency = build([0.001] * 80 + [0.003] * 80)
    noisy = [_with_latency(pair, latency) for pair in pairs(Levels(0.0, 0.2), 12)]
    found = noise_of("time_per_request", noisy)
    assert isinstance(found, Noise)
    assert found.variances.request == pytest.approx(2 * 0.25 / 160, rel=0.02)


def test_the_part_of_the_requests_is_never_more_than_the_whole() -> None:
    latency = build([0.001] * 80 + [0.003] * 80)
    found = noise_of("time_per_request", [_with_latency(pair, latency) for pair in pairs(Levels(0.0, 0.01), 12)])
    assert isinstance(found, Noise)
    assert found.variances.request == found.variances.slice


def test_where_nothing_is_known_of_requests_nothing_is_said() -> None:
    bare = [_with_latency(pair, {}) for pair in pairs(Levels(0.0, 0.1), 12)]
    for metric in ("cpu_per_request", "time_per_request", "response_time"):
        found = noise_of(metric, bare)
        assert isinstance(found, Noise)
        assert isinstance(found.variances.request, Missing)


def _with_latency(pair: Pair, latency: dict[int, int]) -> Pair:
    def changed(launch: Launch) -> Launch:
        return replace(launch, slices=tuple(replace(one, latency=latency) for one in launch.slices))

    return replace(pair, base=changed(pair.base), other=changed(pair.other))


# ---------------- costs


def _timed(number: int, arm: str, warmup: float) -> Launch:
    load: Slice = replace(material.LOAD, wall=0.1)
    single: Slice = replace(material.SINGLE, wall=0.04)
    spent = {"start": 0.5, "warmup": warmup, "slices": 4 * 0.1 + 2 * 0.04 + 6 * 0.01, "stop": 0.2}
    slices = (material.WARMUP, *[load] * 4, *[single] * 2)
    return replace(material.LAUNCH, number=number, arm=arm, spent=spent, slices=slices)


def test_costs_are_those_of_both_arms_and_the_first_launch_does_not_decide() -> None:
    """Its warm-up has the search for a slice's size in it."""
    found = costs_of([Pair(n, _timed(n, "base", 9.0 if n == 1 else 0.1), _timed(n, "head", 0.1)) for n in (1, 2, 3)])
    assert found.launch == pytest.approx(2 * 0.8)
    assert found.slice == pytest.approx(2 * 0.11)
    assert found.single == pytest.approx(2 * 0.05)


def test_what_there_is_none_of_costs_nothing() -> None:
    launch = replace(_timed(1, "base", 0.1), slices=(material.LOAD,))
    assert costs_of([Pair(1, launch, launch)]).single == 0.0
