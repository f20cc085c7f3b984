"""However a measurement ends, no container is left behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from suites import Suite, children, containers, measuring, until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

LONG = ("--bench", r"Hello\.time_request")
ENDING = 30.0
SWEEPING = 15.0


def _run(past: Suite, *more: str) -> tuple[str, ...]:
    return ("run", "--dry-run", *more, *LONG, f"{past.commits['with it']}^!")


def test_at_its_timeout_a_benchmark_is_killed_and_leaves_nothing(past: Suite) -> None:
    # The build is there already or is made before the clock starts; a launch prints nothing for longer than this.
    output = past.asv("run", "--quick", "--dry-run", "-a", "timeout=0.7", *LONG, "main~1^!", code=2)

    assert "timed out" in output
    assert containers(past.call().name) == []


@pytest.mark.parametrize("times", [1, 2])
def test_interrupted(past: Suite, times: int) -> None:
    with measuring(past, *_run(past)) as (process, group):
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        process.wait(ENDING)
        assert process.returncode != 0
        assert containers(group) == []


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
