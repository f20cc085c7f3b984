"""`windtunnel compare`: did anything get slower from base to head?"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from windtunnel.cli.comparing import Request, compare_revisions
from windtunnel.cli.console import emit, tell
from windtunnel.cli.options import DURATION, SHARE
from windtunnel.cli.record import check_recordable, record
from windtunnel.compare.verdict import Comparison, compare
from windtunnel.declare.suite import find_suite
from windtunnel.errors import ConfigError, StorageError
from windtunnel.report.comparison import comparison_to_json, render_comparison
from windtunnel.report.junit import comparison_junit
from windtunnel.report.markdown import comparison_markdown
from windtunnel.sample.runfile import Run, read_run

__all__ = ["compare_command"]

_REPORTS: Mapping[str, Callable[[Run, Comparison], str]] = {
    ".md": comparison_markdown,
    ".markdown": comparison_markdown,
    ".xml": comparison_junit,
}


_FOR_REPORTS = {"resume", "recorded", "strict", "json_file", "reports"}
"""The options that a comparison may be resumed with: they change nothing of what is measured."""


@click.command("compare", short_help="Compare two commits: did anything get slower?")
@click.argument("base", default="", metavar="[BASE]")
@click.argument("head", default="", metavar="[HEAD]")
@click.option("--worktree", is_flag=True, help="HEAD is the working tree.")
@click.option(
    "--bench", "select", multiple=True, metavar="REGEX", help="Only cases that this is found in; repeatable."
)
@click.option(
    "--suite", default="", metavar="NAME", help="The cases and the budget of [suites.NAME] in windtunnel.toml."
)
@click.option("--shard", default="", metavar="I/N", help="Only the I-th of N parts of the cases.")
@click.option("--budget", type=DURATION, help="Machine time for all cases together [default: 60s a case].")
@click.option("--threshold", type=SHARE, help="A change below it is not worth a word [default: 2%].")
@click.option(
    "--control", is_flag=True, help="Measure base once more, in containers of its own: an A/A inside the run."
)
@click.option("--strict", is_flag=True, help="Exit with 3 when something could not be told.")
@click.option(
    "--record", "recorded", is_flag=True, help="Put head's launches into asv's results; nothing is loaded twice."
)
@click.option("--json", "json_file", metavar="FILE", help="The report as JSON; - is standard output.")
@click.option(
    "--report", "reports", multiple=True, metavar="FILE", help="The report as Markdown (.md), JUnit (.xml) or text."
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The run file [default: .windtunnel/runs/TIME.jsonl].",
)
@click.option(
    "--resume",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="RUNFILE",
    help="Go on with a run that was cut short.",
)
@click.option("--batch", type=click.IntRange(1, 16), default=2, show_default=True, help="Pairs started together.")
def compare_command(
    *,
    recorded: bool,
    strict: bool,
    json_file: str | None,
    reports: tuple[str, ...],
    **asked: Any,
) -> None:
    """Measure both commits of every selected case in paired launches, and decide.

    \b
    BASE and HEAD are any git revisions. Without HEAD it is the commit that is
    checked out; without BASE it is where HEAD left the main branch (origin/HEAD,
    or the branch that asv.conf.json names first).

    \b
    A pair is a launch of base and one of head, up at the same time and loaded in
    turn. Clear cases stop early and leave their time to the others; whatever
    looks changed is confirmed by fresh pairs before it is told. The report goes
    to standard output, progress to standard error, everything measured to the
    run file, from which every report can be made again: windtunnel show RUNFILE.

    \b
    Exit codes: 0 nothing got slower; 2 usage or configuration; 3 could not be
    told, with --strict; 4 the load or its answers were wrong; 5 nothing was
    measured; 6 infrastructure (engine, build of base, disk); 7 head does not
    build or start; 10 something got slower; 130 interrupted.
    """
    request = Request(start=Path.cwd(), **asked)
    _check(request, [*reports, *([json_file] if json_file else [])], recorded=recorded)
    path = compare_revisions(request)
    run = read_run(path)
    comparison = compare(run)
    tell(f"run file: {path}")
    _write(run, comparison, reports, json_file, path)
    if recorded:
        record(path, find_suite(Path.cwd()), tell)
    sys.exit(int(comparison.strict if strict else comparison.outcome))


def _check(request: Request, files: Sequence[str], *, recorded: bool) -> None:
    """What can be refused is refused before anything is measured."""
    if request.worktree and request.head:
        raise ConfigError(f"--worktree is the head already; leave {request.head} out")
    if request.resume and (given := _given()):
        raise ConfigError(f"--resume takes everything from the run file; leave {', '.join(given)} out")
    if recorded:
        check_recordable(head_is_worktree=request.worktree or _resumes_worktree(request))
    for name in files:
        if name != "-":
            _check_file(Path(name))


def _given() -> list[str]:
    """The options and arguments that say what to measure, as far as they were given."""
    context = click.get_current_context()
    return [
        param.opts[-1] if isinstance(param, click.Option) else str(param.name).upper()
        for param in context.command.params
        if param.name not in _FOR_REPORTS
        and context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
    ]


def _check_file(path: Path) -> None:
    """It can be written, as far as that can be known without doing so."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise ConfigError("there is no such folder; make it, or name another file", file=folder)
    if path.is_dir():
        raise ConfigError("is a folder; name a file in it", file=path)
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise StorageError(f"cannot write {path}: it or its folder is write-protected; name another file")


def _resumes_worktree(request: Request) -> bool:
    if request.resume is None:
        return False
    return any(arm.commit == "worktree" for arm in read_run(request.resume).header.arms)


def _write(run: Run, comparison: Comparison, reports: Sequence[str], json_file: str | None, path: Path) -> None:
    """The report to standard output, and to every file that was asked for."""
    as_json = json.dumps(comparison_to_json(run, comparison), indent=2, allow_nan=False) if json_file else ""
    kept = f"it can be made again: windtunnel show {path}"
    emit(as_json if json_file == "-" else render_comparison(run, comparison), kept=kept)
    if json_file and json_file != "-":
        _save(Path(json_file), as_json, kept)
    for name in reports:
        _save(Path(name), _REPORTS.get(Path(name).suffix, render_comparison)(run, comparison), kept)


def _save(path: Path, text: str, kept: str) -> None:
    try:
        path.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}; {kept}") from error
