"""`windtunnel action measure`: one job of a workflow measures what its event is about.

The job says what it found, and ends well whatever that is: on the page of a pull request it is the check that speaks.
It fails only where there is no run file that could speak for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from windtunnel.adapters import git
from windtunnel.cli.action.annotations import MOST, annotate_error
from windtunnel.cli.action.events import read_event
from windtunnel.cli.action.job import Job, Wanted, top_of
from windtunnel.cli.action.precautions import precautions, withhold
from windtunnel.cli.action.revisions import Asked, check_event, revisions_of_event
from windtunnel.cli.action.runner import Runner
from windtunnel.cli.action.summaries import failure_summary
from windtunnel.cli.console import show_error
from windtunnel.cli.options import DURATION
from windtunnel.declare.suite import find_suite
from windtunnel.errors import ConfigError, Exit, Interrupted, WindtunnelError

__all__ = ["measure_command"]

_SHARDS = click.IntRange(1, 256)


def _if_given(convert: Callable[..., Any]) -> Callable[..., Any]:
    """An input of an action that nobody has set is an empty text."""
    return lambda context, parameter, value: convert(value, parameter, context) if value else None


@click.command("measure", short_help="Measure what a workflow's event is about (no token needed).")
@click.option("--directory", default=".", metavar="DIR", help="The folder of asv.conf.json, or one below it.")
@click.option("--suite", default="", metavar="NAME", help="The cases and the budget of [suites.NAME].")
@click.option("--base", default="", metavar="REV", help="Compare with this, whatever the event says.")
@click.option("--head", default="", metavar="REV", help="Measure this, whatever the event says.")
@click.option("--bench", multiple=True, metavar="REGEX", help="Only cases that this is found in; one or more a line.")
@click.option("--budget", callback=_if_given(DURATION.convert), metavar="TIME", help="Machine time for all cases.")
@click.option("--shard", default="", metavar="I/N|JSON", help="Only this part: a number, or an entry of the matrix.")
@click.option(
    "--plan",
    callback=_if_given(_SHARDS.convert),
    metavar="N",
    help="Measure nothing: cut the comparison into N parts, for a matrix of jobs.",
)
@click.option(
    "--output",
    default=".windtunnel/action",
    show_default=True,
    metavar="FOLDER",
    help="Where run.jsonl and report.md are put, or matrix.json.",
)
@click.option("--images", default="", metavar="FOLDER", help="Images of earlier jobs; those of this one are added.")
def measure_command(**given: Any) -> None:
    """Compare two commits as a step of a GitHub workflow, and leave a run file for `windtunnel action report`.

    \b
    Head and base come from the event: a pull request's own head, and where it
    left its base branch as that is in the clone (fetch-depth: 0). A push is
    compared with what was there before; a schedule, a dispatch and a new branch
    with where they left the default branch, or with the commit before.

    \b
    The step sets the outputs outcome (ok, inconclusive, invalid,
    nothing_measured, infrastructure, head_broken, regression), regressions (how
    many cases got slower), report (the Markdown), run (the run file), artifact
    (what to call it) and images (true where they are worth keeping); with --plan
    matrix, run and artifact. An empty option counts as not given.

    \b
    Exit codes: 0 whatever the verdict; 2 usage or configuration; 6 not even a
    run file could be begun; 130 interrupted (what was measured is in the file).
    """
    places: dict[str, Path | None] = {name: Path(given[name] or ".") for name in ("directory", "output")}
    places["images"] = Path(given["images"]) if given["images"] else None
    wanted = Wanted(**{**given, **places})
    sys.exit(int(_executed(Runner(dict(os.environ)), wanted)))


def _executed(runner: Runner, wanted: Wanted) -> Exit:
    """Errors are told here: their words may be others', and nobody may take them for commands."""
    top = top_of(wanted.directory)
    try:
        return _job(runner, wanted, top)
    except (WindtunnelError, Interrupted) as error:
        with runner.unheard():
            show_error(error)
        if isinstance(error, WindtunnelError):
            annotate_error(runner, error, top, wanted.directory)
            runner.summary(failure_summary(error))
            runner.output(outcome=error.exit.name.lower())
        return error.exit


def _job(runner: Runner, wanted: Wanted, top: Path) -> Exit:
    part = wanted.part()
    event = read_event(runner.environ)
    check_event(event)
    warnings = precautions(event, runner.environ, top)
    for text in warnings:
        runner.annotate("warning", text, title="windtunnel")
    withhold(os.environ)
    if not wanted.directory.is_dir():
        raise ConfigError("there is no such folder; name that of asv.conf.json", file=wanted.directory)
    suite = find_suite(wanted.directory)
    if suite.separate and not (wanted.base and wanted.head):
        raise ConfigError(
            f"the suite in {suite.root} is not part of the repository that it measures, so the event does not say "
            f"which commits to compare; name both, base and head"
        )
    git.top(suite.repository)  # says why git refuses to look at it, where it does; else no commit would be there
    asked = Asked(wanted.base, wanted.head, suite.branches)
    revisions = revisions_of_event(event, suite.repository, asked)
    job = Job(runner, event, wanted, suite, revisions, part, MOST - len(warnings))
    return job.planned() if wanted.plan else job.measured()
