"""Who accepts a regression, and who does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pretend_forge import ME, NOON, PretendForge, after, workflow_run

from windtunnel.publish.acceptance import (
    REASON,
    acceptance_of,
    accepted_reason,
    first_measured,
    is_command,
    seek,
)
from windtunnel.publish.forge import ForgeError
from windtunnel.report.around import Acceptance


@pytest.fixture
def forge() -> PretendForge:
    made = PretendForge(people={"maintainer": "write", "owner": "admin", "reader": "read"})
    return made.with_pull()


def accepted(forge: PretendForge) -> Acceptance | None:
    return acceptance_of(forge, forge.pulls[7], NOON)


# ---------------- the command


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("/windtunnel accept it checks signatures now", "it checks signatures now"),
        ("/windtunnel accept it checks signatures now\r\n\r\nmore talk", "it checks signatures now"),
        ("/windtunnel  accept\tworth it   ", "worth it"),
        ("/Windtunnel Accept worth it", "worth it"),
        ("/windtunnel accept", ""),
        ("/windtunnel accept \nworth it", ""),
        (" /windtunnel accept worth it", None),
        ("> /windtunnel accept worth it", None),
        ("well, /windtunnel accept worth it", None),
        ("talk\n/windtunnel accept worth it", None),
        ("/windtunnel accepted worth it", None),
        ("/windtunnelaccept worth it", None),
        ("/windtunnel", None),
        ("/windtunnel reject", None),
        ("", None),
    ],
)
def test_the_first_line_is_the_command(body: str, reason: str | None) -> None:
    assert accepted_reason(body) == reason


@given(st.text())
def test_a_reason_is_one_bounded_line(text: str) -> None:
    reason = accepted_reason(f"/windtunnel accept {text}")
    assert reason is not None
    assert len(reason) <= REASON
    assert len(reason.splitlines()) <= 1


@pytest.mark.parametrize(
    ("body", "ours"),
    [
        ("/windtunnel accept this", True),
        ("/windtunnel", True),
        ("/windtunnel\nhelp", True),
        ("/windtunnels", False),
        ("see /windtunnel", False),
    ],
)
def test_what_speaks_to_us(body: str, ours: bool) -> None:
    assert is_command(body) is ours


# ---------------- comments


@pytest.mark.parametrize("author", ["maintainer", "owner"])
def test_a_comment_by_somebody_with_write_permission_accepts(forge: PretendForge, author: str) -> None:
    comment = forge.says(author, "/windtunnel accept it checks signatures now")
    assert accepted(forge) == Acceptance(author, "it checks signatures now", after(10), comment.url)


@pytest.mark.parametrize("author", ["stranger", "reader", "nobody"])
def test_a_comment_by_anybody_else_does_not(forge: PretendForge, author: str) -> None:
    forge.says(author, "/windtunnel accept please")
    found = seek(forge, forge.pulls[7], NOON)
    assert (found.acceptance, found.remarks) == (None, ())
    assert found.notes == (f"{author} commented and has no write permission: nothing is accepted by that",)


def test_it_counts_for_what_was_measured_before_it_and_not_for_what_comes_after(forge: PretendForge) -> None:
    forge.says("maintainer", "/windtunnel accept worth it", minutes=10)
    pull = forge.pulls[7]
    assert acceptance_of(forge, pull, after(10)) is not None
    assert acceptance_of(forge, pull, after(10.1)) is None


def test_a_commit_that_is_measured_again_stays_accepted(forge: PretendForge) -> None:
    forge.with_run(workflow_run(100, created=after(0)))
    again = forge.with_run(workflow_run(101, created=after(30)))
    forge.says("maintainer", "/windtunnel accept worth it", minutes=10)
    since = first_measured(forge, again.head_sha, again.created)
    assert since == after(0)
    assert acceptance_of(forge, forge.pulls[7], since) is not None
    assert first_measured(forge, "e" * 40, after(30)) == after(30)


def test_the_newest_comment_is_the_one_that_is_told(forge: PretendForge) -> None:
    forge.says("maintainer", "/windtunnel accept first", 10)
    forge.says("owner", "/windtunnel accept second", 20)
    forge.says("stranger", "/windtunnel accept third", 30)
    found = accepted(forge)
    assert found is not None
    assert (found.by, found.reason) == ("owner", "second")


def test_a_comment_without_a_reason_is_explained(forge: PretendForge) -> None:
    forge.says("maintainer", "/windtunnel accept")
    found = seek(forge, forge.pulls[7], NOON)
    assert found.acceptance is None
    assert "no reason" in found.remarks[0]


def test_a_later_one_without_a_reason_takes_nothing_back(forge: PretendForge) -> None:
    forge.says("maintainer", "/windtunnel accept worth it", 10)
    forge.says("owner", "/windtunnel accept", 20)
    found = seek(forge, forge.pulls[7], NOON)
    assert found.acceptance is not None
    assert found.remarks == ()


def test_our_own_comment_that_quotes_a_reason_accepts_nothing(forge: PretendForge) -> None:
    forge.people[ME] = "write"
    forge.says(ME, "<!-- windtunnel comment / head=... -->\n/windtunnel accept worth it")
    assert accepted(forge) is None


def test_a_comment_that_is_deleted_is_gone(forge: PretendForge) -> None:
    comment = forge.says("maintainer", "/windtunnel accept worth it")
    forge.delete_comment(comment.id)
    assert accepted(forge) is None


def test_everybody_is_asked_for_once_and_a_crowd_is_not_asked_for(forge: PretendForge) -> None:
    for number in range(200):
        forge.says(f"stranger{number}", "/windtunnel accept please", 10)
        forge.says("stranger", "/windtunnel accept please", 10)
    assert accepted(forge) is None
    assert forge.called.count("permission") == 30


# ---------------- the label


@pytest.mark.parametrize("actor", ["maintainer", "owner"])
def test_the_label_accepts(forge: PretendForge, actor: str) -> None:
    forge.label(actor)
    assert accepted(forge) == Acceptance(actor, "", after(10), label="windtunnel-accepted")


@pytest.mark.parametrize("actor", ["stranger", "reader"])
def test_the_label_of_anybody_else_does_not(forge: PretendForge, actor: str) -> None:
    """Whoever may triage issues may label, and may not write."""
    forge.label(actor)
    found = seek(forge, forge.pulls[7], NOON)
    assert found.acceptance is None
    assert actor in found.notes[0]


def test_a_label_from_before_the_run_does_not_count(forge: PretendForge) -> None:
    forge.label("maintainer", minutes=-5)
    assert accepted(forge) is None


def test_a_label_that_was_taken_off_does_not_count(forge: PretendForge) -> None:
    forge.label("maintainer", minutes=5)
    forge.label("stranger", added=False, minutes=6)
    assert accepted(forge) is None


def test_who_put_it_on_last_counts(forge: PretendForge) -> None:
    forge.label("maintainer", minutes=5)
    forge.label("maintainer", added=False, minutes=6)
    forge.label("reader", minutes=7)
    assert accepted(forge) is None
    forge.label("reader", added=False, minutes=8)
    forge.label("maintainer", minutes=9)
    assert accepted(forge) is not None


def test_another_label_is_none_of_ours(forge: PretendForge) -> None:
    forge.label("maintainer", "performance")
    assert accepted(forge) is None
    assert "label_events" not in forge.called


def test_a_comment_is_preferred_since_it_has_a_reason(forge: PretendForge) -> None:
    forge.says("maintainer", "/windtunnel accept worth it", 10)
    forge.label("owner", minutes=20)
    found = accepted(forge)
    assert found is not None
    assert found.reason == "worth it"


def test_a_forge_that_fails_is_no_no(forge: PretendForge) -> None:
    forge.says("maintainer", "/windtunnel accept worth it", 10)
    forge.failing("permission", ForgeError("out of reach"))
    with pytest.raises(ForgeError):
        accepted(forge)
