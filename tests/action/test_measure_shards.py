"""The workflow of several measuring jobs that the documentation shows, run by the real `act`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import payloads
import pytest
from acting import run_act
from projects import pulled
from scratch import ROOT, as_forge_has_it, scratch_repository

from windtunnel.cli.main import cli
from windtunnel.publish.artifacts import MATRIX_FILE, RUN_FILE, parse_name
from windtunnel.sample.runfile import read_run

pytestmark = [pytest.mark.engine, pytest.mark.slow]

WORKFLOW = ".github/workflows/windtunnel.yml"
EVENT = "name: Measure\non: pull_request\npermissions: {}\n"


def shown() -> tuple[str, str]:
    """The workflow, and the action's repository and ref as they are named there."""
    page = (ROOT / "site" / "action.md").read_text("utf-8")
    (jobs,) = re.findall(r'^```yaml title="[^"\n]*from jobs on"\n(.*?)^```', page, re.MULTILINE | re.DOTALL)
    (action,) = set(re.findall(r"uses: ([\w-]+/windtunnel)/action(@\S+)", jobs))
    return EVENT + jobs, "".join(action)


def test_a_plan_and_its_jobs_come_to_one_comparison(tmp_path: Path, job_python: Mapping[str, str]) -> None:
    workflow, action = shown()
    origin = scratch_repository(tmp_path / "origin")
    origin.commit("shards", {WORKFLOW: workflow})
    checkout, head = pulled(origin, tmp_path / "job", {"README": "Nothing that is served.\n"})
    done = run_act(
        as_forge_has_it(checkout),
        "pull_request",
        payloads.pull_request(head),
        WORKFLOW,
        env={**job_python, "TMPDIR": str(tmp_path)},
        local_repositories={action: checkout.path},
    ).expect(0)
    names = {folder: parse_name(folder.name) for folder in sorted(done.artifacts.iterdir())}
    assert [(name.kind, name.number) for name in names.values() if name] == [("matrix", None), ("run", 1), ("run", 2)]
    matrix, one, two = names
    plans = [read_run(folder / RUN_FILE).header.compare for folder in (one, two)]
    assert [plan.shard for plan in plans if plan] == ["1/2", "2/2"]
    whole = tmp_path / "whole.jsonl"
    files = [str(one / RUN_FILE), str(two / RUN_FILE), "--matrix", str(matrix / MATRIX_FILE), "--output", str(whole)]
    cli.main(["merge", "--require-all", *files], standalone_mode=False)
    assert [arm.commit for arm in read_run(whole).header.arms] == [origin.hash("main"), head]
    assert len(read_run(whole).failures) == 2
