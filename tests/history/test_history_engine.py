"""replay and bisect as they are used: real commits, real containers, real load."""

from __future__ import annotations

import json

import pytest
from sample_project import Project

from windtunnel.errors import Exit

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.timeout(900)]

CASE = "http.Hello(keepalive)"
PATTERN = "keepalive"


def test_a_replay_says_what_each_commit_would_have_been_told(project: Project) -> None:
    names = project.repository.names
    before = project.repository.state()
    command = ("replay", f"{names['before the suite']}..main", "--bench", PATTERN, "--budget", "30s")
    done = project.windtunnel(*command, "--json", "report.json")
    assert done.returncode == Exit.OK, done.stderr
    report = json.loads((project.path / "report.json").read_text())
    told = {one["subject"]: one["told"] for one in report["commits"]}
    assert list(told) == ["another comment", "notes", "slow", "broken", "a comment", "the suite"]
    # "slow" has the broken commit as its parent, so there is nothing to compare it with
    assert (told["slow"], told["broken"]) == ("unmeasured", "unmeasured")
    assert (told["notes"], told["the suite"]) == ("identical", "identical")
    assert told["a comment"] in {"nothing", "improvement", "regression"}
    assert report["commits"][4]["seconds"] > 0
    assert "Traceback" not in done.stderr
    assert names["slow"][:12] in done.stdout
    assert "base: targets/hello/Dockerfile: hello (base" in done.stdout
    (project.path / "report.json").unlink()
    assert project.repository.state() == before

    again = project.windtunnel(*command)
    assert again.returncode == Exit.OK
    assert again.stdout == done.stdout
    assert "pairs" not in again.stderr  # nothing was measured


@pytest.mark.nightly
def test_a_bisection_finds_the_slow_commit(project: Project) -> None:
    names = project.repository.names
    before = project.repository.state()
    command = ("bisect", names["the suite"], "main", CASE, "--budget", "8m")
    done = project.windtunnel(*command, "--json", "-")
    report = json.loads(done.stdout)
    assert report["metric"] == "cpu_per_request", done.stderr
    assert report["effect"]["effect"] > 1.5
    sides = {one["subject"]: one["side"] for one in report["steps"]}
    # the broken one stands right before the slow one: it may have been either
    assert {one["subject"] for one in report["candidates"]} == {"slow", "broken"}
    assert done.returncode == Exit.INCONCLUSIVE
    assert sides["broken"] == "skipped"
    assert sides["slow"] == "bad"
    assert project.repository.state() == before


@pytest.mark.nightly
def test_a_bisection_without_anything_in_the_way_checks_what_it_found(project: Project) -> None:
    slow = (project.path / "hello/app.py").read_text()
    project.commit("more notes", "NOTES", "nothing that is served either\n")
    project.commit("slower still", "hello/app.py", slow.replace("range(6)", "range(18)"))
    project.commit("a last comment", "hello/app.py", slow.replace("range(6)", "range(18)") + "# three\n")
    names = project.repository.names
    done = project.windtunnel("bisect", names["another comment"], "main", CASE, "--budget", "8m")
    assert done.returncode == Exit.OK, done.stdout + done.stderr
    assert done.stdout.startswith(f"{names['slower still']} is the first commit that changed {CASE}\n")
    assert "measured directly: CPU per request +" in done.stdout
    # a commit that brings nothing that is served is good at no cost
    assert "good: it is launched from the same images" in done.stdout


def test_a_case_that_several_answer_to_is_refused(project: Project) -> None:
    done = project.windtunnel("bisect", "main~2", "main", "Hello")
    assert done.returncode == Exit.USAGE
    assert '"Hello" finds 2 cases, one is needed: http.Hello(close); http.Hello(keepalive)' in done.stderr
