"""From a finished measuring run to its comments and checks: what is told to whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from pretend_forge import ME, pull_request, workflow_run
from reporting_bench import NEWER, OTHER, SETTINGS, Bench

from example_artifacts import run_bytes, state_of, zipped
from example_comparisons import HEAD
from windtunnel.publish.artifacts import artifact_name
from windtunnel.publish.comment import key_of, parse_marker
from windtunnel.publish.forge import WorkflowRun
from windtunnel.publish.words import summary_markdown

# ---------------- one pull request


def test_a_regression_is_told_in_a_comment_and_fails_the_check(bench: Bench) -> None:
    run = bench.forge.measured("regression")
    assert bench.report(run).errors == []
    (body,) = bench.forge.ours()
    marker = parse_marker(body)
    assert marker is not None
    assert (marker.key, marker.head, marker.run) == (key_of("", ""), HEAD.commit, 100)
    assert "1 of 2 cases got slower" in body
    check = bench.forge.only_check()
    assert (check.conclusion, check.head_sha, check.details_url) == ("failure", HEAD.commit, run.url)
    assert check.title == "1 of 2 cases got slower, 1 is unchanged"
    assert "psgi.Starlet" in check.summary
    assert bench.said("check windtunnel, failure")
    assert bench.said("comment on pull request 7: created")


def test_nothing_of_what_was_downloaded_stays(bench: Bench) -> None:
    bench.report(bench.forge.measured("regression"))
    assert list(bench.folder.iterdir()) == []


def test_the_next_run_updates_both(bench: Bench) -> None:
    bench.report(bench.forge.measured("regression"))
    bench.report(bench.forge.measured("one-unchanged", workflow_run(101)))
    (body,) = bench.forge.ours()
    assert "No change" in body
    assert bench.forge.only_check().conclusion == "success"


def test_without_a_change_there_is_a_check_and_no_comment(bench: Bench) -> None:
    bench.report(bench.forge.measured("one-unchanged"))
    assert bench.forge.ours() == []
    assert bench.forge.only_check().conclusion == "success"


def test_always_means_always(bench: Bench) -> None:
    bench.settings = replace(SETTINGS, comment="always")
    bench.report(bench.forge.measured("one-unchanged"))
    assert len(bench.forge.ours()) == 1


def test_never_means_that_one_that_stands_is_left_alone(bench: Bench) -> None:
    bench.report(bench.forge.measured("regression"))
    before = bench.forge.ours()
    bench.settings = replace(SETTINGS, comment="never")
    bench.report(bench.forge.measured("one-unchanged", workflow_run(101)))
    assert bench.forge.ours() == before
    assert bench.forge.only_check().conclusion == "success"


def test_without_the_gate_the_check_is_neutral(bench: Bench) -> None:
    bench.settings = replace(SETTINGS, gate="off")
    bench.report(bench.forge.measured("regression"))
    assert bench.forge.only_check().conclusion == "neutral"


def test_the_threshold_is_that_of_the_default_branch(bench: Bench) -> None:
    """Whatever a run file says of its own: a stranger has written that."""
    lax = state_of("regression")
    assert lax.header.compare is not None
    lax = replace(lax, header=replace(lax.header, compare=replace(lax.header.compare, threshold=0.5)))
    run = bench.forge.with_run()
    bench.forge.leave(run, artifact_name("run"), zipped(run_bytes(lax)))
    bench.report(run)
    assert bench.forge.only_check().conclusion == "failure"
    bench.settings = replace(SETTINGS, threshold=0.2)
    bench.report(run)
    assert bench.forge.only_check().conclusion != "failure"


def test_every_suite_has_its_own_comment_and_check(bench: Bench) -> None:
    run = bench.forge.measured("regression")
    bench.forge.measured("head-build", run, suite="quick")
    bench.report(run)
    assert len(bench.forge.ours()) == 2
    assert bench.forge.only_check("windtunnel").conclusion == "failure"
    assert bench.forge.only_check("windtunnel / quick").conclusion == "failure"
    bench.report(bench.forge.measured("one-unchanged", workflow_run(101), suite="quick"))
    assert bench.forge.only_check("windtunnel").conclusion == "failure"
    assert bench.forge.only_check("windtunnel / quick").conclusion == "success"


def test_a_suite_that_main_does_not_declare_is_not_reported(bench: Bench) -> None:
    run = bench.forge.measured("one-unchanged")
    bench.forge.measured("regression", run, suite="mine")
    bench.report(run)
    assert [one.name for one in bench.forge.made.values()] == ["windtunnel"]
    assert bench.said("suite mine: the default branch's windtunnel.toml does not declare it")


def test_a_suite_that_main_does_not_declare_alone_is_told_in_words(bench: Bench) -> None:
    bench.report(bench.forge.measured("regression", suite="mine"))
    check = bench.forge.only_check()
    assert check.conclusion == "neutral"
    assert "does not declare the suite `mine`" in check.summary
    assert bench.forge.ours() == []


def test_another_folder_is_the_matter_of_another_report(bench: Bench) -> None:
    bench.report(bench.forge.measured("regression", slug="perf"))
    assert bench.forge.made == {}
    assert bench.said("other folders only")


# ---------------- whose


def test_two_pull_requests_of_one_head_are_told_their_own(bench: Bench) -> None:
    bench.forge.with_pull(pull_request(7, base_sha="1" * 40))
    bench.forge.with_pull(pull_request(8, base_sha="2" * 40, base_branch="stable"), base=OTHER)
    bench.report(bench.forge.measured("regression"))
    assert (len(bench.forge.ours(7)), bench.forge.ours(8)) == (1, [])
    bench.report(bench.forge.measured("improvement", workflow_run(101), base=OTHER))
    assert "got slower" in bench.forge.ours(7)[0]
    assert "got faster" in bench.forge.ours(8)[0]


def test_two_pull_requests_of_one_head_and_one_base_are_both_told(bench: Bench) -> None:
    bench.forge.with_pull(pull_request(8))
    bench.report(bench.forge.measured("regression"))
    assert (len(bench.forge.ours(7)), len(bench.forge.ours(8))) == (1, 1)


def test_a_base_that_is_nobodys_decides_nothing(bench: Bench) -> None:
    bench.report(bench.forge.measured("regression", base=OTHER))
    check = bench.forge.only_check()
    assert check.conclusion == "neutral"
    assert check.title.startswith(f"The run compares with {OTHER[:10]}")
    assert bench.forge.ours() == []


def test_a_base_that_is_nobodys_passes_nothing_either(bench: Bench) -> None:
    bench.report(bench.forge.measured("one-unchanged", base=OTHER))
    assert bench.forge.only_check().conclusion == "neutral"


def test_a_pull_request_that_was_closed_gets_no_comment(bench: Bench) -> None:
    bench.forge.pulls[7] = replace(bench.forge.pulls[7], open=False)
    bench.report(bench.forge.measured("regression"))
    assert bench.forge.ours() == []
    check = bench.forge.only_check()
    assert (check.conclusion, check.head_sha) == ("neutral", HEAD.commit)
    assert "No open pull request has this commit any more" in check.title


def test_a_head_that_moved_is_labelled(bench: Bench) -> None:
    bench.forge.push(NEWER)
    bench.report(bench.forge.measured("regression"))
    (body,) = bench.forge.ours()
    assert NEWER[:7] in body
    assert bench.forge.only_check().head_sha == HEAD.commit
    assert bench.said(f"pull request 7 has moved on to {NEWER[:10]}")


def test_a_head_that_moved_does_not_overwrite_the_newer_one(bench: Bench) -> None:
    old = bench.forge.measured("regression")
    bench.forge.push(NEWER)
    bench.forge.says(ME, f"<!-- windtunnel comment / head={NEWER} run=101 -->\nthe newer one")
    bench.report(old)
    assert bench.forge.ours()[0].endswith("the newer one")


# ---------------- a merge queue


def queue(number: int = 200) -> WorkflowRun:
    branch = f"gh-readonly-queue/main/pr-7-{NEWER}"
    return workflow_run(number, event="merge_group", head_branch=branch, head_repository="owner/project")


def test_a_merge_queue_gets_a_check_and_no_comment(bench: Bench) -> None:
    bench.report(bench.forge.measured("regression", queue()))
    assert bench.forge.only_check().conclusion == "failure"
    assert bench.forge.ours() == []


def test_what_was_accepted_on_the_pull_request_holds_in_the_merge_queue(bench: Bench) -> None:
    bench.forge.measured("regression")
    bench.forge.says("maintainer", "/windtunnel accept it checks signatures now")
    bench.report(bench.forge.measured("regression", queue()))
    check = bench.forge.only_check()
    assert check.conclusion == "neutral"
    assert "it checks signatures now" in check.summary


# ---------------- the summary of the job


@pytest.mark.parametrize("most", [13_000, 40_000, 1_000_000])
def test_the_summary_has_every_suite_and_fits(bench: Bench, most: int) -> None:
    run = bench.forge.measured("mixed")
    bench.forge.measured("mixed", run, suite="quick")
    told = bench.report(run).told
    text = summary_markdown(told, most)
    assert text.count("got slower") >= 2
    assert len(text.encode()) <= most


def test_a_summary_of_wide_characters_fits_in_bytes(bench: Bench) -> None:
    whole = state_of("mixed")
    rename: Callable[[str], str] = lambda case: case.replace("psgi", "速度" * 30)  # noqa: E731
    cases = tuple(replace(case, benchmark=rename(case.benchmark)) for case in whole.header.cases)
    launches = tuple(replace(one, case=rename(one.case)) for one in whole.launches)
    failures = tuple(replace(one, case=rename(one.case)) for one in whole.failures)
    run = bench.forge.with_run()
    changed = replace(whole, header=replace(whole.header, cases=cases), launches=launches, failures=failures)
    bench.forge.leave(run, artifact_name("run"), zipped(run_bytes(changed)))
    text = summary_markdown(bench.report(run).told, 15_000)
    assert 0 < len(text.encode()) <= 15_000


def test_nothing_told_is_no_summary() -> None:
    assert summary_markdown([], 1_000) == ""
