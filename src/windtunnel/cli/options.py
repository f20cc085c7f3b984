"""What options of several commands have in common: durations and shares as in windtunnel.toml, and --all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from windtunnel.declare.values import Convert, Unfit, duration, share
from windtunnel.errors import ConfigError

__all__ = ["DURATION", "SHARE", "check_every", "measuring_options"]


if TYPE_CHECKING:
    _Type = click.ParamType[float]
else:  # older releases of click have no type arguments
    _Type = click.ParamType


class _Converted(_Type):
    """An option that is read as a value of windtunnel.toml is; a plain number is one too."""

    def __init__(self, name: str, read: Convert[float]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The value in base units; click tells what is wrong with it, and of which option."""
        if isinstance(value, float):
            return value
        try:
            return self._read(_number(value))
        except Unfit as error:
            self.fail(str(error), param, ctx)


def _number(value: str) -> object:
    try:
        return float(value)
    except ValueError:
        return value


DURATION = _Converted("duration", duration)
"""Seconds, from ``90s``, ``10m`` or a plain number."""

SHARE = _Converted("share", share)
"""A ratio, from ``2%`` or ``0.02``."""


def check_every(every: bool, select: Sequence[str], suite: str = "") -> None:
    """Raises ConfigError where --all (`every`) stands beside something that selects cases."""
    if every and (select or suite):
        named = f'--suite "{suite}"' if suite else f'"{select[0]}"'
        raise ConfigError(f"--all is every case there is, nightly ones too; leave {named} out")


_MEASURING = (
    click.option("--commit", default="", metavar="REV", help="Measure this revision instead of the working tree."),
    click.option("--launches", type=click.IntRange(1), metavar="N", help="Launches per case [default: 8]."),
    click.option(
        "--quick", is_flag=True, help="One launch, one slice: does everything run? The figures mean little."
    ),
    click.option(
        "--batch", type=click.IntRange(1, 32), default=4, show_default=True, help="Launches started together."
    ),
    click.option(
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        help="The run file [default: .windtunnel/runs/TIME.jsonl beside asv.conf.json].",
    ),
)


def measuring_options(command: Any) -> Any:
    """The options of every command that measures cases at one revision, in this order."""
    for option in reversed(_MEASURING):
        command = option(command)
    return command
