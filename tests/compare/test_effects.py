"""From launches to log ratios."""

from __future__ import annotations

import math
import random
import statistics
from dataclasses import replace
from itertools import combinations_with_replacement

import pytest
from comparisons import CASE, OTHERS, launch_of, pairs_by_metric, slice_of
from hypothesis import given, settings
from hypothesis import strategies as st

import material
from windtunnel.compare.effects import Pair, pair_effect, pairs_of, series_of
from windtunnel.compare.rule import JUDGED
from windtunnel.model import METRICS, Slice
from windtunnel.sample.summary import launch_metrics
from windtunnel.units import Missing

some = settings(max_examples=100)
ratios = st.floats(0.5, 2)
three = st.tuples(ratios, ratios, ratios)
lists = st.lists(three, min_size=1, max_size=8)
CPU, TIME, RESPONSE = JUDGED


def _pair(base: list[Slice], head: list[Slice]) -> Pair:
    return Pair(
        1, replace(material.LAUNCH, arm="base", slices=tuple(base)), replace(material.LAUNCH, slices=tuple(head))
    )


@given(lists)
@some
def test_a_pair_says_by_how_much_head_differs(factors: list[tuple[float, float, float]]) -> None:
    series = series_of(pairs_of(pairs_by_metric(CASE, *zip(*factors, strict=True)), CASE.id))
    assert tuple(series) == JUDGED
    for name, own in zip(JUDGED, zip(*factors, strict=True), strict=True):
        assert series[name] == pytest.approx([math.log(one) for one in own], abs=1e-12)


@given(lists, st.randoms())
@some
def test_base_and_head_swapped_turn_every_sign(factors: list[tuple[float, float, float]], rng: random.Random) -> None:
    """To the last bit: what is exactly as clear upwards as downwards has to be judged the same."""
    launches = pairs_by_metric(CASE, *zip(*factors, strict=True))
    names = {"base": "head", "head": "base"}
    swapped = [replace(one, arm=names[one.arm]) for one in launches]
    one, other = series_of(pairs_of(launches, CASE.id)), series_of(pairs_of(swapped, CASE.id))
    assert other == {name: tuple(-value for value in values) for name, values in one.items()}


@given(lists, st.randoms(), st.floats(1e-3, 1e3))
@some
def test_neither_the_order_of_the_lines_nor_the_speed_of_the_machine_is_anything(
    factors: list[tuple[float, float, float]], rng: random.Random, scale: float
) -> None:
    launches = pairs_by_metric(CASE, *zip(*factors, strict=True))
    plain = series_of(pairs_of(launches, CASE.id))
    assert series_of(pairs_of(rng.sample(launches, len(launches)), CASE.id)) == plain

    def scaled(one: Slice) -> Slice:
        assert isinstance(one.cpu, float)
        assert isinstance(one.wall, float)
        return replace(one, cpu=one.cpu * scale, wall=one.wall * scale)

    slower = [replace(launch, slices=tuple(map(scaled, launch.slices))) for launch in launches]
    for name, values in series_of(pairs_of(slower, CASE.id)).items():
        assert values == pytest.approx(plain[name], abs=1e-9)


@given(st.lists(st.tuples(st.floats(0.5, 2), st.floats(0.5, 2)), min_size=1, max_size=9))
@some
def test_slices_are_paired_one_by_one_and_their_middle_counts(amounts: list[tuple[float, float]]) -> None:
    pair = _pair(
        [slice_of("load", base, 3 * base) for base, _ in amounts],
        [slice_of("load", head, 3 * head) for _, head in amounts],
    )
    each = [math.log(head / base) for base, head in amounts]
    middle = statistics.median((one + other) / 2 for one, other in combinations_with_replacement(each, 2))
    assert pair_effect(CPU, pair) == pytest.approx(middle, abs=1e-12)
    assert pair_effect(TIME, pair) == pytest.approx(middle, abs=1e-12)


def test_the_response_time_sees_one_rare_wait_and_the_others_do_not() -> None:
    def launch(wait: float) -> list[Slice]:
        return [
            *(slice_of("load", 1, factor) for factor in (1, 1, 1, 1, 1, wait)),
            *(slice_of("single", 1, factor) for factor in (1, 1, wait)),
        ]

    pair = _pair(launch(1), launch(4))
    assert pair_effect(TIME, pair) == 0
    assert pair_effect(RESPONSE, pair) == pytest.approx(math.log(2))


