"""A GitHub for tests: a small HTTP server with state, which refuses whatever does not fit GitHub's own description.

    def test_something(github: LocalGitHub) -> None:          # the fixture comes from tests/conftest.py
        pull = github.state.fork_pull(author="ann", branch="faster")
        run = github.state.run_of(pull)
        github.state.leaves(run, "windtunnel-run--all--1", {"run.jsonl": b"..."})
        github.misbehave("POST", "/comments$", status=502, worked=True)
        ...                                                    # anything that speaks HTTP to github.api_url
        assert [comment.body for comment in github.state.comments_of(pull.number)] == [...]

Other processes find it by `github.environ()`. When the test is over, whatever did not fit fails it.
"""

from __future__ import annotations

from localhub.server import LocalGitHub
from localhub.state import State, Token, sha
from localhub.wire import Seen

__all__ = ["LocalGitHub", "Seen", "State", "Token", "sha"]
