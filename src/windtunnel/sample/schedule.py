"""Which launch and which slice comes when, and how large a slice is. Pure, seeded, reproducible."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from windtunnel.model import LaunchPlan, Workload

__all__ = [
    "MINIMUM_PER_CONNECTION",
    "OPEN_SECONDS",
    "Sizes",
    "adapted",
    "evened",
    "group_batches",
    "launch_batches",
    "size_open_slice",
    "size_slice",
    "slice_order",
    "turn_order",
]

MINIMUM_PER_CONNECTION = 10
"""A slice has at least this many requests per connection, so that setting the connections up does not dominate."""

OPEN_SECONDS = 1.0
"""A slice of an open loop lasts at least so long: what happens now and then has to have its chance to."""

_OPEN_REQUESTS, _OPEN_LONGEST, _OPEN_FEWEST = 100, 5.0, 2
_LONG, _VERY_LONG = 0.25, 1.5
_EVENED = 3
Role = Literal["load", "single"]
_Job = TypeVar("_Job")


@dataclass(frozen=True)
class Sizes:
    """Requests per slice, and how long such a slice took when it was calibrated (seconds).

    `load` at the workload's concurrency, `single` at concurrency 1.
    """

    load: int
    single: int
    load_seconds: float
    single_seconds: float


def size_slice(rate: float, concurrency: int, seconds: float) -> int:
    """Requests that last about `seconds` at `rate` requests per second; a multiple of the concurrency.

    A multiple, because generators hand out requests per connection: an even share keeps every connection busy
    to the end.
    """
    wanted = max(rate * seconds, MINIMUM_PER_CONNECTION * concurrency)
    return concurrency * math.ceil(wanted / concurrency)


def size_open_slice(rate: float, seconds: float) -> int:
    """Requests of an open loop in which `rate` per second are answered: a second's at least, longer where `seconds`
    is; and for the sake of percentiles a hundred, unless those would take more than five seconds.
    """
    wanted = max(rate * max(seconds, OPEN_SECONDS), min(_OPEN_REQUESTS, rate * _OPEN_LONGEST))
    return max(_OPEN_FEWEST, math.ceil(wanted))


def fixed_sizes(workload: Workload) -> tuple[int, int] | None:
    """(load, single) where the workload fixes the size itself."""
    if workload.requests is None:
        return None
    return workload.requests, max(MINIMUM_PER_CONNECTION, workload.requests // max(1, workload.concurrency))


def adapted(plan: LaunchPlan, sizes: Sizes) -> LaunchPlan:
    """A plan for slices that turned out long: fewer of them, so that a slow server does not take the day.

    A launch still gets at least two slices and one at concurrency 1.
    """
    longest = max(sizes.load_seconds, sizes.single_seconds)
    if longest <= _LONG:
        return plan
    share = 2 if longest > _VERY_LONG else 4
    return replace(
        plan,
        slices=min(plan.slices, share),
        single_slices=min(plan.single_slices, max(1, share // 2)),
        deadline=max(plan.deadline, 10 * longest),
    )


def evened(sizes: Sequence[Sizes]) -> tuple[Sizes, ...]:
    """Sizes of cases that are loaded in turn, to be set against each other: the largest for all, where it is not more
    than three times the smallest.

    A request of a small slice costs more (connections and caches are new), which is no difference between the cases.
    Where they are further apart than that, each keeps its own: the slow ones would take too long.
    """
    load, single = (_common([getattr(one, role) for one in sizes]) for role in ("load", "single"))
    return tuple(_resized(one, load or one.load, single or one.single) for one in sizes)


def _common(counts: Sequence[int]) -> int:
    most = max(counts)
    return most if most <= _EVENED * min(counts) else 0


def _resized(one: Sizes, load: int, single: int) -> Sizes:
    """As long as so many requests take."""
    load_seconds, single_seconds = one.load_seconds * load / one.load, one.single_seconds * single / one.single
    return Sizes(load, single, load_seconds, single_seconds)


def slice_order(plan: LaunchPlan, seed: str) -> tuple[Role, ...]:
    """The roles of a launch's slices, shuffled: a drift within a launch must not fall on one kind of slice."""
    load: Role = "load"
    single: Role = "single"
    roles = [load] * plan.slices + [single] * plan.single_slices
    random.Random(seed).shuffle(roles)  # noqa: S311 - order, not secrets
    return tuple(roles)


def turn_order(arms: Sequence[_Job], seed: str) -> Iterator[tuple[_Job, ...]]:
    """Whose turn it is, without end: the arms in an order drawn from the seed, then reversed, and so on.

    Two arms give ABBA ABBA or BAAB BAAB: what drifts evenly while they are loaded falls on both alike.
    """
    order = list(arms)
    random.Random(seed).shuffle(order)  # noqa: S311
    while True:
        yield tuple(order)
        order.reverse()


def launch_batches(
    jobs: Sequence[_Job], launches: int, batch: int, seed: str
) -> tuple[tuple[tuple[_Job, int], ...], ...]:
    """Every job `launches` times as (job, number from 1), in batches that are started together.

    Round by round over all jobs, each round shuffled: whatever drifts during the run falls on all cases alike.
    """
    order = _rounds(jobs, launches, seed)
    return tuple(tuple(order[start : start + batch]) for start in range(0, len(order), batch))


def group_batches(
    groups: Sequence[Sequence[_Job]], launches: int, batch: int, seed: str
) -> tuple[tuple[tuple[tuple[_Job, int], ...], ...], ...]:
    """The same of groups whose jobs are loaded in turn: a batch has whole groups, with `batch` launches at most; a
    group that is larger by itself is a batch of its own.
    """
    batches: list[list[tuple[tuple[_Job, int], ...]]] = []
    room = 0
    for group, number in _rounds(groups, launches, seed):
        if not batches or len(group) > room:
            batches.append([])
            room = batch
        batches[-1].append(tuple((job, number) for job in group))
        room -= len(group)
    return tuple(map(tuple, batches))


def _rounds(jobs: Sequence[_Job], launches: int, seed: str) -> list[tuple[_Job, int]]:
    generator = random.Random(seed)  # noqa: S311
    order: list[tuple[_Job, int]] = []
    for number in range(1, launches + 1):
        round_ = [(job, number) for job in jobs]
        generator.shuffle(round_)
        order += round_
    return order
