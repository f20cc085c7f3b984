"""The values of a parameter against each other, from what was measured: a matrix of rates, and the steps. Pure.

Several run files are taken together; what can't be set side by side (another machine, another workload) is refused.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from windtunnel.compare.effects import Pair, pair_effect
from windtunnel.errors import ConfigError
from windtunnel.model import METRICS, Case, Host, Launch
from windtunnel.report.rates import NO_RATE, Contender, RateMatrix, Source, Step, rate_matrix, steps, version_of
from windtunnel.sample.runfile import Run
from windtunnel.sample.summary import launch_metrics
from windtunnel.units import Missing, Unit

__all__ = ["Board", "Pool", "boards", "grouped", "pooled", "rated"]

_Place = tuple[str, tuple[tuple[str, str], ...]]
"""A class, and the values of those of its parameters that are held."""

_HEAD = "head"
_ALIKE = 1.25
"""Slices whose numbers of requests are further apart than that are told of: a short one costs more per request."""


@dataclass(frozen=True)
class Pool:
    """What several runs know of the same cases, in the order of their declaration.

    Attributes:
        cases: those that were going to be measured.
        launches: by case id, those of all runs; of a comparison those of head.
        runs: by case id, which runs (by number, from 0) have launches of it.
        failures: by case id, why it was not launched: "skipped: no such axis value"; some are of no case of these,
            since their target does not have them.
        turns: cases whose launches of one number were loaded in turn.
    """

    cases: tuple[Case, ...]
    launches: Mapping[str, tuple[Launch, ...]]
    runs: Mapping[str, frozenset[int]]
    failures: Mapping[str, str]
    turns: tuple[frozenset[str], ...] = ()


def pooled(runs: Sequence[Run], wanted: Collection[str]) -> Pool:
    """The cases that have the wanted ids, from all runs.

    Raises ConfigError where runs were made on different machines, or a case has another workload in one of them.
    """
    _same_machine([run.header.host for run in runs if run.header.host is not None])
    cases: dict[str, Case] = {}
    launches: dict[str, list[Launch]] = {}
    seen: dict[str, set[int]] = {}
    failures: dict[str, str] = {}
    for number, run in enumerate(runs):
        arm = _arm(run)
        for case in run.header.cases:
            if case.id in wanted and cases.setdefault(case.id, case) != case:
                raise ConfigError(f"{case.id} has another workload in the run {run.header.id}; leave one of them out")
        for launch in run.launches:
            if launch.arm == arm and launch.case in cases:
                launches.setdefault(launch.case, []).append(launch)
                seen.setdefault(launch.case, set()).add(number)
        for failure in run.failures:
            if failure.arm == arm and failure.case in wanted:
                failures[failure.case] = f"{failure.kind}: {failure.reason}"
    return Pool(
        tuple(cases.values()),
        {case: tuple(found) for case, found in launches.items()},
        {case: frozenset(numbers) for case, numbers in seen.items()},
        failures,
        tuple(frozenset(names) for run in runs for names in run.header.turns) if len(runs) == 1 else (),
    )


def _arm(run: Run) -> str:
    names = [arm.name for arm in run.header.arms]
    return _HEAD if _HEAD in names or not names else names[0]


def _same_machine(hosts: Sequence[Host]) -> None:
    machines = {(host.cpu_model, host.cores) for host in hosts}
    if len(machines) > 1:
        shown = " and ".join(f"{model} with {cores} cores" for model, cores in sorted(machines))
        raise ConfigError(f"these runs were made on {shown}; figures of two machines can't be set side by side")


@dataclass(frozen=True)
class Board:
    """The values of one parameter of a class, where all its other parameters are `fixed`.

    Attributes:
        benchmark: asv's name of the class.
        by: the parameter.
        fixed: names and values of the others.
        metric: what is told of each, a key of `METRICS`.
        contenders: those that have a figure, in the order of declaration.
        matrix: everyone against everyone.
        steps: from each to the next, and from first to last, where there are two, or all are versions or numbers;
            other names have no order.
        unmeasured: by value, why there is no figure.
        notes: what else a reader has to know.
    """

    benchmark: str
    by: str
    fixed: tuple[tuple[str, str], ...]
    metric: str
    contenders: tuple[Contender, ...]
    matrix: RateMatrix
    steps: tuple[Step, ...]
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def rated(metric: str) -> bool:
    """Whether so many a second mean something: of what is a time, but for waits and percentiles."""
    return METRICS[metric].unit is Unit.SECOND and metric not in NO_RATE


def boards(pool: Pool, by: str, metric: str) -> tuple[Board, ...]:
    """One board for each combination of a class's other parameters that has two values of `by` or more.

    Cases of classes without that parameter are passed over.
    """
    return tuple(
        _board(pool, (benchmark, by, fixed), metric, values)
        for (benchmark, fixed), values in grouped(pool.cases, by).items()
    )


def grouped(cases: Sequence[Case], by: str, *, alone: bool = False) -> Mapping[_Place, Mapping[str, Case]]:
    """By class and values of its other parameters: the cases by their value of `by`, where there are two or more, or
    one that is `alone`.
    """
    groups: dict[_Place, dict[str, Case]] = {}
    for case in cases:
        params = dict(case.params)
        if by in params:
            fixed = tuple(pair for pair in case.params if pair[0] != by)
            groups.setdefault((case.benchmark, fixed), {})[params[by]] = case
    return {place: values for place, values in groups.items() if alone or len(values) > 1}


def _board(
    pool: Pool, place: tuple[str, str, tuple[tuple[str, str], ...]], metric: str, values: Mapping[str, Case]
) -> Board:
    found = {name: _contender(name, pool, case.id, metric) for name, case in values.items()}
    known = tuple(one for one in found.values() if isinstance(one, Contender))
    cases = {one.name: values[one.name].id for one in known}
    in_turn = any(names.issuperset(cases.values()) for names in pool.turns)
    usable = tuple(replace(one, turns=_turns(one.name, cases, pool, metric)) for one in known) if in_turn else known
    source = Source.TURNS if in_turn else Source.LAUNCHES
    unit, direction = METRICS[metric].unit, METRICS[metric].direction
    return Board(
        *place,
        metric,
        usable,
        rate_matrix(usable, unit, direction, rated(metric), source),
        steps(usable, rated(metric), source) if len(usable) == 2 or all(map(_ordinal, usable)) else (),
        {name: one for name, one in found.items() if isinstance(one, str)},
        tuple(_notes(pool, cases)),
    )


def _ordinal(one: Contender) -> bool:
    return bool(version_of(one.name))


def _turns(name: str, cases: Mapping[str, str], pool: Pool, metric: str) -> Mapping[str, tuple[float, ...]]:
    """By the name of each other one: log ratios of this one to it, launch by launch."""
    own = _good(pool, cases[name])
    return {
        other: tuple(
            ratio
            for number, launch in _good(pool, case).items()
            if number in own
            and not isinstance(ratio := pair_effect(metric, Pair(number, launch, own[number])), Missing)
        )
        for other, case in cases.items()
        if other != name
    }


def _good(pool: Pool, case: str) -> Mapping[int, Launch]:
    return {one.number: one for one in pool.launches.get(case, ()) if one.outcome == "ok"}


def _contender(name: str, pool: Pool, case: str, metric: str) -> Contender | str:
    """What its good launches say of the metric, or why nothing is known of it."""
    launches = pool.launches.get(case, ())
    good = [one for one in launches if one.outcome == "ok"]
    if not good:
        bad = next((f"{one.outcome}: {one.reason}" for one in reversed(launches)), "")
        return bad or pool.failures.get(case, "no launch")
    seen = [launch_metrics(one)[metric] for one in good]
    known = tuple(value for value in seen if not isinstance(value, Missing))
    if not known:
        return next(value.reason for value in seen if isinstance(value, Missing))
    if min(known) <= 0 or not math.isfinite(max(known)):
        return "it is 0 in a launch, and nothing can be divided by that"
    return Contender(name, statistics.median(known), launches=known)


def _notes(pool: Pool, cases: Mapping[str, str]) -> Iterator[str]:
    """Why figures of these may be apart though the servers are not; `cases` are ids by contender."""
    sizes = {name: _requests(pool.launches[case]) for name, case in cases.items()}
    known = [size for size in sizes.values() if size]
    if known and max(known) > _ALIKE * min(known):
        told = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
        yield f"requests in a slice: {told}; a request of a short slice costs more, see how a case is measured"
    if len({pool.runs[case] for case in cases.values()}) > 1:
        yield "not all were measured in the same runs: whatever else changed in between is in these figures, too"
    for name, case in cases.items():
        bad = sum(one.outcome != "ok" for one in pool.launches[case])
        if bad:
            yield f"{name}: left out of {len(pool.launches[case])} launches, since they were no good: {bad}"


def _requests(launches: Sequence[Launch]) -> int:
    """The most usual number of requests in a load slice; 0 where there is none."""
    sizes = [
        one.requests for launch in launches if launch.outcome == "ok" for one in launch.slices if one.role == "load"
    ]
    return statistics.mode(sizes) if sizes else 0
