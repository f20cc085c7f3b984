"""Which commits an event asks to compare: real git, and checkouts as a job has them."""

from __future__ import annotations

from pathlib import Path

import payloads
import pytest
from checkouts import ZERO, Checkout, Origin, git

from windtunnel.cli.action.revisions import Asked, Revisions, check_event, revisions_of_event
from windtunnel.errors import ConfigError

NOTHING = Asked()


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    """main, and topic that left it after its second commit and has two of its own; main went on since."""
    made = Origin(tmp_path / "origin")
    made.commit("second")
    made.switch("topic", "main")
    made.commit("on topic")
    made.commit("more on topic")
    made.switch("main")
    made.commit("main went on")
    return made


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """Where a job checks out."""
    return tmp_path / "job"


def found(checkout: Checkout, name: str, payload: dict[str, object], asked: Asked = NOTHING) -> Revisions:
    return revisions_of_event(checkout.event(name, payload), checkout.path, asked)


def pair(origin: Origin, base: str, head: str) -> tuple[str, str]:
    return origin.hash(base), origin.hash(head)


def refused(checkout: Checkout, name: str, payload: dict[str, object], asked: Asked = NOTHING) -> str:
    with pytest.raises(ConfigError) as caught:
        found(checkout, name, payload, asked)
    assert caught.value.exit == 2
    return str(caught.value)


# ---------------- pull requests


def test_a_pull_request_is_compared_from_where_it_left_main_not_with_the_stale_base(
    origin: Origin, job: Path
) -> None:
    origin.pull_request(7, "topic")
    payload = payloads.pull_request(origin.hash("topic"), base_sha=origin.hash("main"))
    seen = found(origin.checkout(job, "refs/pull/7/merge"), "pull_request", payload)
    assert (seen.base, seen.head) == pair(origin, "main~1", "topic")
    assert seen.why == "where head left main"


def test_the_base_branch_is_the_events_whatever_it_is_called(origin: Origin, job: Path) -> None:
    origin.switch("release/1.x", "main~2")
    origin.commit("a fix of old")
    origin.switch("backport", "release/1.x")
    origin.commit("another fix")
    origin.switch("main")
    origin.pull_request(8, "backport", base="release/1.x")
    payload = payloads.pull_request(origin.hash("backport"), base="release/1.x")
    seen = found(origin.checkout(job, "refs/pull/8/merge"), "pull_request", payload)
    assert (seen.base, seen.head) == pair(origin, "release/1.x", "backport")


def test_a_tag_of_the_name_of_the_base_branch_does_not_matter(origin: Origin, job: Path) -> None:
    origin.pull_request(7, "topic")
    checkout = origin.checkout(job, "refs/pull/7/merge")
    git(job, "tag", "main", origin.hash("topic"))
    seen = found(checkout, "pull_request", payloads.pull_request(origin.hash("topic")))
    assert seen.base == origin.hash("refs/heads/main~1")


@pytest.mark.parametrize("fork", ["stranger/project", None])
def test_a_forks_head_comes_with_the_merge_ref(origin: Origin, job: Path, fork: str | None) -> None:
    head = origin.hash("topic")
    origin.pull_request(7, "topic")
    origin.switch("main")
    git(origin.path, "branch", "--quiet", "-D", "topic")  # it is in the fork, not here
    seen = found(origin.checkout(job, "refs/pull/7/merge"), "pull_request", payloads.pull_request(head, fork=fork))
    assert (seen.base, seen.head) == (origin.hash("main~1"), head)


def test_a_job_that_checked_out_the_head_itself(origin: Origin, job: Path) -> None:
    checkout = origin.checkout(job, "refs/heads/topic")
    seen = found(checkout, "pull_request", payloads.pull_request(origin.hash("topic")))
    assert (seen.base, seen.head) == pair(origin, "main~1", "topic")


