"""The one comment of a suite: its mark, when it is made, and that one of them stands whoever else writes."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pretend_forge import ME, PretendForge

from example_comparisons import RUNS, judged
from taking_turns import in_turns, orders
from windtunnel.declare.settings import Comment as Policy
from windtunnel.publish.comment import Letter, Marker, deliver, key_of, parse_marker, worth_a_comment
from windtunnel.publish.forge import ForgeDenied, ForgeError, ForgeGone
from windtunnel.report.markdown import comparison_markdown

OLD, NOW, NEXT = "a" * 40, "b" * 40, "c" * 40
KEY = key_of("", "")


def letter(head: str = NOW, run: int = 5, *, text: str = "text", create: bool = True, current: str = NOW) -> Letter:
    marker = Marker(KEY, head, run)
    return Letter(7, marker, f"<!-- {marker} -->\n{text}\n", current, create)


# ---------------- the mark


@given(st.text(max_size=40), st.text(max_size=40), st.integers(0, 10**19))
def test_a_mark_is_found_again(slug: str, suite: str, run: int) -> None:
    marker = Marker(key_of(slug, suite), NOW, run)
    assert parse_marker(f"<!-- {marker} -->\nwhatever") == marker


@given(st.text(max_size=200), st.text(max_size=200))
def test_a_mark_fits_into_the_comment_that_hides_it(slug: str, suite: str) -> None:
    marker = str(Marker(key_of(slug, suite), "f" * 64, 10**19))
    assert len(marker) <= 200
    assert "--" not in marker
    assert re.fullmatch(r"[\w:. /=-]+", marker, re.ASCII)


@given(st.tuples(st.text(max_size=60), st.text(max_size=60)), st.tuples(st.text(max_size=60), st.text(max_size=60)))
def test_no_two_suites_have_one_key(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (key_of(*one) == key_of(*other)) == (one == other)


@pytest.mark.parametrize(
    "body",
    [
        f"text <!-- windtunnel comment / head={NOW} run=1 -->",
        f"\n<!-- windtunnel comment / head={NOW} run=1 -->",
        f"> <!-- windtunnel comment / head={NOW} run=1 -->",
        "<!-- windtunnel comment / head=main run=1 -->",
        f"<!-- windtunnel comment / head={NOW} run=-1 -->",
        f"<!-- windtunnel comment head={NOW} run=1 -->",
        "",
    ],
)
def test_a_mark_elsewhere_or_of_another_form_is_none(body: str) -> None:
    assert parse_marker(body) is None


def test_the_report_begins_with_the_mark() -> None:
    marker = Marker(key_of("perf", "quick checks/1"), NOW, 12)
    body = comparison_markdown(RUNS["regression"], judged("regression"), marker=str(marker))
    assert parse_marker(body) == marker


# ---------------- whether there is to be one


WORTH = {
    "regression",
    "waiting",
    "improvement",
    "invalid",
    "head-does-not-start",
    "head-build",
    "base-build",
    "mixed",
    "control",
    "merged",
    "missing-shard",
}


@pytest.mark.parametrize("name", RUNS)
def test_by_default_a_comment_is_made_for_changes_alone(name: str) -> None:
    assert worth_a_comment("changes", judged(name)) == (name in WORTH)


@pytest.mark.parametrize(("policy", "made"), [("always", True), ("never", False)])
def test_the_other_policies_do_not_look(policy: Policy, made: bool) -> None:
    assert all(worth_a_comment(policy, judged(name)) is made for name in RUNS)


@pytest.mark.parametrize("policy", ["changes", "always", "never"])
def test_nothing_measured_is_no_reason_to_make_one(policy: Policy) -> None:
    assert not worth_a_comment(policy, None)


# ---------------- bringing it there


def test_the_first_is_created_and_the_next_updates_it() -> None:
    forge = PretendForge()
    assert deliver(forge, letter(run=1)) == "created"
    assert deliver(forge, letter(run=2, text="newer", create=False)) == "updated"
    assert forge.ours() == [letter(run=2, text="newer").body]


def test_one_that_is_not_wanted_is_not_made() -> None:
    forge = PretendForge()
    assert deliver(forge, letter(create=False)) == "not needed"
    assert forge.ours() == []


def test_the_same_again_writes_nothing() -> None:
    forge = PretendForge()
    deliver(forge, letter())
    forge.called.clear()
    assert deliver(forge, letter()) == "left alone"
    assert forge.called == ["comments"]


def test_a_forge_that_keeps_ends_of_lines_otherwise_is_no_change() -> None:
    forge = PretendForge()
    forge.says(ME, letter().body.replace("\n", "\r\n").rstrip())
    assert deliver(forge, letter()) == "left alone"


def test_another_suite_has_a_comment_of_its_own() -> None:
    forge = PretendForge()
    deliver(forge, letter())
    marker = Marker(key_of("", "quick"), NOW, 5)
    assert deliver(forge, replace(letter(), marker=marker, body=f"<!-- {marker} -->\nquick\n")) == "created"
    assert len(forge.ours()) == 2


def test_what_others_write_is_left_alone() -> None:
    """Whoever puts our mark into a comment of their own has written a comment of their own."""
    forge = PretendForge()
    forge.says("stranger", letter(run=99, text="all is well").body)
    forge.says(ME, "a comment of another workflow")
    forge.says(ME, f"quoting\n{letter().body}")
    before = list(forge.said[7])
    assert deliver(forge, letter()) == "created"
    assert forge.said[7][:3] == before


# ---------------- heads and runs


def test_an_older_run_does_not_overwrite_a_newer_one_of_the_same_head() -> None:
    forge = PretendForge()
    deliver(forge, letter(run=9))
    assert deliver(forge, letter(run=8, text="older")) == "left alone"
    assert forge.ours() == [letter(run=9).body]


def test_the_current_head_overwrites_whatever_stands_for_others() -> None:
    """Also where it was measured by an earlier run: a branch may be set back."""
    forge = PretendForge()
    deliver(forge, letter(head=NEXT, run=9, current=NEXT))
    assert deliver(forge, letter(head=NOW, run=8, text="set back")) == "updated"
    assert forge.ours() == [letter(run=8, text="set back").body]


def test_an_outdated_head_never_overwrites_the_current_one() -> None:
    forge = PretendForge()
    deliver(forge, letter(run=5))
    assert deliver(forge, letter(head=OLD, run=6, text="outdated")) == "left alone"


def test_of_two_outdated_heads_the_later_run_stands() -> None:
    forge = PretendForge()
    deliver(forge, letter(head=OLD, run=5))
    assert deliver(forge, letter(head=NEXT, run=4)) == "left alone"
    assert deliver(forge, letter(head=NEXT, run=6)) == "updated"


# ---------------- others at work


def test_one_that_is_deleted_meanwhile_is_made_anew() -> None:
    forge = PretendForge()
    deliver(forge, letter(run=1))
    (first,) = forge.said[7]
    forge.meanwhile("update_comment", forge.said[7].clear)
    assert deliver(forge, letter(run=2, text="newer")) == "created"
    (second,) = forge.said[7]
    assert (second.body, second.id != first.id) == (letter(run=2, text="newer").body, True)


def test_one_that_is_deleted_meanwhile_is_not_made_where_there_is_nothing_to_say() -> None:
    forge = PretendForge()
    deliver(forge, letter(run=1))
    forge.meanwhile("update_comment", forge.said[7].clear)
    assert deliver(forge, letter(run=2, create=False)) == "not needed"
    assert forge.ours() == []


def test_a_list_that_still_has_a_deleted_one_is_not_believed() -> None:
    forge = PretendForge()
    deliver(forge, letter(run=1))
    forge.failing("update_comment", ForgeGone("gone"))
    assert deliver(forge, letter(run=2, text="newer")) == "created"


def test_a_comment_that_is_deleted_again_and_again_ends() -> None:
    forge = PretendForge()
    for number in range(1, 9):
        deliver(forge, replace(letter(), marker=Marker(KEY, NOW, number)))
        forge.says(ME, letter(run=number).body)
    forge.failing("update_comment", ForgeGone("gone"), times=20)
    with pytest.raises(ForgeError, match="deleted again and again"):
        deliver(forge, letter(run=99))


@pytest.mark.parametrize("mine", [3, 9])
@pytest.mark.parametrize("theirs", [4, 8])
def test_two_that_create_at_once_leave_the_newer_state(mine: int, theirs: int) -> None:
    """The other report looks before ours has created, and creates before ours does."""
    forge = PretendForge()
    other = letter(run=theirs, text="theirs")
    forge.meanwhile("create_comment", lambda: deliver(forge, other))
    deliver(forge, letter(run=mine, text="mine"))
    assert forge.ours() == [letter(run=max(mine, theirs), text="mine" if mine > theirs else "theirs").body]


def test_only_what_this_very_call_has_made_is_deleted() -> None:
    forge = PretendForge()
    forge.meanwhile("create_comment", lambda: forge.says(ME, letter(run=4, text="theirs").body))
    deliver(forge, letter(run=3, text="mine"))
    assert [one.body for one in forge.said[7]] == [letter(run=4, text="theirs").body]
    assert forge.called.count("delete_comment") == 1


def test_the_other_one_is_deleted_before_ours_could_be_put_there() -> None:
    forge = PretendForge()
    forge.meanwhile("create_comment", lambda: forge.says(ME, letter(run=4, text="theirs").body))
    forge.failing("update_comment", ForgeGone("gone"))
    assert deliver(forge, letter(run=5, text="mine")) == "created"
    assert letter(run=5, text="mine").body in forge.ours()


def test_of_several_the_oldest_is_kept_up_to_date() -> None:
    """They are what reports that were killed half-way have left."""
    forge = PretendForge()
    forge.says(ME, letter(run=1, text="oldest").body)
    forge.says(ME, letter(run=2, text="later").body)
    assert deliver(forge, letter(run=3, text="newest")) == "updated"
    assert [one.splitlines()[1] for one in forge.ours()] == ["newest", "later"]


def test_an_older_report_that_writes_last_does_not_stand() -> None:
    """It had looked before we wrote; we look again, and see its text where ours should be."""
    forge = PretendForge()
    deliver(forge, letter(run=1))
    (standing,) = forge.said[7]
    forge.meanwhile("comments", lambda: None)
    forge.meanwhile(
        "comments", lambda: forge.said[7].__setitem__(0, replace(standing, body=letter(run=2, text="older").body))
    )
    assert deliver(forge, letter(run=3, text="newer")) == "updated"
    assert forge.ours() == [letter(run=3, text="newer").body]


def test_a_newer_report_that_writes_meanwhile_stands() -> None:
    forge = PretendForge()
    deliver(forge, letter(run=1))
    (standing,) = forge.said[7]
    newer = letter(run=9, text="newer").body
    forge.meanwhile("comments", lambda: None)
    forge.meanwhile("comments", lambda: forge.said[7].__setitem__(0, replace(standing, body=newer)))
    deliver(forge, letter(run=3, text="older"))
    assert forge.ours() == [newer]


def test_what_the_forge_refuses_is_raised() -> None:
    forge = PretendForge()
    forge.failing("create_comment", ForgeDenied("the workflow lacks pull-requests: write"))
    with pytest.raises(ForgeDenied, match="pull-requests: write"):
        deliver(forge, letter())


# ---------------- two at once, in every order


@pytest.mark.parametrize(("one", "other"), [(3, 9), (9, 3)])
def test_two_that_create_at_once_leave_one_comment_in_any_order(one: int, other: int) -> None:
    for order in orders(8):
        forge = PretendForge()
        mine, theirs = letter(run=one, text=f"run {one}"), letter(run=other, text=f"run {other}")
        in_turns(order, [forge, forge], A=partial(deliver, letter=mine), B=partial(deliver, letter=theirs))
        assert forge.ours() == [letter(run=9, text="run 9").body], order


@pytest.mark.parametrize(("one", "other"), [(3, 9), (9, 3)])
def test_two_that_update_at_once_leave_the_newer_state(one: int, other: int) -> None:
    """Unless the older one looked before the newer wrote, and writes after that has ended: no forge could tell it.
    The workflow's concurrency group is there for that."""
    stale = 0
    for order in orders(8):
        forge = PretendForge()
        deliver(forge, letter(run=1))
        forge.called.clear()
        mine, theirs = letter(run=one, text=f"run {one}"), letter(run=other, text=f"run {other}")
        ended = in_turns(order, [forge, forge], A=partial(deliver, letter=mine), B=partial(deliver, letter=theirs))
        newer, older = ("A", "B") if one > other else ("B", "A")
        (body,) = forge.ours()
        if body != letter(run=9, text="run 9").body:
            assert ended[newer] < ended[older], order
            stale += 1
    assert stale < 2**8 / 4
