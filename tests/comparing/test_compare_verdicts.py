"""What `windtunnel compare` says of two commits, and with which exit code."""

from __future__ import annotations

import fcntl
import json
import statistics
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from compared import FAST, FEW, ONE, SETTINGS, SLOW, Commits, Compared, created
from faulty import docker

from windtunnel.adapters.docker import address
from windtunnel.adapters.hostlock import lock_path
from windtunnel.compare.verdict import compare
from windtunnel.model import Launch
from windtunnel.sample.runfile import read_run
from windtunnel.sample.summary import launch_metrics

pytestmark = [pytest.mark.engine, pytest.mark.slow]

CASE = r"tiny\.Page\(2\)"
DOCKERFILE = "targets/tiny/Dockerfile"


def cpu(launches: tuple[Launch, ...], arm: str) -> float:
    values = [launch_metrics(one)["cpu_per_request"] for one in launches if one.arm == arm and one.outcome == "ok"]
    return statistics.median(value for value in values if isinstance(value, float))


# ---------------- slower, faster, the same


def test_slower(slower: Compared) -> None:
    slower.done.expect(10, "The only case got slower", CASE, r"CPU per request .*\+.* more CPU +regression")
    run = slower.suite.measured()
    assert run.complete
    assert run.end["exit"] == 10
    assert [arm.commit for arm in run.header.arms] == [slower.suite.hash("HEAD~2"), slower.suite.hash("HEAD")]
    assert {one.arm for one in run.launches} == {"base", "head"}


@pytest.mark.nightly
def test_the_other_way_round_it_is_faster(commits: Commits) -> None:
    commits.write({SETTINGS: SLOW})
    commits.git("commit", "--quiet", "--all", "--message", "slow")
    done = commits.run("compare", "HEAD", "HEAD~1", *ONE, "--budget", "120")
    done.expect(0, "The only case got faster", r"CPU per request .*-.* less CPU +improvement")


@pytest.mark.parametrize("base", ["HEAD~1", "HEAD"])
def test_where_nothing_differs_nothing_is_started_and_nobody_waited_for(commits: Commits, base: str) -> None:
    commits.commit("readme", {"README": "Hello.\n"})
    lock = Path(commits.environment["TMPDIR"]) / lock_path(address()).name
    before = time.time()
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        done = commits.run("compare", base, "HEAD")
    done.expect(0, "Nothing to measure: .*identical", "Nothing to do", "same in base and head")
    assert ("same commit" in done.err) is (base == "HEAD")
    assert "waiting" not in done.err
    assert "budget" not in done.out
    assert not created(done, before, time.time() + 1)
    assert not commits.measured().launches


def test_a_launch_of_head_alone_has_its_side_car(commits: Commits) -> None:
    """What the test above does not find is found here."""
    commits.git("rm", "--quiet", "-r", "targets")
    commits.git("commit", "--quiet", "--message", "no target yet")
    commits.git("revert", "--no-edit", "HEAD")
    before = time.time()
    done = commits.run("compare", "HEAD~1", "HEAD", *ONE)
    done.expect(0, "First run: head only", rf"{CASE} +\d.*/s", r"launch 8: .* per request")
    assert {one["windtunnel.role"] for one in created(done, before, time.time() + 1)} >= {"sidecar"}
    run = commits.measured()
    assert [one.number for one in run.launches] == list(range(1, run.header.launches + 1))
    assert {one.arm for one in run.launches} == {"head"}
    assert compare(run).cases[0].kind == "first"


def test_the_working_tree_is_measured_as_it_is(commits: Commits) -> None:
    commits.heavy()
    commits.write({SETTINGS: SLOW})
    commits.run("compare", "--worktree", "--bench", r"\(2\)", "--batch", "1", "--budget", str(FEW)).expect(
        0, r"head +working tree"
    )
    run = commits.measured()
    assert [arm.commit for arm in run.header.arms] == [commits.hash("HEAD"), "worktree"]
    assert len({one.image for one in run.launches}) == 2
    assert cpu(run.launches, "head") > cpu(run.launches, "base")


# ---------------- what fails


