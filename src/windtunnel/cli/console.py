"""What goes to the terminal: results to standard output, everything that happens meanwhile to standard error."""

from __future__ import annotations

import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from windtunnel.compare.allocate import CaseState
from windtunnel.compare.rule import JUDGED, Finding
from windtunnel.compare.standing import Need, Standing
from windtunnel.errors import Interrupted, StorageError, WindtunnelError
from windtunnel.model import METRICS, Launch, Variant
from windtunnel.sample.measure import Job
from windtunnel.sample.summary import launch_metrics
from windtunnel.units import Missing, Value, counted, format_effect, format_value

__all__ = [
    "BuildLog",
    "ComparisonLog",
    "MeasureLog",
    "discard",
    "emit",
    "error_console",
    "show_error",
    "tell",
    "terminal_width",
]


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


def terminal_width() -> int | None:
    """Columns of the terminal that standard output is, or what COLUMNS says; None where neither tells."""
    known = os.environ.get("COLUMNS", "")
    return shutil.get_terminal_size((0, 0)).columns or None if os.isatty(1) or known.isdigit() else None


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

    def pulled(self, tag: str, variant: Variant, arm: str) -> None:
        """A registry had it."""
        tell(f"image of {variant} ({arm}) was pulled: {tag}")

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

    def loading(self, jobs: Sequence[Job], number: int) -> None:
        """One of them is under load, or several in turn."""
        others = f" and {len(jobs) - 1} more in turn" if len(jobs) > 1 else ""
        self._bar.update(self._task, description=f"{jobs[0].case.id} #{number}{others}")

    def done(self, launch: Launch) -> None:
        """One has ended."""
        self._done += 1
        self._bar.advance(self._task)
        if launch.outcome != "ok":
            tell(f"{launch.case} launch {launch.number} {launch.outcome}: {launch.reason}")
        elif self._bar.disable:
            tell(f"[{self._done}/{self._total}] {_one_launch(launch)}")

    def left_out(self, count: int) -> None:
        """So many launches are not made after all."""
        if count:
            self._total -= count
            self._bar.update(self._task, total=self._total)


def _one_launch(launch: Launch) -> str:
    figures = launch_metrics(launch)
    unit = "call" if launch.program else "request"
    name, words = ("time_per_request", f"per {unit}")
    if isinstance(figures[name], Missing):  # in an open loop it would be the rate
        name, words = ("latency_p99", f"for 99 of 100 {unit}s")
    value = format_value(figures[name], METRICS[name].unit)
    return f"{launch.case} launch {launch.number}: {value} {words}"


_BAR = 16
"""Characters of the bar."""

_WIDE = 110
"""Terminals narrower than that have no room for an interval beside the bar."""


class ComparisonLog:
    """Progress of a comparison: a bar of the budget on a terminal, and a line per pair for everybody else.

    Both say the case, its pairs, the estimate with its interval so far, and the budget that is left. A case that
    needs to be confirmed, or gets no more pairs, is told to everybody, with the reason.
    """

    def __init__(self, cases: Collection[str], budget: float | None) -> None:
        self._paired, self._open, self._budget = frozenset(cases), set(cases), budget
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=_BAR),
            TextColumn("{task.fields[left]}"),
            console=error_console,
            transient=True,
            disable=not error_console.is_terminal,
        )
        self._now = self._left(0.0)
        self._task = self._bar.add_task("starting", total=budget, left=self._now)
        self._said: dict[str, Standing] = {}
        self._why: dict[str, str] = {}

    @contextmanager
    def live(self) -> Iterator[ComparisonLog]:
        """While measuring."""
        if self._bar.disable and self._paired:
            tell(f"measuring pairs of {counted(len(self._paired), 'case')}; {self._now}")
        with self._bar:
            yield self

    def starting(self, jobs: Sequence[Job]) -> None:
        """A batch is being started."""
        self._bar.update(self._task, description=f"starting {len(jobs)} launches")

    def loading(self, jobs: Sequence[Job], number: int) -> None:
        """A pair (or a launch of head alone) is under load."""
        job = jobs[0]
        words = [f"{'pair' if job.case.id in self._paired else 'launch'} {number}"]
        if stand := self._said.get(job.case.id):
            words.append(_so_far(stand, JUDGED[:1], interval=error_console.width >= _WIDE))
        self._bar.update(self._task, description=self._fitting(job.case.id, "  ".join(filter(None, words))))

    def _fitting(self, case: str, words: str) -> str:
        """The name of the case is what is cut where a terminal is narrow."""
        room = max(12, error_console.width - _BAR - len(self._now) - len(words) - 3)
        return f"{case if len(case) <= room else case[: room - 1] + '…'} {words}"

    def done(self, launch: Launch) -> None:
        """A launch has ended."""
        if launch.outcome != "ok":
            tell(f"{launch.case} {launch.arm} launch {launch.number} {launch.outcome}: {launch.reason}")
        elif self._bar.disable and launch.case not in self._paired:
            tell(_one_launch(launch))

    def told(self, state: CaseState, stand: Standing, spent: float) -> None:
        """A case has new pairs."""
        self._said[state.case] = stand
        if stand.need is Need.NOTHING:
            self._open.discard(state.case)
        self._now = self._left(spent)
        self._bar.update(self._task, completed=min(spent, self._budget or spent), left=self._now)
        if self._bar.disable:
            words = [counted(state.pairs, "pair"), _so_far(stand, JUDGED)]
            tell(f"{state.case}: {', '.join(filter(None, words))}; {self._now}")
        if stand.need in {Need.NOTHING, Need.CONFIRM} and not state.given_up:
            self._reason(state, stand.why)

    def gave_up(self, state: CaseState, launches: Sequence[Launch]) -> None:
        """A case gets no more pairs."""
        self._open.discard(state.case)
        self._reason(state, f"no more, {len(launches)} launches went wrong; last: {launches[-1].reason}")

    def ended(self, short: int) -> None:
        """No case gets any more; so many would have got more, had there been time."""
        if short:
            tell(f"the budget is used up: {counted(short, 'case')} would have got more pairs")

    def _reason(self, state: CaseState, why: str) -> None:
        """Once, however often it holds."""
        if self._why.get(state.case) != why:
            tell(f"{state.case}: {counted(state.pairs, 'pair')}: {why}")
        self._why[state.case] = why

    def _left(self, spent: float) -> str:
        open_ = f"{counted(len(self._open), 'case')} open"
        return open_ if self._budget is None else f"{max(0.0, self._budget - spent):.0f} s left, {open_}"


_SHORT = {"cpu_per_request": "CPU", "time_per_request": "time", "response_time": "response time"}


def _so_far(stand: Standing, metrics: Sequence[str], *, interval: bool = True) -> str:
    """What these metrics say so far, in a few words."""
    return ", ".join(_words(stand.findings[name], interval) for name in metrics if name in stand.findings)


def _words(finding: Finding, interval: bool) -> str:
    ends = (_ratio(finding.low), _ratio(finding.high)) if interval else (Missing("no room"), Missing("no room"))
    return f"{_SHORT[finding.metric]} {format_effect(_ratio(finding.estimate), *ends)}"


def _ratio(value: float) -> Value:
    return math.exp(value) if math.isfinite(value) else Missing("too few pairs")
