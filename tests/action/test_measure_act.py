"""This repository's own measuring workflow, run by the real `act` on a pull request to a copy of it."""

from __future__ import annotations

from collections.abc import Mapping

import payloads
import pytest
from acting import Acted, run_act
from faulty import docker
from projects import SETTINGS, SLOW, one_case, pulled
from scratch import as_forge_has_it, scratch_repository

from windtunnel.publish.artifacts import RUN_FILE, parse_name
from windtunnel.sample.runfile import read_run

pytestmark = [pytest.mark.engine, pytest.mark.slow]

WORKFLOW = ".github/workflows/measure.yml"


@pytest.fixture(scope="module")
def acted(tmp_path_factory: pytest.TempPathFactory, job_python: Mapping[str, str]) -> tuple[Acted, list[str]]:
    """What act made of a pull request that is slower, and the two commits."""
    folder = tmp_path_factory.mktemp("act")
    origin = scratch_repository(folder / "origin")
    origin.commit("one case", one_case())
    checkout, head = pulled(origin, folder / "job", {SETTINGS: SLOW})
    env = {**job_python, "TMPDIR": str(folder)}  # a lock of the machine that other windtunnels on it do not use
    payload = payloads.pull_request(head, fork="stranger/project")
    return run_act(as_forge_has_it(checkout), "pull_request", payload, WORKFLOW, env=env), [origin.hash("main"), head]


def test_the_job_is_green_and_leaves_a_run_file(acted: tuple[Acted, list[str]]) -> None:
    done, commits = acted
    done.expect(0)
    (folder,) = done.artifacts.iterdir()
    name = parse_name(folder.name)
    assert name is not None
    assert name.kind == "run"
    assert [path.name for path in folder.iterdir()] == [RUN_FILE]
    run = read_run(folder / RUN_FILE)
    assert [arm.commit for arm in run.header.arms] == commits
    assert run.complete
    assert run.launches


def test_the_outputs_and_the_summary_say_what_was_found(acted: tuple[Acted, list[str]]) -> None:
    done, _ = acted
    assert done.outputs["outcome"] == "regression", done.stdout
    assert int(done.outputs["regressions"]) > 0
    assert "got slower" in done.summary.splitlines()[0]
    assert "in its environment" not in done.stdout, "there is no token"
    assert "nobody will comment" not in done.stdout, "report.yml listens"


def test_no_container_is_left(acted: tuple[Acted, list[str]]) -> None:
    done, _ = acted
    (folder,) = done.artifacts.iterdir()
    run = read_run(folder / RUN_FILE).header.id
    assert docker("ps", "--all", "--quiet", "--filter", f"label=windtunnel={run}") == ""
