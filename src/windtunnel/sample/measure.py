"""The measuring itself: batches of launches that start together and are loaded one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Protocol, TypeVar

from windtunnel.errors import EngineError, InvalidLoad, LaunchFailed, SidecarLost, WindtunnelError
from windtunnel.launch.launch import LaunchContext, Running, launched
from windtunnel.launch.reap import reap_group
from windtunnel.launch.slices import SliceRequest
from windtunnel.model import Case, Launch, LaunchPlan, ResolvedLaunch, Slice
from windtunnel.ports import LABEL
from windtunnel.sample.schedule import Sizes, adapted, evened, slice_order, turn_order
from windtunnel.sample.sizing import measure_sizes
from windtunnel.units import Missing

__all__ = ["Job", "Measurement", "Progress"]

_Result = TypeVar("_Result")


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

    def loading(self, jobs: Sequence[Job], number: int) -> None:
        """These launches of the batch, which have this number, are under load now, in turn."""

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
    and keeps that size for the rest, whatever the arm: both arms do the same work, and cases that are loaded in turn
    do as much as each other where they are not too far apart (`evened`). `plans` holds the plans of cases that have
    one of their own, by case id; all others are loaded by `plan`.
    """

    context: LaunchContext
    plan: LaunchPlan
    record: Callable[[Launch], None]
    progress: Progress
    seed: str
    sizes: dict[str, Sizes] = field(default_factory=dict)
    plans: Mapping[str, LaunchPlan] = field(default_factory=dict)

    def batch(self, wanted: Sequence[tuple[Job, int]]) -> tuple[Launch, ...]:
        """Start these launches together, load them in the given order, one at a time; see `groups`."""
        return self.groups([(one,) for one in wanted])

    def groups(self, wanted: Sequence[Sequence[tuple[Job, int]]]) -> tuple[Launch, ...]:
        """Start these launches together, load group after group.

        The launches of a group are one case's arms, or cases that are to be set against each other. They are loaded
        in turn, slice by slice, in an order that is reversed each time (ABBA) and whose first is drawn from the seed.
        Slice k of one and slice k of another are a pair, made within moments of each other. Slices of arms are sized
        on the first of the group.

        A launch that fails is recorded with its outcome and reason. Where it is an arm, the others of its group are
        dropped: without a partner they tell nothing. Other cases go on without it. Only StorageError (from `record`)
        and an interruption get out, and then no container is left.
        """
        flat = [one for group in wanted for one in group]
        self.progress.starting([job for job, _ in flat])
        before = time.monotonic()
        started = [
            [
                _Started(job, number, time.time(), launched(self.context, job.case, job.resolved))
                for job, number in group
            ]
            for group in wanted
        ]
        every = [one for group in started for one in group]
        try:
            self._start(every)
            share = (time.monotonic() - before) / len(every)
            return tuple([launch for group in started for launch in self._finish(group, share)])
        except BaseException:
            self.abort()
            for one in every:  # now, and not when Python gets round to it, which may be too late for it
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

    def _finish(self, started: Sequence[_Started], start_share: float) -> list[Launch]:
        """Load, stop, record."""
        group = _Group(tuple(_Loaded(one, start_share) for one in started))
        self._load(group)
        for one in group.members:
            one.stop()
        launches = [one.launch() for one in group.told()]
        for launch in launches:
            self.record(launch)
            self.progress.done(launch)
        return launches

    def _load(self, group: _Group) -> None:
        """Warm up (and size the slices, the first time), then load in turn, for as long as it can prove anything."""
        if next(group.fine(), None) is None:
            return
        self.progress.loading([one.job for one in group.members], group.number)
        for one in group.fine():
            one.attempt("start", one.begin)
        self._size(group)
        loads = {one: self._load_of(one, group) for one in group.fine()}
        turns = turn_order(group.members, f"{self.seed}/{group.name}/{group.number}/turns")
        for phase in ("warmup", "slices"):
            for turn in range(max((len(load[phase]) for load in loads.values()), default=0)):
                for one in group.fine(next(turns)):
                    one.load(phase, loads[one][phase][turn : turn + 1])
        for one in group.fine():
            one.attempt("stop", one.end)

    def _size(self, group: _Group) -> None:
        """Slices of those cases that have no size yet."""
        found: list[tuple[Case, Sizes]] = []
        for one in group.fine():
            case = one.job.case
            if case.id not in self.sizes:
                sizes = one.attempt("warmup", partial(measure_sizes, plan=self._plan(case)))
                found += [] if sizes is None else [(case, sizes)]
        if not found or next(group.fine(), None) is None:
            return
        if group.arms:  # each got the same probes, though only the first one's count: none is warmer than another
            self.sizes.update({case.id: sizes for case, sizes in found[:1]})
            return
        fixed = [case.workload.requests is not None or case.workload.rate is not None for case, _ in found]
        same = [sizes for _, sizes in found] if any(fixed) else evened([sizes for _, sizes in found])
        self.sizes.update({case.id: sizes for (case, _), sizes in zip(found, same, strict=True)})

    def _plan(self, case: Case) -> LaunchPlan:
        return self.plans.get(case.id, self.plan)

    def _load_of(self, one: _Loaded, group: _Group) -> Mapping[str, tuple[SliceRequest, ...]]:
        """What is asked of a launch, by phase; those of a group whose plans are alike get the same order."""
        case = one.job.case
        sizes = self.sizes[case.id]
        plan = adapted(self._plan(case), sizes)
        roles = slice_order(plan, f"{self.seed}/{group.name}/{group.number}")
        warmup = replace(_request("load", sizes, case, plan), role="warmup")
        return {
            "warmup": (warmup,) * plan.warmup,
            "slices": tuple(_request(role, sizes, case, plan) for role in roles),
        }


