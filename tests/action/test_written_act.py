"""A new user's repository: the workflows that `windtunnel init --github` writes, run by the real `act`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import payloads
import pytest
from acting import run_act, standins
from checkouts import Origin
from scratch import as_forge_has_it, scratch_repository

from windtunnel.cli.init import initialise
from windtunnel.cli.workflows import installed_source
from windtunnel.publish.artifacts import RUN_FILE
from windtunnel.sample.runfile import read_run

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_a_pull_request_that_changes_nothing_that_is_served_is_told_so(
    tmp_path: Path, job_python: Mapping[str, str]
) -> None:
    mine = tmp_path / "mine"
    initialise(mine, example=True, force=False, github=True)
    origin = Origin(mine)  # its first commit has the suite and the workflows
    base = origin.hash("main")
    origin.switch("topic", "main")
    head = origin.commit("words", {"README.md": "Hello\n"})
    origin.switch("main")
    origin.pull_request(7, head)
    checkout = as_forge_has_it(origin.checkout(tmp_path / "job", "refs/pull/7/merge"))
    source = installed_source()
    actions = scratch_repository(tmp_path / "windtunnel").path

    done = run_act(
        checkout,
        "pull_request",
        payloads.pull_request(head, fork="stranger/project"),
        ".github/workflows/windtunnel.yml",
        env={**job_python, "TMPDIR": str(tmp_path)},
        local_repositories={**standins(actions), f"{source.repository}@{source.ref}": actions},
    )

    done.expect(0)
    assert done.outputs["outcome"] == "ok", done.stdout
    (folder,) = done.artifacts.iterdir()
    run = read_run(folder / RUN_FILE)
    assert [arm.commit for arm in run.header.arms] == [base, head]
    assert run.launches == ()
    assert {failure.kind for failure in run.failures} == {"identical"}
