"""`windtunnel action report` against a GitHub that holds both sides to GitHub's own description."""

from __future__ import annotations

from pathlib import Path

import pytest
from reported import Job, base_of, bodies, check, finished, measured, project, told_error

from example_artifacts import measured_bytes
from localhub import sha
from localhub.state import Pull
from windtunnel.publish.artifacts import artifact_name
from windtunnel.publish.comment import parse_marker

# ---------------- a fork's pull request


def test_a_fork_is_found_although_the_event_names_no_pull_request(job: Job, pull: Pull) -> None:
    run = measured(job.github, pull)
    told = job.report(run).expect(0)
    (body,) = bodies(job, pull)
    marker = parse_marker(body)
    assert marker is not None
    assert (marker.head, marker.run) == (pull.head_sha, run.id)
    found = check(job, pull.head_sha)
    assert (found.status, found.conclusion, found.app) == ("completed", "failure", "github-actions")
    assert found.title == "1 of 2 cases got slower, 1 is unchanged"
    assert found.details_url.endswith(f"/actions/runs/{run.id}")
    assert "got slower" in told.summary
    assert "comment on pull request 1: created" in told.log
    assert not job.github.asked("GET", f"/commits/{pull.head_sha}/pulls")


def test_the_second_run_updates_and_another_suite_has_its_own(job: Job, pull: Pull) -> None:
    job.report(measured(job.github, pull)).expect(0)
    (first,) = job.github.state.comments_of(pull.number)
    job.report(measured(job.github, pull, "improvement")).expect(0)
    job.report(measured(job.github, pull, suite="quick")).expect(0)
    comments = job.github.state.comments_of(pull.number)
    assert comments[0].id == first.id
    assert ["got faster" in one.body for one in comments] == [True, False]
    assert check(job, pull.head_sha).conclusion == "success"
    assert check(job, pull.head_sha).updates == 1
    assert check(job, pull.head_sha, "windtunnel / quick").conclusion == "failure"


def test_two_pull_requests_with_one_head_get_what_is_theirs(job: Job) -> None:
    first, second = job.github.state.twins()
    job.github.state.merge_bases[second.base_sha, second.head_sha] = other = sha("where stable was left")
    job.report(measured(job.github, first)).expect(0)
    assert (len(bodies(job, first)), bodies(job, second)) == (1, [])
    run = job.github.state.run_of(second)
    content = measured_bytes("improvement", base=other, head=second.head_sha)
    job.github.state.leaves(run, artifact_name("run"), {"run.jsonl": content})
    job.report(run).expect(0)
    assert "got slower" in bodies(job, first)[0]
    assert "got faster" in bodies(job, second)[0]


def test_the_base_branch_as_it_is_now_counts_too(job: Job, pull: Pull) -> None:
    """Another pull request has brought a part of this one in, so where it leaves its base branch has moved up."""
    job.github.state.merge_bases["main", pull.head_sha] = moved = sha("the part that came in")
    run = job.github.state.run_of(pull)
    content = measured_bytes("regression", base=moved, head=pull.head_sha)
    job.github.state.leaves(run, artifact_name("run"), {"run.jsonl": content})
    job.report(run).expect(0)
    assert check(job, pull.head_sha).conclusion == "failure"
    assert len(bodies(job, pull)) == 1


def test_two_folders_in_one_run_are_told_apart(job: Job, pull: Pull) -> None:
    run = measured(job.github, pull)
    measured(job.github, pull, "improvement", run=run, slug="perf")
    told = job.report(run).expect(0)
    assert "got slower" in bodies(job, pull)[0]
    assert "the run measured other folders too" in told.log


def test_a_head_that_moved_meanwhile_is_called_outdated(job: Job, pull: Pull) -> None:
    run = measured(job.github, pull)
    old, new = pull.head_sha, job.github.state.move(pull)
    job.github.state.merge_bases[pull.base_sha, old] = sha(f"fork point of {old}")
    job.report(run).expect(0)
    (body,) = bodies(job, pull)
    assert "Outdated" in body
    assert new[:10] in body
    assert check(job, old).conclusion == "failure"
    assert job.github.state.checks_of(new) == []


def test_an_outdated_report_that_comes_last_does_not_overwrite_the_newer_one(job: Job, pull: Pull) -> None:
    old = measured(job.github, pull)
    job.github.state.move(pull)
    new = measured(job.github, pull, "improvement")
    job.report(new).expect(0)
    told = job.report(old).expect(0)
    assert "got faster" in bodies(job, pull)[0]
    assert "left alone" in told.log
    assert check(job, old.head_sha).conclusion == "failure"


def test_a_fork_that_was_deleted_gets_a_check(job: Job, pull: Pull) -> None:
    run = measured(job.github, pull)
    job.github.state.lose_fork(pull)
    run.head_repository = ""
    job.report(run).expect(0)
    assert bodies(job, pull) == []
    assert check(job, pull.head_sha).conclusion == "neutral"


def test_the_number_of_another_pull_request_in_an_artifact_means_nothing(job: Job, pull: Pull) -> None:
    other = job.github.state.own_pull("olga", "other")
    run = measured(job.github, pull)
    job.github.state.leaves(run, "pr-number", {"number": str(other.number).encode()})
    content = measured_bytes("regression", base=base_of(job.github, other), head=other.head_sha)
    job.github.state.leaves(run, artifact_name("run", suite="quick"), {"run.jsonl": content})
    job.report(run).expect(0)
    assert bodies(job, other) == []
    assert job.github.state.checks_of(other.head_sha) == []
    assert len(bodies(job, pull)) == 1
    assert check(job, pull.head_sha, "windtunnel / quick").conclusion == "neutral"


