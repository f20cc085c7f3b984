"""`windtunnel action measure` with real containers: what a job leaves for each kind of end."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import payloads
import pytest
from checkouts import Checkout, Origin
from faulty import containers, mounted, until
from projects import SETTINGS, SLOW, pulled, tiny_project
from steps import Step, Told

from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.imagestore import FILE, our_images
from windtunnel.cli.action.events import Event
from windtunnel.cli.action.images import keep_images, restore_images
from windtunnel.cli.main import cli
from windtunnel.launch.setup import ensure_load_image
from windtunnel.publish.artifacts import parse_name
from windtunnel.sample.runfile import Run, read_run

pytestmark = [pytest.mark.engine, pytest.mark.slow]

NOSY = """
import os

print("::error::planted by the suite")
print("the token is", os.environ.get("GITHUB_TOKEN"))
"""
"""What a pull request may put into its benchmarks: they are imported by the command itself."""


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return tiny_project(tmp_path / "origin")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def step(checkout: Checkout, head: str, alone: Mapping[str, str]) -> Step:
    return Step(checkout, "pull_request", payloads.pull_request(head), {**alone, "GITHUB_WORKFLOW": "Measure"})


def left(told: Told, out: Path) -> Run:
    """The run file, where the outputs say it is."""
    assert told.outputs["run"] == str(out / "run.jsonl")
    return read_run(out / "run.jsonl")


def arms(run: Run) -> list[str]:
    return [arm.commit for arm in run.header.arms]


def test_a_slower_pull_request(origin: Origin, tmp_path: Path, out: Path, alone: Mapping[str, str]) -> None:
    files = {SETTINGS: SLOW, "benchmarks/__init__.py": NOSY}
    checkout, head = pulled(origin, tmp_path / "job", files, "::error::planted in a subject")
    told = step(checkout, head, alone).run(
        "measure", "--bench", r"\(2\)", "--budget", "90s", "--output", out, GITHUB_TOKEN="hidden-value"
    )
    told.expect(0)
    run = left(told, out)
    assert arms(run) == [origin.hash("main"), head]
    assert run.complete
    assert {key: told.outputs[key] for key in ("outcome", "regressions", "report")} == {
        "outcome": "regression",
        "regressions": "1",
        "report": str(out / "report.md"),
    }
    assert told.summary == (out / "report.md").read_text()
    assert "The only case got slower" in told.summary
    warned = told.commands("warning")
    assert [line.split("::")[1] for line in warned[1:]] == ["warning title=windtunnel%3A slower"]
    assert "GITHUB_TOKEN" in warned[0]
    assert "::error::planted by the suite" in told.log
    assert told.commands("error") == []
    assert "the token is None" in told.log
    assert "hidden-value" not in told.log + told.summary


def test_nothing_that_is_served_has_changed(
    origin: Origin, tmp_path: Path, out: Path, alone: Mapping[str, str]
) -> None:
    checkout, head = pulled(origin, tmp_path / "job", {"README": "Another word.\n"})
    told = step(checkout, head, alone).run("measure", "--output", out).expect(0)
    assert told.outputs["outcome"] == "ok"
    assert told.outputs["regressions"] == "0"
    (said,) = told.commands("notice")
    assert "identical in base and head" in said
    assert not left(told, out).launches


def test_head_does_not_start(origin: Origin, tmp_path: Path, out: Path, alone: Mapping[str, str]) -> None:
    checkout, head = pulled(origin, tmp_path / "job", {SETTINGS: "WORK = 1\nEXITS = True\n"})
    told = step(checkout, head, alone).run("measure", "--suite", "small", "--output", out).expect(0)
    assert told.outputs["outcome"] == "head_broken"
    assert told.outputs["artifact"] == "windtunnel-run--small--"
    assert told.commands("warning")[0].startswith("::warning title=windtunnel%3A failed::")
    assert "no configuration, giving up" in told.summary
    assert left(told, out).complete


def test_the_first_run_of_all(origin: Origin, tmp_path: Path, out: Path, alone: Mapping[str, str]) -> None:
    """A pull request that brings the suite."""
    checkout = origin.checkout(tmp_path / "job", "refs/heads/main")
    told = (
        Step(checkout, "push", payloads.push(origin.hash("main~1"), origin.hash("main")), alone)
        .run("measure", "--bench", r"\(4\)", "--output", out)
        .expect(0)
    )
    assert told.outputs["outcome"] == "ok"
    assert "First run: head only" in told.commands("notice")[0]
    assert {launch.arm for launch in left(told, out).launches} == {"head"}


def test_everything_is_skipped(origin: Origin, tmp_path: Path, out: Path, alone: Mapping[str, str]) -> None:
    """Neither side has the target, only the working tree has."""
    checkout = origin.checkout(tmp_path / "job", "refs/heads/main")
    first = origin.hash("main~1")
    told = (
        Step(checkout, "workflow_dispatch", payloads.dispatch(), alone)
        .run("measure", "--base", first, "--head", first, "--output", out)
        .expect(0)
    )
    assert told.outputs["outcome"] == "nothing_measured"
    assert "no case to measure" in told.commands("warning")[0]
    assert not (out / "run.jsonl").exists()


def test_a_disk_that_is_full_before_the_end(
    origin: Origin, tmp_path: Path, out: Path, alone: Mapping[str, str]
) -> None:
    """What was measured speaks for itself: the job is green, and says that it was cut short."""
    checkout, head = pulled(origin, tmp_path / "job", {SETTINGS: SLOW})
    with mounted(out, "size=24k"):
        told = step(checkout, head, alone).run("measure", "--output", out).expect(0)
        run = left(told, out)
    assert run.launches
    assert not run.complete
    assert told.outputs["outcome"] == "infrastructure"
    assert told.summary.startswith("**Cut short:** `cannot write ")
    assert "::cut short: cannot write" in "".join(told.commands("warning"))


@pytest.mark.parametrize(
    "numbers", [(signal.SIGINT, signal.SIGTERM), pytest.param((signal.SIGTERM,), marks=pytest.mark.nightly)]
)
def test_a_cancelled_job_leaves_what_it_measured_and_no_container(
    origin: Origin, tmp_path: Path, out: Path, alone: Mapping[str, str], numbers: tuple[signal.Signals, ...]
) -> None:
    slow = {SETTINGS: SLOW, "windtunnel.toml": "[launch]\nslices = 20\nsingle_slices = 2\nseconds = '50ms'\n"}
    checkout, head = pulled(origin, tmp_path / "job", slow)
    job = step(checkout, head, alone)
    with job.running("measure", "--output", out) as process:
        until(lambda: _launches(out) or process.poll() is not None, "a launch is recorded")
        for number in numbers:
            process.send_signal(number)
        process.wait(60)
        told = job.told(process).expect(130)
    until(lambda: not containers(process.pid), "its containers are gone", 5)
    run = left(told, out)
    assert run.launches
    assert not run.complete
    assert told.outputs["artifact"] == "windtunnel-run----"
    assert told.commands("error") == []


def test_only_the_default_branch_keeps_images_for_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = Event("push", payloads.push("a" * 40, "b" * 40), payloads.REPOSITORY, "b" * 40, "refs/heads/main")
    other = replace(main, ref="refs/heads/topic")
    pull = Event("pull_request", payloads.pull_request("b" * 40), payloads.REPOSITORY, "b" * 40, "refs/pull/7/merge")
    assert not any(keep_images(tmp_path / "kept", event) for event in (other, pull))
    assert not (tmp_path / "kept").exists()
    engine = DockerEngine()
    ensure_load_image(engine, lambda _: None)
    first = engine.image(our_images(engine)[0])
    assert first is not None
    assert keep_images(tmp_path / "kept", main, first.size * 5 // 4)
    assert (tmp_path / "kept" / FILE).is_file()
    assert not keep_images(tmp_path / "small", main, 1)
    assert "more do not fit" in capsys.readouterr().err
    restore_images(tmp_path / "kept")  # all of them are there already


def _launches(out: Path) -> int:
    path = out / "run.jsonl"
    return len(read_run(path).launches) if path.exists() and path.stat().st_size else 0


def test_a_matrix_of_jobs_becomes_one_comparison_again(
    origin: Origin, tmp_path: Path, alone: Mapping[str, str]
) -> None:
    checkout, head = pulled(origin, tmp_path / "job", {"README": "Another word.\n"})
    job = step(checkout, head, alone)
    planned = job.run("measure", "--plan", "2", "--output", tmp_path / "plan").expect(0)
    assert "\n" not in planned.outputs["matrix"]
    matrix = json.loads(planned.outputs["matrix"])
    assert json.loads((tmp_path / "plan" / "matrix.json").read_text()) == matrix
    assert planned.outputs["artifact"] == "windtunnel-matrix--"
    assert "2 cases in 2 shards" in planned.summary
    files = []
    for entry in matrix["include"]:
        out = tmp_path / f"part-{entry['number']}"
        told = job.run("measure", "--shard", json.dumps(entry, indent=2), "--output", out).expect(0)
        name = parse_name(told.outputs["artifact"])
        assert name is not None
        assert name.number == entry["number"]
        run = left(told, out)
        assert run.header.compare is not None
        assert run.header.compare.shard == entry["shard"]
        assert run.header.compare.budget == entry["budget"]
        assert [failure.case for failure in run.failures] == entry["cases"]
        files.append(str(out / "run.jsonl"))
    whole = tmp_path / "whole.jsonl"
    merge = ["merge", *files, "--matrix", str(tmp_path / "plan" / "matrix.json"), "--output", str(whole)]
    cli.main([*merge, "--require-all"], standalone_mode=False)
    assert {case.id for case in read_run(whole).header.cases} == {one["case"] for one in matrix["cases"]}
    with pytest.raises(Exception, match="shard 2/2 is missing"):
        cli.main([*merge[:2], *merge[3:-1], f"{whole}2", "--require-all"], standalone_mode=False)
