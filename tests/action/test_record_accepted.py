"""Who accepted a regression is asked of the forge, and recorded with the commit that brought it to main."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from recordings import Main, main_of

from localhub import LocalGitHub
from localhub.state import Pull

REASON = "signatures are checked now"


@pytest.fixture
def main(tmp_path: Path, github: LocalGitHub) -> Main:
    github.state.repository = "owner/project"
    return main_of(tmp_path)


def _merged(main: Main, github: LocalGitHub, revision: str = "main", author: str = "ann") -> Pull:
    """A commit of main that came from a fork's pull request, which was measured there and accepted."""
    state = github.state
    state.collaborator("olga", "write")
    pull = state.fork_pull(author)
    state.run_of(pull)
    state.comment(pull.number, f"/windtunnel accept {REASON}", "olga")
    pull.open = False
    state.brought[main.origin.hash(revision)] = [pull.number]
    return pull


def _accepted(main: Main) -> dict[str, dict[str, Any]]:
    """By commit."""
    files = main.remote.files()
    return {
        name.split("/")[1].removesuffix(".json"): json.loads(text)
        for name, text in files.items()
        if name.startswith("accepted/")
    }


@pytest.mark.slow
def test_a_regression_that_was_accepted(main: Main, github: LocalGitHub) -> None:
    pull = _merged(main, github)
    job = main.job(**github.environ()).measured("main~1", 1.3, "small")
    told = job.record("--suite", "small").expect(0)
    assert told.outputs["outcome"] == "regression"
    assert [line for line in told.commands("warning") if "slower" not in line] == []
    (found,) = _accepted(main).values()
    assert found["commit"] == main.origin.hash("main")
    assert (found["pull_request"], found["by"], found["reason"]) == (pull.number, "olga", REASON)
    assert found["url"].endswith(f"#issuecomment-{max(github.state.comments)}")
    assert found["regressions"] == ["tiny.Page(2)"]
    assert REASON in told.summary


def test_pull_requests_of_pushes_that_were_skipped(main: Main, github: LocalGitHub) -> None:
    main.job().measured("main~1").record().expect(0)
    main.origin.commit("third")
    first = _merged(main, github)
    main.origin.commit("fourth")
    second = _merged(main, github, author="ben")
    main.job(**github.environ()).measured("main~2").record().expect(0)
    assert {commit: one["pull_request"] for commit, one in _accepted(main).items()} == {
        main.origin.hash("main~1"): first.number,
        main.origin.hash("main"): second.number,
    }
    assert len(main.remote.log()) == 2


def test_what_was_accepted_by_nobody_who_may(main: Main, github: LocalGitHub) -> None:
    _merged(main, github)
    github.state.collaborator("olga", "triage")
    told = main.job(**github.environ()).measured("main~1").record().expect(0)
    assert _accepted(main) == {}
    assert told.commands("warning") == []


@pytest.mark.parametrize(
    ("permissions", "named"),
    [({"contents": "write"}, "pull-requests"), ({"pull_requests": "read"}, "actions")],
)
def test_a_token_that_may_not_ask_is_told_what_it_lacks(
    main: Main, github: LocalGitHub, permissions: dict[str, str], named: str
) -> None:
    _merged(main, github)
    token = github.permit(**permissions)
    told = main.job(**github.environ(token)).measured("main~1").record().expect(0)
    assert told.outputs["recorded"] == main.remote.tip()
    (warning,) = told.commands("warning")
    assert "is not recorded" in warning
    assert f"`{named}: " in warning
    assert _accepted(main) == {}
