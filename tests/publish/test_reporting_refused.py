"""Regressions that somebody accepts, and a forge that refuses what is told to it."""

from __future__ import annotations

import pytest
from reporting_bench import Bench

from windtunnel.errors import Exit
from windtunnel.publish.forge import ForgeDenied, ForgeError

# ---------------- acceptance


def test_an_accepted_regression_is_neutral_and_says_by_whom(bench: Bench) -> None:
    run = bench.forge.measured("regression")
    bench.forge.says("maintainer", "/windtunnel accept it checks signatures now")
    bench.report(run)
    check = bench.forge.only_check()
    assert (check.conclusion, check.title.startswith("Accepted: ")) == ("neutral", True)
    (body,) = bench.forge.ours()
    assert "maintainer" in body
    assert "it checks signatures now" in body


def test_the_author_of_a_pull_request_accepts_nothing(bench: Bench) -> None:
    run = bench.forge.measured("regression")
    bench.forge.says("stranger", "/windtunnel accept it is fine, believe me")
    bench.report(run)
    assert bench.forge.only_check().conclusion == "failure"
    assert "it is fine" not in bench.forge.ours()[0]
    assert bench.said("stranger commented and has no write permission")


def test_a_head_that_does_not_build_can_not_be_accepted(bench: Bench) -> None:
    run = bench.forge.measured("head-build")
    bench.forge.says("maintainer", "/windtunnel accept whatever")
    bench.report(run)
    assert bench.forge.only_check().conclusion == "failure"


def test_nobody_is_asked_where_there_is_no_regression(bench: Bench) -> None:
    bench.forge.says("maintainer", "/windtunnel accept whatever")
    bench.report(bench.forge.measured("one-unchanged"))
    assert "permission" not in bench.forge.called


def test_a_forge_that_does_not_tell_who_may_accept_keeps_the_check_failing(bench: Bench) -> None:
    run = bench.forge.measured("regression")
    bench.forge.says("maintainer", "/windtunnel accept it checks signatures now")
    bench.forge.failing("permission", ForgeDenied("no"))
    reported = bench.report(run)
    assert bench.forge.only_check().conclusion == "failure"
    assert "could not be asked" in bench.forge.ours()[0]
    with pytest.raises(ForgeDenied):
        reported.check()


# ---------------- a forge that refuses


def test_a_comment_that_is_refused_keeps_no_check_from_being_made(bench: Bench) -> None:
    bench.forge.failing("create_comment", ForgeDenied("it lacks pull-requests: write"))
    reported = bench.report(bench.forge.measured("regression"))
    assert bench.forge.only_check().conclusion == "failure"
    with pytest.raises(ForgeDenied, match="pull-requests: write") as caught:
        reported.check()
    assert caught.value.exit is Exit.INFRASTRUCTURE


def test_a_check_that_is_refused_keeps_no_comment_from_being_made(bench: Bench) -> None:
    bench.forge.failing("create_check", ForgeDenied("it lacks checks: write"))
    reported = bench.report(bench.forge.measured("regression"))
    assert len(bench.forge.ours()) == 1
    with pytest.raises(ForgeDenied, match="checks: write"):
        reported.check()


def test_everything_that_was_refused_is_told_in_the_end(bench: Bench) -> None:
    bench.forge.failing("create_comment", ForgeDenied("it lacks pull-requests: write"))
    bench.forge.failing("create_check", ForgeDenied("it lacks checks: write"))
    with pytest.raises(ForgeDenied, match=r"pull-requests: write.*; .*checks: write"):
        bench.report(bench.forge.measured("regression")).check()


def test_one_suite_that_can_not_be_downloaded_spoils_no_other(bench: Bench) -> None:
    run = bench.forge.measured("regression", suite="quick")
    bench.forge.measured("regression", run)
    bench.forge.failing("download", ForgeError("out of reach"))
    reported = bench.report(run)
    assert bench.forge.only_check("windtunnel / quick").conclusion == "neutral"
    assert bench.forge.only_check("windtunnel").conclusion == "failure"
    with pytest.raises(ForgeError, match="out of reach"):
        reported.check()


def test_what_was_found_out_before_stands_where_a_download_fails(bench: Bench) -> None:
    run = bench.forge.measured("regression")
    bench.report(run)
    comments, checks = bench.forge.ours(), dict(bench.forge.made)
    bench.forge.failing("download", ForgeError("out of reach"))
    reported = bench.report(run)
    assert (bench.forge.ours(), bench.forge.made) == (comments, checks)
    assert len(reported.errors) == 1


@pytest.mark.parametrize("call", ["artifacts", "open_pulls", "merge_base"])
def test_without_the_essentials_nothing_is_told(bench: Bench, call: str) -> None:
    run = bench.forge.measured("regression")
    bench.forge.failing(call, ForgeError("out of reach"))
    with pytest.raises(ForgeError):
        bench.report(run)
    assert (bench.forge.ours(), bench.forge.made) == ([], {})
