"""However a measurement ends, no container is left behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from suites import Suite, children, containers, make_suite, measuring, until

from containers import docker

pytestmark = [pytest.mark.engine, pytest.mark.slow]

LONG = ("--bench", r"Hello\.time_request")
ENDING = 30.0
SWEEPING = 15.0


def _run(past: Suite, *more: str) -> tuple[str, ...]:
    return ("run", "--dry-run", *more, *LONG, f"{past.commits['with it']}^!")


@pytest.fixture
def slow_to_start(tmp_path: Path) -> Suite:
    """A suite whose server answers only after a time that is short for windtunnel and long for this test."""
    suite = _own_suite(tmp_path)
    suite.commit("starts slowly", {"hello/app.py": suite.text("hello/app.py") + "\nimport time; time.sleep(18)\n"})
    return suite


def _own_suite(folder: Path) -> Suite:
    suite = make_suite(folder / "suite", folder / "home")
    suite.put({"benchmarks/http.py": suite.text("benchmarks/http.py").partition("class Plain")[0]})
    return suite


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_at_its_timeout_a_benchmark_is_killed_and_leaves_nothing(slow_to_start: Suite, method: str) -> None:
    # asv's forkserver gets the limit from the class: -a comes too late for it
    text = slow_to_start.text("benchmarks/http.py")
    slow_to_start.put({"benchmarks/http.py": text.replace('target = "hello"', 'target = "hello"\n    timeout = 6.0')})
    one = ("--bench", r"Hello\.time_request\('close'\)")
    with measuring(slow_to_start, "run", "--quick", f"--launch-method={method}", *one, "main^!") as (process, group):
        output, _ = process.communicate(timeout=ENDING)
        assert process.returncode == 2
        assert "timed out" in output
        assert containers(group) == []


@pytest.mark.nightly
def test_a_timeout_on_the_command_line_counts(slow_to_start: Suite) -> None:
    one = ("--bench", r"Hello\.time_request\('close'\)")
    output = slow_to_start.asv("run", "--quick", "-a", "timeout=6", *one, "main^!", code=2)
    assert "timed out" in output


@pytest.mark.parametrize("times", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_interrupted(past: Suite, times: int) -> None:
    with measuring(past, *_run(past)) as (process, group):
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        process.wait(ENDING)
        assert process.returncode != 0
        assert containers(group) == []


def test_interrupted_while_it_builds(tmp_path: Path) -> None:
    suite = _own_suite(tmp_path)
    mark = f"sleep 61 && echo {tmp_path.name}"
    suite.put({"targets/hello/Dockerfile": suite.text("targets/hello/Dockerfile") + f"RUN {mark}\n"})
    suite.commit("a build that takes its time")

    def building() -> str:
        return docker("ps", "--all", "--no-trunc", "--format", "{{.ID}} {{.Command}}").count(mark) * "building"

    process = suite.start("run", "--quick", *LONG, "main^!")
    try:
        until(building, 120, "the engine builds")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=ENDING)
    finally:
        process.kill()
    assert process.returncode == 1
    assert "Interrupted." in output
    assert "Traceback" not in output
    until(lambda: not building(), SWEEPING, "the engine has given the build up")


def test_terminated(past: Suite) -> None:
    with measuring(past, *_run(past)) as (process, group):
        process.terminate()
        process.wait(ENDING)
        until(lambda: not containers(group), SWEEPING, "the watchdog has removed the containers")


def test_killed(past: Suite) -> None:
    with measuring(past, *_run(past)) as (process, group):
        (benchmark,) = _benchmark_processes(past, group)
        process.kill()
        process.wait(ENDING)
        until(lambda: not containers(group), SWEEPING, "the watchdog has removed the containers")
        until(lambda: not _alive(benchmark), SWEEPING, "the benchmark process has ended as well")
        assert containers(group) == [], "and nothing has come after"
    past.asv("run", "--quick", "--dry-run", "--bench", "Plain.time_request", f"{past.commits['with it']}^!")
    assert containers(group) == []


def test_forkserver(past: Suite) -> None:
    commit = past.commits["with it"]
    output = past.asv(
        "run", "--quick", "--launch-method=forkserver", "--bench", r"Plain\.(time|track_cpu)", f"{commit}^!"
    )

    assert "failed" not in output
    assert len(past.run_files(commit)["http.Plain"].launches) == 1
    assert containers(past.call().name) == []


def test_forkserver_interrupted(past: Suite) -> None:
    with measuring(past, *_run(past, "--launch-method=forkserver")) as (process, group):
        process.send_signal(signal.SIGINT)
        process.wait(ENDING)
        assert containers(group) == []


def test_forkserver_killed(past: Suite) -> None:
    with measuring(past, *_run(past, "--launch-method=forkserver")) as (process, group):
        (benchmark,) = _benchmark_processes(past, group)
        (server,) = (child for child in children(process.pid) if benchmark in children(child))
        os.kill(server, signal.SIGKILL)
        process.wait(ENDING)
        assert containers(group) == []
        assert not _alive(benchmark)


def _benchmark_processes(past: Suite, group: str) -> list[int]:
    folder = past.root / ".windtunnel" / "asv" / group / "processes"
    return [int(path.name) for path in folder.iterdir()]


def _alive(pid: int) -> bool:
    """Whether it still does anything; an orphan may have nobody who takes note of its end."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
