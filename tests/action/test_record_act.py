"""This repository's own recording workflow, run by the real `act` on a push to main of a copy of it."""

from __future__ import annotations

from collections.abc import Mapping

import payloads
import pytest
from acting import Acted, run_act
from checkouts import git
from projects import SETTINGS, SLOW, one_case
from recordings import BRANCH, Bare
from scratch import as_forge_has_it, scratch_repository

from windtunnel.publish.artifacts import RUN_FILE
from windtunnel.sample.runfile import read_run

# test_record_engine.py has the same push in `make test`, without act
pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.nightly]

WORKFLOW = ".github/workflows/record.yml"


@pytest.fixture(scope="module")
def acted(tmp_path_factory: pytest.TempPathFactory, job_python: Mapping[str, str]) -> tuple[Acted, Bare, str]:
    """What act made of a push that is slower; the forge's repository afterwards, and the commit."""
    folder = tmp_path_factory.mktemp("act")
    origin = scratch_repository(folder / "origin")
    before = origin.commit("one case", one_case())
    head = origin.commit("slow", {SETTINGS: SLOW})
    checkout = origin.checkout(folder / "job", "refs/heads/main")
    git(checkout.path, "checkout", "--quiet", "-B", "main")  # as actions/checkout leaves it for a branch
    env = {
        **job_python,
        "TMPDIR": str(folder),  # a lock of the machine that other windtunnels on it do not use
        # The forge that act believes in is the folder that this is a checkout of.
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{origin.path}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/owner/project",
    }
    done = run_act(
        as_forge_has_it(checkout),
        "push",
        payloads.push(before, head),
        WORKFLOW,
        env=env,
        arguments=("--job", "record"),
    )
    return done, Bare(origin.path / ".git"), head


def test_the_push_is_one_commit_on_the_results_branch(acted: tuple[Acted, Bare, str]) -> None:
    done, remote, head = acted
    done.expect(0)
    assert done.outputs["outcome"] == "regression", done.stdout
    assert done.outputs["recorded"] == remote.tip()
    assert len(remote.log()) == 1
    assert any(head in name for name in remote.files() if name.startswith("runs/"))
    assert any(head[:8] in name for name in remote.files() if name.startswith("asv/"))
    assert "got slower" in done.summary.splitlines()[0]


def test_the_run_file_and_the_site_are_handed_over(acted: tuple[Acted, Bare, str]) -> None:
    done, _, head = acted
    run = read_run(done.artifacts / "windtunnel-record" / RUN_FILE)
    assert run.header.arms[-1].commit == head
    site = done.artifacts / "github-pages"
    assert (site / "asv" / "index.json").exists()
    assert (site / "index.html").exists()


def test_no_branch_but_that_of_the_results_is_written(acted: tuple[Acted, Bare, str]) -> None:
    _, remote, head = acted
    assert remote.git("for-each-ref", "--format=%(refname)", "refs/heads").splitlines() == [
        "refs/heads/main",
        f"refs/heads/{BRANCH}",
    ]
    assert remote.tip("main") == head
