"""The measuring of a comparison: pairs, batch after batch, until every case is clear or the budget is used up."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from windtunnel.compare.allocate import CaseState, next_pairs, standing_of
from windtunnel.compare.effects import pairs_of, series_of
from windtunnel.compare.rule import Rule
from windtunnel.compare.standing import Need, Standing
from windtunnel.compare.verdict import ENOUGH_BAD
from windtunnel.model import Launch
from windtunnel.sample.measure import Job, Measurement
from windtunnel.sample.runfile import ComparePlan, RunWriter
from windtunnel.sample.schedule import Sizes

__all__ = ["PairLog", "PairRun", "Recorder", "Until"]

Until = Callable[[Mapping[str, Sequence[float]]], bool]
"""Whether a case has enough pairs, from its log ratios by judged metric."""


class PairLog(Protocol):
    """What is told while pairs are measured."""

    def told(self, state: CaseState, stand: Standing, spent: float) -> None:
        """A case has a new pair; `spent` seconds of the budget are gone."""

    def gave_up(self, state: CaseState, launches: Sequence[Launch]) -> None:
        """A case gets no more pairs, since these launches went wrong."""

    def ended(self, short: int) -> None:
        """No case gets any more; so many would have got more, had there been time."""


@dataclass
class Recorder:
    """Writes each launch as it ends. The sizes of a case's slices go before its first launch: whoever resumes the
    run, wherever it was cut short, goes on with the same.

    Attributes:
        writer: of the run file.
        sizes: by case id, shared with whoever measures them.
    """

    writer: RunWriter
    sizes: Mapping[str, Sizes]
    _noted: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self._noted = set(self.sizes)

    def __call__(self, launch: Launch) -> None:
        """Raises StorageError."""
        for case in self.sizes.keys() - self._noted:
            self.writer.sizes(case, self.sizes[case])
            self._noted.add(case)
        self.writer.launch(launch)


@dataclass
class PairRun:
    """The rest of a comparison: what is measured already counts as if it had been measured just now.

    Attributes:
        work: launches, and records what it launched.
        jobs: by case, its arms, base first.
        plan: budget, batch, and what else was decided when the comparison began.
        rule: what decides.
        seed: the run's.
        log: gets told.
        launches: what there is so far; grows.
        until: goes on with the (only) case until this says so, whatever the rule says.
    """

    work: Measurement
    jobs: Mapping[str, tuple[Job, ...]]
    plan: ComparePlan
    rule: Rule
    seed: str
    log: PairLog
    launches: list[Launch]
    until: Until | None = None

    def run(self) -> None:
        """Measure. Raises StorageError, Interrupted; everything measured until then is in the file."""
        self._tell({launch.case for launch in self.launches})
        while wanted := self._next():
            groups = [tuple((job, number) for job in self.jobs[case]) for case, number in wanted]
            self.launches += self.work.groups(groups)
            self._tell({case for case, _ in wanted})
        if self.until is None:
            whole = [standing_of(state, self.rule, None) for state in self.states() if not state.given_up]
            self.log.ended(sum(stand.need is not Need.NOTHING for stand in whole))

    @property
    def spent(self) -> float:
        """Seconds that all launches took so far: the same whether the run was resumed in between or not."""
        return math.fsum(_seconds(launch) for launch in self.launches)

    @property
    def left(self) -> float | None:
        """Seconds left of the budget, or None where there is none."""
        return None if self.plan.budget is None else self.plan.budget - self.spent

    def states(self) -> list[CaseState]:
        """Every case as far as it is measured."""
        return [self._state(case) for case in self.jobs]

    def _next(self) -> tuple[tuple[str, int], ...]:
        left = self.left
        if self.until is None:
            return next_pairs(self.states(), self.rule, left=left, batch=self.plan.batch, seed=self.seed)
        (state,) = self.states()
        enough = state.given_up or (state.pairs > 0 and self.until(state.series))
        if enough or (left is not None and left < state.cost * self.plan.batch):
            return ()
        return tuple((state.case, state.tried + extra) for extra in range(1, self.plan.batch + 1))

    def _state(self, case: str) -> CaseState:
        own = [launch for launch in self.launches if launch.case == case and launch.arm in _arms(self.jobs[case])]
        bad = Counter(launch.arm for launch in own if launch.outcome != "ok")
        return CaseState(
            case,
            series_of(pairs_of(own, case)),
            tried=max((launch.number for launch in own), default=0),
            seconds=math.fsum(_seconds(launch) for launch in own),
            given_up=any(count >= ENOUGH_BAD for count in bad.values()),
        )

    def _tell(self, cases: set[str]) -> None:
        for state in self.states():
            if state.case not in cases:
                continue
            self.log.told(state, standing_of(state, self.rule, self.left), self.spent)
            if state.given_up:
                wrong = [one for one in self.launches if one.case == state.case and one.outcome != "ok"]
                self.log.gave_up(state, wrong)


def _arms(jobs: Sequence[Job]) -> set[str]:
    return {job.arm for job in jobs}


def _seconds(launch: Launch) -> float:
    return math.fsum(launch.spent.values())
