"""Which pull requests a run is for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pretend_forge import FORK, PretendForge, pull_request, workflow_run

from example_comparisons import BASE, HEAD
from windtunnel.publish.pulls import Addressee, addressees, base_remark, queued_pull

NEWER, OTHER = "d" * 40, "e" * 40


def test_it_is_found_by_branch_repository_and_commit() -> None:
    forge = PretendForge().with_pull()
    assert addressees(forge, workflow_run()) == (Addressee(forge.pulls[7], "", (BASE.commit,)),)


def test_a_head_that_moved_is_told() -> None:
    forge = PretendForge().with_pull()
    forge.push(NEWER)
    (found,) = addressees(forge, workflow_run())
    assert (found.newer_head, found.merge_bases) == (NEWER, (BASE.commit,))


def test_two_pull_requests_of_one_head_have_bases_of_their_own() -> None:
    forge = PretendForge().with_pull(pull_request(7, base_sha="1" * 40), base=BASE.commit)
    forge.with_pull(pull_request(8, base_sha="2" * 40, base_branch="stable"), base=OTHER)
    found = addressees(forge, workflow_run())
    assert [(one.pull.number, one.fits(BASE.commit), one.fits(OTHER)) for one in found] == [
        (7, True, False),
        (8, False, True),
    ]


def test_the_base_branch_as_it_is_now_is_looked_at_too() -> None:
    """A part of the pull request came in by another one, so where it leaves its base branch has moved up."""
    forge = PretendForge().with_pull()
    forge.bases["main", HEAD.commit] = OTHER
    (found,) = addressees(forge, workflow_run())
    assert found.merge_bases == (BASE.commit, OTHER)
    assert found.fits(OTHER)


@pytest.mark.parametrize(
    "changes",
    [
        {"head_repository": "stranger/another"},
        {"head_branch": "topic2"},
        {"open": False},
        {"head_repository": ""},
    ],
)
def test_others_are_not_taken_for_it(changes: dict[str, object]) -> None:
    """A forge that can't make sense of a branch's name lists every pull request there is."""
    stray = pull_request(**changes)

    class Generous(PretendForge):
        def open_pulls(self, owner: str, branch: str) -> tuple[object, ...]:  # type: ignore[override]
            return (stray, pull_request(9))

    forge = Generous().with_pull(pull_request(9))
    assert [one.pull.number for one in addressees(forge, workflow_run())] == [9]


def test_names_of_repositories_have_no_case() -> None:
    forge = PretendForge().with_pull(pull_request(head_repository=FORK.replace("p", "P")))
    assert len(addressees(forge, workflow_run())) == 1


@pytest.mark.parametrize("changes", [{"head_repository": ""}, {"head_repository": "no-slash"}, {"head_branch": ""}])
def test_a_deleted_fork_has_none(changes: dict[str, object]) -> None:
    forge = PretendForge().with_pull()
    assert addressees(forge, replace(workflow_run(), **changes)) == ()  # type: ignore[arg-type]
    assert "open_pulls" not in forge.called


def test_a_commit_that_the_forge_does_not_know_fits_nothing() -> None:
    forge = PretendForge(pulls={7: pull_request()})
    (found,) = addressees(forge, workflow_run())
    assert not found.fits(BASE.commit)
    assert not found.fits("")
    assert "is not known" in base_remark(BASE.commit, [found])


def test_the_remark_on_a_wrong_base_names_both() -> None:
    remark = base_remark(OTHER, [Addressee(pull_request(), "", (BASE.commit,))])
    assert OTHER[:10] in remark
    assert f"the merge-base of pull request 7 is {BASE.commit[:10]}" in remark


def test_there_is_no_remark_where_one_fits() -> None:
    found = [Addressee(pull_request(7), "", (BASE.commit,)), Addressee(pull_request(8), "", (OTHER,))]
    assert base_remark(OTHER, found) == ""
    assert base_remark(OTHER, []) == ""


# ---------------- merge queues


@pytest.mark.parametrize(
    ("branch", "number"),
    [
        (f"gh-readonly-queue/main/pr-7-{HEAD.commit}", 7),
        (f"gh-readonly-queue/release/1.x/pr-7-{HEAD.commit}", 7),
        (f"gh-readonly-queue/main/pr-8-{HEAD.commit}", None),
        ("gh-readonly-queue/main/pr-7-topic", None),
        (f"topic/gh-readonly-queue/main/pr-7-{HEAD.commit}", None),
        ("main", None),
    ],
)
def test_the_pull_request_in_a_merge_queue_is_in_the_name_of_the_branch(branch: str, number: int | None) -> None:
    forge = PretendForge().with_pull()
    found = queued_pull(forge, workflow_run(event="merge_group", head_branch=branch, head_repository="owner/project"))
    assert (found.number if found else None) == number
