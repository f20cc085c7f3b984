"""`windtunnel plan`: the cases, the images they need, and what measuring them will cost."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from windtunnel.adapters.project import open_project
from windtunnel.cli.console import tell
from windtunnel.declare.cases import discover
from windtunnel.declare.plan import CasePlan, plan_case, plan_lines
from windtunnel.errors import ConfigError, VariantMissing
from windtunnel.sample.runfile import read_run

__all__ = ["plan_command"]


@click.command("plan", short_help="List the cases, the images they need, and what they will cost.")
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--commit", default="", metavar="REV", help="Plan for this revision instead of the working tree.")
@click.option("--launches", type=click.IntRange(1), metavar="N", help="Launches per case.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def plan_command(cases: tuple[str, ...], commit: str, launches: int | None, as_json: bool) -> None:
    """Say what `windtunnel run` with the same arguments would do; nothing is built or started.

    Costs come from the newest run file that has the case, else from a rule of thumb.
    """
    project = open_project(Path.cwd(), commit=commit, tell=tell)
    known, skipped = project.select(discover(project.suite, cases))
    count = launches or project.suite.settings.launches
    last = _last_seconds(project.suite.root / ".windtunnel" / "runs", count)
    settings = project.suite.settings.launch
    plans: list[CasePlan] = []
    for case in known:
        try:
            plans.append(plan_case(case, project.target, count, settings, arms=1, measured=last.get(case.id)))
        except VariantMissing as error:  # a service's
            skipped[case.id] = str(error)
    if as_json:
        click.echo(json.dumps(_as_json(plans, skipped), indent=2))
        return
    for line in plan_lines(plans):
        click.echo(line)
    for key in dict.fromkeys(key for plan in plans for key in plan.image_keys):
        click.echo(f"image: {key}")
    for case_id, reason in skipped.items():
        click.echo(f"skipped: {case_id}: {reason}")


def _last_seconds(folder: Path, launches: int) -> dict[str, float]:
    """What each case cost the last time, scaled to `launches`, from the newest ten run files."""
    seconds: dict[str, float] = {}
    for path in sorted(folder.glob("*.jsonl"), reverse=True)[:10]:
        try:
            run = read_run(path)
        except ConfigError:
            continue
        if run.header.launches < 2:
            continue  # --quick loads too little to tell
        spent: dict[str, list[float]] = defaultdict(list)
        for launch in run.launches:
            if launch.outcome == "ok":
                spent[launch.case].append(sum(launch.spent.values()))
        for case, each in spent.items():
            seconds.setdefault(case, launches * sum(each) / len(each))
    return seconds


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
