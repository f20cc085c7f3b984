"""The benchmark process's side: resolve a case at asv's commit, launch it, remember the launches."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import FrameType

from windtunnel.adapters.project import Project, open_project
from windtunnel.asv.call import Call
from windtunnel.asv.memory import check_refused, current_call, remember, seen
from windtunnel.asv.processes import ending_with_owner, registered
from windtunnel.errors import Interrupted
from windtunnel.launch.reap import reap_group
from windtunnel.model import Case, Launch, LaunchPlan, ResolvedLaunch
from windtunnel.sample.measure import Job, Measurement
from windtunnel.sample.runfile import Header, RunWriter
from windtunnel.sample.summary import launch_metrics

__all__ = ["launch_case", "resolve"]


@dataclass(frozen=True)
class Resolved:
    """A case of this process: the call it belongs to and the image to launch."""

    call: Call
    project: Project
    case: Case
    launch: ResolvedLaunch


@cache
def _project() -> Project:
    call = current_call()
    return open_project(call.root, commit=call.commit, repository=call.repository, tell=_tell, name=call.arm)


_resolved: dict[str, Resolved] = {}


def resolve(case: Case) -> Resolved:
    """Build what a case needs, once per process.

    Raises VariantMissing where the commit has no such variant, BuildFailed, EngineError.
    """
    if case.id not in _resolved:
        check_refused(case)
        whole = _project().whole(case)
        _resolved[case.id] = Resolved(current_call(), _project(), whole, _project().resolve(whole))
    return _resolved[case.id]


def launch_case(case: Case, count: int) -> None:
    """`count` launches, one after the other, each remembered as soon as it has ended, whatever its outcome."""
    resolved = resolve(case)
    call = resolved.call
    with _interruptible(), registered(call), contextlib.closing(RunWriter(call.run_file(case))) as writer:
        if writer.empty:
            writer.header(_header(resolved))
        with resolved.project.measuring(call.id, call.owner, call.host(), _tell) as context:
            # asv's forkserver gives a process that is out of time a millisecond to end: what that one left, goes now.
            reap_group(context.engine, call.id)
            call.keep_host(context.host)
            with ending_with_owner(call, context.engine, context.aborting):
                _launch(resolved, Measurement(context, _plan(resolved), writer.launch, _Told(), call.id), count)


def _launch(resolved: Resolved, work: Measurement, count: int) -> None:
    call, case = resolved.call, resolved.case
    job = Job(case, call.arm, resolved.launch)
    known = call.sizes(case)
    work.sizes = {case.id: known} if known else {}
    number = len(seen(case))
    for extra in range(1, count + 1):
        (launch,) = work.batch([(job, number + extra)])
        remember(case, launch, launch_metrics(launch))
    if known is None and case.id in work.sizes:
        call.keep_sizes(case, work.sizes[case.id])


def _plan(resolved: Resolved) -> LaunchPlan:
    plan = resolved.project.suite.settings.launch
    return replace(plan, slices=1, single_slices=1) if resolved.call.quick else plan


def _header(resolved: Resolved) -> Header:
    call, project = resolved.call, resolved.project
    header = project.header(call.id, (project, call.commit or "worktree"))
    return replace(
        header, command=("asv",), plan=_plan(resolved), launches=0, cases=(resolved.case,), host=call.host()
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

    def loading(self, jobs: Sequence[Job], number: int) -> None:
        """Under load now."""
        _tell(f"{jobs[0].case.id}: launch {number}")

    def done(self, launch: Launch) -> None:
        """Its outcome is the benchmark's to tell."""
