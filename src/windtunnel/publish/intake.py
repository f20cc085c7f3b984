"""What measuring jobs hand over, taken in by somebody who trusts none of it.

`site/design/hostile.md` says what is trusted and what is not, and where each bound comes from. What comes out of here
is a comparison whose every part a report can be made of in a time that is known; whether its figures are true, nobody
but the job that measured them can say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.declare.shards import MATRIX
from windtunnel.errors import ConfigError
from windtunnel.load.histogram import thinned
from windtunnel.model import Launch, Slice
from windtunnel.publish.archive import LIMITS, IntakeError, Limits, unpack
from windtunnel.publish.artifacts import MATRIX_FILE, RUN_FILE
from windtunnel.publish.checked import BOUNDS, Bounds, check_counts, check_run
from windtunnel.sample.decode import json_object
from windtunnel.sample.merge import merge_runs
from windtunnel.sample.runfile import Run, read_run

__all__ = [
    "BOUNDS",
    "LIMITS",
    "Bounds",
    "IntakeError",
    "Limits",
    "Tally",
    "check_run",
    "lean",
    "merge_artifacts",
    "read_artifact",
    "read_matrix",
    "unpack",
]

_DETAIL = 64 << 10
"""Characters of a log that are kept, from its end."""

_PERCENTILES = (0.5, 0.9, 0.99)
_PHASES = frozenset({"start", "warmup", "slices", "stop"})


@dataclass
class Tally:
    """What has been read so far, of all run files that one report is made of: memory has an end, too.

    Attributes:
        bounds: how much there may be.
        launches, slices: how much there is.
    """

    bounds: Bounds = BOUNDS
    launches: int = 0
    slices: int = 0

    def kept(self, launch: Launch) -> Launch:
        """Count a launch in, and give what is to be kept of it. Raises IntakeError where it is one too many."""
        self.launches += 1
        self.slices += len(launch.slices)
        for what, count, most in (
            ("launches", self.launches, self.bounds.all_launches),
            ("slices", self.slices, self.bounds.all_slices),
        ):
            if count > most:
                raise IntakeError(f"there are more than {most:,} {what} to report; measure fewer cases in one go")
        return lean(launch)


def read_artifact(path: Path, tally: Tally | None = None) -> Run:
    """The run in a file that was unpacked, each launch as `lean` leaves it.

    Args:
        path: as `unpack` gave it.
        tally: the same for all run files of one report.

    Raises:
        IntakeError: it is no run file, or there is too much in it.
    """
    try:
        run = read_run(path, each=(tally or Tally()).kept)
    except ConfigError as error:
        raise _refused(error, path, RUN_FILE) from error
    return replace(run, failures=tuple(replace(one, detail=one.detail[-_DETAIL:]) for one in run.failures))


def read_matrix(path: Path) -> tuple[str, ...]:
    """The ids of the cases in a plan that was unpacked: all that its shards have to have together.

    Raises IntakeError.
    """
    try:
        return _case_ids(path.read_bytes())
    except OSError as error:
        raise IntakeError(f"{MATRIX_FILE}: can't be read: {error.strerror}") from error
    except ValueError as error:
        raise IntakeError(f"{MATRIX_FILE}: {error}") from error


def merge_artifacts(runs: Mapping[str, Run]) -> Run:
    """The shards of one comparison as one run; one run by itself stays as it is. `runs` must not be empty.

    Args:
        runs: by the name of their artifacts, which is for messages.

    Raises:
        IntakeError: they are no parts of one comparison, or together too much for a report.
    """
    if len(runs) == 1:
        return next(iter(runs.values()))
    try:
        merged = merge_runs(runs)
    except ConfigError as error:
        raise IntakeError(str(error)) from error
    check_counts(merged)
    return merged


def _refused(error: ConfigError, path: Path, name: str) -> IntakeError:
    """The same in one line, with the name that people know the file by."""
    return IntakeError(str(error).replace(str(path), name))


def _case_ids(content: bytes) -> tuple[str, ...]:
    """Raises ValueError for what is no plan."""
    found = json_object(content)
    cases = found.get("cases") if found.get("format") == MATRIX else None
    if not isinstance(cases, list):
        raise ValueError("is not what windtunnel plan --shards prints")  # noqa: TRY004 - the content is wrong
    if len(cases) > BOUNDS.cases:
        raise ValueError(f"has {len(cases):,} cases, more than {BOUNDS.cases:,}")
    names = [one.get("case") if isinstance(one, dict) else None for one in cases]
    known = [name for name in names if isinstance(name, str) and len(name) <= BOUNDS.name]
    if len(known) < len(cases):
        raise ValueError(f"has a case without a name, or with one of more than {BOUNDS.name:,} characters")
    return tuple(dict.fromkeys(known))


# ---------------- what a report needs


def lean(launch: Launch) -> Launch:
    """A launch without what no report of a comparison looks at: some thousand bytes in place of a hundred thousand.

    Its metrics are the same as before. A matrix of hundreds of cases then has room in the memory of a small machine.
    """
    load = [one.latency for one in launch.slices if one.role == "load"]
    latency = thinned(load, _PERCENTILES)
    slices: list[Slice] = []
    for one in launch.slices:
        if one.role != "warmup":
            kept = latency if one.role == "load" else {}
            slices.append(replace(one, status={}, failed={}, latency=kept, percentiles={}))
            latency = {} if one.role == "load" else latency
    return replace(
        launch,
        answer=None,
        detail=launch.detail[-_DETAIL:],
        slices=tuple(slices),
        spent={phase: seconds for phase, seconds in launch.spent.items() if phase in _PHASES},
    )
