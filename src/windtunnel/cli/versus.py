"""`windtunnel versus`: the values of one parameter against each other, at one revision."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from windtunnel.cli.console import emit, tell, terminal_width
from windtunnel.cli.forms import json_text
from windtunnel.cli.options import measuring_options
from windtunnel.cli.run import RunOptions, measure, outcome_of
from windtunnel.declare.cases import discover, select_ids
from windtunnel.declare.suite import find_suite
from windtunnel.errors import ConfigError
from windtunnel.model import METRICS, Case
from windtunnel.report.pairwise import boards, grouped, pooled
from windtunnel.report.pairwise_words import boards_to_json, render_boards
from windtunnel.sample.runfile import Run, read_run

__all__ = ["versus_command"]

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class _Question:
    """What is set against what: values of the parameter `by`, in `metric`."""

    bench: str
    by: str
    metric: str
    as_json: bool


@click.command("versus", short_help="Which value of a parameter is faster, and by how much?")
@click.argument("bench", metavar="BENCH")
@click.option("--by", required=True, metavar="AXIS", help="The parameter whose values are set against each other.")
@click.option(
    "--metric",
    type=click.Choice(list(METRICS)),
    default="time_per_request",
    show_default=True,
    metavar="NAME",
    help="What counts: any metric that there is.",
)
@click.option(
    "--from",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="RUNFILE",
    help="Use what was measured there, and measure nothing; may be given again.",
)
@measuring_options
@click.option("--json", "as_json", is_flag=True, help="Print the matrices as JSON.")
def versus_command(
    bench: str,
    by: str,
    metric: str,
    files: tuple[Path, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Set the values of AXIS, a parameter of a benchmark class, against each other. BENCH is the name of a class, or
    a regular expression over case names.

    \b
    For each combination of the other parameters it prints a matrix as Perl's
    cmpthese does (rates, and how much faster the row is than the column), and
    of versions or numbers the steps from each to the next, as declared.

    \b
    All values are up at the same time and loaded in turn, slice by slice, so
    that whatever the machine does falls on all of them alike; the intervals
    come from pairs of launches. Of run files by `windtunnel run`, which loads
    each case by itself, all launches of both sides make wider ones.

    \b
    Measure:         windtunnel versus Starlet --by perl
    Another metric:  windtunnel versus Starlet --by perl --metric cpu_per_request --from RUNFILE

    \b
    Exit codes: 0 measured; 2 usage or configuration; 4 the load or its answers
    were wrong; 5 nothing was measured; 6 infrastructure (engine, disk);
    7 does not build or start; 130 interrupted.
    """
    question = _Question(bench, by, metric, as_json)
    if files:
        _refuse_measuring(options)
        sys.exit(_reported([read_run(path) for path in files], question))
    sys.exit(int(_measured(question, options)))


def _refuse_measuring(options: dict[str, Any]) -> None:
    context = click.get_current_context()
    given = [
        name
        for name in options
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE  # not by default
    ]
    if given:
        raise ConfigError(f"--from measures nothing, and --{given[0]} is for measuring; leave one of them out")


# ---------------- which cases


def _first_that_finds(bench: str, find: Callable[[str], _Found]) -> _Found:
    """BENCH as the name of a class, with or without its module's; where there is none, as a regular expression."""
    try:
        return find(rf"(?:^|\.){re.escape(bench)}(?:\(|\Z)")
    except ConfigError:
        return find(bench)


def _comparable(cases: Sequence[Case], question: _Question) -> tuple[Case, ...]:
    """The cases that have the parameter. Raises ConfigError where there is nothing to set against anything."""
    bench, by = question.bench, question.by
    having = tuple(case for case in cases if by in dict(case.params))
    if not having:
        names = ", ".join(dict.fromkeys(name for case in cases for name, _ in case.params))
        raise ConfigError(f"{bench} has no parameter {by!r}; it has {names or 'none at all'}", key="--by")
    if not grouped(having, by):
        raise ConfigError(
            f"{bench} has one value of {by} only, where all other parameters are the same: nothing to set against it",
            key="--by",
        )
    without = list(dict.fromkeys(case.benchmark for case in cases if by not in dict(case.params)))
    if without:
        tell(f"left out, for want of a parameter {by}: {', '.join(without)}")
    return having


# ---------------- from run files


def _reported(runs: Sequence[Run], question: _Question) -> int:
    """Print what these runs say; the outcome is that of the cases that are looked at."""
    ids = _chosen(runs, question)
    outcome = int(outcome_of(_only(runs, ids)))
    emit(_report(runs, ids, question, outcome), kept="everything is still in the run files")
    return outcome


def _chosen(runs: Sequence[Run], question: _Question) -> frozenset[str]:
    """Cases of these runs, and what was skipped before it was one."""
    cases = {case.id: case for run in runs for case in run.header.cases}
    names = [*cases, *(failure.case for run in runs for failure in run.failures)]
    found = _first_that_finds(question.bench, lambda pattern: select_ids(names, [pattern]))
    having = _comparable([cases[name] for name in dict.fromkeys(found) if name in cases], question)
    classes = {case.benchmark for case in having}
    return frozenset({case.id for case in having} | {name for name in found if name.partition("(")[0] in classes})


def _only(runs: Sequence[Run], ids: frozenset[str]) -> Run:
    """All runs as one, of these cases alone."""
    return replace(
        runs[0],
        launches=tuple(one for run in runs for one in run.launches if one.case in ids),
        failures=tuple(one for run in runs for one in run.failures if one.case in ids),
    )


def _report(runs: Sequence[Run], ids: frozenset[str], question: _Question, outcome: int) -> str:
    pool = pooled(runs, ids)
    found = boards(pool, question.by, question.metric)
    if question.as_json:
        return json_text(boards_to_json(found, pool, [run.header.id for run in runs], outcome))
    return render_boards(found, pool, terminal_width())


# ---------------- measured for it


def _measured(question: _Question, options: dict[str, Any]) -> int:
    """Measure the cases, and print what they say."""
    suite = find_suite(Path.cwd())
    cases = _first_that_finds(question.bench, lambda pattern: discover(suite, [pattern]).cases)
    ids = frozenset(case.id for case in _comparable(cases, question))

    def render(run: Run) -> str:
        return _report([run], ids, question, int(outcome_of(run)))

    exactly = tuple(rf"^{re.escape(name)}\Z" for name in sorted(ids))

    def turns(jobs: Sequence[Case]) -> list[list[Case]]:
        return [list(values.values()) for values in grouped(jobs, question.by, alone=True).values()]

    return int(measure(RunOptions(select=exactly, render=render, turns=turns, **options)))
