"""`windtunnel action`: what the composite actions call, one command each."""

from __future__ import annotations

from importlib import import_module

import click

__all__ = ["action_command"]

_COMMANDS = {
    "measure": "measure_command",
    "report": "report_command",
    "record": "record_command",
}
"""By the name of the command, which is that of its module, what it is called there."""


class _Late(click.Group):
    """Commands that are loaded when they are asked for: reporting stands on packages that measuring does without."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click hands it over
        """All of them, in the order in which a pull request meets them."""
        return [*_COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """One of them."""
        if cmd_name not in _COMMANDS:
            return None
        module = import_module(f"{__name__}.{cmd_name}")
        command = getattr(module, _COMMANDS[cmd_name])
        assert isinstance(command, click.Command)
        return command


@click.command("action", cls=_Late, short_help="The steps of the GitHub Actions: measure, report, record.")
def action_command() -> None:
    """What the GitHub Actions of windtunnel do, each as one command. They take what a workflow's runner hands them
    over (the event, its files), and tell it what they found. Elsewhere the same is had by compare, show and replay.

    \b
    measure   what an event is about: no token, and strangers' code
    report    comment and check on a pull request: a token, and nobody's code
    record    the history of the main branch, and its site
    """
