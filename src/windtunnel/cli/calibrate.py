"""`windtunnel calibrate`: how noisy this machine is, and how its launches are best loaded."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import click

from windtunnel import __version__
from windtunnel.adapters.owner import new_id, owner_token
from windtunnel.adapters.project import Project, open_project
from windtunnel.adapters.watchdog import watched
from windtunnel.cli.calibrating import Calibration
from windtunnel.cli.console import BuildLog, emit, tell
from windtunnel.cli.options import DURATION
from windtunnel.compare.effects import pairs_of
from windtunnel.compare.recommend import Advice, Length, advise, measured_length
from windtunnel.compare.rule import Rule
from windtunnel.compare.variance import LEAST_PAIRS
from windtunnel.declare.values import Unfit, duration
from windtunnel.errors import ConfigError, Exit, worst
from windtunnel.model import Case, Host, LaunchPlan
from windtunnel.report.calibration import CaseAdvice, advice_to_json, render_advice
from windtunnel.sample.calibration import (
    Calibrated,
    calibration_file,
    clear_calibration,
    keep_calibration,
    read_calibration,
)
from windtunnel.sample.runfile import Run, RunWriter, check_writable, read_run
from windtunnel.units import Missing

__all__ = ["calibrate_command"]

_LEAST_SLICES, _LEAST_SINGLES = 4, 2
"""With fewer slices of a launch, what differs between them is not told from what differs between launches."""

_CODES = {"ok": Exit.OK, "invalid": Exit.INVALID, "failed": Exit.HEAD_BROKEN, "lost": Exit.INFRASTRUCTURE}


def _lengths(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[float, ...]:
    """Seconds, from "40ms,80ms"; each once."""
    try:
        return tuple(dict.fromkeys(duration(part.strip()) for part in value.split(","))) if value else ()
    except Unfit as error:
        raise click.BadParameter(f"{error}; write it as in --lengths 40ms,80ms") from error


@dataclass(frozen=True)
class _Options:
    select: tuple[str, ...]
    pairs: int
    seconds: float
    lengths: tuple[float, ...]
    output: Path | None
    as_json: bool


@click.command("calibrate", short_help="Find out how noisy this machine is, and how to load launches on it.")
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--pairs", type=click.IntRange(LEAST_PAIRS), default=24, show_default=True, help="Pairs per case.")
@click.option(
    "--seconds",
    type=DURATION,
    default=60.0,
    show_default=True,
    metavar="TIME",
    help="What a comparison has for a case: the plan is recommended for that.",
)
@click.option(
    "--lengths",
    metavar="TIME,TIME",
    callback=_lengths,
    help="Measure slices of these lengths in turn, and recommend the best one [default: the project's].",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The run file [default: .windtunnel/runs/TIME.jsonl beside asv.conf.json]; with --lengths one for each.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--clear", is_flag=True, help="Forget what was found on this machine, and measure nothing.")
def calibrate_command(  # noqa: PLR0913, PLR0917 - click hands over one argument per option
    cases: tuple[str, ...],
    pairs: int,
    seconds: float,
    lengths: tuple[float, ...],
    output: Path | None,
    as_json: bool,
    clear: bool,
) -> None:
    """Measure the same image against itself on this machine: every CASE is a regular expression over case names;
    without one, the first case of every target.

    \b
    The report tells how much pairs differ between launches, between slices and
    between requests, what each of them costs, and the smallest change that a
    comparison would see in the time it has: with the plan that launches have
    today, and with the one that is best on this machine. The latter is kept in
    .windtunnel/calibration.json, where `windtunnel compare` finds it.

    \b
    Exit codes: 0 calibrated; 2 usage or configuration; 4 the load or its answers
    were wrong; 5 nothing was measured; 6 infrastructure (engine, disk);
    7 does not build or start; 130 interrupted.
    """
    if clear:
        if cases:
            raise click.UsageError("--clear forgets all cases of this machine; it takes no CASE")
        _clear()
        return
    sys.exit(int(_execute(_Options(cases, pairs, seconds, lengths, output, as_json))))


def _clear() -> None:
    """Which machine this is only the engine knows: it may be another one."""
    project, group = open_project(Path.cwd(), tell=tell), new_id()
    with watched(project.engine, group), project.measuring(group, owner_token(), None, tell) as context:
        count = clear_calibration(project.suite.root, context.host)
    tell(f"forgot {count} {'case' if count == 1 else 'cases'} that had been calibrated on {_named(context.host)}")


def _named(host: Host) -> str:
    return f"{host.cpu_model}, {host.cores} {'core' if host.cores == 1 else 'cores'}"


def _execute(options: _Options) -> Exit:
    """Everything from the sources to the report."""
    began = time.monotonic()
    project = open_project(Path.cwd(), tell=tell, progress=BuildLog())
    read_calibration(calibration_file(project.suite.root))  # one that can't be read is told before, not after
    name, settings = new_id(), project.suite.settings
    paths = _paths(project, options, name)
    work = Calibration(project, paths, options.select, options.pairs, settings.threshold, id=name)
    cases, host = work.measure()
    runs = {plan: read_run(path) for plan, path in paths.items()}
    rule = Rule(threshold=settings.threshold)
    found = [CaseAdvice(case, _advice(runs, case, (settings.launch, options.seconds, rule))) for case in cases]
    kept = {one.case.id: _entry(one.advice, host) for one in found if host and isinstance(one.advice, Advice)}
    code = _outcome(runs.values(), kept)
    for path in paths.values():
        with closing(RunWriter(path)) as writer:
            writer.end(exit=int(code), seconds=time.monotonic() - began, build_seconds=work.build_seconds)
        tell(f"run file: {path}")
    if kept and host:
        tell(f"plans for {_named(host)}: {keep_calibration(project.suite.root, host, kept)}")
    emit(_text(found, rule, options), kept="everything measured is in the run file")
    return code


def _plans(project: Project, lengths: Sequence[float]) -> tuple[LaunchPlan, ...]:
    """How launches are loaded here: as the project has it, with slices enough to tell their luck apart."""
    plan = project.suite.settings.launch
    single = max(plan.single_slices, _LEAST_SINGLES) if plan.single_slices else 0
    enough = replace(plan, slices=max(plan.slices, _LEAST_SLICES), single_slices=single)
    return tuple(
        replace(enough, seconds=one, deadline=max(plan.deadline, 10 * one)) for one in lengths or (plan.seconds,)
    )


def _paths(project: Project, options: _Options, name: str) -> Mapping[LaunchPlan, Path]:
    """A run file for each length of slices."""
    first = options.output or project.suite.root / ".windtunnel" / "runs" / f"{name}.jsonl"
    plans = _plans(project, options.lengths)
    paths = {plan: first.with_stem(f"{first.stem}-{plan.seconds * 1e3:g}ms") for plan in plans}
    if len(plans) == 1:
        paths = {plans[0]: first}
    for path in paths.values():
        if path.exists():
            raise ConfigError("exists already; a run file is never overwritten, name another one", file=path)
        check_writable(path)
    return paths


def _advice(runs: Mapping[LaunchPlan, Run], case: Case, wanted: tuple[LaunchPlan, float, Rule]) -> Advice | Missing:
    """What is best for a case; `wanted`: the present plan, the budget, the rule."""
    lengths = [_length(plan, run, case) for plan, run in runs.items()]
    known = [one for one in lengths if isinstance(one, Length)]
    return advise(known, *wanted) if known else next(one for one in lengths if isinstance(one, Missing))


def _length(plan: LaunchPlan, run: Run, case: Case) -> Length | Missing:
    pairs = pairs_of(run.launches, case.id)
    if pairs and case.id in run.sizes:
        return measured_length(plan, run.sizes[case.id], pairs)
    failures = [one.reason for one in run.failures if one.case == case.id]
    wrong = [one.reason for one in run.launches if one.case == case.id and one.outcome != "ok"]
    return Missing(next(iter([*failures, *wrong]), "no pair was measured"))


def _entry(advice: Advice, host: Host) -> Calibrated:
    """What is kept of it."""
    plan, best = advice.recommended.plan, advice.best
    return Calibrated(
        slices=plan.slices,
        single_slices=plan.single_slices,
        seconds=plan.seconds,
        pairs=best.pairs,
        budget=advice.budget,
        variances={name: noise.variances for name, noise in best.known.items()},
        costs=best.costs,
        kernel=host.kernel,
        when=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        windtunnel=__version__,
    )


def _text(found: Sequence[CaseAdvice], rule: Rule, options: _Options) -> str:
    if not options.as_json:
        return render_advice(found, rule)
    document = {"format": "windtunnel-calibration-report", "version": 1, "cases": advice_to_json(found, rule)}
    return json.dumps(document, indent=2, allow_nan=False)


def _outcome(runs: Iterable[Run], kept: Mapping[str, Calibrated]) -> Exit:
    """The exit code: nothing that failed is ever covered by what went well."""
    codes: list[Exit] = [] if kept else [Exit.NOTHING_MEASURED]
    for run in runs:
        codes += [_CODES[launch.outcome] for launch in run.launches]
        codes += [Exit.HEAD_BROKEN for failure in run.failures if failure.kind == "failed"]
    return worst(codes)
