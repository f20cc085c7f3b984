"""This repository's own reporting workflow, run by the real `act` against the local GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from acting import Acted, run_act
from reported import commented, finished, measured
from scratch import as_forge_has_it, scratch_repository

from localhub import LocalGitHub
from localhub.state import Pull
from windtunnel.publish.comment import parse_marker

pytestmark = pytest.mark.slow

WORKFLOW = ".github/workflows/report.yml"
STANDIN = Path(__file__).parent / "checkout_standin"


@dataclass
class Place:
    """A repository on the local GitHub, with its workflows, and the pull request of a fork."""

    github: LocalGitHub
    checkout: Path
    pull: Pull
    python: Mapping[str, str]

    def act(self, event: str, payload: Mapping[str, Any]) -> Acted:
        """What the reporting workflow makes of an event."""
        told = {
            **payload,
            "repository": {"full_name": "acme/server", "default_branch": "main", "owner": {"login": "acme"}},
        }
        environ = {key: value for key, value in self.github.environ().items() if key != "GITHUB_TOKEN"}
        return run_act(
            self.checkout,
            event,
            told,
            WORKFLOW,
            env={**environ, **self.python, "ACTING_REPOSITORY": str(self.checkout)},
            secrets={"GITHUB_TOKEN": self.github.token},
            local_repositories=dict.fromkeys(checkouts_in(self.checkout / WORKFLOW), STANDIN),
        )


def checkouts_in(workflow: Path) -> list[str]:
    """actions/checkout as it is pinned there."""
    return re.findall(r"uses: (actions/checkout@\S+)", workflow.read_text())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, job_python: Mapping[str, str]) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("report")
    origin = scratch_repository(folder / "origin", '[suites.quick]\ncases = ["."]\n')
    settings = (origin.path / "windtunnel.toml").read_text()
    origin.commit("the gate is on", {"windtunnel.toml": f'gate = "on"\n{settings}'})
    checkout = as_forge_has_it(origin.checkout(folder / "job", "main"), "acme/server")
    with LocalGitHub() as github:
        github.state.collaborator("olga", "maintain")
        yield Place(github, checkout, github.state.fork_pull("stranger"), job_python)
        assert github.faults == []


@pytest.mark.nightly
def test_three_runs_make_two_comments_and_a_maintainer_accepts(place: Place) -> None:
    """The first creates the comment, the second updates it, the third is of another suite and makes its own."""
    state, pull = place.github.state, place.pull
    first = place.act("workflow_run", finished(measured(place.github, pull, "improvement"))).expect(0)
    (comment,) = state.comments_of(pull.number)
    assert "got faster" in comment.body
    assert "got faster" in first.summary
    assert "ghs_" not in first.stdout

    place.act("workflow_run", finished(measured(place.github, pull))).expect(0)
    (again,) = state.comments_of(pull.number)
    assert (again.id, "got slower" in again.body) == (comment.id, True)

    place.act("workflow_run", finished(measured(place.github, pull, suite="quick"))).expect(0)
    assert state.comments_of(pull.number)[0].id == comment.id
    markers = [parse_marker(one.body) for one in state.comments_of(pull.number)]
    assert [marker.key for marker in markers if marker] == ["/", "/quick"]
    conclusions = {one.name: one.conclusion for one in state.checks_of(pull.head_sha)}
    assert conclusions == {"windtunnel": "failure", "windtunnel / quick": "failure"}

    text = "/windtunnel accept it checks signatures now"
    state.comment(pull.number, text, "olga")
    place.act("issue_comment", commented(pull.number, text, "olga")).expect(0)
    conclusions = {one.name: one.conclusion for one in state.checks_of(pull.head_sha)}
    assert conclusions == {"windtunnel": "neutral", "windtunnel / quick": "neutral"}  # both were regressions


def test_a_run_that_is_nobodys_starts_nothing(place: Place) -> None:
    seen = len(place.github.seen)
    run = place.github.state.run(place.pull.head_sha, event="push")
    done = place.act("workflow_run", finished(run)).expect(0)
    assert len(place.github.seen) == seen
    assert "windtunnel" not in done.outputs, done.stdout
