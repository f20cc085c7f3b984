"""What goes to the terminal: results to standard output, everything that happens meanwhile to standard error."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from windtunnel.errors import Interrupted, StorageError, WindtunnelError
from windtunnel.model import METRICS, Launch, Variant
from windtunnel.sample.measure import Job
from windtunnel.sample.summary import launch_metrics
from windtunnel.units import format_value

__all__ = ["BuildLog", "MeasureLog", "discard", "emit", "error_console", "show_error", "tell"]


class _ErrorConsole(Console):
    """Whoever watched may leave (a closed terminal, `2>&1 | head`): nothing that is being measured ends for that."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        discard(self.file)


error_console = _ErrorConsole(stderr=True, highlight=False, soft_wrap=True)


def tell(text: str, style: str | None = None) -> None:
    """One line for whoever watches."""
    try:
        error_console.print(text, markup=False, style=style)
    except OSError:  # a terminal that is gone, a full disk
        error_console.on_broken_pipe()


def emit(text: str, kept: str = "") -> None:
    """The result, to standard output; `kept` says where it is to be had otherwise.

    A reader that has had enough is no error. Raises StorageError where the result can't be written.
    """
    try:
        click.echo(text)
        sys.stdout.flush()
    except BrokenPipeError:
        discard(sys.stdout)
    except OSError as error:
        discard(sys.stdout)
        raise StorageError(f"the report can't be written to standard output: {error.strerror}; {kept}") from error


def discard(stream: IO[str]) -> None:
    """Send what is still written to a stream nowhere, so that Python's own last flush does not fail either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def show_error(error: WindtunnelError | Interrupted) -> None:
    """An error as a person reads it: the message, then what is known more, indented."""
    tell(f"windtunnel: {error}", "bold red" if error_console.is_terminal else None)
    for line in error.detail.splitlines():
        tell(f"  | {line}")


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
            tell(f"{launch.case} launch {launch.number} {launch.outcome}: {launch.reason}")
        elif self._bar.disable:
            value = format_value(launch_metrics(launch)["time_per_request"], METRICS["time_per_request"].unit)
            tell(f"[{self._done}/{self._total}] {launch.case} launch {launch.number}: {value} per request")

    def left_out(self, count: int) -> None:
        """So many launches are not made after all."""
        if count:
            self._total -= count
            self._bar.update(self._task, total=self._total)
