"""Servers that fail in every way: each gets the outcome, the words and the log that it deserves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from faulty import Done, Suite, new_suite

from windtunnel.model import Launch
from windtunnel.sample.runfile import Run, read_run

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@dataclass(frozen=True)
class Measured:
    """One command over all faults."""

    done: Done
    run: Run

    def launch(self, case: str) -> Launch:
        (found,) = [one for one in self.run.launches if one.case == case]
        return found


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, environment: Mapping[str, str]) -> Measured:
    """Every kind of server, one launch each."""
    folder = tmp_path_factory.mktemp("all")
    suite = new_suite(folder / "suite", folder, environment)
    done = suite.run("run", "^faults.(Server|Length)", "--launches", "1", "--batch", "6")
    return Measured(done, read_run(suite.run_file))


MEMORY = r"killed for memory, of which it has 64.*limits.*target.toml"
FAULTS = {
    # name: (outcome, what the reason says, what the log says)
    "Server(tenth)": ("invalid", r"status \d+ x 500 instead of 200", "mode tenth"),
    "Server(grows)": ("invalid", r"\d+ bytes more than", "mode grows"),
    "Server(dies)": ("invalid", r"faulty ended under load \(exit code 3\): .* requests were answered", "as told"),
    "Server(stalls)": ("invalid", r"requests were answered.*deadline", "mode stalls"),
    "Server(eats)": ("invalid", rf"ended under load \({MEMORY}\)", "eating all memory"),
    "Server(fork-eats)": ("invalid", rf"lost a process under load \({MEMORY}\)", "eating all memory"),
    "Server(dribbles)": ("invalid", "GET /load failed: .*no whole answer within 5 s", "mode dribbles"),
    "Server(endless)": ("invalid", "GET /load failed: .*no whole answer within 5 s", "mode endless"),
    "Length": ("invalid", "GET / gave a body of 128 bytes instead of 77", "xxxx"),
    "Server(deaf)": ("failed", r"did not answer 200 to GET / on port 8080 within 5 s .*nothing listens", "mode deaf"),
    "Server(mute)": ("failed", r"within 5 s \(last: .*no whole answer", "mode mute"),
    "Server(sulks)": ("failed", r"within 5 s \(last: .*no whole answer.*; before that: 503\)", "mode sulks"),
    "Server(exits)": ("failed", r"faulty ended \(exit code 9\)", "no configuration, giving up"),
    "Server(nothing)": ("failed", r"exit code 127: its command was not found", "/no/such/program"),
    "Server(eats-at-start)": ("failed", rf"ended \({MEMORY}\)", "eating all memory"),
}
GOOD = ["Server(ok)", "Server(lazy)", "Server(slow-start)", "Server(helper-eats)"]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_as_what_it_is(measured: Measured, name: str) -> None:
    outcome, reason, log = FAULTS[name]
    launch = measured.launch(f"faults.{name}")
    assert launch.outcome == outcome, launch
    Done(0, launch.reason, "", 0).expect(0, reason)
    assert log in launch.detail
    assert launch.reason in measured.done.err
    assert launch.reason in measured.done.out


@pytest.mark.parametrize("name", GOOD)
def test_what_serves_is_measured_whatever_fails_beside_it(measured: Measured, name: str) -> None:
    launch = measured.launch(f"faults.{name}")
    assert launch.outcome == "ok", launch.reason
    assert [one.role for one in launch.slices].count("load") == 2


def test_every_case_has_its_launch_and_the_worst_one_the_code(measured: Measured) -> None:
    measured.done.expect(7)
    assert {one.case for one in measured.run.launches} == {f"faults.{name}" for name in [*FAULTS, *GOOD]}
    assert measured.run.complete
    assert measured.run.end["exit"] == 7


def test_a_first_answer_may_take_longer_than_the_steps_of_waiting_for_it(measured: Measured) -> None:
    ready = measured.launch("faults.Server(lazy)").time_to_ready
    assert isinstance(ready, float)
    assert ready > 1.3


def test_memory_that_ran_out_beside_good_answers_is_not_concealed(measured: Measured) -> None:
    (warning,) = [text for text in measured.launch("faults.Server(helper-eats)").warnings if "memory" in text]
    Done(0, warning, "", 0).expect(0, rf"faulty lost a process \({MEMORY}\)")
    assert warning in measured.done.out


@pytest.mark.parametrize(
    ("pattern", "code", "word"),
    [
        ("Server.ok", 0, "Requests per second"),
        ("Server.(ok|dies)", 4, r"ended under load \(exit code 3\)"),
        ("Server.(tenth|exits)", 7, "no configuration, giving up"),
    ],
)
def test_the_exit_code_is_the_worst_outcome(suite: Suite, pattern: str, code: int, word: str) -> None:
    suite.run("run", pattern, "--quick").expect(code, word)
    assert suite.launches() == pattern.count("|") + 1


def test_a_case_that_proved_nothing_twice_is_left(suite: Suite) -> None:
    suite.run("run", "Server.(ok|grows)", "--launches", "4", "--batch", "1").expect(4, "no more launches")
    run = suite.recorded()
    assert run is not None
    cases = [one.case for one in run.launches]
    assert (cases.count("faults.Server(grows)"), cases.count("faults.Server(ok)")) == (2, 4)


def test_an_older_commit_without_the_variant_is_skipped(suite: Suite) -> None:
    done = suite.run("run", "Server.(ok|slow-start)", "--quick", "--commit", "HEAD~1")
    done.expect(0, r"Server\(slow-start\) +skipped", "Requests per second")
    assert suite.launches() == 1


def test_where_nothing_is_left_nothing_was_measured(suite: Suite) -> None:
    suite.run("run", "Server.slow-start", "--quick", "--commit", "HEAD~1").expect(
        5, "no case to measure", "slow-start"
    )
    assert not suite.run_files


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("Sevrer",), r'no case matches "Sevrer"; near it: .*Server'),
        (("Server.ok", "--commit", "no-such-branch"), "'no-such-branch' does not name a commit"),
        (("Server(",), "not a regular expression"),
        (("--launches", "0"), "launches"),
        (("Server.ok", "--output", "windtunnel.toml"), "never overwritten"),
    ],
)
def test_what_can_not_be_meant_is_a_usage_error(suite: Suite, arguments: tuple[str, ...], word: str) -> None:
    suite.run("run", *arguments).expect(2, word)
    assert not suite.run_files


def test_outside_a_suite(suite: Suite, tmp_path: Path) -> None:
    outside = Suite(tmp_path, tmp_path, suite.environment)
    outside.run("run").expect(2, "no asv.conf.json in .* or above it", "windtunnel init")
