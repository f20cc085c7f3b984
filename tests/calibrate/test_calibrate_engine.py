"""`windtunnel calibrate` on a real engine: what it measures, keeps, tells and forgets."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from calibrate_suite import Suite

from commands import wait_until
from engines import docker
from windtunnel.adapters.owner import owner_token
from windtunnel.adapters.project import open_project
from windtunnel.compare.effects import pairs_of
from windtunnel.compare.verdict import compare
from windtunnel.declare.cases import discover
from windtunnel.model import Launch, LaunchPlan
from windtunnel.sample.calibration import calibrated_plan, calibration_file, read_calibration
from windtunnel.sample.measure import Job, Measurement
from windtunnel.sample.runfile import read_run

pytestmark = pytest.mark.engine

CASE = "faults.Server(ok)"


@pytest.mark.slow
def test_a_case_is_measured_against_itself_and_its_plan_kept(suite: Suite) -> None:
    done = suite.windtunnel("calibrate", r"Server\(ok", "--pairs", "4")
    assert done.returncode == 0, done.stderr
    assert f"{CASE}   the same image in both arms, 4 pairs" in done.stdout
    (path,) = suite.runs
    run = read_run(path)
    assert run.complete
    assert len(pairs_of(run.launches, CASE)) == 4
    assert len({launch.image for launch in run.launches}) == 1
    assert {arm.name: arm.commit for arm in run.header.arms} == {"base": "worktree", "head": "worktree"}
    # two slices a launch are what the project has, and too few to tell one luck from the other
    assert all([one.role for one in launch.slices].count("load") == 4 for launch in run.launches)
    assert len(compare(run).cases) == 1
    assert run.header.host is not None
    (machine,) = read_calibration(calibration_file(suite.path))
    kept = machine.cases[CASE]
    assert kept.pairs == 4
    assert kept.costs.launch > 0
    plan = calibrated_plan(suite.path, run.header.host, CASE, LaunchPlan(seconds=0.5))
    assert (plan.slices, plan.single_slices, plan.seconds) == (kept.slices, kept.single_slices, 0.02)
    _cleared(suite)


def _cleared(suite: Suite) -> None:
    done = suite.windtunnel("calibrate", "--clear")
    assert done.returncode == 0, done.stderr
    assert "forgot 1 case that had been calibrated on" in done.stderr
    assert read_calibration(calibration_file(suite.path)) == ()
    assert len(suite.runs) == 1


@pytest.mark.slow
def test_lengths_are_measured_in_turn_each_into_its_own_file(suite: Suite) -> None:
    output = suite.path / "out.jsonl"
    done = suite.windtunnel(
        "calibrate", r"Server\(ok", "--pairs", "4", "--lengths", "10ms,30ms", "--json", "--output", str(output)
    )
    assert done.returncode == 0, done.stderr
    (case,) = json.loads(done.stdout)["cases"]
    assert [one["seconds"] for one in case["lengths"]] == [0.01, 0.03]
    assert case["present"] == {"missing": "slices of its length were not measured"}  # that is 20 ms
    runs = {name: read_run(suite.path / f"out-{name}.jsonl") for name in ("10ms", "30ms")}
    assert [run.header.plan.seconds for run in runs.values()] == [0.01, 0.03]
    assert not output.exists()
    starts = sorted((launch.started, name) for name, run in runs.items() for launch in run.launches)
    order = [name for _, name in starts]
    assert order == ["10ms"] * 4 + ["30ms"] * 8 + ["10ms"] * 4
    kept = read_calibration(calibration_file(suite.path))[0].cases[CASE]
    assert kept.seconds == case["recommended"]["seconds"]


@pytest.mark.slow
def test_a_case_that_fails_is_told_and_does_not_take_the_others_along(suite: Suite) -> None:
    done = suite.windtunnel("calibrate", r"Server\((ok|exits)", "--pairs", "4")
    assert done.returncode == 7, done.stdout + done.stderr
    assert "faults.Server(exits)   not calibrated: faulty ended (exit code 9)" in done.stdout
    assert "faults.Server(exits): no more launches" in done.stderr
    assert [*read_calibration(calibration_file(suite.path))[0].cases] == [CASE]
    run = read_run(suite.runs[0])
    assert sum(launch.case == "faults.Server(exits)" for launch in run.launches) <= 4


def test_where_nothing_can_be_built_nothing_is_kept(suite: Suite) -> None:
    done = suite.windtunnel("calibrate", "Broken", "--pairs", "4")
    assert done.returncode == 7, done.stderr
    assert "faults.Broken   not calibrated: " in done.stdout
    assert not calibration_file(suite.path).exists()
    assert read_run(suite.runs[0]).complete


def test_without_a_choice_it_is_one_case_of_each_target(suite: Suite) -> None:
    """Of targets that can't be built, so that nothing has to be measured to see which they are."""
    for name in ("faulty", "slowbuild"):
        (suite.path / "targets" / name / "Dockerfile").write_text("FROM debian:trixie-slim\nRUN exit 3\n")
    done = suite.windtunnel("calibrate")
    assert done.returncode == 7, done.stderr
    assert sorted(failure.case for failure in read_run(suite.runs[0]).failures) == [
        "faults.Broken",
        "faults.Server(ok)",
        "faults.SlowBuild",
    ]


