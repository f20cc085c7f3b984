"""All workflows and actions, ours and those that `windtunnel init --github` writes: sound and harmless."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from windtunnel.cli.workflows import Source, workflow_files
from windtunnel.publish.acceptance import LABEL

ROOT = Path(__file__).resolve().parent.parent.parent
OWN = ROOT / ".github" / "workflows"
ACTIONS = sorted((ROOT / "action").rglob("action.yml"))
WRITTEN = {
    Path(path).stem: text for path, text in workflow_files("perf", "main", Source("someone/windtunnel", "v1")).items()
}
TEXTS = {
    **{path.stem: path.read_text("utf-8") for path in sorted(OWN.glob("*.yml"))},
    **WRITTEN,
    **{f"action:{path.parent.name}": path.read_text("utf-8") for path in ACTIONS},
}
WORKFLOWS = {name: yaml.safe_load(text) for name, text in TEXTS.items() if not name.startswith("action:")}
PAIRS = [("measure", "report"), ("windtunnel", "windtunnel-report")]
RECORDS = ["record", "windtunnel-record"]


def events(workflow: dict[Any, Any]) -> dict[str, Any]:
    found = workflow[True]  # YAML takes "on" for true
    return dict(found)


def every(node: Any, key: str) -> Iterator[Any]:
    """The values of a key, wherever it is."""
    if isinstance(node, dict):
        for name, value in node.items():
            if name == key:
                yield value
            yield from every(value, key)
    elif isinstance(node, list):
        for one in node:
            yield from every(one, key)


# ---------------- the linters


def lint(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "tools" / "lint_workflows.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_linters_find_nothing() -> None:
    done = lint()
    assert done.returncode == 0, done.stdout + done.stderr


FAULTY = """\
name: x
on: pull_request
permissions: {}
concurrency:
  group: ${{ github.run_id }}
  cancel-in-progress: true
jobs:
  x:
    name: x
    runs-on: ubuntu-24.04
    steps:
      - run: echo %s
"""


@pytest.mark.parametrize(
    "expression", ["${{ github.event.pull_request.title }}", "${{ inputs.title", "${{ steps.none.outputs.x }}"]
)
def test_they_do_find_something(tmp_path: Path, expression: str) -> None:
    file = tmp_path / ".github" / "workflows" / "x.yml"
    file.parent.mkdir(parents=True)
    file.write_text(FAULTY % "hello")
    assert lint(file).returncode == 0
    file.write_text(FAULTY % expression)
    assert lint(file).returncode == 1


# ---------------- what the linters do not know


@pytest.mark.parametrize("name", TEXTS)
def test_no_expression_is_pasted_into_a_shell_line(name: str) -> None:
    assert not [line for line in every(yaml.safe_load(TEXTS[name]), "run") if "${{" in line]


def test_others_actions_are_pinned_to_one_commit_each() -> None:
    pins: dict[str, set[str]] = {}
    for text in TEXTS.values():
        for name, pin in re.findall(r"uses: (actions/[\w/-]+)@(.+)", text):
            pins.setdefault(name, set()).add(pin)
    assert {"actions/checkout", "actions/upload-artifact", "actions/deploy-pages"} <= set(pins)
    for name, found in pins.items():
        assert len(found) == 1, name
        assert re.fullmatch(r"[0-9a-f]{40} # v\d+\.\d+\.\d+", found.pop()), name


@pytest.mark.parametrize("name", WORKFLOWS)
def test_permissions_are_a_jobs_own(name: str) -> None:
    assert WORKFLOWS[name]["permissions"] == {}
    assert all("permissions" in job for job in WORKFLOWS[name]["jobs"].values())


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_checkout_leaves_no_credentials_behind(name: str) -> None:
    for job in WORKFLOWS[name]["jobs"].values():
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize(("measure", "report"), PAIRS)
def test_the_report_listens_for_the_measuring_workflow(measure: str, report: str) -> None:
    assert events(WORKFLOWS[report])["workflow_run"]["workflows"] == [WORKFLOWS[measure]["name"]]


@pytest.mark.parametrize(("measure", "_"), PAIRS)
def test_what_runs_strangers_code_has_nothing_worth_having(measure: str, _: str) -> None:
    (job,) = WORKFLOWS[measure]["jobs"].values()
    assert job["permissions"] == {"contents": "read"}
    assert job["steps"][0]["with"]["fetch-depth"] == 0
    for text in (TEXTS[measure], TEXTS["action:action"]):
        assert not re.search(r"secrets\.|github\.token|GITHUB_TOKEN", text)
    assert set(events(WORKFLOWS[measure])) == {"pull_request", "merge_group", "workflow_dispatch"}
    assert not list(every(events(WORKFLOWS[measure]), "paths"))


@pytest.mark.parametrize(("_", "report"), PAIRS)
def test_what_may_write_runs_no_strangers_code(_: str, report: str) -> None:
    (job,) = WORKFLOWS[report]["jobs"].values()
    assert job["permissions"] == {"actions": "read", "checks": "write", "contents": "read", "pull-requests": "write"}
    checkout, ours = job["steps"]
    assert checkout["with"]["ref"] == "${{ github.event.repository.default_branch }}"
    assert ours["uses"].partition("@")[0].endswith("action/report")
    assert LABEL in job["if"]
    assert "concurrency" not in WORKFLOWS[report]


@pytest.mark.parametrize("name", RECORDS)
def test_history_is_written_by_one_at_a_time_and_never_cut_short(name: str) -> None:
    workflow = WORKFLOWS[name]
    assert workflow["concurrency"]["cancel-in-progress"] is False
    assert "${{" not in workflow["concurrency"]["group"]
    assert set(events(workflow)) == {"push", "workflow_dispatch"}
    given = workflow["jobs"]["record"]["permissions"]
    assert given == {"actions": "read", "contents": "write", "pull-requests": "read"}
    assert workflow["jobs"]["deploy"]["permissions"] == {"id-token": "write", "pages": "write"}


def known_inputs(path: Path) -> set[str]:
    return set(yaml.safe_load(path.read_text("utf-8")).get("inputs", {}))


def test_only_inputs_that_an_action_has_are_given() -> None:
    seen = set()
    for workflow in WORKFLOWS.values():
        for job in workflow["jobs"].values():
            for step in job["steps"]:
                match = re.fullmatch(r"(?:\.|someone/windtunnel)/(action(?:/\w+)?)(?:@.*)?", step.get("uses", ""))
                if match:
                    seen.add(match[1])
                    assert set(step.get("with", {})) <= known_inputs(ROOT / match[1] / "action.yml"), step
    assert seen == {"action", "action/report", "action/record"}
