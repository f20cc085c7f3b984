"""`windtunnel replay`: what would have been told of the commits that are in already?"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from windtunnel.adapters.history import Commit, Stretch, last_merges, stretch
from windtunnel.cli.comparing import Request, compare_revisions
from windtunnel.cli.console import tell
from windtunnel.cli.kept import Measure, ends_everything, judged, kept, kept_name, measured, write_reports
from windtunnel.cli.options import DURATION, SHARE
from windtunnel.declare.cases import discover
from windtunnel.declare.suite import Suite, find_suite
from windtunnel.errors import Interrupted, WindtunnelError
from windtunnel.report.comparison_words import headline
from windtunnel.report.replay import Row, Subject, broken_row, checked, outcome, render_replay, replay_to_json, row
from windtunnel.units import format_minutes

__all__ = ["Replay", "replay_command"]

_LAST = 20


@click.command("replay", short_help="What would have been told of commits that are in already?")
@click.argument("revisions", default="", metavar="[A..B]")
@click.option("--last", type=click.IntRange(1), metavar="N", help="The newest N of them [default without A..B: 20].")
@click.option(
    "--merges/--no-merges",
    default=None,
    help="Only merges, or only others [default: all of A..B; without it merges, where there are any].",
)
@click.option(
    "--bench", "select", multiple=True, metavar="REGEX", help="Only cases that this is found in; repeatable."
)
@click.option("--suite", default="", metavar="NAME", help="The cases and the budget of [suites.NAME].")
@click.option("--budget", type=DURATION, help="Machine time for one commit [default: as for compare].")
@click.option("--threshold", type=SHARE, help="A change below it is not worth a word [default: the project's].")
@click.option("--check", is_flag=True, help="Compare commits of which a change is told once more: false alarms.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Where the run files are kept [default: .windtunnel/replay beside asv.conf.json].",
)
@click.option("--json", "json_file", metavar="FILE", help="The report as JSON; - is standard output.")
def replay_command(  # noqa: PLR0913, PLR0917 - click hands over one argument per option
    revisions: str,
    last: int | None,
    merges: bool | None,
    select: tuple[str, ...],
    suite: str,
    budget: float | None,
    threshold: float | None,
    check: bool,
    output: Path | None,
    json_file: str | None,
) -> None:
    """Compare each commit of A..B with its first parent, newest first, and report what a pull request with it would
    have been told. Only commits on the first-parent line of B count; without A..B, the last 20 merges that led to
    HEAD.

    \b
    Every comparison has a run file of its own. Whatever ends this command, the
    same command goes on where it was: what is complete is not measured again.
    A commit that cannot be built is a row of the report, not the end of it.
    The cases, and the target folders with harness = "head", are the working
    tree's: commits from before the suite can be compared too.

    \b
    Exit codes: 0 every commit has its row, whatever would have been told;
    2 usage or configuration; 4 the load or its answers were wrong for some;
    5 nothing was measured; 6 infrastructure (engine, disk); 130 interrupted.
    """
    here = Path.cwd()
    found = find_suite(here)
    _check_names(found, select, suite)
    chosen = _commits(found, revisions, last, merges)
    folder = (output or found.root / ".windtunnel" / "replay").absolute()
    request = Request(start=here, select=select, budget=budget, threshold=threshold, suite=suite)
    rows = Replay(request, folder, compare_revisions, check=check).rows(chosen.commits)
    title = _title(revisions, len(rows))
    write_reports(
        render_replay(rows, title=title, notes=chosen.notes, check=check),
        replay_to_json(rows, title=title, notes=chosen.notes, check=check),
        json_file,
        folder,
    )
    sys.exit(int(outcome(rows)))


def _check_names(suite: Suite, select: Sequence[str], name: str) -> None:
    """What is wrong for every commit alike is told once, before anything is measured. Raises ConfigError."""
    discover(suite, select, suite.settings.suite(name).cases)


def _commits(suite: Suite, revisions: str, last: int | None, merges: bool | None) -> Stretch:
    if revisions:
        return stretch(suite.repository, revisions, merges, last)
    return last_merges(suite.repository, last or _LAST, merges)


def _title(revisions: str, count: int) -> str:
    commits = "1 commit" if count == 1 else f"{count} commits"
    where = f" of {revisions}" if revisions else ""
    return f"Replay: {commits}{where}, newest first, each compared with its first parent."


@dataclass
class Replay:
    """The comparisons of one command.

    Attributes:
        request: what is the same for all of them.
        folder: where their run files are.
        measure: makes or resumes one.
        check: whether told changes are compared once more.
        say: tells whoever watches.
        clock: seconds, for the expected end.
    """

    request: Request
    folder: Path
    measure: Measure
    check: bool = False
    say: Callable[[str], None] = tell
    clock: Callable[[], float] = time.monotonic
    _spent: list[float] = field(default_factory=list, init=False)

    def rows(self, commits: Sequence[Commit]) -> list[Row]:
        """A row for each commit, in their order.

        Raises:
            ConfigError: a run file that is there already is of something else; nothing was measured.
            EngineError, StorageError, Interrupted: what is complete is kept, and the same command goes on.
        """
        began = self.clock()
        waiting = {one.hash for one in commits if not self._complete(one)}
        rows: list[Row] = []
        try:
            for index, commit in enumerate(commits, 1):
                self._progress(f"{index} of {len(commits)}", commit, began, len(waiting))
                rows.append(self._row(commit, new=commit.hash in waiting))
                waiting.discard(commit.hash)
        except (WindtunnelError, Interrupted):
            self.say(f"{len(rows)} of {len(commits)} commits are done; the same command goes on from there")
            raise
        return rows

    def _complete(self, commit: Commit) -> bool:
        """Whether it is measured. The run file of its check is looked at too: a wrong one is told right away."""
        runs = [kept(self._wanted(commit, note)) for note in ("", "-check")[: 1 + self.check]]
        return runs[0] is not None and runs[0].complete

    def _wanted(self, commit: Commit, note: str = "") -> Request:
        parent = commit.parents[0]
        path = self.folder / kept_name(parent, commit.hash, note)
        return replace(self.request, base=parent, head=commit.hash, output=path)

    def _progress(self, where: str, commit: Commit, began: float, waiting: int) -> None:
        """Which one is next, how long it took so far, and how long the rest takes if it goes on like that."""
        mean = sum(self._spent) / len(self._spent) if self._spent else self.request.budget
        left = f", about {format_minutes(mean * waiting)} to go" if mean is not None and waiting else ""
        so_far = format_minutes(self.clock() - began)
        self.say(f"replay: {where}: {commit.hash[:12]} {commit.subject[:60]} ({so_far} so far{left})")

    def _row(self, commit: Commit, *, new: bool) -> Row:
        began = self.clock()
        found = self._compared(commit)
        if self.check and found.changes:
            found = self._checked(commit, found)
        if new:
            self._spent.append(self.clock() - began)
        self.say(f"replay: {commit.hash[:12]}: {found.words}")
        return found

    def _compared(self, commit: Commit) -> Row:
        subject = Subject(commit.hash, commit.parents[0], commit.date.isoformat(), commit.subject)
        request = self._wanted(commit)
        try:
            run = measured(request, self.measure)
            comparison = judged(run, request.threshold)
        except WindtunnelError as error:
            if ends_everything(error):
                raise
            return broken_row(subject, str(error), error.exit, error.detail)
        return row(subject, run, comparison, headline(run, comparison), str(request.output))

    def _checked(self, commit: Commit, found: Row) -> Row:
        """The same commits once more, in fresh launches, from a run file of their own."""
        self.say(f"replay: {commit.hash[:12]}: {found.words}; comparing once more")
        request = self._wanted(commit, "-check")
        try:
            run = measured(request, self.measure)
            return checked(found, run, judged(run, request.threshold))
        except WindtunnelError as error:
            if ends_everything(error):
                raise
            return replace(found, check_words=f"could not be made: {error}")
