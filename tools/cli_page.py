#!/usr/bin/env python3
"""Writes site/cli.md from the command line itself, so that the two can't drift apart.

    python tools/cli_page.py            write site/cli.md
    python tools/cli_page.py --check    exit code 2 if it is not what would be written

Needs windtunnel to be installed.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from windtunnel.cli.main import cli

__all__ = ["PAGE", "render_page"]

PAGE = Path(__file__).resolve().parent.parent / "site" / "cli.md"

_PROGRAM = "windtunnel"
_WIDTH = 100
_KEPT_LINES = "\b"
"""What click starts a paragraph with whose lines are not to be filled."""

_CODE = re.compile(r"^[\w -]+: {2,}\S", re.MULTILINE)
"""``A label:     a command``: such paragraphs are tables of commands, not prose."""

_INTRODUCTION = """\
# The command line

<!-- Written by tools/cli_page.py; edit the help texts in src/windtunnel/cli instead. -->

This page is made from the program's own `--help`. Exit codes are told in full under [exit codes](exit-codes.md).
"""


def render_page() -> str:
    """The whole page, as it has to be on the disk."""
    root = click.Context(cli, info_name=_PROGRAM, terminal_width=_WIDTH, **cli.context_settings)
    parts = [_INTRODUCTION, _command(cli, root, "")]
    parts += [_command(command, _below(root, name), f"## {_PROGRAM} {name}\n") for name, command in _commands(root)]
    return "\n".join(parts)


def _commands(context: click.Context) -> Iterator[tuple[str, click.Command]]:
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None and not command.hidden:
            yield name, command


def _below(root: click.Context, name: str) -> click.Context:
    command = cli.get_command(root, name)
    assert command is not None
    return click.Context(command, parent=root, info_name=name, terminal_width=_WIDTH)


def _command(command: click.Command, context: click.Context, heading: str) -> str:
    usage = command.get_usage(context).removeprefix("Usage: ")
    blocks = [heading, f"```text\n{usage}\n```\n", *_paragraphs(command.help or ""), _options(command, context)]
    if isinstance(command, click.Group):
        blocks.append(_table("command", "does", _subcommands(context)))
    return "\n".join(block for block in blocks if block)


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        body = paragraph.removeprefix(_KEPT_LINES).strip("\n")
        if _CODE.search(body):
            yield f"```text\n{body}\n```\n"
        elif body:
            yield f"{' '.join(body.split())}\n"


def _subcommands(context: click.Context) -> list[tuple[str, str]]:
    return [(f"[`{name}`](#{_PROGRAM}-{name})", one.get_short_help_str(200)) for name, one in _commands(context)]


def _options(command: click.Command, context: click.Context) -> str:
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    records = [record for one in options if (record := one.get_help_record(context))]
    return _table("option", "meaning", [(f"`{name}`", text) for name, text in records])


def _table(left: str, right: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"| {left} | {right} |", "|---|---|"]
    lines += [f"| {_cell(name)} | {_cell(text)} |" for name, text in rows]
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _main() -> int:
    page = render_page()
    if sys.argv[1:] == ["--check"]:
        if PAGE.exists() and PAGE.read_text("utf-8") == page:
            return 0
        sys.stderr.write(f"{PAGE} is not what the command line says of itself; run tools/cli_page.py\n")
        return 2
    PAGE.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(_main())
