"""`windtunnel action report` where somebody accepts a regression, or tries to."""

from __future__ import annotations

import pytest
from reported import Job, bodies, check, commented, labelled, measured

from localhub.state import Pull


def conclude(job: Job, pull: Pull) -> str | None:
    return check(job, pull.head_sha).conclusion


def test_a_label_is_decided_about_from_the_stored_artifact(job: Job, pull: Pull) -> None:
    job.report(measured(job.github, pull)).expect(0)
    job.github.state.label(pull, "windtunnel-accepted", "olga")
    job.run("pull_request_target", labelled(pull)).expect(0)
    assert conclude(job, pull) == "neutral"
    assert "olga" in bodies(job, pull)[0]
    job.github.state.label(pull, "windtunnel-accepted", "stranger", added=False)
    job.run("pull_request_target", labelled(pull, action="unlabeled")).expect(0)
    assert conclude(job, pull) == "failure"
    assert len(bodies(job, pull)) == 1


def test_a_comment_accepts_and_its_deletion_takes_that_back(job: Job, pull: Pull) -> None:
    job.report(measured(job.github, pull)).expect(0)
    text = "/windtunnel accept it checks signatures now"
    comment = job.github.state.comment(pull.number, text, "olga")
    told = job.run("issue_comment", commented(pull.number, text, "olga")).expect(0)
    assert conclude(job, pull) == "neutral"
    assert "it checks signatures now" in bodies(job, pull)[0]
    assert "it checks signatures now" in told.summary
    del job.github.state.comments[comment.id]
    job.run("issue_comment", commented(pull.number, text, "olga", "deleted")).expect(0)
    assert conclude(job, pull) == "failure"


def test_a_comment_that_is_edited_counts_by_its_present_text(job: Job, pull: Pull) -> None:
    job.report(measured(job.github, pull)).expect(0)
    text = "/windtunnel accept worth it"
    comment = job.github.state.comment(pull.number, text, "olga")
    job.run("issue_comment", commented(pull.number, text, "olga")).expect(0)
    comment.body = "never mind"
    job.run("issue_comment", commented(pull.number, "never mind", "olga", "edited", before=text)).expect(0)
    assert conclude(job, pull) == "failure"


@pytest.mark.parametrize("author", ["stranger", "theo", "nobody-at-all"])
def test_who_may_not_write_changes_nothing(job: Job, pull: Pull, author: str) -> None:
    """The author of the pull request, somebody who may triage, somebody who does not exist any more."""
    job.report(measured(job.github, pull)).expect(0)
    before, updates = bodies(job, pull), check(job, pull.head_sha).updates
    text = "/windtunnel accept it is fine"
    told = job.run("issue_comment", commented(pull.number, text, author)).expect(0)
    assert f"{author} has no write permission" in told.log
    assert (bodies(job, pull), check(job, pull.head_sha).updates) == (before, updates)


def test_a_label_by_somebody_who_may_only_triage_changes_no_conclusion(job: Job, pull: Pull) -> None:
    job.report(measured(job.github, pull)).expect(0)
    job.github.state.label(pull, "windtunnel-accepted", "theo")
    told = job.run("pull_request_target", labelled(pull)).expect(0)
    assert conclude(job, pull) == "failure"
    assert "theo put the label on and has no write permission" in told.log


def test_an_acceptance_does_not_hold_for_the_next_commit(job: Job, pull: Pull) -> None:
    job.report(measured(job.github, pull)).expect(0)
    job.github.state.label(pull, "windtunnel-accepted", "olga")
    job.github.state.comment(pull.number, "/windtunnel accept worth it", "olga")
    job.github.state.move(pull)
    job.report(measured(job.github, pull)).expect(0)
    assert conclude(job, pull) == "failure"


def test_what_was_accepted_before_the_report_came_counts(job: Job, pull: Pull) -> None:
    run = measured(job.github, pull)
    job.github.state.comment(pull.number, "/windtunnel accept worth it", "olga")
    job.report(run).expect(0)
    assert conclude(job, pull) == "neutral"


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("pull_request_target", labelled(Pull(1, "", "", "", "", "", "", "", None), "bug")),  # type: ignore[arg-type]
        ("pull_request_target", {"action": "opened", "pull_request": {"number": 1}}),
        ("issue_comment", commented(1, "nice", "olga")),
        ("issue_comment", commented(1, "/windtunnels accept x", "olga")),
        ("issue_comment", commented(1, "/windtunnel accept x", "olga", issue=True)),
        ("workflow_run", {"workflow_run": {"id": 1, "event": "push"}}),
    ],
)
def test_what_is_none_of_ours_is_passed_over(job: Job, pull: Pull, event: str, payload: dict[str, object]) -> None:
    told = job.run(event, payload).expect(0)
    assert job.github.seen == []
    assert len([line for line in told.log.splitlines() if not line.startswith("::")]) == 1