def test_a_calibration_that_can_not_be_read_is_told_before_anything_is_measured(suite: Suite) -> None:
    path = calibration_file(suite.path)
    path.parent.mkdir()
    path.write_text("{")
    done = suite.windtunnel("calibrate", r"Server\(ok")
    assert done.returncode == 2
    assert f"{path}: is not JSON" in done.stderr
    assert "delete it and run `windtunnel calibrate` again" in done.stderr
    assert suite.runs == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--lengths", "40ms,soon"], "--lengths 40ms,80ms"),
        (["--pairs", "3"], "--pairs"),
        (["--seconds", "0"], "--seconds"),
        (["--clear", "Server"], "--clear forgets all cases of this machine"),
    ],
)
def test_options_that_make_no_sense_are_told(suite: Suite, arguments: list[str], words: str) -> None:
    done = suite.windtunnel("calibrate", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert suite.runs == []


@pytest.mark.slow
def test_a_case_is_loaded_by_its_own_plan(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `compare` hands on of a calibration."""
    monkeypatch.setenv("TMPDIR", str(suite.lock))
    project = open_project(suite.path, tell=print)
    cases, _ = project.select(discover(project.suite, [r"Server\((ok|lazy)"]))
    jobs = [Job(case, "head", project.resolve(case)) for case in cases]
    launches: list[Launch] = []
    group = f"calibrate-{time.time_ns()}"
    with project.measuring(group, owner_token(), None, print) as context:
        plan = replace(project.suite.settings.launch, slices=2, single_slices=1)
        own = {CASE: replace(plan, slices=5, single_slices=0, seconds=0.06)}
        work = Measurement(context, plan, launches.append, _Quiet(), "seed", plans=own)
        work.batch([(job, 1) for job in jobs])
    roles = {launch.case: [one.role for one in launch.slices if one.role != "warmup"] for launch in launches}
    assert roles[CASE] == ["load"] * 5
    assert sorted(roles["faults.Server(lazy)"]) == ["load", "load", "single"]
    assert work.sizes[CASE].load_seconds > 0.05  # the other plan asks for 0.02


class _Quiet:
    """Nobody watches."""

    def starting(self, jobs: object) -> None: ...

    def loading(self, jobs: object, number: int) -> None: ...

    def done(self, launch: object) -> None: ...


def test_a_run_file_is_never_overwritten(suite: Suite, tmp_path: Path) -> None:
    output = tmp_path / "there.jsonl"
    output.write_text("mine")
    done = suite.windtunnel("calibrate", r"Server\(ok", "--output", str(output))
    assert done.returncode == 2
    assert f"{output}: exists already" in done.stderr
    assert output.read_text() == "mine"


@pytest.mark.slow
def test_interrupted_it_tells_what_there_is_and_keeps_nothing(suite: Suite) -> None:
    with suite.started("calibrate", r"Server\(ok") as process:
        wait_until(lambda: suite.runs and suite.runs[0].stat().st_size and read_run(suite.runs[0]).launches, 120)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    (path,) = suite.runs
    assert f"what was measured so far is in {path}; nothing was calibrated" in said
    assert not calibration_file(suite.path).exists()
    assert not read_run(path).complete
    labels = docker(None, "ps", "--all", "--filter", "label=windtunnel", "--format", '{{.Label "windtunnel.owner"}}')
    assert f"/{process.pid}/" not in labels.stdout
