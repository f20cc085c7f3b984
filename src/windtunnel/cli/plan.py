"""`windtunnel plan`: the cases, the images they need, and what measuring them will cost."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from windtunnel.adapters.project import Project, open_project
from windtunnel.cli.comparing import CASE_SECONDS
from windtunnel.cli.console import emit, tell
from windtunnel.cli.options import check_every
from windtunnel.compare.expect import expectations
from windtunnel.declare.cases import discover
from windtunnel.declare.plan import CasePlan, compare_lines, plan_case, plan_lines
from windtunnel.declare.shards import MATRIX, pattern_of, shard_of
from windtunnel.errors import ConfigError, NothingMeasured, VariantMissing
from windtunnel.sample.runfile import Run, read_run

__all__ = ["plan_command", "shard_matrix"]

_NEWEST = 10
"""So many run files are looked into."""


@dataclass(frozen=True)
class _Options:
    select: tuple[str, ...]
    suite: str
    launches: int | None
    comparing: bool
    every: bool = False


@click.command("plan", short_help="List the cases, the images they need, and what they will cost.")
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--bench", multiple=True, metavar="REGEX", help="The same as CASE, as `windtunnel compare` has it.")
@click.option("--all", "every", is_flag=True, help="Nightly cases too; they are left out where no case is named.")
@click.option("--suite", default="", metavar="NAME", help="Only cases of [suites.NAME] in windtunnel.toml.")
@click.option("--commit", default="", metavar="REV", help="Plan for this revision instead of the working tree.")
@click.option("--launches", type=click.IntRange(1), metavar="N", help="Launches per case.")
@click.option("--compare", "comparing", is_flag=True, help="Plan a comparison: time and MDE of each case.")
@click.option(
    "--shards",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Cut a comparison into N parts, as JSON for a CI matrix.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan_command(  # noqa: PLR0913, PLR0917 - click hands over one argument per option
    cases: tuple[str, ...],
    bench: tuple[str, ...],
    every: bool,
    suite: str,
    commit: str,
    launches: int | None,
    comparing: bool,
    shards: int | None,
    as_json: bool,
) -> None:
    """Say what `windtunnel run` with the same arguments would do, or with --compare what `windtunnel compare` would;
    nothing is built or started.

    Costs come from the newest run file that has the case, else from a rule of thumb.

    \b
    With --shards every part names its cases in a regular expression for
    `windtunnel compare --bench`, so the machines of a CI matrix need not agree on
    anything. Parts take about equally long, by what cases cost the last time.
    """
    check_every(every, (*cases, *bench), suite)
    options = _Options((*cases, *bench), suite, launches, comparing or shards is not None, every)
    project = open_project(Path.cwd(), commit=commit, tell=tell)
    budget = project.suite.settings.suite(suite).budget
    plans, skipped = _plans(project, options)
    if options.comparing and (shards or as_json):
        emit(json.dumps(_matrix(plans, skipped, shards or 1, budget)))  # one line: an output of a CI step is one
    elif as_json:
        emit(json.dumps(_as_json(plans, skipped), indent=2))
    else:
        lines = compare_lines(plans, budget) if comparing else plan_lines(plans)
        emit("\n".join([*lines, *_images_and_skipped(plans, skipped)]))


def shard_matrix(
    start: Path, select: Sequence[str], shards: int, *, suite: str = "", commit: str = "", budget: float | None = None
) -> dict[str, object]:
    """What `--shards` prints: the comparison of the suite around `start`, cut into parts.

    Args:
        start: a folder of the suite.
        select: regular expressions over case ids; none: all cases.
        shards: how many parts at most.
        suite: a suite of windtunnel.toml, or "".
        commit: the revision whose targets count; "" for the working tree.
        budget: seconds for all parts together; None: what the suite declares.

    Raises:
        ConfigError, EngineError, NothingMeasured: there is nothing to be cut.
    """
    project = open_project(start, commit=commit, tell=tell)
    plans, skipped = _plans(project, _Options(tuple(select), suite, None, True))
    return _matrix(plans, skipped, shards, budget or project.suite.settings.suite(suite).budget)


def _plans(project: Project, options: _Options) -> tuple[list[CasePlan], dict[str, str]]:
    """The plan of every case, and by case id why others are skipped."""
    within = project.suite.settings.suite(options.suite).cases
    found = discover(project.suite, options.select, within, nightly=options.every)
    if found.nightly:
        tell(found.left_out("--all takes them in"))
    known, skipped = project.select(found)
    count = options.launches or project.suite.settings.launches
    last = _newest_runs(project.suite.root / ".windtunnel" / "runs")
    settings = project.suite.settings.launch
    seconds = {} if options.comparing else _last_seconds(last, count)
    plans: list[CasePlan] = []
    for case in known:
        try:
            plans.append(plan_case(case, project.target, count, settings, arms=1, measured=seconds.get(case.id)))
        except VariantMissing as error:  # a service's
            skipped[case.id] = str(error)
    return (_compared(plans, last) if options.comparing else plans), skipped


def _newest_runs(folder: Path) -> list[Run]:
    """The newest run files, the newest first; what is none is passed over."""
    files = sorted(folder.glob("*.jsonl"), key=lambda path: (path.stat().st_mtime, path.name), reverse=True)
    runs: list[Run] = []
    for path in files[:_NEWEST]:
        with suppress(ConfigError):
            runs.append(read_run(path))
    return runs


def _last_seconds(runs: Sequence[Run], launches: int) -> dict[str, float]:
    """What each case cost the last time, scaled to `launches`."""
    seconds: dict[str, float] = {}
    for run in runs:
        if run.header.launches < 2:
            continue  # --quick loads too little to tell
        spent: dict[str, list[float]] = defaultdict(list)
        for launch in run.launches:
            if launch.outcome == "ok":
                spent[launch.case].append(sum(launch.spent.values()))
        for case, each in spent.items():
            seconds.setdefault(case, launches * sum(each) / len(each))
    return seconds


def _compared(plans: Sequence[CasePlan], runs: Sequence[Run]) -> list[CasePlan]:
    """The plans with what a comparison of them costs and shows."""
    known = expectations(runs, {plan.case.id for plan in plans})
    return [
        replace(plan, seconds=found.seconds, measured=True, mde=found.mde)
        if (found := known.get(plan.case.id))
        else replace(plan, seconds=CASE_SECONDS, measured=False)
        for plan in plans
    ]


def _images_and_skipped(plans: Sequence[CasePlan], skipped: Mapping[str, str]) -> list[str]:
    images = dict.fromkeys(key for plan in plans for key in plan.image_keys)
    return [f"image: {key}" for key in images] + [f"skipped: {case}: {reason}" for case, reason in skipped.items()]


# ---------------- for programs


def _as_json(plans: Sequence[CasePlan], skipped: Mapping[str, str]) -> dict[str, object]:
    return {
        "format": "windtunnel-plan",
        "version": 1,
        "cases": [
            {
                "case": plan.case.id,
                "variant": str(plan.case.variant),
                "images": list(plan.image_keys),
                "launches": plan.launches,
                "seconds": plan.seconds,
                "measured": plan.measured,
            }
            for plan in plans
        ],
        "skipped": dict(skipped),
        "seconds": sum(plan.seconds for plan in plans),
    }


def _matrix(
    plans: Sequence[CasePlan], skipped: Mapping[str, str], shards: int, budget: float | None
) -> dict[str, object]:
    """A comparison in parts. Each names its cases, so that the machines need not agree on anything."""
    if not plans:
        reasons = "\n".join(f"{case}: {reason}" for case, reason in skipped.items())
        raise NothingMeasured("no case to measure, so there is nothing to cut into shards", detail=reasons)
    by_id = {plan.case.id: plan for plan in plans}
    images = {case: "\n".join(plan.image_keys) for case, plan in by_id.items()}
    cut = shard_of([(case, plan.seconds) for case, plan in by_id.items()], shards, images)
    parts = [[by_id[case] for case in cases] for cases in cut if cases]
    whole = sum(plan.seconds for plan in plans)
    return {
        "format": MATRIX,
        "version": 1,
        "include": [
            # What is skipped has to be told by one of them; it is named to the first.
            _part(f"{number}/{len(parts)}", part, () if number > 1 else tuple(skipped), _share(part, whole, budget))
            for number, part in enumerate(parts, 1)
        ],
        "cases": [_case(plan) for plan in plans],
    }


def _share(part: Sequence[CasePlan], whole: float, budget: float | None) -> float:
    """The seconds of the budget that a shard may use: as much of it as it has of the cost."""
    if budget is None:
        return CASE_SECONDS * len(part)
    return budget * sum(plan.seconds for plan in part) / whole if whole else budget


def _part(shard: str, part: Sequence[CasePlan], skipped: Sequence[str], budget: float) -> dict[str, Any]:
    cases = [plan.case.id for plan in part]
    seconds = min(budget, sum(plan.seconds for plan in part))
    return {
        "shard": shard,
        "number": int(shard.partition("/")[0]),
        "bench": pattern_of([*cases, *skipped]),
        "cases": cases,
        "minutes": round(seconds / 60, 2),
        "budget": round(budget, 1),
    }


def _case(plan: CasePlan) -> dict[str, Any]:
    return {
        "case": plan.case.id,
        "minutes": round(plan.seconds / 60, 2),
        "mde": dict(plan.mde) or None,
        "measured": plan.measured,
    }
