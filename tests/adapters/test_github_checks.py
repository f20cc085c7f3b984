"""Checks: made once and changed, and only those of the app that we are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hub import connected

from localhub import LocalGitHub, Token
from windtunnel.adapters.github import GitHub
from windtunnel.publish.forge import CheckReport, Conclusion, ForgeDenied


def report(conclusion: Conclusion = "success", **more: str) -> CheckReport:
    known = {"name": "windtunnel", "head_sha": "", "external_id": "./all", "title": "fine", "summary": "**fine**"}
    return CheckReport(conclusion=conclusion, **{**known, **more})


def test_a_check_is_made_and_changed(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    forge, _ = connected(github)
    first = report(
        "failure", head_sha=theirs.head_sha, title="2 got slower", text="long", details_url="https://x.test/1"
    )
    made = forge.create_check(first)
    (kept,) = github.state.checks_of(theirs.head_sha)
    assert (made.id, made.name, made.head_sha, made.external_id) == (kept.id, "windtunnel", theirs.head_sha, "./all")
    assert (kept.status, kept.conclusion, kept.title) == ("completed", "failure", "2 got slower")
    assert (kept.summary, kept.text, kept.details_url) == ("**fine**", "long", "https://x.test/1")
    assert forge.update_check(made.id, replace(first, conclusion="neutral", text="")).id == made.id
    assert (kept.conclusion, kept.text, kept.updates) == ("neutral", "", 1)


def test_checks_of_that_name_that_we_made(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    forge, _ = connected(github)
    other_app = Token("ghs_other", "other[bot]", "other")
    github.state.token(other_app)
    mine = [forge.create_check(report(head_sha=theirs.head_sha, external_id=suite)).id for suite in ("./a", "./b")]
    forge.create_check(report(head_sha=theirs.head_sha, name="another"))
    others = GitHub("acme/server", "ghs_other", github.api_url, bot="other[bot]")
    others.create_check(report(head_sha=theirs.head_sha))
    found = forge.checks(theirs.head_sha, "windtunnel")
    assert [(one.id, one.external_id) for one in found] == [(mine[0], "./a"), (mine[1], "./b")]
    assert [one.external_id for one in others.checks(theirs.head_sha, "windtunnel")] == ["./all"]


def test_a_person_makes_no_checks(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    forge, _ = connected(github, token=github.person("rita"))
    assert forge.checks(theirs.head_sha, "windtunnel") == ()
    with pytest.raises(ForgeDenied, match="authenticate via a GitHub App"):
        forge.create_check(report(head_sha=theirs.head_sha))
