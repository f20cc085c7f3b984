"""A comparison that is cut short goes on as if it had not been: by `kill -9`, by Ctrl-C, wherever it was."""

from __future__ import annotations

import math
import signal
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest
from compared import FAST, SETTINGS, SLOW, Commits, Compared, short
from faulty import docker, until

from windtunnel.compare.allocate import CaseState, next_pairs
from windtunnel.compare.effects import pairs_of, series_of
from windtunnel.compare.verdict import compare, rule_of
from windtunnel.model import Launch
from windtunnel.sample.runfile import Run, read_run
from windtunnel.sample.schedule import adapted, slice_order, turn_order

pytestmark = [pytest.mark.engine, pytest.mark.slow]

DOCKERFILE = "targets/tiny/Dockerfile"
GO_ON = r"what was measured so far is in .*; go on: windtunnel compare --resume "


@pytest.fixture
def slow(commits: Commits) -> Commits:
    """A second commit that is slower, and launches that are under load for a while."""
    commits.configure(slices=6, single_slices=2, seconds="40ms")
    commits.commit("slow", {SETTINGS: SLOW})
    return commits


# ---------------- the order of everything, from the pure functions


def seconds(launches: Sequence[Launch]) -> float:
    return math.fsum(math.fsum(one.spent.values()) for one in launches)


def state(case: str, launches: Sequence[Launch]) -> CaseState:
    own = [one for one in launches if one.case == case]
    tried = max((one.number for one in own), default=0)
    return CaseState(case, series_of(pairs_of(own, case)), tried, seconds(own))


def wanted(run: Run, launches: Sequence[Launch]) -> tuple[tuple[str, int], ...]:
    """What is to be started next, once there are these launches."""
    plan = run.header.compare
    assert plan is not None
    assert plan.budget is not None
    states = [state(case.id, launches) for case in run.header.cases]
    left = plan.budget - seconds(launches)
    return next_pairs(states, rule_of(run), left=left, batch=plan.batch, seed=run.header.seed)


def assert_in_order(run: Run, cut: int) -> None:
    """Every batch is what had to come next; only the one that was cut short, after `cut` launches, may lack some."""
    start = 0
    while start < len(run.launches):
        groups = [(*group, arm) for group in wanted(run, run.launches[:start]) for arm in ("base", "head")]
        assert groups
        end = start + len(groups)
        if start < cut < end:
            end = cut
        assert short(run.launches[start:end]) == groups[: end - start]
        start = end
    assert not wanted(run, run.launches)


def assert_loaded_in_turn(run: Run, case: str, number: int) -> None:
    base, head = (
        next(one for one in run.launches if (one.case, one.number, one.arm) == (case, number, arm))
        for arm in ("base", "head")
    )
    key = f"{run.header.seed}/{case}/{number}"
    turns = turn_order(("base", "head"), f"{key}/turns")
    both = zip(base.slices, head.slices, strict=True)
    first = ["base" if one.started < other.started else "head" for one, other in both]
    assert first == [next(turns)[0] for _ in first]
    order = slice_order(adapted(run.header.plan, run.sizes[case]), key)
    for launch in (base, head):
        assert tuple(one.role for one in launch.slices if one.role != "warmup") == order


# ---------------- killed


def test_killed_and_resumed(slow: Commits) -> None:
    with slow.command("compare", "HEAD~1", "HEAD", "--budget", "30") as command:
        command.until(lambda: slow.launches() >= 5, "two pairs are recorded")
        command.signal(signal.SIGKILL)
        assert command.wait().code == -9
        command.gone(30)
    before = slow.measured()
    assert not before.complete
    assert set(before.sizes) == {one.case for one in before.launches}, "sizes are there as soon as a launch is"

    done = slow.run("compare", "--resume", slow.run_file)
    run = slow.measured()
    done.expect(int(compare(run).outcome), "CPU per request", f"seed {run.header.seed}", "tiny.*: 2 pairs, CPU")
    assert run.complete
    assert run.end["exit"] == done.code
    assert (run.header, run.launches[: len(before.launches)]) == (before.header, before.launches)
    assert dict(run.sizes) == {**run.sizes, **before.sizes}
    seen = short(run.launches)
    assert len(seen) == len(set(seen)) > len(before.launches)
    assert_in_order(run, len(before.launches))
    whole = {(one.case, one.number) for one in run.launches if one.arm == "head" and one.outcome == "ok"}
    for case, number in whole:
        assert_loaded_in_turn(run, case, number)


def test_a_complete_run_has_nothing_left_to_measure(slower: Compared) -> None:
    content = slower.suite.run_file.read_bytes()
    done = slower.suite.run("compare", "--resume", slower.suite.run_file)
    done.expect(10, "is complete: nothing is left to measure")
    assert done.out == slower.done.out
    assert slower.suite.run_file.read_bytes() == content


