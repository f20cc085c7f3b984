"""A comparison's run file as a source of launches for asv: the samples of the commit are those of the comparison.

What a benchmark process knows of earlier launches it reads from the call's folder (`windtunnel.asv.memory`). So a
comparison is replayed by putting head's launches there before asv asks for them; then nothing is built or launched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from windtunnel.asv.call import Call
from windtunnel.asv.memory import refuse, remember
from windtunnel.compare.effects import pairs_of
from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import ENOUGH_BAD, CaseResult, compare
from windtunnel.errors import BuildFailed, ConfigError
from windtunnel.model import Case, Launch
from windtunnel.sample.runfile import Run, read_run
from windtunnel.sample.summary import launch_metrics

__all__ = ["Recorded", "Recording", "read_recording", "recording_of", "replay"]

_WORKTREE = "worktree"
"""What a run file has for the commit of the working tree."""


@dataclass(frozen=True)
class Recorded:
    """A case as head has it.

    Attributes:
        case: as the run file has it.
        launches: head's launches of the pairs that were compared, by number (all good ones where head was measured
            alone); of a case that does not serve, or serves wrong, those that say so instead.
        failed: whether asv is to say "failed", as it would have said itself.
        reason: why it can't even be built, or "".
    """

    case: Case
    launches: tuple[Launch, ...] = ()
    failed: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Recording:
    """What a comparison has found out about head.

    Attributes:
        commit: its full hash.
        cases: what asv is to record, in the order of the comparison.
        left_out: by case id, why nothing is known of head: it is identical with base, or it was base that failed.
            What asv has of these cases stays as it is.
    """

    commit: str
    cases: tuple[Recorded, ...]
    left_out: Mapping[str, str]


def read_recording(path: Path) -> Recording:
    """What a comparison's run file has of head.

    Raises ConfigError for what is no run file, no comparison, has not ended, or has the working tree as head.
    """
    return recording_of(read_run(path), path)


def recording_of(run: Run, path: Path) -> Recording:
    """The same of a run that was read from `path`."""
    head = next((arm.commit for arm in run.header.arms if arm.name == "head"), None)
    if run.header.compare is None or head is None:
        raise ConfigError("is not the run file of a comparison; only those can be recorded", file=path)
    if head == _WORKTREE:
        raise ConfigError("head is the working tree, and asv records commits; commit first", file=path)
    if not run.complete:
        how = f"windtunnel compare --resume {path}"
        raise ConfigError(f"the comparison has not ended; finish it with {how}", file=path)
    results = compare(run).cases
    cases = {result.case.id: _recorded(run, result) for result in results}
    left_out = {one.case.id: one.reason or "nothing was measured" for one in results if not cases[one.case.id]}
    return Recording(head, tuple(one for one in cases.values() if one), left_out)


def _recorded(run: Run, result: CaseResult) -> Recorded | None:
    """None where the comparison says nothing of head by itself."""
    name = result.case.id
    unbuilt = [one for one in run.failures if one.case == name and one.arm == "head" and one.kind == "failed"]
    if unbuilt:
        return Recorded(result.case, failed=True, reason=unbuilt[-1].reason)
    if result.verdict in {Verdict.INVALID, Verdict.FAILED}:
        bad = _at_fault(result)
        return Recorded(result.case, bad, failed=True) if bad else None
    good = _alone(run, name) if result.kind == "first" else tuple(pair.other for pair in pairs_of(run.launches, name))
    return Recorded(result.case, good) if good and result.kind in {"", "first"} else None


def _at_fault(result: CaseResult) -> tuple[Launch, ...]:
    """Head's launches that decided the case. One that was lost with the engine says nothing of head."""
    bad = result.bad.get("head", ())
    decided = len(bad) >= ENOUGH_BAD or not result.pairs
    return tuple(one for one in bad if one.outcome != "lost") if decided else ()


def _alone(run: Run, case: str) -> tuple[Launch, ...]:
    """Head's good launches of a case that base does not have; of a number that is there twice the last one counts."""
    good = {one.number: one for one in run.launches if (one.case, one.arm, one.outcome) == (case, "head", "ok")}
    return tuple(good[number] for number in sorted(good))


def replay(call: Call, recording: Recording) -> None:
    """Put head's launches where the benchmark processes of an asv command look for those that were made already.

    Raises ConfigError where asv measures another commit.
    """
    if call.commit != recording.commit:
        raise ConfigError(f"it is a comparison of {recording.commit}, asv measures {call.commit}", file=call.replay)
    for one in recording.cases:
        for launch in one.launches:
            remember(one.case, launch, launch_metrics(launch), call)
        if one.reason:
            refuse(call, one.case, BuildFailed(one.reason))
