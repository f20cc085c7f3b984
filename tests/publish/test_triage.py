"""Deciding again from what was measured, after somebody has accepted something."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pretend_forge import PretendForge, after, pull_request, workflow_run

from example_comparisons import BASE
from windtunnel.declare.settings import Settings, SuiteSettings
from windtunnel.publish.judging import Scope
from windtunnel.publish.reporting import Reported, Reporter
from windtunnel.publish.triage import report_again

NEWER, OTHER = "d" * 40, "e" * 40


@pytest.fixture
def forge() -> PretendForge:
    return PretendForge(people={"maintainer": "write"}).with_pull()


def again(forge: PretendForge, folder: Path, number: int = 7) -> tuple[Reported, list[str]]:
    log: list[str] = []
    reporter = Reporter(
        forge,
        Scope("", Settings(gate="on", suites={"quick": SuiteSettings()}), "https://forge.example/owner/project"),
        log.append,
    )
    return report_again(reporter, number, folder), log


def test_a_label_is_decided_about_without_measuring_again(forge: PretendForge, tmp_path: Path) -> None:
    forge.measured("regression")
    again(forge, tmp_path)
    assert forge.only_check().conclusion == "failure"
    forge.label("maintainer")
    again(forge, tmp_path)
    assert forge.only_check().conclusion == "neutral"
    assert "maintainer" in forge.ours()[0]
    forge.label("maintainer", added=False, minutes=11)
    again(forge, tmp_path)
    assert forge.only_check().conclusion == "failure"
    assert len(forge.ours()) == 1
    assert "maintainer" not in forge.ours()[0]


def test_the_newest_run_that_has_left_something_counts(forge: PretendForge, tmp_path: Path) -> None:
    forge.measured("regression", workflow_run(100))
    forge.measured("one-unchanged", workflow_run(101))
    forge.with_run(workflow_run(102))  # of another workflow, say
    again(forge, tmp_path)
    assert forge.only_check().conclusion == "success"


def test_every_suite_is_decided_about_again_whatever_run_it_is_from(forge: PretendForge, tmp_path: Path) -> None:
    """Suites may have workflows of their own."""
    forge.measured("regression", workflow_run(100), suite="quick")
    forge.measured("regression", workflow_run(101))
    forge.says("maintainer", "/windtunnel accept worth it")
    again(forge, tmp_path)
    conclusions = {one.name: one.conclusion for one in forge.made.values()}
    assert conclusions == {"windtunnel": "neutral", "windtunnel / quick": "neutral"}


def test_a_run_of_another_fork_that_has_the_commit_too_is_not_taken(forge: PretendForge, tmp_path: Path) -> None:
    forge.measured("regression", workflow_run(100))
    forge.measured("one-unchanged", workflow_run(101, head_repository="another/project"))
    again(forge, tmp_path)
    assert forge.only_check().conclusion == "failure"


def test_of_several_runs_for_one_head_it_is_the_one_of_this_pull_request(forge: PretendForge, tmp_path: Path) -> None:
    forge.with_pull(pull_request(7, base_sha="1" * 40))
    forge.with_pull(pull_request(8, base_sha="2" * 40), base=OTHER)
    forge.measured("regression", workflow_run(100), base=BASE.commit)
    forge.measured("improvement", workflow_run(101), base=OTHER)
    again(forge, tmp_path, 7)
    assert (len(forge.ours(7)), len(forge.ours(8))) == (1, 0)
    again(forge, tmp_path, 8)
    assert "got faster" in forge.ours(8)[0]


def test_where_none_compares_with_its_merge_base_that_is_said(forge: PretendForge, tmp_path: Path) -> None:
    forge.measured("regression", base=OTHER)
    again(forge, tmp_path)
    assert forge.only_check().conclusion == "neutral"
    assert forge.only_check().title.startswith("The run compares with")


def test_a_head_that_was_not_measured_yet_is_left_alone(forge: PretendForge, tmp_path: Path) -> None:
    forge.measured("regression")
    forge.push(NEWER)
    reported, log = again(forge, tmp_path)
    assert reported.told == []
    assert forge.made == {}
    assert log == [f"nothing was measured for {NEWER[:10]} yet; what was accepted counts from then on"]


def test_a_closed_pull_request_is_left_alone(forge: PretendForge, tmp_path: Path) -> None:
    forge.measured("regression")
    forge.pulls[7] = replace(forge.pulls[7], open=False)
    _, log = again(forge, tmp_path)
    assert log == ["pull request 7 is closed: nothing is left to decide"]
    assert forge.made == {}


def test_an_acceptance_of_an_older_head_does_not_hold_for_the_next(forge: PretendForge, tmp_path: Path) -> None:
    forge.measured("regression")
    forge.says("maintainer", "/windtunnel accept worth it", 10)
    later = workflow_run(101, created=after(20), head_sha=NEWER)
    forge.push(NEWER)
    forge.bases["f" * 40, NEWER] = BASE.commit
    forge.with_run(later)
    content = forge.files[100][0]
    forge.files[101] = [content]  # a run file of the older head: it is refused
    again(forge, tmp_path)
    assert forge.only_check().conclusion == "neutral"
    assert "measures the commit" in forge.only_check().summary
