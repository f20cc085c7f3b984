"""The example on the page of cache clients, used as its reader would: measured, compared, under asv, interrupted."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from containers import docker
from windtunnel.sample.runfile import read_run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "site" / "cache.md"
WORKER = "targets/client/worker.py"
LOOKED = '        found = client.get("key")\n'
SETTINGS = '[launch]\nwarmup = 1\nslices = 3\nsingle_slices = 1\nseconds = "30ms"\n'


def files() -> Mapping[str, str]:
    """The files of the example by path, as the page has them."""
    fence = r'^```[^\n]*title="((?:targets/(?:memcached|client)|benchmarks)/[^"]+)"\n(.*?)^```$'
    return dict(re.findall(fence, PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))


@dataclass(frozen=True)
class Example:
    """A repository of the example. Figures are not looked at closely here: its lock of the machine is its own."""

    path: Path
    scratch: Path

    @property
    def environment(self) -> dict[str, str]:
        who = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"}
        who |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}
        own = {"HOME": str(self.scratch), "TMPDIR": str(self.scratch), "TERM": "dumb", "COLUMNS": "200"}
        return {**os.environ, **who, **own}

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.path, env=self.environment, check=True, capture_output=True)

    def commit(self, subject: str, texts: Mapping[str, str]) -> None:
        for name, text in texts.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", subject)

    def start(self, module: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=self.path,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, module: str, *arguments: str) -> tuple[int, str]:
        """Exit code and all that was printed."""
        process = self.start(module, *arguments)
        try:
            output, _ = process.communicate(timeout=500)
        finally:
            process.kill()
        return process.returncode, output


@pytest.fixture
def example(tmp_path: Path) -> Example:
    made = Example(tmp_path / "example", tmp_path / "home")
    made.path.mkdir()
    made.scratch.mkdir()
    made.git("init", "--quiet", "--initial-branch=main")
    shutil.copy(ROOT / "asv.conf.json", made.path)
    ignored = ".windtunnel/\n.asv/\n__pycache__/\n"
    suite = {"benchmarks/__init__.py": "", "windtunnel.toml": SETTINGS, ".gitignore": ignored}
    made.commit("the example", {**files(), **suite})
    return made


def test_the_page_has_all_its_files() -> None:
    assert set(files()) == {
        "targets/memcached/Dockerfile",
        "targets/memcached/target.toml",
        "targets/client/Dockerfile",
        "targets/client/target.toml",
        WORKER,
        "benchmarks/cache.py",
    }


@pytest.mark.engine
@pytest.mark.slow
def test_it_is_measured(example: Example) -> None:
    code, output = example.run("windtunnel", "run", "--quick")

    assert code == 0, output
    (path,) = example.path.glob(".windtunnel/runs/*.jsonl")
    run = read_run(path)
    assert {launch.case: launch.outcome for launch in run.launches} == dict.fromkeys(
        ("cache.Client(get)", "cache.Client(set)"), "ok"
    )
    assert all(re.match(r"pymemcache \d", launch.program) for launch in run.launches)
    assert "get scalar, one call at a time" in output
    assert re.search(r"Calls per second +[1-9]", output)


@pytest.mark.engine
@pytest.mark.slow
def test_a_slower_client_is_a_regression(example: Example) -> None:
    """The same figures of base and head, but for what was planted: a loop in every call."""
    worker = files()[WORKER]
    assert worker.count(LOOKED) == 1
    example.commit("slower", {WORKER: worker.replace(LOOKED, f"{LOOKED}        sum(range(2_000))\n")})

    code, output = example.run("windtunnel", "compare", "HEAD~1", "HEAD", "--bench", "get", "--budget", "120")

    assert code == 10, output
    assert re.search(r"CPU per request .*\+.* more CPU +regression", output), output
    assert "get scalar, one call at a time" in output


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
def test_asv_has_all_its_figures(example: Example) -> None:
    code, output = example.run("asv", "run", "--quick", "--show-stderr", "--bench", "Client", "HEAD^!")

    assert code == 0, output
    (path,) = example.path.glob(".asv/results/*/*-container.json")
    kept: dict[str, Any] = json.loads(path.read_text())
    values = {
        name.removeprefix("cache.Client."): dict(zip(kept["result_columns"], row, strict=False))["result"]
        for name, row in kept["results"].items()
    }
    assert set(values) == {"time_request", "track_cpu_per_request", "track_response_time", "track_peak_memory"}
    for name, figures in values.items():
        assert len(figures) == 2, (name, figures)
        assert all(isinstance(one, float) and one > 0 for one in figures), (name, figures)


def _containers(pid: int) -> list[str]:
    """Those of the command with that process number."""
    form = '{{.ID}} {{.Label "windtunnel.owner"}} {{.Label "windtunnel.role"}}'
    lines = docker("ps", "--all", "--filter", "label=windtunnel", "--format", form).splitlines()
    return [line for line in lines if f"/{pid}/" in line]


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
def test_ctrl_c_ends_it_and_nothing_is_left(example: Example) -> None:
    process = example.start("windtunnel", "run", "--launches", "40", "get")
    try:
        deadline = time.monotonic() + 200
        while not any("part client" in line for line in _containers(process.pid)):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline, "no client came up"
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert not _containers(process.pid)
