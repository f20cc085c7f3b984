"""Which events get a runner at all: the condition of the reporting job, as the real `act` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from acting import run_act
from checkouts import Origin

from windtunnel.cli.workflows import Source, workflow_files
from windtunnel.publish.acceptance import COMMAND, LABEL

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = workflow_files("", "main", Source("someone/windtunnel", "v1"))[".github/workflows/windtunnel-report.yml"]
OWN = (ROOT / ".github/workflows/report.yml").read_text("utf-8")

PROBE = """\
on: [workflow_run, pull_request_target, issue_comment]
jobs:
  probe:
    if: >-
      CONDITION
    runs-on: ubuntu-24.04
    steps:
      - run: echo "this one r""uns"
"""


def condition(workflow: str) -> str:
    return " ".join(yaml.safe_load(workflow)["jobs"]["report"]["if"].split())


def comment(body: str, *, pull: bool = True, before: str | None = None) -> tuple[str, Mapping[str, Any]]:
    issue = {"number": 7, **({"pull_request": {"url": "x"}} if pull else {})}
    changes = {} if before is None else {"changes": {"body": {"from": before}}}
    return "issue_comment", {"action": "created", "issue": issue, "comment": {"body": body}, **changes}


def label(name: str) -> tuple[str, Mapping[str, Any]]:
    return "pull_request_target", {"action": "labeled", "label": {"name": name}, "pull_request": {"number": 7}}


def finished(event: str) -> tuple[str, Mapping[str, Any]]:
    return "workflow_run", {"action": "completed", "workflow_run": {"event": event, "id": 1}}


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("condition") / "repository"
    return Origin(path, {".github/workflows/probe.yml": PROBE.replace("CONDITION", condition(OWN))}).path


def test_both_workflows_have_the_same_condition() -> None:
    assert condition(OWN) == condition(WRITTEN)


@pytest.mark.parametrize(
    ("event", "runs"),
    [
        (finished("pull_request"), True),
        (finished("merge_group"), True),
        (finished("push"), False),
        (finished("pull"), False),
        (label(LABEL), True),
        (label("bug"), False),
        (comment(f"{COMMAND} accept worth it"), True),
        (comment(f"{COMMAND} accept worth it", pull=False), False),
        (comment(f"I would say {COMMAND} accept"), False),
        (comment("thanks"), False),
        (comment("never mind", before=f"{COMMAND} accept worth it"), True),
        (comment("never mind", before="hello"), False),
    ],
)
def test_what_is_none_of_ours_costs_no_runner(probe: Path, event: tuple[str, Mapping[str, Any]], runs: bool) -> None:
    done = run_act(probe, *event, ".github/workflows/probe.yml").expect(0)

    assert ("this one runs" in done.stdout) is runs, done.stdout
