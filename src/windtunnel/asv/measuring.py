"""The benchmark process's side: resolve a case at asv's commit, launch it, remember the launches."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from windtunnel import __version__
from windtunnel.adapters.project import Project, open_project
from windtunnel.asv.call import Call
from windtunnel.errors import Interrupted, LaunchFailed
from windtunnel.model import Case, Launch, LaunchPlan, ResolvedLaunch
from windtunnel.sample.measure import Job, Measurement
from windtunnel.sample.runfile import Header, RunWriter, read_run
from windtunnel.sample.summary import launch_metrics
from windtunnel.units import Value

if TYPE_CHECKING:
    from windtunnel.asv.benchmark import HTTPBenchmark

__all__ = ["measure", "remembered", "resolve"]


@dataclass(frozen=True)
class Resolved:
    """A case of this process: the call it belongs to and the image to launch."""

    call: Call
    project: Project
    case: Case
    launch: ResolvedLaunch


_resolved: dict[tuple[type, tuple[str, ...]], Resolved] = {}


def resolve(benchmark: HTTPBenchmark, params: Sequence[Any]) -> Resolved:
    """Build what the case needs, once per process.

    Raises VariantMissing where the commit has no such variant; asv calls this in `setup`, before every sample.
    """
    key = (type(benchmark), tuple(str(param) for param in params))
    if key not in _resolved:
        call = Call.from_environment(os.environ) or Call.begin(Path.cwd(), quick=False)
        project = open_project(call.root, commit=call.commit, repository=call.repository, tell=_tell)
        case = project.case(benchmark, params)
        _resolved[key] = Resolved(call, project, case, project.resolve(case))
    return _resolved[key]


def measure(benchmark: HTTPBenchmark, params: Sequence[Any]) -> Mapping[str, Value]:
    """One launch: its metrics. Whatever it ends with is remembered."""
    resolved = resolve(benchmark, params)
    launch = _launches(resolved, 1)[0]
    if launch.outcome != "ok":
        raise LaunchFailed(f"{resolved.case.id}: {launch.reason}", detail=launch.detail)
    return launch_metrics(launch)


def remembered(benchmark: HTTPBenchmark, params: Sequence[Any]) -> tuple[Mapping[str, Value], ...]:
    """The metrics of every launch of this case and commit in this asv command; measured now if there is none."""
    resolved = resolve(benchmark, params)
    path = resolved.call.run_file(resolved.case)
    launches: Sequence[Launch] = read_run(path).launches if path.exists() else ()
    if not launches:
        launches = _launches(resolved, 1 if resolved.call.quick else benchmark.rounds * benchmark.repeat)
    good = [launch for launch in launches if launch.outcome == "ok"]
    if not good:
        last = launches[-1]
        raise LaunchFailed(f"{resolved.case.id}: {last.reason}", detail=last.detail)
    return tuple(launch_metrics(launch) for launch in good)


def _launches(resolved: Resolved, count: int) -> tuple[Launch, ...]:
    """`count` launches, recorded one by one."""
    call, case = resolved.call, resolved.case
    job = Job(case, call.commit or "worktree", resolved.launch)
    with _interruptible(), contextlib.closing(RunWriter(call.run_file(case))) as writer:
        if writer.empty:
            writer.header(_header(resolved))
        number = _number_of(call.run_file(case))
        known = call.sizes(case)
        with resolved.project.measuring(call.id, call.owner, call.host(), _tell) as context:
            call.keep_host(context.host)
            work = Measurement(context, _plan(resolved), writer.launch, _Told(), call.id)
            work.sizes = {case.id: known} if known else {}
            done = tuple(work.batch([(job, number + extra)])[0] for extra in range(1, count + 1))
        if known is None and case.id in work.sizes:
            call.keep_sizes(case, work.sizes[case.id])
    return done


def _plan(resolved: Resolved) -> LaunchPlan:
    plan = resolved.project.suite.settings.launch
    return replace(plan, slices=1, single_slices=1) if resolved.call.quick else plan


def _number_of(path: Path) -> int:
    """How many launches are remembered already."""
    return len(read_run(path).launches)


def _header(resolved: Resolved) -> Header:
    call, project = resolved.call, resolved.project
    return Header(
        id=call.id,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        windtunnel=__version__,
        command=("asv",),
        project=project.suite.project,
        seed=call.id,
        plan=_plan(resolved),
        launches=0,
        arms=(project.arm_facts(call.commit or "worktree"),),
        cases=(resolved.case,),
        host=call.host(),
    )


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """asv ends a process with SIGTERM, and one second later with SIGKILL: unwind at once; asv's side sweeps up."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise Interrupted("asv ended this benchmark (its timeout, or Ctrl-C)")

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell(text: str) -> None:
    """asv takes silence for a hang; what is printed here is shown with --show-stderr."""
    print(text, file=sys.stderr, flush=True)


class _Told:
    """Progress of a benchmark process: one line a launch keeps asv's timeout away."""

    def starting(self, jobs: Sequence[Job]) -> None:
        """Nothing to tell yet."""

    def loading(self, job: Job, number: int) -> None:
        """Under load now."""
        _tell(f"{job.case.id}: launch {number}")

    def done(self, launch: Launch) -> None:
        """The outcome."""
        if launch.outcome != "ok":
            _tell(f"{launch.case}: launch {launch.number} {launch.outcome}: {launch.reason}\n{launch.detail}")
