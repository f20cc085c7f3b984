"""The command line: wires everything up, and is the only place that catches everything."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from windtunnel import __version__
from windtunnel.adapters.signals import graceful_signals
from windtunnel.cli.action import action_command
from windtunnel.cli.bisect import bisect_command
from windtunnel.cli.calibrate import calibrate_command
from windtunnel.cli.clean import clean_command
from windtunnel.cli.compare import compare_command
from windtunnel.cli.console import discard, show_error, tell
from windtunnel.cli.doctor import doctor_command
from windtunnel.cli.merge import merge_command
from windtunnel.cli.plan import plan_command
from windtunnel.cli.push import push_command
from windtunnel.cli.replay import replay_command
from windtunnel.cli.run import run_command
from windtunnel.cli.show import show_command
from windtunnel.cli.site import site_command
from windtunnel.cli.versus import versus_command
from windtunnel.errors import Exit, Interrupted, WindtunnelError

__all__ = ["cli", "main"]


class _Group(click.Group):
    """Commands whose reader may leave early (`windtunnel plan | head -1`); click itself would end with 1 then."""

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


@click.command("init", short_help="Write a small, complete suite for the repository in this folder.")
@click.argument("directory", default=".", metavar="[DIR]", type=click.Path(file_okay=False, path_type=Path))
@click.option("--example", is_flag=True, help="Write a self-contained sample project that works as it is.")
@click.option("--github", is_flag=True, help="Write GitHub workflows too; only them, where DIR has a suite already.")
@click.option("--force", is_flag=True, help="Overwrite files that stand in the way.")
def init_command(directory: Path, example: bool, github: bool, force: bool) -> None:
    """Look at the repository in this folder and write asv.conf.json, benchmarks/ and targets/ into DIR, so that this
    checkout is installed into the image that is measured. `perf/` as DIR keeps everything in one folder.

    With --github also the workflows that measure pull requests, comment on them, and keep the history.
    """
    from windtunnel.cli.init import initialise, next_steps

    written = initialise(directory, example=example, force=force, github=github)
    for path in written:
        click.echo(path)
    click.echo(next_steps(directory, example=example, written=written))


for command in (
    run_command,
    compare_command,
    show_command,
    versus_command,
    plan_command,
    init_command,
    doctor_command,
    clean_command,
    replay_command,
    bisect_command,
    calibrate_command,
    merge_command,
    action_command,
    push_command,
    site_command,
):
    cli.add_command(command)


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
