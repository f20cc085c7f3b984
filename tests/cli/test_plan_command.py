"""`windtunnel plan` in a real suite: comparisons, named suites and shards."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import material
from windtunnel.sample.merge import write_run
from windtunnel.sample.runfile import Arm, ComparePlan, Run, RunWriter

pytestmark = pytest.mark.engine

CASES = ["http.Hello(close)", "http.Hello(keepalive)"]


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample project, with a named suite and the run file of a comparison of one of its two cases."""
    folder = tmp_path_factory.mktemp("suite")
    for command in (
        [sys.executable, "-m", "windtunnel", "init", "--example", "."],
        ["git", "init", "-q", "."],
        ["git", "add", "-A"],
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "first"],
    ):
        done = _run(folder, *command)
        assert done.returncode == 0, done.stderr
    with (folder / "windtunnel.toml").open("a") as file:
        file.write("\n[suites.pr]\ncases = ['Hello']\nbudget = '45s'\n")
    with closing(RunWriter(folder / ".windtunnel" / "runs" / "1.jsonl")) as writer:
        write_run(writer, _comparison(CASES[1]))
    (folder / ".windtunnel" / "runs" / "0.jsonl").write_text("not a run file\n")
    return folder


def _comparison(name: str) -> Run:
    """Twelve pairs of three seconds a launch."""
    case = replace(material.CASE, benchmark="http.Hello", params=(("connection", "keepalive"),))
    assert case.id == name
    arms = (Arm("base", "main", "a" * 40), Arm("head", "HEAD", "b" * 40))
    header = replace(material.HEADER, arms=arms, cases=(case,), compare=ComparePlan(0.02, 40))
    launches = [
        replace(material.LAUNCH, case=name, arm=arm.name, number=number, spent={"start": 1.0, "slices": 2.0})
        for number in range(12)
        for arm in arms
    ]
    return Run(header, tuple(launches), end={"exit": 0})


def plan(folder: Path, *arguments: str) -> str:
    done = _run(folder, sys.executable, "-m", "windtunnel", "plan", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def matrix(folder: Path, *arguments: str) -> Any:
    out = plan(folder, *arguments)
    assert out.count("\n") == 1  # an output of a CI step is one line
    return json.loads(out)


def test_a_comparison_is_planned_from_the_last_one(suite: Path) -> None:
    lines = plan(suite, "--compare").splitlines()
    assert lines[0] == f"{CASES[0]}: about 60.00 s, MDE not known"
    assert lines[1].startswith(f"{CASES[1]}: 72.00 s as last time, MDE ")
    assert lines[2] == "2 cases, 1 image per commit (builds not counted), about 2 min"


def test_a_shard_finds_its_own_cases_and_no_others(suite: Path) -> None:
    found = matrix(suite, "--shards", "2")
    assert [part["cases"] for part in found["include"]] == [[CASES[1]], [CASES[0]]]
    for part in found["include"]:
        again = matrix(suite, "--shards", "2", "--bench", part["bench"])
        assert [one["case"] for one in again["cases"]] == part["cases"]
    assert [one["measured"] for one in found["cases"]] == [False, True]
    assert found["cases"][1]["minutes"] == 1.2
    assert matrix(suite, "--compare", "--json")["include"][0]["cases"] == CASES


def test_a_suite_chooses_cases_and_a_pattern_fewer_of_them(suite: Path) -> None:
    assert plan(suite, "--suite", "pr", "--compare").splitlines()[2].endswith("; the budget is 45.00 s")
    found = matrix(suite, "--suite", "pr", "--shards", "1", "close")
    assert [one["case"] for one in found["cases"]] == CASES[:1]
    assert found["include"][0]["budget"] == 45.0


def test_a_suite_that_is_not_there_is_an_error_with_its_nearest(suite: Path) -> None:
    done = _run(suite, sys.executable, "-m", "windtunnel", "plan", "--suite", "rp")
    assert done.returncode == 2
    assert 'there is no suite "rp"' in done.stderr
    assert "pr" in done.stderr.partition(";")[2]
