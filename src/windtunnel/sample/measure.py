"""The measuring itself: batches of launches that start together and are loaded one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from windtunnel.errors import EngineError, InvalidLoad, LaunchFailed, SidecarLost, WindtunnelError
from windtunnel.launch.launch import LaunchContext, Running, launched
from windtunnel.launch.reap import reap_group
from windtunnel.launch.slices import SliceRequest
from windtunnel.load import generator
from windtunnel.model import Case, Launch, LaunchPlan, ResolvedLaunch, Slice
from windtunnel.ports import LABEL
from windtunnel.sample.schedule import Sizes, adapted, fixed_sizes, size_slice, slice_order
from windtunnel.units import Missing

__all__ = ["Job", "Measurement", "Progress"]

_FIRST_PROBE = 2
_PROBE_SECONDS = 0.02
_PROBE_GROWTH = 8
_PROBES = 8
_STEADY = 1.2
_SLOW_PROBE = 0.5


@dataclass(frozen=True)
class Job:
    """A case of one arm, ready to be launched."""

    case: Case
    arm: str
    resolved: ResolvedLaunch


class Progress(Protocol):
    """What the measuring tells while it runs."""

    def starting(self, jobs: Sequence[Job]) -> None:
        """A batch of launches is being started."""

    def loading(self, job: Job, number: int) -> None:
        """One launch of the batch is under load now."""

    def done(self, launch: Launch) -> None:
        """A launch has ended, whatever its outcome."""


@dataclass
class _Started:
    """A launch of a batch: up, or the reason why not."""

    job: Job
    number: int
    began: float
    context: AbstractContextManager[Running]
    running: Running | None = None
    error: WindtunnelError | None = None

    def enter(self) -> None:
        """In a thread of its own: bring it up; what windtunnel itself refuses is kept, not raised."""
        try:
            self.running = self.context.__enter__()
        except WindtunnelError as error:
            self.error = error

    def leave(self) -> None:
        """Remove its containers, if it is up and that has not been done yet."""
        if self.running is not None:
            self.context.__exit__(None, None, None)


@dataclass
class Measurement:
    """Launches cases and records each launch as soon as it has ended.

    `sizes` holds the calibrated slice sizes by case id; a case that is not in it is calibrated on its first launch
    and keeps that size for the rest, whatever the arm: both arms do the same work.
    """

    context: LaunchContext
    plan: LaunchPlan
    record: Callable[[Launch], None]
    progress: Progress
    seed: str
    sizes: dict[str, Sizes] = field(default_factory=dict)

    def batch(self, wanted: Sequence[tuple[Job, int]]) -> tuple[Launch, ...]:
        """Start these launches together, load them in the given order, one at a time.

        A launch that fails is recorded with its outcome and reason; only StorageError (from `record`) and an
        interruption get out, and then no container is left.
        """
        self.progress.starting([job for job, _ in wanted])
        before = time.monotonic()
        started = [
            _Started(job, number, time.time(), launched(self.context, job.case, job.resolved))
            for job, number in wanted
        ]
        try:
            self._start(started)
            share = (time.monotonic() - before) / len(wanted)
            return tuple([self._finish(one, share) for one in started])
        except BaseException:
            self.abort()
            for one in started:  # now, and not when Python gets round to it, which may be too late for it
                one.leave()
            raise

    def abort(self) -> None:
        """Remove every container of the command at once; threads that wait on them then fail and end."""
        self.context.aborting.set()
        with suppress(EngineError):  # it must not hide why; whoever opened the context removes what is left
            reap_group(self.context.engine, self.context.labels[LABEL])

    def _start(self, started: Sequence[_Started]) -> None:
        """All at once."""
        with ThreadPoolExecutor(len(started)) as pool:
            try:
                list(pool.map(_Started.enter, started))
            except BaseException:
                self.abort()  # else the pool would wait for launches that nobody wants any more
                raise

    def _finish(self, one: _Started, start_share: float) -> Launch:
        """Load, stop, record."""
        spent = {"start": start_share, "warmup": 0.0, "slices": 0.0, "stop": 0.0}
        launch = self._loaded(one, spent)
        before = time.monotonic()
        one.leave()
        spent["stop"] = time.monotonic() - before
        launch = replace(launch, spent=spent)
        self.record(launch)
        self.progress.done(launch)
        return launch

    def _loaded(self, one: _Started, spent: dict[str, float]) -> Launch:
        job, running = one.job, one.running
        blank = Launch(
            case=job.case.id,
            arm=job.arm,
            number=one.number,
            identity=job.resolved.identity,
            image=job.resolved.image,
            started=one.began,
            image_size=Missing("not known") if job.resolved.image_size is None else float(job.resolved.image_size),
        )
        if running is None:
            return _failed(blank, one.error or LaunchFailed("not started"))
        self.progress.loading(job, one.number)
        launch = replace(blank, answer=running.answer, time_to_ready=running.time_to_ready, warnings=running.warnings)
        slices: list[Slice] = []
        try:
            launch = replace(launch, idle_cpu=running.idle_cpu())
            self._load(job, one.number, running, slices, spent)
            peak, doubts = running.memory()
            launch = replace(launch, peak_memory=peak, warnings=(*launch.warnings, *doubts))
        except WindtunnelError as error:
            return _failed(replace(launch, slices=tuple(slices)), running.explained(error))
        return replace(launch, slices=tuple(slices))

    def _load(self, job: Job, number: int, running: Running, slices: list[Slice], spent: dict[str, float]) -> None:
        """Warm up (and calibrate, the first time), then the slices; ends at the first one that proves nothing."""
        before = time.monotonic()
        sizes = self._calibrated(job, running)
        plan = adapted(self.plan, sizes)
        for _ in range(plan.warmup):
            _load(running, SliceRequest("warmup", sizes.load, job.case.workload.concurrency, plan.deadline), slices)
        middle = time.monotonic()
        spent["warmup"] = middle - before
        try:
            for role in slice_order(plan, f"{self.seed}/{job.case.id}/{number}"):
                _load(running, _request(role, sizes, job.case, plan), slices)
        finally:
            spent["slices"] = time.monotonic() - middle

    def _calibrated(self, job: Job, running: Running) -> Sizes:
        known = self.sizes.get(job.case.id)
        if known is None:
            known = self.sizes[job.case.id] = self._calibrate(job.case, running)
        return known

    def _calibrate(self, case: Case, running: Running) -> Sizes:
        """Grow a load until it lasts long enough to tell the rate, at both concurrencies."""
        concurrency = case.workload.concurrency
        if not generator(case.workload.generator).FIXED_COUNT:  # it runs for whole seconds, whatever is asked
            return Sizes(size_slice(0.0, concurrency, 1.0), size_slice(0.0, 1, 1.0), 1.0, 1.0)
        fixed = fixed_sizes(case.workload)
        load_rate = self._rate(running, concurrency)
        single_rate = self._rate(running, 1)
        load = fixed[0] if fixed else size_slice(load_rate, concurrency, self.plan.seconds)
        single = fixed[1] if fixed else size_slice(single_rate, 1, self.plan.seconds)
        return Sizes(load, single, load / load_rate, single / single_rate)

    def _rate(self, running: Running, concurrency: int) -> float:
        """Requests per second, from loads that grow until they last long enough and no longer get faster.

        The first ones meet a cold server, and a burst of other work can slow any of them, so the fastest counts.
        """
        requests, best = _FIRST_PROBE * concurrency, 0.0
        for _ in range(_PROBES):
            seen = running.load(SliceRequest("warmup", requests, concurrency, self.plan.deadline))
            if seen.invalid:
                raise running.failure(seen)
            wall = seen.wall if isinstance(seen.wall, float) else self.plan.deadline
            before, best = best, max(best, seen.requests / wall)
            steady = wall >= _PROBE_SECONDS and best < before * _STEADY
            if steady or wall >= _SLOW_PROBE:
                break
            requests = max(requests, min(size_slice(best, concurrency, self.plan.seconds), requests * _PROBE_GROWTH))
        return best


def _request(role: Literal["load", "single"], sizes: Sizes, case: Case, plan: LaunchPlan) -> SliceRequest:
    if role == "single":
        return SliceRequest("single", sizes.single, 1, plan.deadline)
    return SliceRequest("load", sizes.load, case.workload.concurrency, plan.deadline)


def _load(running: Running, request: SliceRequest, slices: list[Slice]) -> None:
    """Load and keep a slice; one that proves nothing ends the launch."""
    seen = running.load(request)
    slices.append(seen)
    if seen.invalid:
        raise running.failure(seen)


def _failed(launch: Launch, error: WindtunnelError) -> Launch:
    if isinstance(error, InvalidLoad):
        return launch.failing("invalid", str(error), error.detail)
    if isinstance(error, SidecarLost | EngineError):
        return launch.failing("lost", str(error), error.detail)
    return launch.failing("failed", str(error), error.detail)
