"""Measuring runs of several jobs, and those that left nothing, or nothing good."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pretend_forge import workflow_run
from reporting_bench import NEWER, Bench

from example_artifacts import run_bytes, state_of, zipped
from example_comparisons import HEAD
from windtunnel.publish.artifacts import artifact_name
from windtunnel.publish.forge import WorkflowRun

# ---------------- shards


def shards(bench: Bench, *parts: str) -> WorkflowRun:
    """Of four shards those; each has cases of its own."""
    run = bench.forge.with_run()
    for part in parts:
        number = int(part[0])
        whole = state_of("one-unchanged", shard=part)
        rename = {case.id: replace(case, benchmark=f"shard{number}.Case") for case in whole.header.cases}
        header = replace(whole.header, id=f"run-{number}", cases=tuple(rename.values()))
        launches = tuple(replace(one, case=rename[one.case].id) for one in whole.launches)
        bench.forge.leave(
            run,
            artifact_name("run", number=number),
            zipped(run_bytes(replace(whole, header=header, launches=launches))),
        )
    return run


def test_shards_are_one_report(bench: Bench) -> None:
    bench.report(shards(bench, "1/2", "2/2"))
    check = bench.forge.only_check()
    assert check.conclusion == "success"
    assert "2 cases" in check.title


def test_a_missing_shard_is_never_a_pass(bench: Bench) -> None:
    bench.report(shards(bench, "1/4", "3/4"))
    check = bench.forge.only_check()
    assert check.conclusion == "neutral"
    assert check.title.startswith("Unfinished")
    assert "Nothing has come of shards 2/4, 4/4" in check.summary.replace("`", "")


def test_the_plan_tells_what_is_missing_too(bench: Bench) -> None:
    run = bench.forge.measured("one-unchanged")
    bench.forge.planned(run, [*(case.id for case in state_of("one-unchanged").header.cases), "psgi.Lost(5.40)"])
    bench.report(run)
    check = bench.forge.only_check()
    assert check.conclusion == "neutral"
    assert "Of 2 planned cases 1 is in no run file." in check.summary


def test_a_plan_without_a_shard_is_nothing_measured(bench: Bench) -> None:
    run = bench.forge.with_run()
    bench.forge.planned(run, ["psgi.Starlet(5.40)"])
    bench.report(run)
    check = bench.forge.only_check()
    assert (check.conclusion, check.title.startswith("Nothing was measured")) == ("neutral", True)


def test_a_whole_run_beside_shards_is_refused(bench: Bench) -> None:
    run = shards(bench, "1/2", "2/2")
    bench.forge.measured("one-unchanged", run)
    bench.report(run)
    assert bench.forge.only_check().conclusion == "neutral"


# ---------------- nothing, or nothing good


@pytest.mark.parametrize(
    ("conclusion", "words"),
    [
        ("failure", "failed before it left a run file"),
        ("cancelled", "was cancelled"),
        ("success", "left no run file"),
        ("action_required", "waits for somebody to approve it"),
    ],
)
def test_a_run_that_left_nothing_is_told_in_the_check(bench: Bench, conclusion: str, words: str) -> None:
    run = bench.forge.with_run(workflow_run(conclusion=conclusion))
    assert bench.report(run).errors == []
    check = bench.forge.only_check()
    assert check.conclusion == "neutral"
    assert words in check.title
    assert f"]({run.url})" in check.summary
    assert bench.forge.ours() == []


def test_a_run_that_left_nothing_updates_the_comment_that_stands(bench: Bench) -> None:
    bench.report(bench.forge.measured("regression", suite="quick"))
    bench.report(bench.forge.with_run(workflow_run(101, conclusion="cancelled")))
    (body,) = bench.forge.ours()
    assert f"nothing was measured for [`{HEAD.commit[:10]}`]" in body
    assert [one.name for one in bench.forge.made.values()] == ["windtunnel / quick"]


def test_a_run_of_an_older_head_that_left_nothing_changes_no_comment(bench: Bench) -> None:
    bench.report(bench.forge.measured("regression"))
    before = bench.forge.ours()
    bench.forge.push(NEWER)
    bench.report(bench.forge.with_run(workflow_run(101, conclusion="cancelled")))
    assert bench.forge.ours() == before


def test_artifacts_that_have_expired_are_told(bench: Bench) -> None:
    run = bench.forge.with_run()
    bench.forge.leave(run, artifact_name("run"), b"", expired=True)
    bench.report(run)
    assert "is kept no longer" in bench.forge.only_check().title


def test_of_one_name_the_newest_counts(bench: Bench) -> None:
    """A job that was run again has left its artifact again."""
    run = bench.forge.measured("regression")
    bench.forge.measured("one-unchanged", run)
    bench.report(run)
    assert bench.forge.only_check().conclusion == "success"


@pytest.mark.parametrize(
    "content",
    [
        b"not a zip",
        zipped(b"not a run file"),
        zipped(b"{}\n"),
        zipped(b"[" * 100_000),
        zipped(run_bytes(state_of("one-unchanged")), "../run.jsonl"),
        zipped(run_bytes(state_of("one-unchanged", suite="quick"))),
        zipped(run_bytes(state_of("one-unchanged")).replace(HEAD.commit.encode(), NEWER.encode())),
    ],
)
def test_an_artifact_that_is_refused_spoils_no_other_suite(bench: Bench, content: bytes) -> None:
    run = bench.forge.measured("regression", suite="quick")
    bench.forge.leave(run, artifact_name("run"), content)
    assert bench.report(run).errors == []
    refused = bench.forge.only_check("windtunnel")
    assert (refused.conclusion, refused.title.startswith("Nothing was measured: ")) == ("neutral", True)
    assert bench.forge.only_check("windtunnel / quick").conclusion == "failure"
    assert len(bench.forge.ours()) == 1


def test_a_refused_artifact_updates_the_comment_that_stands(bench: Bench) -> None:
    bench.report(bench.forge.measured("regression"))
    run = bench.forge.with_run(workflow_run(101))
    bench.forge.leave(run, artifact_name("run"), b"<!-- @everyone [x](y) -->")
    bench.report(run)
    assert "Nothing was measured" in bench.forge.ours()[0]


def test_an_artifact_that_is_too_large_is_not_even_downloaded(bench: Bench) -> None:
    run = bench.forge.measured("regression")
    artifact, content = bench.forge.files[100][0]
    bench.forge.files[100] = [(replace(artifact, size=1 << 40), content)]
    bench.report(run)
    assert "download" not in bench.forge.called
    assert bench.forge.only_check().conclusion == "neutral"