@dataclass(frozen=True)
class _Group:
    """Launches that are loaded in turn."""

    members: tuple[_Loaded, ...]

    @property
    def number(self) -> int:
        """Of all of them."""
        return self.members[0].number

    @property
    def name(self) -> str:
        """What orders are drawn from: the case, or all that there are."""
        return "/".join(dict.fromkeys(one.job.case.id for one in self.members))

    @property
    def arms(self) -> bool:
        """Whether it is one case, of several arms."""
        return len({one.job.case.id for one in self.members}) == 1

    def fine(self, order: Iterable[_Loaded] | None = None) -> Iterator[_Loaded]:
        """Those that may go on, looked at one by one: of arms none, as soon as one of them proves nothing."""
        for one in self.members if order is None else order:
            if not one.wrong and not (self.arms and self.wrong):
                yield one

    @property
    def wrong(self) -> tuple[_Loaded, ...]:
        """Those that prove nothing."""
        return tuple(one for one in self.members if one.wrong)

    def told(self) -> tuple[_Loaded, ...]:
        """Those that are recorded."""
        return (self.wrong if self.arms else ()) or self.members


class _Loaded:
    """A launch of a group: what it has gone through so far."""

    def __init__(self, started: _Started, start_share: float) -> None:
        self.job, self.number = started.job, started.number
        self._started = started
        self._slices: list[Slice] = []
        self._launch = _blank(started)
        self._spent = {"start": start_share, "warmup": 0.0, "slices": 0.0, "stop": 0.0}
        self._error = started.error

    @property
    def wrong(self) -> bool:
        """Whether it proves nothing: did not come up, or what was done with it failed."""
        return self._error is not None or self._started.running is None

    def attempt(self, phase: str, action: Callable[[Running], _Result]) -> _Result | None:
        """Do something with it, booked to a phase. When that fails it is `wrong`, remembers why, and gives None."""
        running = self._started.running
        if running is None:
            return None
        before = time.monotonic()
        try:
            return action(running)
        except WindtunnelError as error:
            self._error = running.explained(error)
            return None
        finally:
            self._spent[phase] += time.monotonic() - before

    def begin(self, running: Running) -> None:
        """Before the first load: what it did while nothing was asked of it."""
        self._launch = replace(
            self._launch,
            answer=running.answer,
            time_to_ready=running.time_to_ready,
            warnings=running.warnings,
            program="" if running.program is None else str(running.program.hello),
            idle_cpu=running.idle_cpu(),
        )

    def load(self, phase: str, requests: Sequence[SliceRequest]) -> None:
        """Load and keep slices; one that proves nothing makes it `wrong`."""

        def load(running: Running) -> None:
            for request in requests:
                seen = running.load(request)
                self._slices.append(seen)
                if seen.invalid:
                    raise running.failure(seen)

        self.attempt(phase, load)

    def end(self, running: Running) -> None:
        """After the last load."""
        peak, doubts = running.memory()
        self._launch = replace(self._launch, peak_memory=peak, warnings=(*self._launch.warnings, *doubts))

    def stop(self) -> None:
        """Remove its containers."""
        before = time.monotonic()
        self._started.leave()
        self._spent["stop"] += time.monotonic() - before

    def launch(self) -> Launch:
        """All that was seen."""
        launch = replace(self._launch, slices=tuple(self._slices), spent=self._spent)
        if not self.wrong:
            return launch
        return _failed(launch, self._error or LaunchFailed("not started"))


def _blank(one: _Started) -> Launch:
    job = one.job
    return Launch(
        case=job.case.id,
        arm=job.arm,
        number=one.number,
        identity=job.resolved.identity,
        image=job.resolved.image,
        started=one.began,
        image_size=Missing("not known") if job.resolved.image_size is None else float(job.resolved.image_size),
    )


def _request(role: Literal["load", "single"], sizes: Sizes, case: Case, plan: LaunchPlan) -> SliceRequest:
    if role == "single":
        return SliceRequest("single", sizes.single, 1, plan.deadline)
    return SliceRequest("load", sizes.load, case.workload.concurrency, plan.deadline, case.workload.rate)


def _failed(launch: Launch, error: WindtunnelError) -> Launch:
    if isinstance(error, InvalidLoad):
        return launch.failing("invalid", str(error), error.detail)
    if isinstance(error, SidecarLost | EngineError):
        return launch.failing("lost", str(error), error.detail)
    return launch.failing("failed", str(error), error.detail)
