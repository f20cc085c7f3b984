"""`--sweep` and `--rate`: the selected cases once more, with another load than their class asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from windtunnel.cli.console import terminal_width
from windtunnel.cli.forms import RUN_FORMS
from windtunnel.declare.workload import Where, check_workload
from windtunnel.errors import ConfigError
from windtunnel.model import Case
from windtunnel.report.run import render_run
from windtunnel.report.sweep import BY, By, swept_text
from windtunnel.sample.runfile import Run

__all__ = ["Swept", "Variation", "form_of", "sweep_options", "variation"]

_OWN_LOAD = "the target's own program makes its load; --sweep and --rate are for HTTP"
_USUAL_WIDTH = 100


@dataclass(frozen=True)
class Swept:
    """What is swept, over which values, each once and in the order given."""

    by: By
    values: tuple[float, ...]


@dataclass(frozen=True)
class Variation:
    """How the load of the selected cases differs from what their classes ask for; nothing, by default.

    `rate` is in requests per second.
    """

    sweep: Swept | None = None
    rate: float | None = None

    def applied(self, cases: Sequence[Case], places: Mapping[str, Where]) -> tuple[list[Case], dict[str, str]]:
        """The cases to measure instead of these, and by case id why there is none of it.

        What was changed is a parameter of its own, so that names stay apart. Raises ConfigError where a workload
        can't be had like that, with the place of its class.
        """
        if self.sweep is None and self.rate is None:
            return list(cases), {}
        found: dict[str, Case] = {}
        skipped: dict[str, str] = {}
        for case in cases:
            if case.workload.generator == "program":
                skipped[case.id] = _OWN_LOAD
                continue
            for one in self._of(case):
                check_workload(one.workload, places.get(case.id, Where(case.benchmark, "the command line")))
                found.setdefault(one.id, one)
        return list(found.values()), skipped

    def _of(self, case: Case) -> list[Case]:
        one = case if self.rate is None else _changed(case, "rate", self.rate)
        return [one] if self.sweep is None else [_changed(one, self.sweep.by, value) for value in self.sweep.values]


def _changed(case: Case, by: By, value: float) -> Case:
    """The case with another concurrency or rate. Slices are sized for it, whatever the class has fixed."""
    work = case.workload
    work = replace(work, concurrency=int(value)) if by == "concurrency" else replace(work, rate=value)
    named = dict(case.params) | {by: swept_text(value)}
    return replace(case, params=tuple(named.items()), workload=replace(work, requests=None))


# ---------------- the options


if TYPE_CHECKING:
    _Type = click.ParamType[Swept]
else:  # older releases of click have no type arguments
    _Type = click.ParamType


class _SweepType(_Type):
    """``concurrency=1,2,5`` or ``rate=100,200``."""

    name = "sweep"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Swept:
        """What it asks for; click tells what is wrong with it, and of which option."""
        if isinstance(value, Swept):
            return value
        name, _, listed = str(value).partition("=")
        by = next((known for known in BY if known == name.strip()), None)
        if by is None:
            self.fail(f'"{name}" can\'t be swept; write {" or ".join(f"{known}=1,2,5" for known in BY)}', param, ctx)
        values = dict.fromkeys(self._value(by, text.strip(), param, ctx) for text in listed.split(","))
        if len(values) < 2:
            self.fail(f"a sweep takes two values at least: {by}=1,2,5", param, ctx)
        return Swept(by, tuple(values))

    def _value(self, by: By, text: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value <= _MOST[by] or (by == "concurrency" and value != int(value)):
            what = "a whole number" if by == "concurrency" else "requests per second"
            self.fail(f'"{text}" is no {by}; it is {what}, above 0 and up to {_MOST[by]:,}', param, ctx)
        return value


_MOST: Mapping[By, int] = {"concurrency": 10_000, "rate": 1_000_000}

_OPTIONS = (
    click.option(
        "--sweep",
        type=_SweepType(),
        metavar="WHAT=N,N,...",
        help="Each case at each of these: concurrency=1,2,5,10,20 or rate=1000,2000,4000.",
    ),
    click.option(
        "--rate",
        type=click.FloatRange(0, _MOST["rate"], min_open=True),
        metavar="R",
        help="So many requests per second arrive, whether or not the server keeps up (an open loop).",
    ),
)


def sweep_options(command: Any) -> Any:
    """`--sweep` and `--rate`, in this order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def variation(sweep: Swept | None, rate: float | None) -> Variation:
    """What the two options ask for together. Raises ConfigError where both ask for a rate."""
    if sweep is not None and sweep.by == "rate" and rate is not None:
        raise ConfigError("--sweep rate=... and --rate are two rates at a time; leave one of them out")
    return Variation(sweep, rate)


def form_of(form: str, sweep: Swept | None) -> Callable[[Run], str]:
    """The report. That of a sweep is its table and chart; each case in full is what `windtunnel show` prints."""
    if form != "text" or sweep is None:
        return RUN_FORMS[form]
    return partial(render_run, width=terminal_width() or _USUAL_WIDTH, brief=True)