def test_warm_up_slices_count_nowhere() -> None:
    loads = [slice_of("load"), slice_of("single")]
    warm = replace(slice_of("load", 9, 9), role="warmup")
    for name in JUDGED:
        assert pair_effect(name, _pair([*loads], [warm, *loads])) == 0


def test_only_good_launches_of_the_case_and_of_both_arms_make_pairs() -> None:
    launches = [
        launch_of(CASE, "base", 1),
        launch_of(CASE, "head", 1),
        launch_of(CASE, "base", 2),
        launch_of(CASE, "head", 3),
        launch_of(CASE, "base", 4),
        launch_of(CASE, "head", 4, outcome="lost", reason="the engine went away"),
        launch_of(CASE, "base", 5),
        launch_of(CASE, "control", 5),
        launch_of(OTHERS[0], "base", 6),
        launch_of(CASE, "head", 6),
    ]
    assert [pair.number for pair in pairs_of(launches, CASE.id)] == [1]
    assert [(pair.number, pair.other.arm) for pair in pairs_of(launches, CASE.id, "control")] == [(5, "control")]


def test_what_was_measured_again_counts_once_and_the_last_time() -> None:
    launches = [
        launch_of(CASE, "base", 1),
        launch_of(CASE, "base", 1, (2, 2, 2)),
        launch_of(CASE, "head", 1, (4, 4, 4)),
    ]
    (pair,) = pairs_of(launches, CASE.id)
    assert pair_effect(CPU, pair) == pytest.approx(math.log(2))


def test_a_pair_without_a_metric_is_left_out_of_that_metric_alone() -> None:
    blind = replace(slice_of("load"), cpu=Missing("no cgroup to read"))
    launches = pairs_by_metric(CASE, *[[1.1, 1.2]] * 3)
    launches[1] = replace(launches[1], slices=(blind, slice_of("single")))
    pair = pairs_of(launches, CASE.id)[0]
    assert pair_effect(CPU, pair) == Missing("no cgroup to read")
    assert {name: len(values) for name, values in series_of(pairs_of(launches, CASE.id)).items()} == {
        CPU: 1,
        TIME: 2,
        RESPONSE: 2,
    }


@pytest.mark.parametrize("name", METRICS)
def test_what_was_not_measured_has_no_effect_and_says_why(name: str) -> None:
    nothing = replace(material.LAUNCH, slices=(), peak_memory=Missing("?"), idle_cpu=Missing("?"))
    nothing = replace(nothing, time_to_ready=Missing("?"), image_size=Missing("?"))
    effect = pair_effect(name, Pair(1, nothing, nothing))
    assert isinstance(effect, Missing)
    assert effect.reason


@pytest.mark.parametrize("amount", [0.0, -1.0])
def test_a_reading_of_nothing_has_no_ratio(amount: float) -> None:
    slices = [slice_of("load"), slice_of("single")]
    for name in JUDGED:
        empty = [replace(one, cpu=amount, wall=amount) for one in slices]
        for pair in (_pair(slices, empty), _pair(empty, slices)):
            assert isinstance(pair_effect(name, pair), Missing)
    none = [replace(one, requests=0) for one in slices]
    assert all(isinstance(pair_effect(name, _pair(slices, none)), Missing) for name in JUDGED)


@given(st.floats(5e-324, 1.7e308), st.floats(5e-324, 1.7e308))
@some
def test_no_two_amounts_are_too_far_apart(one: float, other: float) -> None:
    """A run file is written by others: whatever numbers it has, there is an answer."""
    base, head = (replace(slice_of("load"), requests=1, cpu=amount) for amount in (one, other))
    effect = pair_effect(CPU, _pair([base], [head]))
    assert effect == pytest.approx(math.log(other) - math.log(one))


@given(lists, st.sampled_from([None, 0.0, Missing("the clock stood still")]))
@some
def test_the_response_time_is_the_one_that_is_shown(
    factors: list[tuple[float, float, float]], odd: float | Missing | None
) -> None:
    """It is worked out apart from the other figures, since it is asked for more often."""
    singles = [slice_of("single", 1, wall) for wall, _, _ in factors]
    if odd is not None:
        singles[0] = replace(singles[0], wall=odd)
    pair = _pair([slice_of("load"), *singles], [slice_of("load"), slice_of("single")])
    base, head = (launch_metrics(launch)[RESPONSE] for launch in (pair.base, pair.other))
    effect = pair_effect(RESPONSE, pair)
    if isinstance(base, Missing) or isinstance(head, Missing):
        assert effect == base
    else:
        assert effect == math.log(head) - math.log(base)
