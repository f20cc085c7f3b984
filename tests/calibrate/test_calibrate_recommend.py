"""The recommended plan is the best one there is: held to all others, and to the formula by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nested_noise import Levels, pairs

from windtunnel.compare.recommend import (
    Advice,
    Length,
    Outlook,
    advise,
    look_ahead,
    measured_length,
    pair_seconds,
    pairs_to_tell,
    recommended,
)
from windtunnel.compare.rule import JUDGED, Rule, Verdict, judge, minimum_detectable
from windtunnel.compare.variance import Noise
from windtunnel.model import LaunchPlan
from windtunnel.sample.calibration import Costs, Variances
from windtunnel.sample.schedule import Sizes
from windtunnel.units import Missing

SIZES = Sizes(800, 400, 0.08, 0.08)
PLAN = LaunchPlan(slices=8, single_slices=3, seconds=0.08)
COSTS = Costs(launch=1.2, slice=0.19, single=0.19)


def noise(metric: str, launch: float, one_slice: float) -> Noise:
    """Standard deviations of launch pairs and slice pairs."""
    variances = Variances(launch**2, one_slice**2, Missing("not asked"))
    return Noise(metric, 24, variances, False, 0.02, 1.0, 0.0, -0.01, 0.01)


def length(cpu: tuple[float, float], time: tuple[float, float], response: tuple[float, float]) -> Length:
    noises = {name: noise(name, *one) for name, one in zip(JUDGED, (cpu, time, response), strict=True)}
    return Length(PLAN, SIZES, noises, COSTS, 24, 80.0)


def only(metric: str, launch: float, one_slice: float, costs: Costs = COSTS) -> Length:
    """A length of which nothing but one metric is known."""
    noises: Mapping[str, Noise | Missing] = {
        **dict.fromkeys(JUDGED, Missing("not read")),
        metric: noise(metric, launch, one_slice),
    }
    return Length(PLAN, SIZES, noises, costs, 24, 80.0)


ANY = st.floats(0.002, 0.1)


@given(ANY, ANY, st.floats(0.3, 5), st.floats(0.02, 0.5))
def test_with_one_metric_it_is_the_formula_of_kalibera_and_jones(
    launch: float, one_slice: float, launch_cost: float, slice_cost: float
) -> None:
    costs = Costs(launch_cost, slice_cost, slice_cost)
    plan = recommended(only("cpu_per_request", launch, one_slice, costs), {"cpu_per_request": 3.0})
    wanted = math.sqrt(launch_cost / slice_cost * one_slice**2 / launch**2)
    assert plan.slices == min(30, max(4, round(wanted)))
    assert plan.single_slices == PLAN.single_slices  # nothing is known of it, so it stays


def score(one: Length, weights: Mapping[str, float], slices: int, singles: int) -> float:
    """Weighted variance of a pair, times what it costs."""
    counts = dict.fromkeys(JUDGED, slices) | {"response_time": singles}
    variance = sum(weights[name] * noise.of_pair(counts[name]) for name, noise in one.known.items())
    return variance * (COSTS.launch + slices * COSTS.slice + singles * COSTS.single)


NOISES = st.tuples(ANY, ANY)
WEIGHTS = st.fixed_dictionaries({name: st.floats(0.1, 10) for name in JUDGED})


@given(NOISES, NOISES, NOISES, WEIGHTS)
def test_no_other_plan_within_the_limits_is_much_better(
    cpu: tuple[float, float], time: tuple[float, float], response: tuple[float, float], weights: Mapping[str, float]
) -> None:
    """Nothing is lost but what rounding costs; where a limit holds one kind of slices, the other is not moved."""
    one = length(cpu, time, response)
    plan = recommended(one, weights)
    best = min(score(one, weights, n, m) for n in range(4, 31) for m in range(2, 16))
    found = score(one, weights, plan.slices, plan.single_slices)
    held = plan.slices in {4, 30} or plan.single_slices in {2, 15}
    assert found <= best * (1.25 if held else 1.03)


@given(NOISES, NOISES, NOISES, WEIGHTS, st.floats(2.5, 4.5))
def test_a_pair_takes_no_longer_than_it_may(
    cpu: tuple[float, float],
    time: tuple[float, float],
    response: tuple[float, float],
    weights: Mapping[str, float],
    most: float,
) -> None:
    plan = recommended(length(cpu, time, response), weights, most)
    assert pair_seconds(COSTS, plan) <= most


def test_where_not_even_the_least_plan_fits_it_is_the_least() -> None:
    plan = recommended(length((0.01, 0.09), (0.01, 0.09), (0.01, 0.09)), dict.fromkeys(JUDGED, 1.0), 1.0)
    assert (plan.slices, plan.single_slices) == (4, 2)


def test_without_a_difference_between_launches_slices_are_many() -> None:
    plan = recommended(only("cpu_per_request", 0.0, 0.05), {"cpu_per_request": 1.0})
    assert plan.slices == 30


def test_slow_servers_keep_their_few_slices() -> None:
    """What `adapted` allows at measuring is what is recommended and reckoned with."""
    slow = replace(only("cpu_per_request", 0.0, 0.05), sizes=Sizes(40, 10, 2.0, 2.0))
    assert recommended(slow, {"cpu_per_request": 1.0}).slices == 2
    assert look_ahead(slow, PLAN, 600, Rule()).plan.slices == 2


# ---------------- what a budget tells


def test_pairs_are_what_fits_and_no_more_than_a_case_gets() -> None:
    one = length((0.01, 0.05), (0.01, 0.05), (0.01, 0.05))
    pair = 1.2 + 11 * 0.19
    found = look_ahead(one, PLAN, 60, Rule())
    assert found.pair == pytest.approx(pair)
    assert found.pairs == int(60 / pair)
    assert look_ahead(one, PLAN, 1e6, Rule()).pairs == Rule().most


def test_the_mde_is_the_rules_own() -> None:
    """For noise that was measured, as many pairs again would have the MDE that a comparison tells for these."""
    found = measured_length(PLAN, SIZES, made := pairs(Levels(0.02, 0.06), 24))
    assert isinstance(found, Length)
    rule = Rule()
    budget = 24.5 * pair_seconds(found.costs, PLAN)
    ahead = look_ahead(found, PLAN, budget, rule)
    assert ahead.pairs == 24
    from windtunnel.compare.effects import series_of

    series = series_of(made)
    for name in JUDGED:
        told = minimum_detectable(judge(name, series[name], rule), rule)
        assert ahead.mde[name] == pytest.approx(told, rel=1e-6), name


def test_more_time_sees_less() -> None:
    one = length((0.02, 0.09), (0.02, 0.09), (0.02, 0.09))
    short, long = (look_ahead(one, PLAN, seconds, Rule()).mde["cpu_per_request"] for seconds in (60, 110))
    assert isinstance(short, float)
    assert isinstance(long, float)
    assert long < short


def test_too_few_pairs_have_no_mde() -> None:
    found = look_ahead(length((0.01, 0.05), (0.01, 0.05), (0.01, 0.05)), PLAN, 20, Rule())
    assert found.pairs == 6
    assert all(
        isinstance(one, Missing) and one.reason.startswith("6 pairs are too few") for one in found.mde.values()
    )


def test_a_metric_that_the_plan_has_no_slices_for_has_none() -> None:
    one = length((0.01, 0.05), (0.01, 0.05), (0.01, 0.05))
    found = look_ahead(one, replace(PLAN, single_slices=0), 60, Rule())
    assert isinstance(found.mde["response_time"], Missing)
    assert isinstance(found.mde["cpu_per_request"], float)


@pytest.mark.parametrize("metric", JUDGED)
def test_the_fewest_pairs_that_tell_are_the_rules_own(metric: str) -> None:
    rule = Rule()
    fewest = pairs_to_tell(rule, metric)
    clear = [0.9 + 0.01 * (index % 4) for index in range(fewest)]
    assert judge(metric, clear, rule).verdict is Verdict.REGRESSION
    assert judge(metric, clear[:-1], rule).verdict is not Verdict.REGRESSION
    assert fewest <= pairs_to_tell(rule, *JUDGED)


# ---------------- the advice


def measured(levels: Levels, seconds: float, seed: int = 1) -> Length:
    plan = replace(PLAN, seconds=seconds)
    found = measured_length(plan, replace(SIZES, load_seconds=seconds), pairs(levels, 24, seed=seed))
    assert isinstance(found, Length)
    return found


def test_the_length_with_less_noise_for_its_cost_is_recommended() -> None:
    noisy, quiet = measured(Levels(0.01, 0.12), 0.04), measured(Levels(0.01, 0.03), 0.08)
    found = advise([noisy, quiet], PLAN, 60, Rule())
    assert found.best is quiet
    assert found.recommended.plan.seconds == 0.08
    assert isinstance(found.present, Outlook)
    assert advise([quiet, noisy], PLAN, 60, Rule()).recommended == found.recommended


def test_a_longer_slice_that_is_no_quieter_is_not_worth_its_time() -> None:
    short = measured(Levels(0.01, 0.06), 0.04)
    dear = replace(short.costs, slice=4 * short.costs.slice, single=4 * short.costs.single)
    long = replace(short, plan=replace(short.plan, seconds=0.16), costs=dear)
    assert advise([long, short], PLAN, 60, Rule()).best is short


def test_a_plan_whose_length_was_not_measured_is_not_reckoned_with() -> None:
    found = advise([measured(Levels(0.01, 0.06), 0.04)], PLAN, 60, Rule())
    assert found.present == Missing("slices of its length were not measured")


def test_the_recommended_plan_leaves_pairs_enough_to_tell() -> None:
    found = advise([measured(Levels(0.0, 0.1), 0.08)], PLAN, 60, Rule())
    assert found.recommended.pairs >= pairs_to_tell(Rule(), *JUDGED)
    assert all(isinstance(one, float) for one in found.recommended.mde.values())


def test_what_decides_is_not_drowned_by_what_is_noisy_by_nature() -> None:
    """The response time ten times as noisy: its slices grow, and those under load do not vanish for it."""
    quiet = advise([length((0.01, 0.05), (0.01, 0.05), (0.01, 0.05))], PLAN, 120, Rule())
    loud = advise([length((0.01, 0.05), (0.01, 0.05), (0.1, 0.5))], PLAN, 120, Rule())
    assert isinstance(quiet, Advice)
    assert loud.recommended.plan.slices == quiet.recommended.plan.slices


def test_a_case_with_too_few_pairs_or_none_that_is_judged_has_no_advice() -> None:
    assert measured_length(PLAN, SIZES, pairs(Levels(0.01, 0.05), 3)) == Missing(
        "3 good pairs are too few, it takes 4"
    )
    lone = measured_length(PLAN, SIZES, pairs(Levels(0.01, 0.05), 8, slices=1, singles=0))
    assert isinstance(lone, Missing)


def test_the_forecast_holds_for_pairs_with_more_slices() -> None:
    """From launches of 6 slices, what a pair of launches of 24 spreads by, held to pairs that were made so."""
    levels = Levels(0.015, 0.06)
    few = measured_length(PLAN, SIZES, pairs(levels, 400, slices=6, seed=3))
    many = measured_length(PLAN, SIZES, pairs(levels, 400, slices=24, seed=4))
    assert isinstance(few, Length)
    assert isinstance(many, Length)
    forecast = few.known["cpu_per_request"].of_pair(24)
    seen = many.known["cpu_per_request"].seen ** 2
    assert forecast == pytest.approx(seen, rel=0.3)
