"""`windtunnel action report` where GitHub refuses, is in trouble, or is asked by two at once."""

from __future__ import annotations

from functools import partial

import pytest
from reported import Job, bodies, check, finished, measured, told_error

from localhub import State
from localhub.state import Pull
from taking_turns import in_turns, orders
from windtunnel.adapters.github import GitHub
from windtunnel.publish.comment import Letter, Marker, deliver, key_of


def test_without_the_permission_to_comment_the_check_is_made(job: Job, pull: Pull) -> None:
    token = job.github.permit(pull_requests="read", checks="write", actions="read", contents="read")
    job.environment = {"GITHUB_TOKEN": token}
    told = job.report(measured(job.github, pull)).expect(6)
    assert "pull-requests: write" in told_error(told.commands("error"))
    assert check(job, pull.head_sha).conclusion == "failure"


def test_without_the_permission_to_check_the_comment_is_made(job: Job, pull: Pull) -> None:
    token = job.github.permit(pull_requests="write", checks="read", actions="read", contents="read")
    job.environment = {"GITHUB_TOKEN": token}
    told = job.report(measured(job.github, pull)).expect(6)
    assert "checks: write" in told_error(told.commands("error"))
    assert len(bodies(job, pull)) == 1


@pytest.mark.parametrize("lacking", ["actions", "contents", "pull_requests"])
def test_without_the_essentials_the_job_fails_and_says_which(job: Job, pull: Pull, lacking: str) -> None:
    allowed = {"pull_requests": "write", "checks": "write", "actions": "read", "contents": "read"}
    del allowed[lacking]
    job.environment = {"GITHUB_TOKEN": job.github.permit(**allowed)}
    told = job.report(measured(job.github, pull)).expect(6)
    assert lacking.replace("_", "-") in told_error(told.commands("error"))


def test_a_token_that_is_not_valid(job: Job, pull: Pull) -> None:
    job.environment = {"GITHUB_TOKEN": "ghs_nobody"}
    told = job.report(measured(job.github, pull)).expect(6)
    assert "token is not valid" in told_error(told.commands("error"))


def test_a_run_that_is_gone(job: Job, pull: Pull) -> None:
    run = measured(job.github, pull)
    del job.github.state.runs[run.id]
    job.report(run).expect(6)


def test_a_comment_that_is_deleted_in_between_is_made_anew(job: Job, pull: Pull) -> None:
    job.report(measured(job.github, pull)).expect(0)

    def deleted(state: State) -> None:
        state.comments.clear()

    job.github.misbehave("PATCH", "/comments/", first=deleted)
    told = job.report(measured(job.github, pull)).expect(0)
    assert len(bodies(job, pull)) == 1
    assert "comment on pull request 1: created" in told.log


def test_a_comment_that_github_finds_invalid_keeps_no_check_from_being_made(job: Job, pull: Pull) -> None:
    fault = {"message": "Validation Failed", "documentation_url": "https://docs.github.test", "status": "422"}
    job.github.misbehave("POST", "/comments$", status=422, body=fault)
    told = job.report(measured(job.github, pull)).expect(6)
    assert "Validation Failed" in told_error(told.commands("error"))
    assert check(job, pull.head_sha).conclusion == "failure"


def test_a_rate_limit_is_waited_for(job: Job, pull: Pull) -> None:
    job.github.misbehave("POST", "/comments$", status=429, headers={"Retry-After": "1"})
    told = job.report(measured(job.github, pull)).expect(0)
    assert len(bodies(job, pull)) == 1
    assert "asking again in 1 s" in told.log


def test_a_rate_limit_that_would_take_hours_fails_the_job_and_says_when(job: Job, pull: Pull) -> None:
    job.github.misbehave("POST", "/comments$", status=429, headers={"Retry-After": "7200"})
    told = job.report(measured(job.github, pull)).expect(6)
    assert "not before" in told_error(told.commands("error"))
    assert check(job, pull.head_sha).conclusion == "failure"


@pytest.mark.parametrize("worked", [False, True])
def test_trouble_at_the_server_makes_no_second_comment(job: Job, pull: Pull, worked: bool) -> None:
    job.github.misbehave("POST", "/comments$", status=502, worked=worked)
    job.report(measured(job.github, pull)).expect(0)
    assert len(bodies(job, pull)) == 1


def test_a_slow_answer_is_waited_for(job: Job, pull: Pull) -> None:
    job.github.misbehave("POST", "/check-runs$", delay=1.5)
    job.report(measured(job.github, pull)).expect(0)
    assert check(job, pull.head_sha).conclusion == "failure"


def test_two_reports_at_once_leave_one_comment_with_the_newer_state(job: Job, pull: Pull) -> None:
    """As programs of their own; most likely both have looked before one of them creates."""
    older, newer = measured(job.github, pull), measured(job.github, pull, "improvement")
    job.github.misbehave("POST", "/comments$", times=2, delay=2)
    begun = [job.begin("workflow_run", finished(run)) for run in (newer, older)]
    for one in begun:
        one.ended().expect(0)
    (body,) = bodies(job, pull)
    assert "got faster" in body


@pytest.mark.parametrize("runs", [(3, 9), (9, 3)])
def test_two_reports_at_once_in_any_order_of_their_requests(job: Job, pull: Pull, runs: tuple[int, int]) -> None:
    for order in orders(5):
        job.github.state.comments.clear()
        forges = [GitHub("acme/server", job.github.token, job.github.api_url) for _ in runs]
        work = [partial(deliver, letter=letter(pull, run)) for run in runs]
        in_turns(order, forges, A=work[0], B=work[1])
        assert bodies(job, pull) == [letter(pull, 9).body], order


def letter(pull: Pull, run: int) -> Letter:
    marker = Marker(key_of("", ""), pull.head_sha, run)
    return Letter(pull.number, marker, f"<!-- {marker} -->\nrun {run}", pull.head_sha, True)
