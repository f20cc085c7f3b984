"""Scratch suites: a git repository with a past, a home of its own, and the real asv to measure it with."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from containers import docker
from windtunnel.cli.init import initialise
from windtunnel.sample.runfile import Run, read_run

BENCHMARKS = '''
"""Two targets: one that every commit has, and one that came later."""

from windtunnel import Expect, HTTPBenchmark, Workload


class Hello(HTTPBenchmark):
    """The page behind waitress."""

    target = "hello"
    params = (["close", "keepalive"],)
    param_names = ("connection",)

    def workload(self, connection):
        return Workload(keepalive=connection == "keepalive", concurrency=4, requests=80, expect=Expect(status=200))


class Plain(HTTPBenchmark):
    """A target whose folder is the subject itself: a commit that does not have it has nothing to measure."""

    target = "plain"
    rounds = 1

    def workload(self):
        return Workload(keepalive=False, concurrency=2, requests=40, expect=Expect(status=200, length=5))
'''

SETTINGS = """
[launch]
warmup = 1
slices = 4
single_slices = 1
"""

PLAIN = {
    "targets/plain/target.toml": 'kind = "server"\nport = 8080\ncontext = "."\nharness = "commit"\n',
    # The same first instructions as in the sample project: the packages are installed once for both.
    "targets/plain/Dockerfile": "",
    "targets/plain/app.py": (
        "def application(environ, start_response):\n"
        '    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "5")])\n'
        '    return [b"plain"]\n'
    ),
}

FAST = "    body = page()\n"
SLOW = "    for _ in range(4):\n        body = page()\n"
DAY = 24 * 3600
CASES = {"Hello": ("close", "keepalive"), "Plain": ("",)}


def packages(dockerfile: str) -> str:
    """The instructions of the sample project's Dockerfile up to the first that depends on the commit."""
    return dockerfile[: dockerfile.index("COPY")]


def _short_folder() -> Path:
    """A folder for temporary files: asv's forkserver makes a socket in it, whose path may have 107 characters."""
    folder = Path(tempfile.mkdtemp(prefix="wt-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@dataclass
class Suite:
    """A repository with a suite in it. `commits` are full hashes by the subject they were made with."""

    root: Path
    home: Path
    commits: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    temporary: Path = field(default_factory=_short_folder)

    # ---------------- the repository

    def put(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            # Python takes its own compiled file for fresh where time (in seconds) and size are the same.
            shutil.rmtree(path.parent / "__pycache__", ignore_errors=True)

    def text(self, name: str) -> str:
        return (self.root / name).read_text()

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, env=self.environment(), check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, subject: str, files: Mapping[str, str] | None = None) -> str:
        """Commits are a day apart: asv tells them apart by the second."""
        self.put(files or {})
        self.git("add", "--all")
        date = f"{1_700_000_000 + len(self.commits) * DAY} +0000"
        self.variables |= {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)
        self.commits[subject] = self.git("rev-parse", "HEAD")
        return self.commits[subject]

    # ---------------- asv

    def environment(self) -> dict[str, str]:
        own = ("HOME", "PATH", "LANG", "LC_ALL", "DOCKER_HOST")
        inherited = {name: os.environ[name] for name in own if name in os.environ}
        who = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"}
        who |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}
        # A folder for temporary files of its own: the machine's lock is in it, and other tests measure as well.
        return {**inherited, **who, "HOME": str(self.home), "TMPDIR": str(self.temporary), **self.variables}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "asv", *arguments],
            cwd=self.root,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def asv(self, *arguments: str, code: int | None = 0) -> str:
        """What asv prints; it has to end with exit status `code` (None: any)."""
        process = self.start(*arguments)
        try:
            output, _ = process.communicate(timeout=300)
        finally:
            process.kill()
        assert code is None or process.returncode == code, (
            f"asv {' '.join(arguments)}: {process.returncode}\n{output}"
        )
        return output

    # ---------------- what it left behind

    def call(self) -> Path:
        """The folder of the newest asv command that measured."""
        return max((self.root / ".windtunnel" / "asv").iterdir())

    def run_files(self, revision: str) -> dict[str, Run]:
        """What the newest asv command has launched, by case."""
        runs = [read_run(path) for path in (self.call() / revision).glob("*.jsonl")]
        return {run.header.cases[0].id: run for run in runs}

    def results(self, commit: str) -> Results:
        (path,) = (self.root / ".asv" / "results").glob(f"*/{commit[:8]}-container.json")
        return Results(json.loads(path.read_text()))

    def benchmarks(self) -> dict[str, Any]:
        found = json.loads((self.root / ".asv" / "results" / "benchmarks.json").read_text())
        del found["version"]
        return dict(found)


@dataclass(frozen=True)
class Results:
    """asv's result file of a commit."""

    content: dict[str, Any]

    def _row(self, benchmark: str) -> dict[str, Any]:
        return dict(zip(self.content["result_columns"], self.content["results"][benchmark], strict=False))

    def names(self) -> set[str]:
        return set(self.content["results"])

    def values(self, benchmark: str) -> list[float | None]:
        """By case: a figure, NaN for "not applicable", None for "failed"."""
        row = self._row(benchmark)
        return list(row["result"] or [None] * max(1, len(row["params"]) and len(row["params"][0])))

    def samples(self, benchmark: str) -> list[list[float] | None]:
        return list(self._row(benchmark).get("samples") or [])


def make_suite(root: Path, home: Path) -> Suite:
    """The sample project as `windtunnel init --example` writes it, with a shorter plan, not yet committed."""
    suite = Suite(root, home)
    home.mkdir(parents=True, exist_ok=True)
    initialise(root, example=True, force=False)
    suite.put({"benchmarks/http.py": BENCHMARKS, "windtunnel.toml": SETTINGS})
    suite.git("init", "--quiet", "--initial-branch=main")
    return suite


def plain_target(suite: Suite) -> dict[str, str]:
    """The files of the target `plain`."""
    base = packages(suite.text("targets/hello/Dockerfile"))
    served = 'CMD ["python3", "-m", "waitress", "--listen=0.0.0.0:8080", "app:application"]\n'
    return {**PLAIN, "targets/plain/Dockerfile": f"{base}COPY app.py /app/\nWORKDIR /app\n{served}"}


# ---------------- containers and processes


def containers(group: str) -> list[str]:
    """The containers of an asv command, running or not."""
    return docker("ps", "--all", "--quiet", "--filter", f"label=windtunnel={group}").split()


def until(condition: Callable[[], Any], seconds: float, what: str) -> Any:
    """The first true value of `condition`; AssertionError after so many seconds."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds:g} s: {what}")


def children(pid: int) -> list[int]:
    """The processes that a process has started and not waited for."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@contextmanager
def measuring(suite: Suite, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """An asv command with containers up, and the group they are in."""
    before = set((suite.root / ".windtunnel" / "asv").glob("*"))
    process = suite.start(*arguments)
    try:
        calls = suite.root / ".windtunnel" / "asv"
        folder = until(lambda: set(calls.glob("*")) - before or process.poll(), 60, "asv has begun")
        assert process.poll() is None, process.communicate()[0]
        group = folder.pop().name
        until(lambda: len(containers(group)) >= 2 or process.poll() is not None, 120, "containers are up")
        assert process.poll() is None, process.communicate()[0]
        yield process, group
    finally:
        process.kill()
        process.communicate()