def test_main_merged_into_the_pull_request_is_not_measured_with_it(origin: Origin, job: Path) -> None:
    origin.switch("topic")
    origin.merge("main")
    origin.switch("main")
    origin.pull_request(7, "topic")
    seen = found(
        origin.checkout(job, "refs/pull/7/merge"), "pull_request", payloads.pull_request(origin.hash("topic"))
    )
    assert (seen.base, seen.head) == pair(origin, "main", "topic")


def test_once_more_after_the_merge_the_same_commits_are_compared(origin: Origin, job: Path) -> None:
    before = pair(origin, "main~1", "topic")
    origin.pull_request(7, "topic")
    origin.merge("topic")
    seen = found(
        origin.checkout(job, "refs/pull/7/merge"), "pull_request", payloads.pull_request(origin.hash("topic"))
    )
    assert (seen.base, seen.head) == before


@pytest.mark.parametrize("depth", [1, 2])
def test_a_shallow_clone_says_what_to_write(origin: Origin, job: Path, depth: int) -> None:
    origin.pull_request(7, "topic")
    checkout = origin.checkout(job, "refs/pull/7/merge", depth)
    assert "fetch-depth: 0" in refused(checkout, "pull_request", payloads.pull_request(origin.hash("topic")))


def test_a_pull_request_that_has_nothing_in_common_with_its_base(origin: Origin, job: Path) -> None:
    git(origin.path, "checkout", "--quiet", "--orphan", "island")
    origin.commit("another beginning")
    origin.switch("main")
    checkout = origin.checkout(job, "refs/heads/island")
    said = refused(checkout, "pull_request", payloads.pull_request(origin.hash("island")))
    assert "no common ancestor" in said
    assert "name a base" in said


# ---------------- a merge queue


def test_a_merge_group_is_compared_with_its_branch(origin: Origin, job: Path) -> None:
    base = origin.hash("main")
    origin.switch("gh-readonly-queue/main/pr-7", "main")
    head = origin.merge("topic")
    origin.switch("main")
    checkout = origin.checkout(job, "refs/heads/gh-readonly-queue/main/pr-7")
    seen = found(checkout, "merge_group", payloads.merge_group(head))
    assert (seen.base, seen.head) == (base, head)


# ---------------- pushes


def test_a_push_of_several_commits_is_compared_with_what_was_there(origin: Origin, job: Path) -> None:
    checkout = origin.checkout(job, "refs/heads/main")
    payload = payloads.push(origin.hash("main~2"), origin.hash("main"))
    seen = found(checkout, "push", payload)
    assert (seen.base, seen.head) == pair(origin, "main~2", "main")
    assert seen.why == "what was there before the push"


@pytest.mark.parametrize("before", ["new", "forced", "lost"])
def test_a_new_branch_and_a_forced_push_are_compared_with_where_they_left_main(
    origin: Origin, job: Path, before: str
) -> None:
    commit = {"new": ZERO, "forced": origin.hash("main"), "lost": "ab" * 20}[before]
    checkout = origin.checkout(job, "refs/heads/topic")
    payload = payloads.push(commit, origin.hash("topic"), "refs/heads/topic")
    seen = found(checkout, "push", payload)
    assert (seen.base, seen.head) == pair(origin, "main~1", "topic")


def test_the_default_branch_is_the_repositorys_or_else_the_projects(origin: Origin, job: Path) -> None:
    origin.switch("trunk", "topic~1")
    checkout = origin.checkout(job, "refs/heads/topic")
    payload = payloads.push(ZERO, origin.hash("topic"), "refs/heads/topic", default="trunk")
    assert found(checkout, "push", payload).base == origin.hash("topic~1")
    del payload["repository"]
    assert found(checkout, "push", payload, Asked(branches=("trunk",))).base == origin.hash("topic~1")


def test_a_forced_push_of_main_is_compared_with_the_commit_before(origin: Origin, job: Path) -> None:
    payload = payloads.push(origin.hash("topic"), origin.hash("main"))
    seen = found(origin.checkout(job, "refs/heads/main"), "push", payload)
    assert (seen.base, seen.head) == pair(origin, "main~1", "main")
    assert seen.why == "the commit before it on main"


