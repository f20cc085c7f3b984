"""The windtunnel command as a real process in a suite of faulty servers, and what the engine has of it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from windtunnel.sample.runfile import Run, read_run

__all__ = [
    "PATIENCE",
    "Command",
    "Container",
    "Done",
    "Suite",
    "containers",
    "docker",
    "mounted",
    "new_suite",
    "until",
]

SOURCE = Path(__file__).resolve().parent / "suite"
LATER = "slow-start"
"""The mode that the suite's first commit does not have."""

PATIENCE = 60.0
"""Seconds until something that is bound to happen counts as not happening; nothing takes that long."""


def until(found: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Wait until `found` finds something."""
    deadline = time.monotonic() + patience
    while not found():
        assert time.monotonic() < deadline, f"not within {patience:g} s: {what}"
        time.sleep(0.03)


def docker(*arguments: str, host: str | None = None, check: bool = True) -> str:
    """The engine's own client."""
    where = ["--host", host] if host else []
    done = subprocess.run(["docker", *where, *arguments], capture_output=True, text=True, check=False, timeout=120)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


@dataclass(frozen=True)
class Container:
    """A container that carries our label. `role` is "sidecar", "probe" or "part NAME"."""

    id: str
    role: str
    running: bool


def containers(pid: int, host: str | None = None) -> list[Container]:
    """All containers, running or not, of the command with that process number; others may use the engine too."""
    form = '{{.ID}}|{{.Label "windtunnel.owner"}}|{{.Label "windtunnel.role"}}|{{.State}}'
    lines = docker("ps", "--all", "--filter", "label=windtunnel", "--format", form, host=host).splitlines()
    seen = [line.split("|") for line in lines]
    return [Container(one, role, state == "running") for one, owner, role, state in seen if f"/{pid}/" in owner]


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    out: str
    err: str
    pid: int

    def expect(self, code: int, *words: str) -> Done:
        """It ended with `code`, said all these words (regular expressions), and nothing that only we understand."""
        everything = f"exit code {self.code}\n{self.out}\n{self.err}"
        assert self.code == code, everything
        for word in words:
            assert re.search(word, self.out + self.err), f"{word!r} is not in:\n{everything}"
        assert "Traceback" not in everything, everything
        return self


@dataclass
class Command:
    """A command that runs. Its output goes to files, so that it never waits for whoever reads it."""

    process: subprocess.Popen[bytes]
    folder: Path
    host: str | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def err(self) -> str:
        return (self.folder / "err").read_text()

    def containers(self, role: str = "") -> list[Container]:
        return [one for one in containers(self.pid, self.host) if one.role.startswith(role)]

    def running(self, role: str) -> list[Container]:
        return [one for one in self.containers(role) if one.running]

    def until(self, found: Callable[[], object], what: str) -> None:
        """Wait for something that only happens while the command runs."""

        def seen() -> object:
            assert self.process.poll() is None or found(), f"it ended before {what}:\n{self.err}"
            return found()

        until(seen, what)

    def until_loading(self) -> Container:
        """Wait until a generator runs; the side-car that it runs in."""
        found: list[Container] = []

        def loading() -> bool:
            for one in self.running("sidecar"):
                if "h2load" in docker("top", one.id, "-eo", "pid,comm", host=self.host, check=False):
                    found.append(one)
            return bool(found)

        self.until(loading, "a slice is loaded")
        return found[0]

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, patience: float = 120.0) -> Done:
        code = self.process.wait(patience)
        out = (self.folder / "out").read_text()
        return Done(code, out, self.err, self.pid)

    def gone(self, patience: float = 3.0) -> None:
        """Nothing of it is left on the engine. (An engine that was told to remove something needs a moment.)"""
        until(lambda: not self.containers(), f"its containers are gone: {self.containers()}", patience)


@dataclass
class Suite:
    """A copy of the faulty suite in a git repository of its own."""

    path: Path
    scratch: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    _count: int = 0

    def configure(self, **launch: int | str) -> None:
        """Replace [launch] of windtunnel.toml."""
        lines = [f"{key} = {value!r}".replace("'", '"') for key, value in launch.items()]
        (self.path / "windtunnel.toml").write_text("\n".join(["[launch]", *lines, ""]))

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=self.path, check=True, capture_output=True)

    @property
    def run_file(self) -> Path:
        """The only run file below .windtunnel."""
        (found,) = self.run_files
        return found

    @property
    def run_files(self) -> list[Path]:
        return list(self.path.glob(".windtunnel/runs/*"))

    def recorded(self) -> Run | None:
        """What the run file has so far, if there is one with a header."""
        return read_run(self.run_file) if self.run_files and self.run_file.stat().st_size else None

    def launches(self) -> int:
        run = self.recorded()
        return len(run.launches) if run else 0

    @contextmanager
    def command(
        self, *arguments: str | Path, stdout: int | None = None, stderr: int | None = None, **environment: str
    ) -> Iterator[Command]:
        """A running command; ended where a failing test left it."""
        self._count += 1
        folder = self.scratch / f"command-{self._count}"
        folder.mkdir()
        everything = {**os.environ, **self.environment, **environment}
        argv = [sys.executable, "-m", "windtunnel.cli.main", *map(str, arguments)]
        with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
            # A process group of its own: what is sent to it is sent to it alone, as `kill PID` does.
            process = subprocess.Popen(
                argv,
                cwd=self.path,
                env=everything,
                stdout=stdout or out,
                stderr=stderr or err,
                start_new_session=True,
            )
        try:
            yield Command(process, folder, everything.get("DOCKER_HOST"))
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(60)

    def run(self, *arguments: str | Path, **environment: str) -> Done:
        """A command from its beginning to its end; nothing of it is left on the engine."""
        with self.command(*arguments, stdout=None, stderr=None, **environment) as command:
            done = command.wait()
            if "DOCKER_HOST" not in environment:
                command.gone()
            return done


def new_suite(path: Path, scratch: Path, environment: Mapping[str, str]) -> Suite:
    """A suite with two commits; the first one has no mode `LATER`."""
    shutil.copytree(SOURCE, path, ignore=shutil.ignore_patterns("__pycache__"))
    (path / "gitignore").rename(path / ".gitignore")
    suite = Suite(path, scratch, environment)
    suite.git("init", "--quiet", "--initial-branch=main")
    target = path / "targets" / "faulty" / "target.toml"
    newest = target.read_text()
    target.write_text("".join(line for line in newest.splitlines(keepends=True) if not line.startswith(LATER)))
    assert target.read_text() != newest
    suite.git("add", "--all")
    suite.git("commit", "--quiet", "--message", "before the last mode")
    target.write_text(newest)
    suite.git("commit", "--quiet", "--all", "--message", "the last mode")
    return suite


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Path]:
    """A file system of its own in `folder`; skips where mounting is not allowed."""
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "windtunnel-test", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