# ---------------- what is not resumed


def test_a_working_tree_that_has_changed_is_another_comparison(slow: Commits) -> None:
    slow.heavy()
    slow.write({SETTINGS: SLOW + "# and more\n"})
    with slow.command("compare", "--worktree", "--bench", r"\(2\)", "--batch", "1", "--budget", "30") as command:
        command.until(lambda: slow.launches() >= 2, "a pair is recorded")
        command.until_loading()
        command.signal(signal.SIGINT)
        command.wait().expect(130, "windtunnel: interrupted", GO_ON)
        assert not command.containers()
    content = slow.run_file.read_bytes()
    for changed, words in ((SLOW + "# and other\n", "head is no longer what was measured"), (SLOW, "are the same")):
        slow.write({SETTINGS: changed})
        slow.run("compare", "--resume", slow.run_file).expect(2, words, "start a new comparison")
        assert slow.run_file.read_bytes() == content

    slow.write({DOCKERFILE: "FROM debian:trixie-slim\nRUN exit 12\n", SETTINGS: SLOW + "# and more\n"})
    slow.run("compare", "--resume", slow.run_file).expect(6, "can't be launched any more", "is still in")
    assert slow.run_file.read_bytes() == content

    slow.git("checkout", "--quiet", DOCKERFILE)
    slow.run("compare", "--resume", slow.run_file).expect(0, r"head +working tree")
    assert slow.measured().launches[0].number == 1
    assert slow.measured().complete


@pytest.mark.parametrize(
    "options",
    [("HEAD~1",), ("--budget", "5"), ("--control",), ("--worktree",), ("--bench", "x"), ("--batch", "2")],
    ids=lambda options: options[0],
)
def test_nothing_else_can_be_asked_for(slower: Compared, options: tuple[str, ...]) -> None:
    name = {"HEAD~1": "BASE"}.get(options[0], options[0])
    done = slower.suite.run("compare", *options, "--resume", slower.suite.run_file)
    done.expect(2, f"--resume takes everything from the run file; leave {name} out")


def test_a_file_of_another_kind(commits: Commits, tmp_path: Path) -> None:
    commits.run("run", r"\(2\)", "--quick").expect(0)
    commits.run("compare", "--resume", commits.run_file).expect(2, "not the run file of a comparison")
    commits.run("compare", "--resume", commits.path / "asv.conf.json").expect(2, "asv.conf.json:1: ")
    commits.run("compare", "--resume", tmp_path / "nothing").expect(2, "cannot be read: No such file")


def test_two_can_not_go_on_with_one_file(slow: Commits) -> None:
    one = ("--bench", r"\(2\)", "--batch", "1")
    with slow.command("compare", "HEAD~1", *one, "--budget", "60") as first:
        first.until(slow.launches, "a pair is recorded")
        with slow.command("compare", "--resume", slow.run_file) as second:
            second.until(lambda: "waiting" in second.err, "the second one waits")
            assert f"another windtunnel (process {first.pid}, in {slow.path}) is measuring" in second.err
            assert not second.containers()
            so_far = slow.launches()
            first.until(lambda: slow.launches() > so_far, "the first one goes on")
            first.signal(signal.SIGINT)
            first.wait().expect(130, GO_ON)
            second.wait().expect(2, "another windtunnel went on with it meanwhile; .*windtunnel show")
            assert not second.containers()
    seen = short(slow.measured().launches)
    assert len(seen) == len(set(seen))


# ---------------- interrupted before anything is measured


def builds(mark: str) -> list[str]:
    """Containers of build steps with that mark."""
    lines = docker("ps", "--all", "--no-trunc", "--format", "{{.ID}} {{.Command}}").splitlines()
    return [line for line in lines if mark in line]


def test_interrupted_while_building(commits: Commits) -> None:
    mark = uuid.uuid4().hex
    whole = (commits.path / DOCKERFILE).read_text()
    commits.commit("long", {DOCKERFILE: f"{whole}RUN echo {mark}; sleep 3000\n"})
    with commits.command("compare", "HEAD~1") as command:
        command.until(lambda: builds(mark), "the slow step runs")
        command.signal(signal.SIGINT)
        command.wait().expect(130, "windtunnel: interrupted")
    until(lambda: not builds(mark), "the engine gives the build up", 30)
    assert not commits.run_files


def test_interrupted_while_starting(commits: Commits) -> None:
    commits.commit("deaf", {SETTINGS: FAST + "DEAF = True\n"})
    with commits.command("compare", "HEAD~1") as command:
        command.until(lambda: command.running("part"), "a target starts")
        command.signal(signal.SIGINT)
        command.wait().expect(130, GO_ON)
    assert not command.containers()
    assert not read_run(commits.run_file).launches