def test_the_first_commit_of_all_has_nothing_to_be_compared_with(tmp_path: Path, job: Path) -> None:
    origin = Origin(tmp_path / "origin")
    payload = payloads.push(ZERO, origin.hash("main"))
    said = refused(origin.checkout(job, "refs/heads/main"), "push", payload)
    assert "first commit of the history" in said
    assert "fetch-depth" not in said


def test_a_shallow_clone_is_not_taken_for_the_first_commit(origin: Origin, job: Path) -> None:
    payload = payloads.push(origin.hash("main~1"), origin.hash("main"))
    assert "fetch-depth: 0" in refused(origin.checkout(job, "refs/heads/main", 1), "push", payload)


def test_a_branch_that_was_deleted(origin: Origin, job: Path) -> None:
    payload = payloads.push(origin.hash("topic"), ZERO, "refs/heads/topic")
    assert "names no commit" in refused(origin.checkout(job, "refs/heads/main"), "push", payload)


# ---------------- by hand and by the clock


@pytest.mark.parametrize("name", ["workflow_dispatch", "schedule"])
def test_without_a_revision_the_commit_before_or_where_the_branch_began(origin: Origin, job: Path, name: str) -> None:
    seen = found(origin.checkout(job, "refs/heads/main"), name, payloads.dispatch())
    assert (seen.base, seen.head) == pair(origin, "main~1", "main")
    seen = found(origin.checkout(job / "2", "refs/heads/topic"), name, payloads.dispatch("refs/heads/topic"))
    assert (seen.base, seen.head) == pair(origin, "main~1", "topic")


def test_any_two_revisions(origin: Origin, job: Path) -> None:
    """The checkout has no branch of its own: a name means the remote's."""
    checkout = origin.checkout(job, "refs/heads/main")
    seen = found(checkout, "workflow_dispatch", payloads.dispatch(), Asked("main~2", "topic"))
    assert (seen.base, seen.head) == pair(origin, "main~2", "topic")


def test_a_base_of_ones_own_wins_on_every_event(origin: Origin, job: Path) -> None:
    origin.pull_request(7, "topic")
    checkout = origin.checkout(job, "refs/pull/7/merge")
    payload = payloads.pull_request(origin.hash("topic"))
    seen = found(checkout, "pull_request", payload, Asked(base=origin.hash("main~2")))
    assert (seen.base, seen.head) == pair(origin, "main~2", "topic")
    seen = found(checkout, "pull_request", payload, Asked(head=origin.hash("topic~1")))
    assert (seen.base, seen.head) == pair(origin, "main~1", "topic~1")


def test_a_revision_that_is_none(origin: Origin, job: Path) -> None:
    checkout = origin.checkout(job, "refs/heads/main")
    assert "'nowhere'" in refused(checkout, "workflow_dispatch", payloads.dispatch(), Asked(head="nowhere"))
    assert "--upload-pack" in refused(checkout, "schedule", {}, Asked(base="--upload-pack=x"))


# ---------------- events that nothing is measured for


@pytest.mark.parametrize("name", ["pull_request_target", "workflow_run", "issue_comment"])
def test_no_strangers_code_where_there_is_a_token(origin: Origin, job: Path, name: str) -> None:
    said = refused(origin.checkout(job, "refs/heads/main"), name, payloads.pull_request(origin.hash("topic")))
    assert "holds a token" in said
    assert "measure on pull_request" in said


def test_an_event_that_has_no_two_commits(origin: Origin, job: Path) -> None:
    checkout = origin.checkout(job, "refs/heads/main")
    with pytest.raises(ConfigError, match="nothing to compare on the event watch"):
        check_event(checkout.event("watch", {}))


@pytest.mark.parametrize("payload", [{}, {"pull_request": None}, {"pull_request": {"head": {"sha": "--all"}}}])
def test_a_payload_that_does_not_say(origin: Origin, job: Path, payload: dict[str, object]) -> None:
    assert "names no commit" in refused(origin.checkout(job, "refs/heads/main"), "pull_request", payload)
