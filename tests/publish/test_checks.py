"""The one check of a suite on a commit."""

from __future__ import annotations

import pytest
from pretend_forge import PretendForge

from example_comparisons import HEAD
from windtunnel.publish.checks import check_name, post_check
from windtunnel.publish.comment import key_of
from windtunnel.publish.forge import CheckReport, ForgeDenied, ForgeGone

KEY = key_of("", "")


def report(title: str = "2 of 24 cases got slower", name: str = "windtunnel") -> CheckReport:
    return CheckReport(name, HEAD.commit, "", "failure", title, "summary")


def test_it_is_created_once_and_then_updated() -> None:
    forge = PretendForge()
    assert post_check(forge, report(), KEY, 5) == "created"
    assert post_check(forge, report("accepted"), KEY, 5) == "updated"
    assert post_check(forge, report("measured again"), KEY, 6) == "updated"
    assert forge.only_check().title == "measured again"


def test_an_older_run_does_not_overwrite_a_newer_one() -> None:
    forge = PretendForge()
    post_check(forge, report("newer"), KEY, 6)
    assert post_check(forge, report("older"), KEY, 5) == "left alone"
    assert forge.only_check().title == "newer"


def test_each_suite_of_each_folder_has_its_own() -> None:
    forge = PretendForge()
    for key in (KEY, key_of("perf", ""), key_of("", "quick"), key_of("perf", "quick")):
        assert post_check(forge, report(), key, 5) == "created"
    assert len(forge.made) == 4


def test_a_check_of_somebody_elses_making_is_left_alone() -> None:
    forge = PretendForge()
    for identity in ("", "another", "windtunnel", f"windtunnel {KEY} run=x"):
        forge.create_check(CheckReport("windtunnel", HEAD.commit, identity, "success", "theirs", ""))
    assert post_check(forge, report(), KEY, 5) == "created"
    assert [one.title for one in forge.made.values()].count("theirs") == 4


def test_two_that_were_made_at_once_are_both_kept_up_to_date() -> None:
    forge = PretendForge()
    forge.meanwhile("create_check", lambda: post_check(forge, report("theirs"), KEY, 5))
    post_check(forge, report("mine"), KEY, 5)
    assert post_check(forge, report("later"), KEY, 6) == "updated"
    assert [one.title for one in forge.made.values()] == ["later", "later"]


def test_one_that_is_gone_is_made_anew() -> None:
    forge = PretendForge()
    post_check(forge, report(), KEY, 5)
    forge.failing("update_check", ForgeGone("gone"))
    assert post_check(forge, report(), KEY, 6) == "created"


def test_one_that_is_there_can_be_kept_as_it_is() -> None:
    forge = PretendForge()
    assert post_check(forge, report("first"), KEY, 5, update=False) == "created"
    assert post_check(forge, report("second"), KEY, 6, update=False) == "left alone"
    assert forge.only_check().title == "first"


def test_what_the_forge_refuses_is_raised() -> None:
    forge = PretendForge()
    forge.failing("create_check", ForgeDenied("the workflow lacks checks: write"))
    with pytest.raises(ForgeDenied):
        post_check(forge, report(), KEY, 5)


def test_names() -> None:
    assert check_name("") == "windtunnel"
    assert check_name("quick") == "windtunnel / quick"
    assert len(check_name("q" * 5000)) < 255
