"""What every command that launches does: begin a run file, give up what can't be launched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from windtunnel.cli.console import tell
from windtunnel.errors import BuildFailed, VariantMissing, WindtunnelError
from windtunnel.model import Launch
from windtunnel.sample.runfile import Failure, Header, RunWriter

__all__ = ["Watch", "begun", "unbuilt"]

_ENOUGH = 2
"""So many launches of a case may prove nothing before the rest is not tried."""


@contextmanager
def begun(path: Path, header: Header, failures: Sequence[Failure]) -> Iterator[RunWriter]:
    """The run file with its header, and what is known already: cases that are not there or can't be built.

    Made as late as that, so that there is never one that nothing is in.
    """
    with closing(RunWriter(path)) as writer:
        if writer.empty:
            writer.header(header)
            for failure in failures:
                writer.failure(failure)
        yield writer


def unbuilt(case: str, arm: str, error: WindtunnelError) -> Failure:
    """Why a case is not launched; what the engine, the disk or a file is at fault for is raised.

    With those no other case would fare better.
    """
    if not isinstance(error, BuildFailed | VariantMissing):
        raise error
    kind = "skipped" if isinstance(error, VariantMissing) else "failed"
    return Failure(case, arm, kind, str(error), error.detail)


class Watch:
    """Which cases are not worth another launch: it did not start once, or proved nothing twice."""

    def __init__(self) -> None:
        self._bad: Counter[str] = Counter()

    def see(self, launch: Launch) -> None:
        """Take note of a launch that has ended."""
        if launch.outcome != "ok":
            before = self._bad[launch.case]
            self._bad[launch.case] += _ENOUGH if launch.outcome == "failed" else 1
            if before < _ENOUGH <= self._bad[launch.case]:
                tell(f"{launch.case}: no more launches, they would only end the same way")

    def hopeless(self, case: str) -> bool:
        """Whether to leave it."""
        return self._bad[case] >= _ENOUGH
