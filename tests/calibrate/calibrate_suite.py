"""A suite of servers that do as they are told, to calibrate on a real engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from commands import run

__all__ = ["Suite", "new_suite"]

SOURCE = Path(__file__).resolve().parent.parent / "faults" / "suite"


@dataclass(frozen=True)
class Suite:
    """A copy of the suite in a git repository of its own."""

    path: Path
    lock: Path

    @property
    def runs(self) -> list[Path]:
        return sorted((self.path / ".windtunnel" / "runs").glob("*"))

    def windtunnel(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command in it. Other windtunnels may load the machine meanwhile: no figure is looked at here."""
        return run(*self._command(*arguments), **self._environment())

    def started(self, *arguments: str) -> subprocess.Popen[str]:
        """The same, still running; in a process group of its own."""
        return subprocess.Popen(
            self._command(*arguments),
            env={**os.environ, **self._environment()},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _command(self, *arguments: str) -> list[str]:
        script = "import os, sys; os.chdir(sys.argv.pop(1)); from windtunnel.cli.main import main; main()"
        return [sys.executable, "-c", script, str(self.path), *arguments]

    def _environment(self) -> dict[str, str]:
        return {"TMPDIR": str(self.lock), "TERM": "dumb", "COLUMNS": "200"}


def new_suite(folder: Path) -> Suite:
    """A new one in `folder`."""
    path, lock = folder / "suite", folder / "lock"
    lock.mkdir()
    shutil.copytree(SOURCE, path, ignore=shutil.ignore_patterns("__pycache__"))
    (path / "gitignore").rename(path / ".gitignore")
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "all of it"]):
        subprocess.run(["git", *identity, *arguments], cwd=path, check=True, capture_output=True)
    return Suite(path, lock)
