"""A replay: what is compared in which order, what is kept, what goes on, and what ends it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pasts import CASE, Machine, Repository, unheard

from windtunnel.adapters.history import Commit, stretch
from windtunnel.cli.comparing import Request
from windtunnel.cli.replay import Replay
from windtunnel.errors import (
    BuildFailed,
    ConfigError,
    EngineError,
    Exit,
    Interrupted,
    NothingMeasured,
    StorageError,
    WindtunnelError,
)
from windtunnel.report.replay import Row, Told, outcome, render_replay, replay_to_json
from windtunnel.sample.runfile import Failure, read_run


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Five commits in a line."""
    made = Repository(tmp_path / "repository")
    made.line(5)
    return made


@pytest.fixture
def commits(repository: Repository) -> tuple[Commit, ...]:
    """Four of them, newest first: all but the root."""
    return stretch(repository.path, "main~4..main").commits


class Clock:
    """A minute passes each time somebody looks."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 60
        return self.now


def replay(
    tmp_path: Path, machine: Machine, said: list[str] | None = None, *, check: bool = False, **request: Any
) -> Replay:
    say = unheard if said is None else said.append
    return Replay(Request(start=tmp_path, **request), tmp_path / "kept", machine, check, say, Clock())


def told(rows: list[Row]) -> list[Told]:
    return [one.told for one in rows]


def test_each_commit_is_compared_with_its_parent_newest_first(tmp_path: Path, commits: tuple[Commit, ...]) -> None:
    machine = Machine()
    replay(tmp_path, machine, select=("^psgi",), budget=90.0).rows(commits)
    assert [(one.base, one.head) for one in machine.asked] == [(one.parents[0], one.hash) for one in commits]
    assert commits[0].subject == "commit 4"
    for asked, commit in zip(machine.asked, commits, strict=True):
        assert (asked.select, asked.budget) == (("^psgi",), 90.0)
        assert asked.output is not None
        assert asked.output.name == f"{commit.parents[0][:12]}..{commit.hash[:12]}.jsonl"


def test_rows_say_what_would_have_been_told(tmp_path: Path, commits: tuple[Commit, ...]) -> None:
    newest, faster, _, oldest = commits
    speed = {newest.hash: 1.06, faster.hash: 1.0, commits[2].hash: 1.05, oldest.hash: 1.05}
    rows = replay(tmp_path, Machine(speed=speed)).rows(commits)
    assert told(rows) == [Told.REGRESSION, Told.IMPROVEMENT, Told.NOTHING, Told.REGRESSION]
    assert rows[0].words == "The only case got slower"
    assert [one.case for one in rows[0].changes] == [CASE]
    assert rows[0].changes[0].words.startswith("CPU per request +")
    assert [one.seconds for one in rows] == [60.0] * 4
    assert outcome(rows) is Exit.OK
    assert all(Path(one.run_file).is_file() for one in rows)


def test_what_is_complete_is_not_measured_again(tmp_path: Path, commits: tuple[Commit, ...]) -> None:
    first = replay(tmp_path, Machine()).rows(commits)
    machine = Machine()
    assert replay(tmp_path, machine).rows(commits) == first
    assert not machine.asked


def test_an_interrupted_one_goes_on_where_it_was(tmp_path: Path, commits: tuple[Commit, ...]) -> None:
    said: list[str] = []
    machine = Machine(cut=30)
    with pytest.raises(Interrupted):
        replay(tmp_path, machine, said).rows(commits)
    assert "1 of 4 commits are done" in said[-1]
    machine.asked.clear()
    rows = replay(tmp_path, machine).rows(commits)
    assert [(one.resume is not None, one.output is not None) for one in machine.asked] == [
        (True, False),
        (False, True),
        (False, True),
    ]
    assert machine.made == 4 * machine.pairs  # no pair was made twice
    numbers = [launch.number for launch in read_run(Path(rows[1].run_file)).launches if launch.arm == "base"]
    assert numbers == list(range(1, machine.pairs + 1))


@pytest.mark.parametrize(
    "error",
    [
        BuildFailed("it does not build", detail="the log"),
        NothingMeasured("no case to measure"),
        ConfigError("target.toml is wrong there"),
        WindtunnelError("a submodule can't be had"),
    ],
)
def test_a_commit_that_can_not_be_measured_is_a_row(
    tmp_path: Path, commits: tuple[Commit, ...], error: WindtunnelError
) -> None:
    rows = replay(tmp_path, Machine(broken={commits[1].hash: error})).rows(commits)
    assert told(rows) == [Told.NOTHING, Told.UNMEASURED, Told.NOTHING, Told.NOTHING]
    assert (rows[1].words, rows[1].detail) == (str(error), error.detail)
    assert str(error) in render_replay(rows, title="Replay")
    assert outcome(rows) is (Exit.INFRASTRUCTURE if error.exit is Exit.INFRASTRUCTURE else Exit.OK)


@pytest.mark.parametrize("error", [EngineError("the engine is gone"), StorageError("the disk is full")])
def test_what_no_other_commit_would_fare_better_with_ends_it(
    tmp_path: Path, commits: tuple[Commit, ...], error: WindtunnelError
) -> None:
    said: list[str] = []
    machine = Machine(broken={commits[1].hash: error})
    with pytest.raises(type(error)):
        replay(tmp_path, machine, said).rows(commits)
    assert len(machine.asked) == 2
    assert "same command goes on" in said[-1]


def test_a_run_file_of_something_else_is_told_before_anything_is_measured(
    tmp_path: Path, commits: tuple[Commit, ...]
) -> None:
    replay(tmp_path, Machine(), select=("^psgi",)).rows(commits[3:])
    machine = Machine()
    with pytest.raises(ConfigError, match=r"select: was measured with \^psgi, this command asks for all"):
        replay(tmp_path, machine).rows(commits)
    assert not machine.asked


def test_identical_and_first_runs_are_told_as_such(tmp_path: Path, commits: tuple[Commit, ...]) -> None:
    declined = {
        commits[0].hash: Failure(CASE, "head", "identical", "the images are the same"),
        commits[1].hash: Failure(CASE, "base", "first", "first run: head only"),
        commits[2].hash: Failure(CASE, "head", "failed", "the compiler is missing"),
        commits[3].hash: Failure(CASE, "base", "failed", "the compiler was missing before"),
    }
    rows = replay(tmp_path, Machine(declined=declined)).rows(commits)
    assert told(rows) == [Told.IDENTICAL, Told.FIRST, Told.UNMEASURED, Told.UNMEASURED]
    assert rows[2].codes == (Exit.HEAD_BROKEN,)
    assert "             head: the compiler is missing\n" in render_replay(rows, title="")
    assert outcome(rows) is Exit.OK


def test_when_no_commit_could_be_measured_nothing_was(tmp_path: Path, commits: tuple[Commit, ...]) -> None:
    broken: dict[str, BaseException] = {one.hash: BuildFailed("no") for one in commits}
    assert outcome(replay(tmp_path, Machine(broken=broken)).rows(commits)) is Exit.NOTHING_MEASURED


def test_the_expected_end_comes_from_what_the_others_took(tmp_path: Path, commits: tuple[Commit, ...]) -> None:
    said: list[str] = []
    replay(tmp_path, Machine(), said, budget=120.0).rows(commits)
    progress = [one for one in said if " so far" in one]
    assert [one.split(":")[1].strip() for one in progress] == ["1 of 4", "2 of 4", "3 of 4", "4 of 4"]
    # before there is any, the budget: 4 x 2 minutes; then a minute each, by this clock
    assert "about 8.0 min to go" in progress[0]
    assert "about 1.0 min to go" in progress[3]


# ---------------- the check


def test_what_is_told_is_compared_once_more(tmp_path: Path, commits: tuple[Commit, ...]) -> None:
    machine = Machine(speed={commits[0].hash: 1.06})

    def calm_down(request: Request) -> None:
        """The second time nothing is there: the first was a false alarm."""
        if request.output and request.output.name.endswith("-check.jsonl"):
            machine.speed.clear()

    machine.then = calm_down
    rows = replay(tmp_path, machine, check=True).rows(commits)
    assert [one.output.name.endswith("-check.jsonl") for one in machine.asked if one.output] == [
        False,
        True,
        False,
        False,
        False,
    ]
    assert rows[0].false_alarm is True
    assert [one.false_alarm for one in rows[1:]] == [None] * 3
    text = render_replay(rows, title="Replay", check=True)
    assert "checked: did not come back (unchanged)" in text
    assert (
        "false alarms: 1 of 1 pull request with a told change (told changes that did not come back: 1 of 1)" in text
    )
    assert "How this was determined: every commit of which a change was told was compared" in " ".join(text.split())
    assert replay_to_json(rows, title="", check=True)["false_alarms"]["false"] == 1


def test_a_true_change_comes_back(tmp_path: Path, commits: tuple[Commit, ...]) -> None:
    machine = Machine(speed={commits[0].hash: 1.06})
    rows = replay(tmp_path, machine, check=True).rows(commits)
    assert rows[0].false_alarm is False
    assert rows[0].check_seconds == 60.0
    assert "checked: came back" in render_replay(rows, title="", check=True)
    machine.asked.clear()
    assert replay(tmp_path, machine, check=True).rows(commits) == rows
    assert not machine.asked


def test_a_check_that_can_not_be_made_is_no_false_alarm(tmp_path: Path, commits: tuple[Commit, ...]) -> None:
    machine = Machine(speed={commits[0].hash: 1.06})

    def fail(request: Request) -> None:
        if request.output and request.output.name.endswith("-check.jsonl"):
            raise BuildFailed("the mirror is down")

    machine.then = fail
    rows = replay(tmp_path, machine, check=True).rows(commits[:1])
    assert rows[0].false_alarm is None
    text = render_replay(rows, title="", check=True)
    assert "check: could not be made: the mirror is down" in text
    assert "false alarms: not known, since no check could be made of 1 pull request" in text


def test_without_a_check_nothing_is_said_of_false_alarms(tmp_path: Path, commits: tuple[Commit, ...]) -> None:
    rows = replay(tmp_path, Machine(speed={commits[0].hash: 1.06})).rows(commits)
    assert "false alarms: not checked" in render_replay(rows, title="")
    found = replay_to_json(rows, title="")["false_alarms"]
    assert (found["checked"], found["false"]) == (None, None)


# ---------------- the report


def test_the_report_adds_up(tmp_path: Path, commits: tuple[Commit, ...]) -> None:
    broken: dict[str, BaseException] = {commits[3].hash: BuildFailed("no")}
    speed = {commits[0].hash: 1.06, commits[1].hash: 1.0}
    rows = replay(tmp_path, Machine(broken=broken, speed=speed)).rows(commits)
    text = render_replay(rows, title="Replay: 4 commits", notes=("no merges",))
    lines = text.splitlines()
    assert lines[:2] == ["Replay: 4 commits", "note: no merges"]
    assert [line.split()[0] for line in lines if line[:12].isalnum() and "commit" in line] == [
        one.hash[:12] for one in commits
    ]
    totals = {
        line[:30].strip(): int(line.split()[-1]) for line in lines if line.startswith("  a") and line[-1].isdigit()
    }
    assert totals == {"a regression": 1, "an improvement": 0}
    assert "minutes: 3.0 min in all, 1.0 min for a pull request (median)" in text
    found = replay_to_json(rows, title="t", notes=["n"])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert sum(found["told"].values()) == len(found["commits"]) == 4
    assert found["seconds"] == {"total": 180.0, "median": 60.0, "checks": 0}
    assert found["commits"][3]["seconds"] is None


def test_subjects_can_not_steer_a_terminal() -> None:
    from windtunnel.report.replay import Subject, broken_row

    row = broken_row(Subject("ab" * 20, "cd" * 20, "2026-01-01", "\x1b[31mred\x07" + "x" * 200), "\x1b[2Jno", Exit.OK)
    text = render_replay([row], title="")
    assert "\x1b" not in text
    assert "\x07" not in text
    assert max(map(len, text.splitlines())) < 120
