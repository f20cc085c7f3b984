"""What goes to the terminal: results to standard output, everything that happens meanwhile to standard error."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from windtunnel.errors import WindtunnelError
from windtunnel.model import METRICS, Launch, Variant
from windtunnel.sample.measure import Job
from windtunnel.sample.summary import launch_metrics
from windtunnel.units import format_value

__all__ = ["BuildLog", "MeasureLog", "error_console", "show_error", "tell"]

error_console = Console(stderr=True, highlight=False, soft_wrap=True)


def tell(text: str) -> None:
    """One line for whoever watches."""
    error_console.print(text, markup=False)


def show_error(error: WindtunnelError) -> None:
    """An error as a person reads it: the message, then what is known more, indented."""
    error_console.print(f"windtunnel: {error}", style="bold red" if error_console.is_terminal else None, markup=False)
    for line in error.detail.splitlines():
        error_console.print(f"  | {line}", markup=False)


class BuildLog:
    """Build progress: a line when a build begins and ends; on a terminal also what it does right now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._said = 0.0

    def started(self, tag: str, variant: Variant, arm: str) -> None:
        """A build begins."""
        tell(f"building {variant} ({arm}): {tag}")

    def line(self, tag: str, text: str) -> None:
        """A line of its log: shown now and then, so that a long build is seen to move."""
        with self._lock:
            if time.monotonic() - self._said < (2.0 if error_console.is_terminal else 30.0):
                return
            self._said = time.monotonic()
        tell(f"  {tag.rpartition('/')[2]}: {text[:120]}")

    def finished(self, tag: str, seconds: float) -> None:
        """It is there."""
        tell(f"built {tag} in {seconds:.1f} s")

    def reused(self, tag: str, variant: Variant, arm: str) -> None:
        """It was there already."""
        tell(f"image of {variant} ({arm}) is there: {tag}")

    def failed(self, tag: str, error: WindtunnelError) -> None:
        """It can't be built."""
        tell(f"{tag} can't be built: {error}")


class MeasureLog:
    """Launch progress: a bar on a terminal, else one line per launch."""

    def __init__(self, total: int) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=error_console,
            transient=True,
            disable=not error_console.is_terminal,
        )
        self._task = self._bar.add_task("launches", total=total)
        self._done, self._total = 0, total

    @contextmanager
    def live(self) -> Iterator[MeasureLog]:
        """While measuring."""
        with self._bar:
            yield self

    def starting(self, jobs: Sequence[Job]) -> None:
        """A batch is being started."""
        self._bar.update(self._task, description=f"starting {len(jobs)} launches")

    def loading(self, job: Job, number: int) -> None:
        """One of them is under load."""
        self._bar.update(self._task, description=f"{job.case.id} #{number}")

    def done(self, launch: Launch) -> None:
        """One has ended."""
        self._done += 1
        self._bar.advance(self._task)
        if launch.outcome != "ok":
            self._bar.console.print(
                f"{launch.case} launch {launch.number} {launch.outcome}: {launch.reason}", markup=False
            )
        elif self._bar.disable:
            value = format_value(launch_metrics(launch)["time_per_request"], METRICS["time_per_request"].unit)
            tell(f"[{self._done}/{self._total}] {launch.case} launch {launch.number}: {value} per request")

    def left_out(self, count: int) -> None:
        """So many launches are not made after all."""
        if count:
            self._total -= count
            self._bar.update(self._task, total=self._total)
