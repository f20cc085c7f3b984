"""`windtunnel action report`: tell a pull request what was measured for it, or decide again about that.

Whatever is told comes from strangers in the end, so nothing of it is printed where the runner takes it for commands.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from windtunnel.adapters import git
from windtunnel.cli.action.annotations import annotate_error
from windtunnel.cli.action.events import Event, read_event
from windtunnel.cli.action.github import forge_of
from windtunnel.cli.action.runner import SUMMARY_BYTES, Runner
from windtunnel.cli.console import show_error, tell
from windtunnel.declare.suite import FILES, Suite, find_suite
from windtunnel.errors import ConfigError, Exit, Interrupted, StorageError, WindtunnelError
from windtunnel.publish.acceptance import LABEL, is_command, may_accept
from windtunnel.publish.artifacts import slug_of
from windtunnel.publish.judging import Scope
from windtunnel.publish.reporting import REPORTED, Reported, Reporter
from windtunnel.publish.triage import report_again
from windtunnel.publish.words import summary_markdown
from windtunnel.report.visible import visible

__all__ = ["report_command"]

_LINE = 500


@click.command("report", short_help="Comment on the pull request that was measured, and make its check.")
@click.option("--directory", default=".", metavar="DIR", help="The folder of asv.conf.json, or one below it.")
def report_command(directory: str) -> None:
    """Report a finished measuring run to the pull requests that it was for: one comment and one check for each suite.

    \b
    For these events:
      workflow_run          a measuring run has ended
      pull_request_target   the label windtunnel-accepted was put on or taken off
      issue_comment         somebody wrote /windtunnel accept REASON
    What is none of ours is passed over with a word.

    \b
    Run it in a checkout of the default branch, never of the pull request: its
    windtunnel.toml decides about threshold, gate and comment. The token is in
    GITHUB_TOKEN; it needs pull-requests: write, checks: write, actions: read
    and contents: read.

    \b
    Exit codes: 0 reported, whatever the verdicts; 2 configuration; 6 the forge
    refused something, or can't be reached.
    """
    sys.exit(int(_executed(Runner(dict(os.environ)), Path(directory or "."))))


def _executed(runner: Runner, directory: Path) -> Exit:
    try:
        with runner.unheard():
            _report(runner, directory)
    except (WindtunnelError, Interrupted) as error:
        with runner.unheard():
            show_error(error)
        if isinstance(error, WindtunnelError):
            annotate_error(runner, error, Path.cwd(), directory)
        return error.exit
    return Exit.OK


def _report(runner: Runner, directory: Path) -> None:
    event = read_event(runner.environ)
    act = _ACTS.get(event.name)
    if act is None:
        raise ConfigError(f"there is nothing to report on {visible(event.name, 60)}; run this on {', '.join(_ACTS)}")
    suite = _suite(directory)
    slug = slug_of(suite.root.relative_to(git.top(suite.root).resolve()).as_posix())
    reporter = Reporter(forge_of(event, runner.environ), Scope(slug, suite.settings, event.repository_url), _tell)
    with _scratch(runner.environ) as folder:
        reported = act(_Task(reporter, event, folder))
    runner.summary(summary_markdown(reported.told, SUMMARY_BYTES))
    reported.check()


def _suite(directory: Path) -> Suite:
    """The suite in the checkout. Without one defaults would decide (a gate that is off!), and nobody would know."""
    start = directory.resolve()
    if not any((folder / name).is_file() for folder in (start, *start.parents) for name in FILES):
        raise ConfigError(
            f"no {FILES[0]} there or above; check the default branch out before this step, and name the same "
            "folder as for the measuring action",
            file=directory,
        )
    return find_suite(start)


@contextmanager
def _scratch(environ: Mapping[str, str]) -> Iterator[Path]:
    """A folder for what is downloaded, on the disk that the runner has for such things."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="windtunnel-", dir=environ.get("RUNNER_TEMP"))
    except OSError as error:
        raise StorageError(f"no folder can be made for what is downloaded: {error}; make room") from error
    with folder as name:
        yield Path(name)


def _tell(text: str) -> None:
    tell(visible(text, _LINE))


# ---------------- events


@dataclass(frozen=True)
class _Task:
    """An event that is to be dealt with; `folder` takes what is downloaded."""

    reporter: Reporter
    event: Event
    folder: Path

    def passed_over(self, why: str) -> Reported:
        """Nothing to do, and why."""
        _tell(why)
        return Reported()

    def again(self, number: int) -> Reported:
        """A pull request is decided about again."""
        return report_again(self.reporter, number, self.folder)


def _measured(task: _Task) -> Reported:
    """A measuring run has ended."""
    event = task.event
    began = event.text("workflow_run", "event")
    if began not in REPORTED:
        return task.passed_over(f"the run was for {began}, and only those for {' and '.join(REPORTED)} are reported")
    number = event.number("workflow_run", "id")
    if not number:
        raise ConfigError("the event names no workflow run", key="workflow_run.id")
    return task.reporter.report(task.reporter.forge.workflow_run(number), task.folder)


def _labelled(task: _Task) -> Reported:
    """A label was put on a pull request or taken off it."""
    event = task.event
    action, label = event.text("action"), event.text("label", "name")
    if action not in {"labeled", "unlabeled"} or label.casefold() != LABEL:
        return task.passed_over(f"only the label {LABEL} is of interest here: nothing to do")
    return task.again(event.number("pull_request", "number"))


def _commented(task: _Task) -> Reported:
    """Somebody has written, changed or deleted a comment on an issue or a pull request."""
    event = task.event
    if not event.has("issue", "pull_request"):
        return task.passed_over("a comment on an issue: nothing to do")
    texts = (event.text("comment", "body"), event.text("changes", "body", "from"))
    if not any(is_command(text) for text in texts):
        return task.passed_over("a comment that is not for windtunnel: nothing to do")
    author = event.text("comment", "user", "login")
    if not may_accept(task.reporter.forge, author):
        return task.passed_over(
            f"{author} has no write permission: nothing is accepted or taken back by that comment"
        )
    return task.again(event.number("issue", "number"))


_ACTS: Mapping[str, Callable[[_Task], Reported]] = {
    "workflow_run": _measured,
    "pull_request_target": _labelled,
    "issue_comment": _commented,
}
