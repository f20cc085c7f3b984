"""`windtunnel action measure` where nothing can be measured: what is said, and the exit code. No engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import payloads
import pytest
from checkouts import Origin
from projects import pulled, suite_files, tiny_project
from steps import Step

from commands import needs_root
from windtunnel.cli.main import COMMANDS


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    return tiny_project(tmp_path_factory.mktemp("refused") / "origin")


@pytest.fixture
def step(origin: Origin, tmp_path: Path) -> Step:
    """A pull request that changes nothing that is served."""
    checkout, head = pulled(origin, tmp_path / "job", {"README": "Another word.\n"})
    return Step(checkout, "pull_request", payloads.pull_request(head), {"DOCKER_HOST": "unix:///nowhere/engine"})


def test_a_token_and_strangers_code_are_never_in_one_job(step: Step) -> None:
    step.event = "pull_request_target"
    told = step.run("measure").expect(2)
    (said,) = told.commands("error")
    assert "measure on pull_request" in said
    assert told.outputs == {"outcome": "usage"}
    assert "holds a token" in told.summary


def test_outside_of_a_workflow(step: Step) -> None:
    told = step.run("measure", GITHUB_EVENT_NAME="").expect(2)
    assert "elsewhere use windtunnel compare" in told.commands("error")[0]


def test_without_an_engine_the_job_is_red_and_there_is_nothing_to_upload(step: Step, tmp_path: Path) -> None:
    told = step.run("measure", "--output", tmp_path / "out").expect(6)
    assert len(told.commands("error")) == 1
    assert told.outputs["outcome"] == "infrastructure"
    assert told.outputs["artifact"] == "windtunnel-run----"
    assert not (tmp_path / "out" / "run.jsonl").exists()
    assert "/nowhere/engine" in told.summary


def test_a_mistake_in_the_settings_is_shown_at_its_line(origin: Origin, tmp_path: Path) -> None:
    files = suite_files("perf/")
    checkout, head = pulled(
        origin, tmp_path / "job", {**files, "perf/windtunnel.toml": "threshold = 0.02\ngte = 1\n"}
    )
    told = Step(checkout, "pull_request", payloads.pull_request(head)).run("measure", "--directory", "perf").expect(2)
    (said,) = told.commands("error")
    assert said.startswith("::error title=windtunnel,file=perf/windtunnel.toml,line=2::")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--shard", "{"), "--shard: is not JSON"),
        (("--shard", "1/2", "--plan", "2"), "leave one out"),
        (("--directory", "nowhere"), "nowhere: there is no such folder"),
        (("--base", "nowhere"), "'nowhere'"),
    ],
)
def test_options_that_can_not_be_meant(step: Step, arguments: tuple[str, ...], words: str) -> None:
    told = step.run("measure", *arguments).expect(2)
    assert words in told.commands("error")[0]


def test_an_entry_of_the_matrix_has_its_own_cases_and_budget(step: Step) -> None:
    entry = json.dumps({"shard": "1/2", "number": 1, "bench": "x", "budget": 10})
    for option in (("--bench", "y"), ("--budget", "5m")):
        assert option[0] in step.run("measure", "--shard", entry, *option).expect(2).commands("error")[0]


@needs_root
def test_a_checkout_of_somebody_else_is_not_called_shallow(step: Step) -> None:
    """Jobs in a container have it often: git does not touch what another user owns, and says what to do."""
    subprocess.run(["chown", "-R", "12345", step.checkout.path], check=True)
    (said,) = step.run("measure").expect(2).commands("error")
    assert "safe.directory" in said
    assert "fetch-depth" not in said


@pytest.mark.parametrize("arguments", [("--plan", "0"), ("--plan", "many"), ("--budget", "soon")])
def test_options_that_are_none(step: Step, arguments: tuple[str, ...]) -> None:
    assert "Invalid value" in step.run("measure", *arguments).expect(2).log


def test_what_an_action_hands_over_empty_counts_as_not_given(step: Step) -> None:
    names = ("suite", "base", "head", "bench", "budget", "shard", "plan")
    told = step.run("measure", "--directory=.", *(f"--{name}=" for name in names)).expect(6)  # as far as the engine
    assert told.outputs["outcome"] == "infrastructure"


def test_warnings_of_the_job_come_before_everything_else(step: Step) -> None:
    told = step.run("measure", GITHUB_TOKEN="hidden-value", GITHUB_WORKFLOW="Speed", RUNNER_ENVIRONMENT="self-hosted")
    said = told.commands("warning")
    assert len(said) == 2
    assert "GITHUB_TOKEN" in said[0]
    assert "'Speed'" in said[1]
    assert "hidden-value" not in told.log
    assert not step.run("measure", GITHUB_WORKFLOW="Measure").commands("warning")


def test_the_help_tells_what_it_does() -> None:
    assert "action" in COMMANDS
    for words, arguments in (("measure", ["--help"]), ("fetch-depth: 0", ["measure", "--help"])):
        argv = [sys.executable, "-m", "windtunnel", "action", *arguments]
        done = subprocess.run(argv, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "100"})
        assert words in done.stdout