def test_a_merge_queue_gets_a_check_alone(job: Job, pull: Pull) -> None:
    commit = sha("merged")
    branch = f"gh-readonly-queue/main/pr-{pull.number}-{'a' * 40}"
    run = job.github.state.run(commit, event="merge_group", branch=branch)
    content = measured_bytes("unchanged", head=commit)
    job.github.state.leaves(run, artifact_name("run"), {"run.jsonl": content})
    job.report(run).expect(0)
    assert check(job, commit).conclusion == "success"
    assert bodies(job, pull) == []


def test_a_suite_in_a_folder_is_reported_from_there(job: Job, pull: Pull, tmp_path: Path) -> None:
    job.checkout = project(tmp_path / "below", folder="perf")
    run = measured(job.github, pull, slug="perf")
    told = job.run("workflow_run", finished(run), "--directory", "perf").expect(0)
    assert "comment on pull request 1: created" in told.log
    marker = parse_marker(bodies(job, pull)[0])
    assert marker is not None
    assert marker.key == "perf/"


def test_an_enterprise_server_is_found_by_the_same_variable(job: Job, pull: Pull) -> None:
    job.environment = {"GITHUB_API_URL": job.github.enterprise_url}
    job.report(measured(job.github, pull)).expect(0)
    assert len(bodies(job, pull)) == 1


def test_a_run_that_left_nothing_is_told(job: Job, pull: Pull) -> None:
    run = job.github.state.run_of(pull)
    run.conclusion = "failure"
    told = job.report(run).expect(0)
    assert check(job, pull.head_sha).conclusion == "neutral"
    assert "failed before it left a run file" in told.summary
    assert bodies(job, pull) == []


# ---------------- what is hostile


HOSTILE = {
    "no zip": b"::error::pwned",
    "two files": {"run.jsonl": b"{}", "other": b""},
    "another name": {"../../run.jsonl": b"{}"},
    "no run file": {"run.jsonl": b'{"type": "header"}\n'},
    "deep": {"run.jsonl": b"[" * 100_000},
    "words for a runner": {"\n::error::pwned\n": b""},
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_what_is_refused_is_told_and_commands_nothing(
    job: Job, pull: Pull, content: bytes | dict[str, bytes]
) -> None:
    run = measured(job.github, pull, suite="quick")
    job.github.state.leaves(run, artifact_name("run"), content)
    told = job.report(run).expect(0)
    assert told.commands("error") == []
    assert check(job, pull.head_sha).conclusion == "neutral"
    assert check(job, pull.head_sha).title.startswith("Nothing was measured: ")
    assert check(job, pull.head_sha, "windtunnel / quick").conclusion == "failure"
    assert len(bodies(job, pull)) == 1


def test_a_mark_in_a_strangers_comment_is_not_taken_for_ours(job: Job, pull: Pull) -> None:
    fake = f"<!-- windtunnel comment / head={pull.head_sha} run=999999999 -->\nNothing got slower."
    job.github.state.comment(pull.number, fake, "stranger")
    job.github.state.comment(pull.number, fake, "github-actions-bot")
    job.report(measured(job.github, pull)).expect(0)
    assert len(bodies(job, pull)) == 1
    assert [one.body for one in job.github.state.comments_of(pull.number)][:2] == [fake, fake]


# ---------------- the step itself


def test_another_event_is_refused(job: Job) -> None:
    told = job.run("push", {}).expect(2)
    assert "workflow_run" in told_error(told.commands("error"))


def test_a_job_without_a_token_is_told_how_to_hand_it_over(job: Job, pull: Pull) -> None:
    job.environment = {"GITHUB_TOKEN": ""}
    told = job.report(measured(job.github, pull)).expect(2)
    assert "github.token" in told_error(told.commands("error"))


def test_a_job_without_a_checkout_is_told_so(job: Job, pull: Pull, tmp_path: Path) -> None:
    job.checkout = tmp_path / "workspace"
    job.checkout.mkdir()
    told = job.report(measured(job.github, pull)).expect(2)
    assert "check the default branch out" in told_error(told.commands("error"))


def test_a_mistake_in_the_settings_is_told_at_its_line(job: Job, pull: Pull) -> None:
    (job.checkout / "windtunnel.toml").write_text('gate = "on"\ncomment = "sometimes"\n')
    told = job.report(measured(job.github, pull)).expect(2)
    assert "file=windtunnel.toml,line=2" in told_error(told.commands("error"))


def test_help_says_what_it_needs(job: Job) -> None:
    log = job.begin("workflow_run", {}, "--help").ended().expect(0).log
    for word in ("workflow_run", "issue_comment", "checks: write", "GITHUB_TOKEN"):
        assert word in log


def test_a_runner_without_room_for_downloads(job: Job, pull: Pull, tmp_path: Path) -> None:
    job.environment = {"RUNNER_TEMP": str(tmp_path / "nowhere")}
    told = job.report(measured(job.github, pull)).expect(6)
    assert "make room" in told_error(told.commands("error"))
