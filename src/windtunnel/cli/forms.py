"""The forms that the report of a run is printed in, and the option that chooses one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import click

from windtunnel.errors import ConfigError
from windtunnel.report.abreport import render_ab
from windtunnel.report.run import render_run, run_to_json
from windtunnel.sample.runfile import Run

__all__ = ["RUN_FORMS", "chosen_form", "format_option", "json_text"]


def json_text(value: Any) -> str:
    """A report as JSON, as it is printed."""
    return json.dumps(value, indent=2, allow_nan=False)


RUN_FORMS: Mapping[str, Callable[[Run], str]] = {
    "text": render_run,
    "json": lambda run: json_text(run_to_json(run)),
    "ab": render_ab,
}
"""What `--format` may be, and the text of such a report."""


def chosen_form(form: str | None, flag: str | None) -> str:
    """The form that `--format` and a flag such as `--json` ask for together; "text" where neither does.

    Raises ConfigError where they ask for two.
    """
    if form and flag and form != flag:
        raise ConfigError(f"--format {form} and --{flag} ask for two reports; leave one of them out")
    return form or flag or "text"


def format_option(*more: str) -> Callable[[Any], Any]:
    """`--format`, for a command whose report is also to be had in these forms."""
    choices = click.Choice([*RUN_FORMS, *more])
    return click.option(
        "--format", "form", type=choices, help="The report's form [default: text]; ab: as ab prints it."
    )
