"""The measuring of a calibration: the same image in both arms, with slices of one length or several in turn."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from windtunnel.adapters.owner import new_id, owner_token
from windtunnel.adapters.project import Project
from windtunnel.adapters.watchdog import watched
from windtunnel.cli.console import MeasureLog, tell
from windtunnel.cli.launching import Watch, begun, unbuilt
from windtunnel.declare.cases import discover
from windtunnel.errors import Interrupted, NothingMeasured, WindtunnelError
from windtunnel.launch.launch import LaunchContext
from windtunnel.launch.setup import ensure_load_image
from windtunnel.model import Case, Host, Launch, LaunchPlan
from windtunnel.sample.measure import Job, Measurement
from windtunnel.sample.runfile import ComparePlan, Failure, Header, RunWriter
from windtunnel.sample.schedule import launch_batches

__all__ = ["Calibration"]

_BATCH = 2
"""Pairs that start together: as many as in a comparison, since what a start costs depends on it."""

Arms = tuple[Job, Job]


@dataclass
class _Series:
    """What is measured with slices of one length: a run file of its own."""

    writer: RunWriter
    work: Measurement
    _noted: set[str] = field(default_factory=set)

    def measure(self, wanted: Sequence[tuple[Arms, int]]) -> tuple[Launch, ...]:
        """Load these pairs, and note the sizes of slices that were found on the way."""
        launches = self.work.groups([[(job, number) for job in arms] for arms, number in wanted])
        for case in self.work.sizes.keys() - self._noted:
            self.writer.sizes(case, self.work.sizes[case])
        self._noted = set(self.work.sizes)
        return launches


@dataclass
class Calibration:
    """One call of the command, up to its run files.

    Attributes:
        project: the working tree.
        paths: a run file for each plan, which differ in the length of slices.
        select: regular expressions over case ids; none: the first case of every target.
        pairs: how many of each case and plan.
        threshold: the project's, for the run file.
        build_seconds: what building took.
        id: this command's.
    """

    project: Project
    paths: Mapping[LaunchPlan, Path]
    select: tuple[str, ...]
    pairs: int
    threshold: float
    build_seconds: float = 0.0
    id: str = field(default_factory=new_id)

    def measure(self) -> tuple[tuple[Case, ...], Host | None]:
        """Build and measure; the cases, and the machine (None where nothing could be launched).

        Raises:
            NothingMeasured, EngineError, ConfigError: nothing was measured.
            StorageError, Interrupted: what was measured so far is in the run files.
        """
        cases, skipped = self._cases()
        with watched(self.project.engine, self.id):
            jobs, broken = self._build(cases)
            with _told(self.paths.values()):
                return tuple(cases), self._run(self._header(cases), jobs, [*skipped, *broken])

    def _cases(self) -> tuple[list[Case], list[Failure]]:
        """What was selected, with their variants; without a selection the first of every target."""
        whole, skipped = self.project.select(discover(self.project.suite, self.select))
        if not whole:
            reasons = "\n".join(f"{case}: {reason}" for case, reason in skipped.items())
            raise NothingMeasured("no case to measure", detail=reasons)
        if not self.select:
            first: dict[str, Case] = {}
            for case in whole:
                first.setdefault(case.variant.target, case)
            return list(first.values()), []
        return whole, [Failure(case, "head", "skipped", reason) for case, reason in skipped.items()]

    def _build(self, cases: Sequence[Case]) -> tuple[list[Arms], list[Failure]]:
        """Images for all cases; a case whose image can't be built fails alone."""
        before = time.monotonic()
        ensure_load_image(self.project.engine, tell, self.project.builder.registry)
        done = self.project.resolve_all(cases)
        self.build_seconds = time.monotonic() - before
        jobs: list[Arms] = []
        broken: list[Failure] = []
        for case in cases:
            result = done[case.id]
            if isinstance(result, WindtunnelError):
                broken.append(unbuilt(case.id, "head", result))
            else:
                jobs.append((Job(case, "base", result), Job(case, "head", result)))
        return jobs, broken

    def _header(self, cases: Sequence[Case]) -> Header:
        """As a comparison's, in which both arms are the working tree."""
        header = self.project.header(self.id, (self.project, "worktree"), (self.project, "worktree"))
        arms = tuple(replace(arm, name=name) for arm, name in zip(header.arms, ("base", "head"), strict=True))
        plan = ComparePlan(self.threshold, self.pairs, batch=_BATCH, select=self.select)
        return replace(header, arms=arms, cases=tuple(cases), launches=self.pairs, compare=plan)

    def _run(self, header: Header, jobs: Sequence[Arms], failures: Sequence[Failure]) -> Host | None:
        """Measure what could be built; where nothing could, the machine is not waited for."""
        with ExitStack() as stack:
            context = None
            if jobs:
                context = stack.enter_context(self.project.measuring(self.id, owner_token(), None, tell))
            host = context.host if context else None
            writers = [
                (plan, stack.enter_context(begun(path, replace(header, plan=plan, host=host), failures)))
                for plan, path in self.paths.items()
            ]
            if context:
                self._measure(context, writers, jobs)
            return host

    def _measure(
        self, context: LaunchContext, writers: Sequence[tuple[LaunchPlan, RunWriter]], jobs: Sequence[Arms]
    ) -> None:
        """Batch after batch, each with slices of every length in turn: a drift falls on all lengths alike."""
        log = MeasureLog(2 * len(jobs) * self.pairs * len(writers))
        series = [_Series(one, Measurement(context, plan, one.launch, log, self.id)) for plan, one in writers]
        watch = Watch()
        with log.live():
            for batch in launch_batches(jobs, self.pairs, _BATCH, self.id):
                for one in series:
                    wanted = [(arms, number) for arms, number in batch if not watch.hopeless(arms[0].case.id)]
                    log.left_out(2 * (len(batch) - len(wanted)))
                    for launch in one.measure(wanted) if wanted else ():
                        watch.see(launch)
                series.reverse()


@contextmanager
def _told(paths: Iterable[Path]) -> Iterator[None]:
    """Whoever interrupts is told what there is."""
    try:
        yield
    except Interrupted:
        for path in paths:
            if path.exists():
                tell(f"what was measured so far is in {path}; nothing was calibrated")
        raise
