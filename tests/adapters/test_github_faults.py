"""What the adapter does when GitHub goes wrong: what is waited for, what is made again, and what is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hub import connected

from localhub import LocalGitHub, sha
from windtunnel.adapters.github import GitHub
from windtunnel.publish.forge import CheckReport, ForgeDenied, ForgeError, ForgeGone

PERMISSIONS: list[tuple[str, Callable[[GitHub], object]]] = [
    ("pull-requests: write", lambda forge: forge.pull(1)),
    ("pull-requests: write", lambda forge: forge.open_pulls("ann", "faster")),
    ("pull-requests: write", lambda forge: forge.pulls_of_commit(sha("x"))),
    ("contents: read", lambda forge: forge.merge_base(sha("x"), sha("y"))),
    ("actions: read", lambda forge: forge.workflow_run(1)),
    ("actions: read", lambda forge: forge.workflow_runs(sha("x"), "pull_request")),
    ("actions: read", lambda forge: forge.artifacts(1)),
    ("pull-requests: write", lambda forge: forge.comments(1)),
    ("pull-requests: write", lambda forge: forge.create_comment(1, "x")),
    ("pull-requests: write", lambda forge: forge.update_comment(1, "x")),
    ("pull-requests: write", lambda forge: forge.delete_comment(1)),
    ("pull-requests: write", lambda forge: forge.label_events(1)),
    ("checks: write", lambda forge: forge.checks(sha("x"), "windtunnel")),
    ("checks: write", lambda forge: forge.create_check(check())),
    ("checks: write", lambda forge: forge.update_check(1, check())),
]


def check(head_sha: str = sha("x")) -> CheckReport:
    return CheckReport("windtunnel", head_sha, "./all", "neutral", "title", "summary")


# ---------------- refused


@pytest.mark.parametrize(("permission", "ask"), PERMISSIONS)
def test_a_token_that_lacks_a_permission(
    permission: str, ask: Callable[[GitHub], object], github: LocalGitHub
) -> None:
    forge, waits = connected(github, token=github.permit())
    with pytest.raises(ForgeDenied, match=f"`{permission}`") as caught:
        ask(forge)
    assert "Resource not accessible by integration" in str(caught.value)
    assert waits.seconds == []


def test_reading_alone_writes_nothing(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    forge, _ = connected(github, token=github.permit(pull_requests="read", checks="read"))
    assert forge.comments(theirs.number) == ()
    with pytest.raises(ForgeDenied):
        forge.create_comment(theirs.number, "x")


def test_a_token_that_is_not_valid(github: LocalGitHub) -> None:
    with pytest.raises(ForgeDenied, match="Bad credentials"):
        connected(github, token="ghs_expired")[0].pull(1)


def test_a_comment_that_is_too_long_is_refused_in_githubs_words(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    forge, waits = connected(github)
    with pytest.raises(ForgeError, match=r"\(422: Validation Failed; .*maximum is 65536 characters") as caught:
        forge.create_comment(theirs.number, "x" * 65_537)
    assert type(caught.value) is ForgeError
    assert waits.seconds == []


def test_what_github_says_is_made_visible(github: LocalGitHub) -> None:
    github.misbehave(
        "GET", "/pulls/1$", status=422, body={"message": "\x1b[31m::error::\n\u202eevil", "errors": "why"}
    )
    with pytest.raises(ForgeError) as caught:
        connected(github)[0].pull(1)
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "\u202e" not in str(caught.value)
    assert "why" in str(caught.value)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b'"text"', b"null"], ids=repr)
def test_a_refusal_that_is_no_json_object(body: bytes, github: LocalGitHub) -> None:
    github.misbehave("GET", "/pulls/1$", status=404, body=body)
    with pytest.raises(ForgeGone):
        connected(github)[0].pull(1)


def test_an_artifact_that_has_expired_is_gone(github: LocalGitHub, tmp_path: Any) -> None:
    made = github.state.leaves(github.state.run(sha("x")), "windtunnel-run--all", {"run.jsonl": b"x"})
    made.expired = True
    forge, _ = connected(github)
    (artifact,) = forge.artifacts(made.run)
    with pytest.raises(ForgeGone, match="410"):
        forge.download(artifact, tmp_path / "a.zip", 1000)


# ---------------- rate limits


@pytest.mark.parametrize(
    ("status", "headers", "message", "pause"),
    [
        (429, {"Retry-After": "7"}, "Too many requests", 7),
        (403, {"Retry-After": "9"}, "You have exceeded a secondary rate limit", 9),
        (403, {}, "You have exceeded a secondary rate limit. Please wait", 60),
        (429, {}, "Too many requests", 60),
        (429, {"Retry-After": "Tue, 01 Dec 2026 12:00:30 GMT"}, "Too many requests", 30),
        (429, {"Retry-After": "0"}, "Too many requests", 1),
        (429, {"Retry-After": "soon"}, "Too many requests", 60),
    ],
)
@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_a_rate_limit_is_waited_for(
    verb: str, status: int, headers: dict[str, str], message: str, pause: float, github: LocalGitHub
) -> None:
    theirs = github.state.fork_pull()
    now = {"Date": "Tue, 01 Dec 2026 12:00:00 GMT"}
    github.misbehave(verb, "/comments$", status=status, headers={**now, **headers}, body={"message": message})
    forge, waits = connected(github)
    forge.create_comment(theirs.number, "x")
    forge.comments(theirs.number)
    assert waits.seconds == [pause]
    assert len(github.state.comments_of(theirs.number)) == 1


def test_the_hour_of_a_primary_limit_is_by_githubs_clock(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    reset = int(github.state.now.timestamp()) + 42
    limit = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(reset), "X-RateLimit-Limit": "1000"}
    github.misbehave("GET", "/pulls/", status=403, headers=limit, body={"message": "API rate limit exceeded for x."})
    forge, waits = connected(github)
    assert forge.pull(theirs.number).number == theirs.number
    assert waits.seconds == [43]


@pytest.mark.parametrize("seconds", ["121", "3600", "9" * 30])
def test_a_limit_that_takes_too_long_is_told_and_not_waited_for(seconds: str, github: LocalGitHub) -> None:
    github.misbehave("GET", "/pulls/", status=429, headers={"Retry-After": seconds}, times=9)
    forge, waits = connected(github)
    with pytest.raises(ForgeError, match=r"not before 20\d\d-\d\d-\d\d \d\d:\d\d UTC"):
        forge.pull(1)
    assert waits.seconds == []


def test_all_waits_together_have_an_end(github: LocalGitHub) -> None:
    github.state.fork_pull()
    github.misbehave("GET", "/", status=429, headers={"Retry-After": "100"}, times=99)
    forge, waits = connected(github)
    for _ in range(2):
        with pytest.raises(ForgeError, match="not before"):
            forge.pull(1)
    assert waits.seconds == [100, 100, 100]


def test_a_refusal_with_requests_left_is_no_rate_limit(github: LocalGitHub) -> None:
    headers = {"X-RateLimit-Remaining": "4999", "X-RateLimit-Reset": "1"}
    github.misbehave("GET", "/pulls/", status=403, headers=headers, body={"message": "Resource not accessible"})
    forge, waits = connected(github)
    with pytest.raises(ForgeDenied):
        forge.pull(1)
    assert waits.seconds == []


# ---------------- passing faults

FAULTS: list[dict[str, Any]] = [
    {"status": 500},
    {"status": 502, "body": b"<html>Bad Gateway</html>"},
    {"status": 503, "body": b""},
    {"status": 504, "body": b"{half a json"},
    {"drop": True},
    {"status": 200, "body": b"{half a json"},
]


@pytest.mark.parametrize("how", FAULTS, ids=str)
def test_reading_is_tried_again(how: dict[str, Any], github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    github.misbehave("GET", "/pulls/", times=2, **how)
    forge, waits = connected(github)
    assert forge.pull(theirs.number).number == theirs.number
    assert waits.seconds == [1, 2]


@pytest.mark.parametrize("how", FAULTS, ids=str)
def test_trying_again_has_an_end(how: dict[str, Any], github: LocalGitHub) -> None:
    github.state.fork_pull()
    github.misbehave("GET", "/pulls/", times=99, **how)
    forge, waits = connected(github)
    with pytest.raises(ForgeError, match="tried 5 times"):
        forge.pull(1)
    assert waits.seconds == [1, 2, 4, 8]


def test_a_long_list_goes_on_at_the_page_that_failed(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    made = [github.state.comment(theirs.number, str(number)).id for number in range(250)]
    github.misbehave("GET", "/comments$", nth=2, status=502)
    assert [one.id for one in connected(github)[0].comments(theirs.number)] == made
    assert [one.query["page"] for one in github.asked("GET", "/comments$")] == ["1", "2", "2", "3"]


def test_a_list_without_end_is_given_up(github: LocalGitHub) -> None:
    endless = {"Link": f'<{github.api_url}/x?page=2>; rel="next"', "Content-Type": "application/json"}
    github.misbehave("GET", "/comments$", times=10_000, status=200, headers=endless, body=[])
    with pytest.raises(ForgeError, match="more than 3000"):
        connected(github)[0].comments(1)
    assert len(github.asked("GET", "/comments$")) == 30


def test_nothing_listens_there(github: LocalGitHub) -> None:
    forge, waits = connected(github, url="http://127.0.0.1:9")
    with pytest.raises(ForgeError, match="can't be reached"):
        forge.pull(1)
    assert len(waits.seconds) == 4


def test_an_answer_that_does_not_come_is_given_up(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    github.misbehave("GET", "/pulls/", delay=8)
    forge, waits = connected(github, timeout=1)
    assert forge.pull(theirs.number).number == theirs.number
    assert waits.seconds


@pytest.mark.parametrize("data", [{}, [], {"number": "x"}, "text", None, {"number": 1, "head": None}], ids=str)
def test_another_answer_than_documented(data: Any, github: LocalGitHub) -> None:
    github.misbehave("GET", "/pulls/", status=200, body=data if data is not None else b"null")
    with pytest.raises(ForgeError, match="can't be understood"):
        connected(github)[0].pull(1)


def test_a_list_that_is_none(github: LocalGitHub) -> None:
    github.misbehave("GET", "/check-runs$", status=200, body={"total_count": 1})
    with pytest.raises(ForgeError, match="no list 'check_runs'"):
        connected(github)[0].checks(sha("x"), "windtunnel")


# ---------------- nothing twice


@pytest.mark.parametrize("how", FAULTS, ids=str)
@pytest.mark.parametrize("worked", [True, False])
def test_a_comment_whose_answer_was_lost_is_not_made_twice(
    worked: bool, how: dict[str, Any], github: LocalGitHub
) -> None:
    theirs = github.state.fork_pull()
    github.state.comment(theirs.number, "body", author="ann")
    forge, _ = connected(github)
    github.misbehave("POST", "/comments$", worked=worked, **how)
    made = forge.create_comment(theirs.number, "body")
    (_, kept) = github.state.comments_of(theirs.number)
    assert (made.id, made.body, made.ours) == (kept.id, "body", True)
    assert len(github.asked("POST", "/comments$")) == (1 if worked else 2)


def test_a_slow_comment_is_not_made_twice(github: LocalGitHub) -> None:
    """The work is done, the answer comes too late."""
    theirs = github.state.fork_pull()
    forge, _ = connected(github, timeout=1)
    github.misbehave("POST", "/comments$", delay=8, worked=True)
    forge.create_comment(theirs.number, "body")
    assert len(github.state.comments_of(theirs.number)) == 1


def test_an_equal_comment_from_before_is_another_one(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    forge, _ = connected(github)
    before = forge.create_comment(theirs.number, "body")
    forge.comments(theirs.number)
    github.misbehave("POST", "/comments$", status=502)
    after = forge.create_comment(theirs.number, "body")
    assert after.id != before.id
    assert len(github.state.comments_of(theirs.number)) == 2


@pytest.mark.parametrize("how", FAULTS, ids=str)
@pytest.mark.parametrize("worked", [True, False])
def test_a_check_whose_answer_was_lost_is_not_made_twice(
    worked: bool, how: dict[str, Any], github: LocalGitHub
) -> None:
    theirs = github.state.fork_pull()
    forge, _ = connected(github)
    github.misbehave("POST", "/check-runs$", worked=worked, **how)
    made = forge.create_check(check(theirs.head_sha))
    (kept,) = github.state.checks_of(theirs.head_sha)
    assert (made.id, kept.conclusion) == (kept.id, "neutral")


def test_another_suites_check_is_not_taken_for_the_lost_one(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    forge, _ = connected(github)
    forge.create_check(replace(check(theirs.head_sha), external_id="./another"))
    github.misbehave("POST", "/check-runs$", status=502)
    made = forge.create_check(check(theirs.head_sha))
    (other, kept) = github.state.checks_of(theirs.head_sha)
    assert (other.external_id, other.updates) == ("./another", 0)
    assert (made.id, kept.external_id) == (kept.id, "./all")


def test_a_repeat_that_is_denied_says_so(github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    forge, _ = connected(github)
    github.misbehave("POST", "/comments$", status=502)
    github.misbehave("POST", "/comments$", status=403, body={"message": "Unable to create comment: it is locked"})
    with pytest.raises(ForgeDenied, match="it is locked"):
        forge.create_comment(theirs.number, "body")


@pytest.mark.parametrize("worked", [True, False])
def test_changing_and_deleting_may_be_done_again(worked: bool, github: LocalGitHub) -> None:
    theirs = github.state.fork_pull()
    forge, _ = connected(github)
    made = forge.create_comment(theirs.number, "first")
    github.misbehave("PATCH", "/comments/", drop=True, worked=worked)
    assert forge.update_comment(made.id, "second").body == "second"
    github.misbehave("DELETE", "/comments/", drop=True, worked=worked)
    forge.delete_comment(made.id)
    assert github.state.comments_of(theirs.number) == []
