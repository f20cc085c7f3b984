"""`windtunnel compare --record`: the comparison's own figures of head as asv's results for that commit."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.adapters.pyprogram import Ended, run_program
from windtunnel.asv.call import REPLAY
from windtunnel.asv.replay import Recording, read_recording
from windtunnel.declare.suite import Suite
from windtunnel.errors import ConfigError, WindtunnelError

if TYPE_CHECKING:
    from windtunnel.asv.recorded import Entry

__all__ = ["check_recordable", "record"]

_SOME_FAILED = 2
"""asv's exit code when it has recorded everything, and a case of it as failed."""


def check_recordable(head_is_worktree: bool) -> None:
    """Raises ConfigError, before anything is measured, where there would be no commit to record it for."""
    if head_is_worktree:
        raise ConfigError("asv records commits; commit first", key="--record")


def record(run_file: Path, suite: Suite, tell: Callable[[str], None]) -> None:
    """Let `asv run` record a finished comparison's head from its run file: nothing is built, launched or loaded.

    What the comparison did not measure at head stays in asv's results as it is. Recording twice is recording once.

    Raises:
        ConfigError: it is not the run file of a comparison of commits that has ended, or the suite's benchmark
            classes have changed since.
        WindtunnelError: asv failed, or has other figures afterwards than the comparison.
    """
    from windtunnel.asv.recorded import check_recorded, entries_of  # asv itself: a quarter of a second to import

    recording = read_recording(run_file)
    commit = recording.commit[:8]
    if not recording.cases:
        tell(f"asv records nothing of {commit}: the comparison has not measured any case at head")
        return
    entries = entries_of(suite, recording)
    done = _run_asv(run_file, suite, recording, entries)
    try:
        path = check_recorded(suite, recording.commit, entries)
    except WindtunnelError as error:
        raise WindtunnelError(str(error), detail=done.tail) from None
    tell(f"asv has {_counted(recording)} of {commit}: {path}")


def _run_asv(run_file: Path, suite: Suite, recording: Recording, entries: Sequence[Entry]) -> Ended:
    """What asv says. Raises WindtunnelError where it says that it failed."""
    done = run_program(
        _command(recording.commit, entries), suite.root, {**os.environ, REPLAY: str(run_file.resolve())}
    )
    failing = any(one.failed for one in recording.cases)
    if done.code and not (failing and done.code == _SOME_FAILED):
        raise WindtunnelError(
            f"asv run ended with exit code {done.code}, so its results do not have the comparison; "
            f"everything measured is in {run_file}",
            detail=done.tail,
        )
    return done


def _command(commit: str, entries: Sequence[Entry]) -> list[str]:
    """One round is one process, which asks for all samples of a metric: how many there are the class tells it."""
    return [
        *("asv", "run", f"{commit}^!", "--no-pull", "--record-samples", "--show-stderr"),
        *("--environment", "container", "--launch-method", "spawn"),
        *("-a", "rounds=1", "-a", "number=1", "-a", "warmup_time=0"),
        *(f"--bench={entry.pattern}" for entry in entries),
    ]


def _counted(recording: Recording) -> str:
    failed = sum(one.failed for one in recording.cases)
    good = len(recording.cases) - failed
    parts = [f"{good} case{'s' * (good != 1)}"] if good else []
    parts += [f"{failed} failed case{'s' * (failed != 1)}"] if failed else []
    return " and ".join(parts)
