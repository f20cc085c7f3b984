"""Which launch and which slice comes when: nothing is left out, nothing comes in a fixed order, all of it again."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from windtunnel.model import LaunchPlan, Workload
from windtunnel.sample.schedule import (
    MINIMUM_PER_CONNECTION,
    Sizes,
    adapted,
    evened,
    fixed_sizes,
    group_batches,
    launch_batches,
    size_slice,
    slice_order,
)

jobs = st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=12, unique=True)
counts = st.integers(1, 10)
seeds = st.text(max_size=8)
plans = st.builds(
    LaunchPlan,
    warmup=st.integers(0, 3),
    slices=st.integers(1, 20),
    single_slices=st.integers(1, 10),
    seconds=st.floats(0.01, 1.0),
    deadline=st.floats(1.0, 100.0),
)
durations = st.floats(1e-4, 20.0)


# ---------------- launches


@given(jobs, counts, counts, seeds)
def test_every_job_is_launched_exactly_as_often_as_asked(
    jobs: list[str], launches: int, batch: int, seed: str
) -> None:
    seen = Counter(one for group in launch_batches(jobs, launches, batch, seed) for one in group)
    assert seen == Counter((job, number) for job in jobs for number in range(1, launches + 1))


@given(jobs, counts, counts, seeds)
def test_each_round_is_a_permutation_of_all_jobs(jobs: list[str], launches: int, batch: int, seed: str) -> None:
    order = [one for group in launch_batches(jobs, launches, batch, seed) for one in group]
    for number in range(launches):
        round_ = order[number * len(jobs) : (number + 1) * len(jobs)]
        assert {launch for _, launch in round_} == {number + 1}
        assert sorted(job for job, _ in round_) == sorted(jobs)


@given(jobs, counts, counts, seeds)
def test_batches_are_full_but_for_the_last(jobs: list[str], launches: int, batch: int, seed: str) -> None:
    sizes = [len(group) for group in launch_batches(jobs, launches, batch, seed)]
    assert all(size == batch for size in sizes[:-1])
    assert 1 <= sizes[-1] <= batch


@given(jobs, counts, counts, counts, seeds)
def test_the_same_seed_gives_the_same_order_whatever_the_batch(
    jobs: list[str], launches: int, batch: int, other: int, seed: str
) -> None:
    one = [launch for group in launch_batches(jobs, launches, batch, seed) for launch in group]
    again = [launch for group in launch_batches(tuple(jobs), launches, other, seed) for launch in group]
    assert one == again


def test_the_rounds_differ_and_so_do_the_seeds() -> None:
    jobs = list(range(8))
    orders = [
        tuple(job for group in launch_batches(jobs, 6, 8, seed) for job, _ in group) for seed in ("a", "b", "c")
    ]
    assert len(set(orders)) == 3
    rounds = {orders[0][start : start + 8] for start in range(0, 48, 8)}
    assert len(rounds) > 1


def test_no_job_has_a_place_of_its_own() -> None:
    """What comes first meets another machine than what comes last: over many rounds everybody is first."""
    first = Counter(group[0][0] for group in launch_batches("abcd", 400, 4, "seed"))
    assert set(first) == set("abcd")
    assert min(first.values()) > 60  # 100 expected; a fair shuffle is below 60 once in a million


def test_no_launches_no_batches() -> None:
    assert launch_batches(["a"], 0, 4, "seed") == ()


groups = st.lists(st.integers(1, 6), min_size=1, max_size=6).map(
    lambda sizes: [[f"{place}.{one}" for one in range(size)] for place, size in enumerate(sizes)]
)


@given(groups, counts, counts, seeds)
def test_a_group_is_never_torn(groups: list[list[str]], launches: int, batch: int, seed: str) -> None:
    batches = group_batches(groups, launches, batch, seed)
    seen = Counter(group for one in batches for group in one)
    wanted = [tuple((job, number) for job in group) for group in groups for number in range(1, launches + 1)]
    assert seen == Counter(wanted)
    for one in batches:
        assert sum(map(len, one)) <= batch or len(one) == 1


@given(jobs, counts, counts, seeds)
def test_groups_of_one_are_launched_as_jobs_are(jobs: list[str], launches: int, batch: int, seed: str) -> None:
    alone = group_batches([[job] for job in jobs], launches, batch, seed)
    assert tuple(tuple(one for (one,) in found) for found in alone) == launch_batches(jobs, launches, batch, seed)


# ---------------- slices that are set against each other

calibrated = st.builds(
    Sizes, st.integers(1, 5000), st.integers(1, 500), load_seconds=durations, single_seconds=durations
)


@given(st.lists(calibrated, min_size=1, max_size=6))
def test_sizes_that_are_not_far_apart_become_one_and_none_gets_smaller(sizes: list[Sizes]) -> None:
    for role in ("load", "single"):
        before, after = ([getattr(one, role) for one in some] for some in (sizes, evened(sizes)))
        near = max(before) <= 3 * min(before)
        assert after == ([max(before)] * len(before) if near else before)


@given(st.lists(calibrated, min_size=1, max_size=6))
def test_what_a_request_took_stays_what_it_was(sizes: list[Sizes]) -> None:
    for one, other in zip(sizes, evened(sizes), strict=True):
        assert math.isclose(one.load_seconds / one.load, other.load_seconds / other.load)
        assert math.isclose(one.single_seconds / one.single, other.single_seconds / other.single)


# ---------------- slices of a launch


@given(plans, seeds)
def test_a_launch_has_the_slices_of_its_plan(plan: LaunchPlan, seed: str) -> None:
    assert Counter(slice_order(plan, seed)) == Counter({"load": plan.slices, "single": plan.single_slices})


@given(plans, seeds)
def test_the_same_seed_gives_the_same_slices(plan: LaunchPlan, seed: str) -> None:
    assert slice_order(plan, seed) == slice_order(replace(plan, warmup=9, deadline=1.0), seed)


def test_slices_of_a_kind_are_not_always_at_the_same_end() -> None:
    plan = LaunchPlan(slices=10, single_slices=3)
    orders = [slice_order(plan, f"run/case/{number}") for number in range(200)]
    assert len(set(orders)) > 50
    places = [place for order in orders for place, role in enumerate(order) if role == "single"]
    assert 4.5 < sum(places) / len(places) < 7.5  # 6 is the middle


# ---------------- sizes


@given(st.floats(0.01, 1e6), st.integers(1, 512), st.floats(0.001, 2.0))
def test_a_slice_is_whole_shares_and_enough_of_them(rate: float, concurrency: int, seconds: float) -> None:
    size = size_slice(rate, concurrency, seconds)
    assert size % concurrency == 0
    assert size >= MINIMUM_PER_CONNECTION * concurrency
    assert size >= rate * seconds
    assert size < max(rate * seconds, MINIMUM_PER_CONNECTION * concurrency) + concurrency


@given(st.floats(1.0, 1e6), st.integers(1, 512), st.floats(0.01, 1.0), st.floats(1.0, 10.0))
def test_a_faster_server_never_gets_a_smaller_slice(
    rate: float, concurrency: int, seconds: float, faster: float
) -> None:
    assert size_slice(rate * faster, concurrency, seconds) >= size_slice(rate, concurrency, seconds)


@given(st.integers(1, 100_000), st.integers(1, 512))
def test_a_size_that_the_workload_fixes_is_kept(requests: int, concurrency: int) -> None:
    fixed = fixed_sizes(Workload(requests=requests, concurrency=concurrency))
    assert fixed is not None
    load, single = fixed
    assert load == requests
    assert single >= MINIMUM_PER_CONNECTION
    assert single <= max(MINIMUM_PER_CONNECTION, requests)


def test_a_size_that_is_not_fixed_is_left_to_calibration() -> None:
    assert fixed_sizes(Workload(concurrency=16)) is None


# ---------------- slow servers


@given(plans, durations, durations)
def test_a_plan_is_only_ever_made_shorter_and_never_empty(plan: LaunchPlan, load: float, single: float) -> None:
    shorter = adapted(plan, Sizes(10, 10, load, single))
    assert min(plan.slices, 2) <= shorter.slices <= plan.slices
    assert 1 <= shorter.single_slices <= plan.single_slices
    assert (shorter.warmup, shorter.seconds) == (plan.warmup, plan.seconds)


@given(plans, durations, durations)
def test_a_slow_slice_is_not_given_up_before_it_had_ten_times_its_time(
    plan: LaunchPlan, load: float, single: float
) -> None:
    assume(max(load, single) > 0.25)
    shorter = adapted(plan, Sizes(10, 10, load, single))
    assert shorter.deadline >= max(plan.deadline, 10 * max(load, single))


@given(plans, durations, durations, st.floats(1.0, 20.0))
def test_the_slower_the_fewer(plan: LaunchPlan, load: float, single: float, slower: float) -> None:
    quick = adapted(plan, Sizes(10, 10, load, single))
    slow = adapted(plan, Sizes(10, 10, load * slower, single * slower))
    assert slow.slices <= quick.slices
    assert slow.single_slices <= quick.single_slices


@given(plans, st.floats(1e-4, 0.25), st.floats(1e-4, 0.25))
def test_a_plan_for_quick_slices_stays_as_it_is(plan: LaunchPlan, load: float, single: float) -> None:
    assert adapted(plan, Sizes(10, 10, load, single)) == plan
