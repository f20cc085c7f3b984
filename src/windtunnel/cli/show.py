"""`windtunnel show`: the report of a run file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from windtunnel.cli.console import emit
from windtunnel.cli.forms import RUN_FORMS, chosen_form, format_option, json_text
from windtunnel.cli.options import SHARE
from windtunnel.compare.verdict import Comparison, compare, rule_of
from windtunnel.errors import ConfigError
from windtunnel.report.comparison import comparison_to_json, render_comparison
from windtunnel.report.junit import comparison_junit
from windtunnel.report.markdown import comparison_markdown
from windtunnel.sample.runfile import Run, read_run

__all__ = ["show_command"]

_COMPARED = ("markdown", "junit")
"""Forms that only the report of a comparison has."""


@click.command("show", short_help="Show the report of a run file again.")
@click.argument("path", metavar="RUNFILE", type=click.Path(path_type=Path))
@format_option(*_COMPARED)
@click.option("--json", "flag", flag_value="json", help="Print the report as JSON.")
@click.option("--markdown", "flag", flag_value="markdown", help="Print that of a comparison as GitHub Markdown.")
@click.option("--junit", "flag", flag_value="junit", help="Print that of a comparison as JUnit XML.")
@click.option(
    "--threshold", type=SHARE, metavar="SHARE", help="Judge a comparison by this threshold [default: its own]."
)
def show_command(path: Path, form: str | None, flag: str | None, threshold: float | None) -> None:
    """Print the report of RUNFILE, which `windtunnel run` or `windtunnel compare` wrote. Nothing is measured.

    \b
    A comparison is judged anew, from its slices. A run that was cut short or
    still goes on is shown as far as it got. With --format ab each case of each
    arm is told as ab would, and nothing is judged.

    \b
    Exit codes: 0 shown, whatever the outcome; 2 RUNFILE is not a run file, or
    has no such report.
    """
    run = read_run(path)
    emit(_report(path, run, chosen_form(form, flag), threshold), kept=f"everything measured is in {path}")


def _report(path: Path, run: Run, form: str, threshold: float | None) -> str:
    if run.header.compare is not None and form != "ab":
        return _comparison(run, _judged(run, threshold), form)
    if form == "ab" and threshold is not None:
        raise ConfigError("--format ab judges nothing; leave --threshold out")
    if form in _COMPARED or threshold is not None:
        option = "--threshold" if threshold is not None else f"--{form}"
        raise ConfigError(f"holds no comparison, and {option} is for those; leave it out", file=path)
    return RUN_FORMS[form](run)


def _judged(run: Run, threshold: float | None) -> Comparison:
    rule = rule_of(run)
    return compare(run, rule if threshold is None else replace(rule, threshold=threshold))


def _comparison(run: Run, comparison: Comparison, form: str) -> str:
    if form == "json":
        return json_text(comparison_to_json(run, comparison))
    known = {"text": render_comparison, "markdown": comparison_markdown, "junit": comparison_junit}
    return known[form](run, comparison).rstrip("\n")
