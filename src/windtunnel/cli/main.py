"""The command line: wires everything up, and is the only place that catches everything."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from windtunnel import __version__
from windtunnel.adapters.signals import graceful_signals
from windtunnel.cli.console import discard, show_error, tell
from windtunnel.errors import Exit, Interrupted, WindtunnelError

__all__ = ["cli", "main"]


COMMANDS = (
    "action",
    "bisect",
    "calibrate",
    "clean",
    "compare",
    "doctor",
    "init",
    "merge",
    "plan",
    "push",
    "replay",
    "run",
    "show",
    "site",
    "versus",
)
"""The command NAME is NAME_command of windtunnel.cli.NAME, which is loaded where it is needed: all of them together
take longer to load than most commands take to answer."""


class _Group(click.Group):
    """Commands that are loaded when they are asked for.

    Their reader may leave early (`windtunnel plan | head -1`); click itself would end with 1 then.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, loaded now."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = getattr(import_module(f"windtunnel.cli.{cmd_name}"), f"{cmd_name}_command")
        return found

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """As click does (`--help` is printed here)."""
        with _left_alone():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """As click does."""
        with _left_alone():
            return super().invoke(ctx)


@contextmanager
def _left_alone() -> Iterator[None]:
    """A reader that has had enough is no error."""
    try:
        yield
    except BrokenPipeError:
        discard(sys.stdout)
        raise click.exceptions.Exit(int(Exit.OK)) from None


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="windtunnel")
def cli() -> None:
    """Continuous performance tracking for HTTP servers and cache clients.

    \b
    A first look:     windtunnel doctor
    A new suite:      windtunnel init     (or: windtunnel init --example DIR)
    Measure it:       windtunnel run
    Who is faster:    windtunnel versus BENCH --by AXIS
    Compare commits:  windtunnel compare      (or: asv continuous main HEAD)
    """


def main() -> None:
    """Run the command line; the exit code is one of `windtunnel.errors.Exit`."""
    with graceful_signals(
        tell
    ):  # to the very end: a second Ctrl-C while the first one's words are printed is no news
        code = _run()
    sys.exit(code)


def _run() -> int:
    try:
        ended = cli.main(standalone_mode=False)
    except (WindtunnelError, Interrupted) as error:
        show_error(error)
        return int(error.exit)
    except click.ClickException as error:
        error.show()
        return int(Exit.USAGE)
    except click.Abort:
        return int(Exit.INTERRUPTED)
    return ended if isinstance(ended, int) else int(Exit.OK)


if __name__ == "__main__":
    main()
