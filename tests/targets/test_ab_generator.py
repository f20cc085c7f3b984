"""A workload with ab as its load generator, measured for real: HTTP/1.0 on the wire, and a report that says so."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from ownsuite import copied, spoilt

from commands import run
from windtunnel.model import Slice
from windtunnel.sample.runfile import Run, read_run

pytestmark = pytest.mark.engine

BENCHMARK = '''
from windtunnel import Expect, HTTPBenchmark, Workload


class Post(HTTPBenchmark):
    """As the post had it: ab -c 40, without and with -k."""

    target = "starlet"
    params = (["close", "keepalive"],)
    param_names = ("connection",)

    def workload(self, connection):
        return Workload(
            axes={"perl": "5.40"}, keepalive=connection == "keepalive", concurrency=40, requests=400,
            generator="ab", expect=Expect(status=200, length=128),
        )
'''

PLAIN = "['Content-Type' => 'text/html']"
TELLING = "['Content-Type' => 'text/html', 'X-Old' => 'y' x ($_[0]{SERVER_PROTOCOL} eq 'HTTP/1.0' ? 1000 : 1)]"
"""An answer to HTTP/1.0 is a thousand bytes longer: what is on the wire shows which it was."""


@dataclass(frozen=True)
class Seen:
    """What `windtunnel versus` printed, its run file, where that is, and the suite that was measured."""

    text: str
    run: Run
    path: Path
    folder: Path

    def load(self, connection: str) -> Slice:
        """The load slice of a case."""
        (launch,) = [one for one in self.run.launches if one.case == f"old.Post({connection})"]
        (found,) = [one for one in launch.slices if one.role == "load"]
        return found


def _windtunnel(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in the suite; its lock of the machine is its own, since no figure is looked at."""
    return subprocess.run(
        [sys.executable, "-m", "windtunnel", *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder.parent), "TERM": "dumb"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    scratch = tmp_path_factory.mktemp("ab")
    folder = spoilt(copied(scratch / "suite", "starlet"), "targets/starlet/app.psgi", PLAIN, TELLING)
    shutil.rmtree(folder / "benchmarks")
    (folder / "benchmarks").mkdir()
    (folder / "benchmarks" / "__init__.py").touch()
    (folder / "benchmarks" / "old.py").write_text(BENCHMARK)
    path = scratch / "run.jsonl"
    done = _windtunnel(folder, "versus", "Post", "--by", "connection", "--quick", "--output", str(path))
    assert done.returncode == 0, done.stderr
    return Seen(done.stdout, read_run(path), path, folder)


def test_versus_measures_and_prints_the_matrix_without_intervals_it_can_not_have(seen: Seen) -> None:
    assert seen.text.startswith("old.Post by connection   time per request as a rate, 1 launch each\n")
    assert re.search(r"^  connection close -> keepalive: [+-][\d,.]+ %$", seen.text, re.MULTILINE), seen.text
    assert "without intervals" in seen.text
    assert seen.run.header.turns == (("old.Post(close)", "old.Post(keepalive)"),)


def test_the_target_was_asked_in_http_1_0(seen: Seen) -> None:
    for connection in ("close", "keepalive"):
        load = seen.load(connection)
        assert load.body_bytes == 400 * 128
        assert isinstance(load.total_bytes, int)
        assert load.total_bytes > 400 * (128 + 1000)


def test_the_report_is_what_ab_saw(seen: Seen) -> None:
    done = run(sys.executable, "-m", "windtunnel", "show", seen.path, "--format", "ab")
    assert done.returncode == 0, done.stderr
    reports = dict(
        re.findall(
            r"^Benchmarking old\.Post\((\w+)\): GET over HTTP/1\.0 by ab (.*?)(?:\n\n\n|\Z)", done.stdout, re.M | re.S
        )
    )
    assert set(reports) == {"close", "keepalive"}
    for connection, text in reports.items():
        load = seen.load(connection)
        assert f"Total transferred:      {load.total_bytes} bytes" in text
        assert "Complete requests:      400\nFailed requests:        0\n" in text
        assert f"  99%{load.percentiles[99.0] * 1000:>11.3f}" in text
        assert "(ab's own)" in text
    assert "Keep-Alive requests:    400" in reports["keepalive"]
    assert "Keep-Alive requests" not in reports["close"]


def test_a_run_prints_it_at_once(seen: Seen) -> None:
    done = _windtunnel(seen.folder, "run", "keepalive", "--quick", "--format", "ab")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Benchmarking old.Post(keepalive): GET over HTTP/1.0 by ab")
    assert "Complete requests:      400\n" in done.stdout


def test_json_and_ab_are_not_had_at_once(seen: Seen) -> None:
    done = run(sys.executable, "-m", "windtunnel", "show", seen.path, "--format", "ab", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--format ab and --json ask for two reports" in done.stderr
    assert json.loads(run(sys.executable, "-m", "windtunnel", "show", seen.path, "--format", "json").stdout)["cases"]
