"""`windtunnel run --sweep` and `--rate`, with real containers: what is asked, what is seen, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from windtunnel.load.histogram import bounds, merge
from windtunnel.load.openloop import BEHIND
from windtunnel.model import Launch, Slice
from windtunnel.sample.runfile import Run, read_run
from windtunnel.sample.summary import launch_metrics
from windtunnel.units import Missing

pytestmark = pytest.mark.engine
SUITE = Path(__file__).parent / "sweepsuite"


@dataclass(frozen=True)
class _Done:
    code: int
    out: str
    err: str
    file: Path

    @property
    def run(self) -> Run:
        assert self.file.exists(), self.err
        return read_run(self.file)


Command = Callable[..., _Done]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """`windtunnel run` in the suite; with a lock of its own, since no figure is looked at closely."""
    folder = tmp_path_factory.mktemp("sweep")
    shutil.copytree(SUITE, folder / "suite", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "init", "--quiet"], cwd=folder / "suite", check=True)
    environment = {**os.environ, "TMPDIR": str(folder), "TERM": "dumb", "COLUMNS": "90"}
    numbers = iter(range(1 << 30))

    def run(*words: str) -> _Done:
        file = folder / f"run-{next(numbers)}.jsonl"
        done = subprocess.run(
            [sys.executable, "-m", "windtunnel", "run", "--output", str(file), *words],
            cwd=folder / "suite",
            env=environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return _Done(done.returncode, done.stdout, done.stderr, file)

    return run


def _shown(file: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "windtunnel", "show", "--json", str(file)], capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def _slow_share(run: Run, seconds: float) -> float:
    """The share of the requests under load that took longer than that."""
    latency = merge(*(one.latency for one in _loads(run.launches)))
    return sum(count for bucket, count in latency.items() if bounds(bucket)[0] > seconds) / sum(latency.values())


def _loads(launches: Sequence[Launch]) -> list[Slice]:
    return [one for launch in launches for one in launch.slices if one.role == "load"]


def test_a_case_at_each_concurrency_in_one_run(command: Command) -> None:
    done = command("Page.steady", "--sweep", "concurrency=4,1,2", "--quick")
    assert done.code == 0, done.err
    run = done.run
    assert [case.id for case in run.header.cases] == [f"stalling.Page(steady, {n})" for n in (4, 1, 2)]
    seen = {launch.case: {one.concurrency for one in _loads([launch])} for launch in run.launches}
    assert seen == {f"stalling.Page(steady, {n})": {n} for n in (1, 2, 4)}
    assert all(launch.outcome == "ok" for launch in run.launches)
    assert any(one.requests != 40 for one in _loads(run.launches))  # sized for each, not what the class fixed
    (sweep,) = _shown(done.file)["sweeps"]
    assert [point["value"] for point in sweep["points"]] == [1, 2, 4]
    assert all(point["throughput"]["median"] > 0 for point in sweep["points"])
    assert (sweep["by"], sweep["knee"]) == ("concurrency", None)  # one launch tells no knee

    lines = done.out.splitlines()
    assert lines[0] == "stalling.Page(steady)   over concurrency"
    assert [line.split()[0] for line in lines[2:5]] == ["1", "2", "4"]
    assert sum("|" in line for line in lines) == 4
    assert "not told from fewer" in done.out
    assert "concurrency 4: 4 kept-alive connections on 3 workers" in done.out
    assert "\x1b" not in done.out
    assert max(map(len, (line for line in lines if "|" in line))) <= 90


def test_a_closed_loop_does_not_see_a_stall_that_an_open_loop_does(command: Command) -> None:
    closed = command("Page.stalls", "--launches", "1").run
    open_ = command("Page.stalls", "--rate", "500", "--launches", "1").run
    assert {one.rate for one in _loads(closed.launches)} == {None}
    assert {one.rate for one in _loads(open_.launches)} == {500}
    # Two requests wait for each stall of 200 ms, and there is one in 250 requests: less than one in a hundred does.
    # Really a hundred are due while it lasts, and half of them wait for more than 100 ms. The bounds leave room for
    # what a busy machine adds to both.
    seen, real = _slow_share(closed, 0.1), _slow_share(open_, 0.1)
    assert 0 < seen < 0.04
    assert real > 0.1
    assert real > 4 * seen
    (launch,) = open_.launches
    figures = launch_metrics(launch)
    assert isinstance(figures["time_per_request"], Missing)
    assert "open loop" in figures["time_per_request"].reason
    assert not isinstance(figures["response_time"], Missing)
    assert not isinstance(figures["latency_p99"], Missing)


def test_a_server_that_does_not_keep_up_is_no_failure_and_its_waits_are_honest(command: Command) -> None:
    done = command("Page.slow", "--rate", "2000", "--launches", "1")
    assert done.code == 0, done.err
    (launch,) = done.run.launches
    assert (launch.case, launch.outcome) == ("stalling.Page(slow, 2000)", "ok")
    assert all(BEHIND in one.warnings for one in launch.slices if one.rate)
    figures = launch_metrics(launch)
    assert not isinstance(figures["latency_p50"], Missing)
    assert not isinstance(figures["throughput"], Missing)
    # In the middle of a second's work one has waited for half of it, less what it took the requests to arrive.
    assert figures["latency_p50"] > 0.2
    assert figures["throughput"] < 1000  # no more than one at a time, of 2 ms
    assert "note: the server did not keep up with the rate" in done.out


@pytest.mark.nightly
def test_a_sweep_of_rates_tells_up_to_which_one_it_keeps_up(command: Command) -> None:
    """With so few requests that even a machine with much else to do keeps up: that takes its time."""
    done = command("Page.slow", "--sweep", "rate=10,2000", "--launches", "1")
    assert done.code == 0, done.err
    assert "keeps up with 10.00/s, and no longer with 2,000/s" in done.out
    (sweep,) = _shown(done.file)["sweeps"]
    assert (sweep["by"], [point["value"] for point in sweep["points"]]) == ("rate", [10, 2000])


def test_a_class_may_ask_for_a_rate_itself(command: Command) -> None:
    done = command("Arrivals", "--quick")
    assert done.code == 0, done.err
    assert [case.id for case in done.run.header.cases] == ["stalling.Arrivals"]
    assert {one.rate for one in _loads(done.run.launches)} == {200}
    assert all(one.requests >= 200 for one in _loads(done.run.launches))  # a second's at least
    assert "200.0/s over up to 4 connections, keepalive, open loop" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("Peak", "--rate", "100"), "rate: wrk can't hold one; leave generator out"),
        (("Peak", "--sweep", "rate=1,2"), "rate: wrk can't hold one"),
        (("Page", "--sweep", "rate=1,2", "--rate", "3"), "leave one of them out"),
        (("Page", "--sweep", "workers=1,2"), "can't be swept; write concurrency=1,2,5 or rate=1,2,5"),
        (("Page", "--sweep", "concurrency=1,1.5"), '"1.5" is no concurrency'),
        (("Page", "--sweep", "concurrency=0,1"), '"0" is no concurrency'),
        (("Page", "--sweep", "concurrency=8"), "two values at least"),
        (("Page", "--rate", "0"), "--rate"),
    ],
)
def test_what_can_not_be_is_refused_before_anything_starts(
    command: Command, words: tuple[str, ...], said: str
) -> None:
    done = command(*words)
    assert done.code == 2
    assert said in " ".join(done.err.split())
    assert not done.file.exists()
