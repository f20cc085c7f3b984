"""`--all` in our own suite: what a plain run leaves out, and what takes it in."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from ownsuite import ROOT

pytestmark = pytest.mark.engine


def _windtunnel(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "windtunnel", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


def _planned(*arguments: str) -> tuple[set[str], str]:
    """The benchmark classes of a plan, and what was said beside it."""
    done = _windtunnel("plan", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    return {one["case"].partition("(")[0] for one in json.loads(done.stdout)["cases"]}, done.stderr


def test_a_plan_leaves_nightly_cases_out_unless_it_is_told_otherwise() -> None:
    plain, told = _planned()
    every, silent = _planned("--all")
    named, _ = _planned(r"^psgi\.Threads")

    assert "psgi.Starlet" in plain
    assert not {"psgi.Threads", "psgi.ServerPerls", "daemons.DaemonPerls"} & plain
    assert plain | {"psgi.Threads", "psgi.ServerPerls", "daemons.DaemonPerls"} <= every
    assert named == {"psgi.Threads"}
    assert "nightly cases are left out; --all takes them in" in told
    assert "nightly" not in silent


@pytest.mark.parametrize("command", ["run", "plan"])
def test_all_with_a_case_is_a_mistake(command: str) -> None:
    done = _windtunnel(command, "--all", "psgi")
    assert done.returncode == 2
    assert '--all is every case there is, nightly ones too; leave "psgi" out' in done.stderr