def test_a_base_that_does_not_build(commits: Commits) -> None:
    whole = (commits.path / DOCKERFILE).read_text()
    commits.commit("broken", {DOCKERFILE: whole + 'RUN echo "the compiler is missing" >&2; exit 12\n'})
    commits.commit("mended", {DOCKERFILE: whole})
    done = commits.run("compare", "HEAD~1", "HEAD", *ONE)
    done.expect(6, "the compiler is missing", "base: ", "head need not be at fault")
    assert not commits.measured().launches


def test_a_head_that_does_not_build(commits: Commits) -> None:
    whole = (commits.path / DOCKERFILE).read_text()
    commits.commit("broken", {DOCKERFILE: whole + 'RUN echo "the compiler is missing" >&2; exit 12\n'})
    commits.run("compare", "HEAD~1", *ONE).expect(7, "the compiler is missing", "make head build")
    assert not commits.measured().launches


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ("EXITS = True\n", 7, ("head: tiny ended", r"\| no configuration, giving up", "make head build, start")),
        ("WRONG = True\n", 4, ("head: .*bytes more than", "which answers were wrong")),
    ],
)
def test_a_head_that_fails(commits: Commits, fault: str, code: int, words: tuple[str, ...]) -> None:
    commits.commit("faulty", {SETTINGS: FAST + fault})
    commits.run("compare", "HEAD~1", *ONE, "--budget", "60").expect(code, *words, "no more, .* went wrong")
    run = commits.measured()
    assert {one.arm for one in run.launches if one.outcome != "ok"} == {"head"}
    assert len(run.launches) < 12


@pytest.mark.parametrize("fault", ["EXITS = True\n", "WRONG = True\n"])
def test_a_new_case_that_fails_is_not_started_again_and_again(commits: Commits, fault: str) -> None:
    commits.git("rm", "--quiet", "-r", "targets")
    commits.git("commit", "--quiet", "--message", "no target yet")
    commits.git("revert", "--no-edit", "HEAD")
    commits.commit("faulty", {SETTINGS: FAST + fault})
    done = commits.run("compare", "HEAD~2", "--bench", r"\(2\)", "--batch", "1")
    assert done.code == {"EXITS = True\n": 7, "WRONG = True\n": 4}[fault], done
    assert len(commits.measured().launches) == 2


def test_one_launch_that_goes_wrong_is_told_and_decides_nothing(commits: Commits) -> None:
    commits.configure(slices=20, single_slices=2, seconds="40ms")
    commits.commit("slow", {SETTINGS: SLOW})
    arguments = ("compare", "HEAD~1", "--bench", r"\(2\)", "--batch", "1", "--budget", "12")
    with commits.command(*arguments) as command:
        command.until_loading()
        docker("kill", *[one.id for one in command.running("part")])
        done = command.wait()
        command.gone()
    done.expect(0, r"1 (base|head) launch left out: invalid: tiny ended under load", "could not be told")
    outcomes = [one.outcome for one in commits.measured().launches]
    assert outcomes.count("invalid") == 1
    assert outcomes.count("ok") >= 2


# ---------------- reports


def test_every_report_says_the_same(slower: Compared) -> None:
    comparison = compare(read_run(slower.suite.run_file))
    told = json.loads((slower.folder / "r.json").read_text())
    assert told["outcome"]["exit"] == comparison.outcome == 10
    (case,) = told["cases"]
    assert (case["case"], case["verdict"]) == ("tiny.Page(2)", "regression")
    assert "got slower" in (slower.folder / "r.md").read_text()
    (suite,) = ET.parse(slower.folder / "r.xml").getroot().iter("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert (slower.folder / "r.txt").read_text() == slower.done.out


def test_a_run_file_tells_it_again(slower: Compared) -> None:
    shown = slower.suite.run("show", slower.suite.run_file).expect(0)
    assert shown.out == slower.done.out


def test_progress_on_a_pipe_is_a_line_for_every_pair(slower: Compared) -> None:
    last = max(one.number for one in slower.suite.measured().launches)
    slower.done.expect(
        10,
        r"measuring pairs of 1 case; 120 s left",
        rf"{CASE}: 4 pairs, CPU \+[0-9.]+ %, time .*; \d+ s left, 1 case open",
        rf"{CASE}: {last} pairs, CPU \+[0-9.]+ % \[.*; \d+ s left, 0 cases open",
        rf"{CASE}: {last} pairs: a regression, confirmed",
    )
    assert slower.done.err.count("a change is flagged") == 1
    assert "\x1b" not in slower.done.err
