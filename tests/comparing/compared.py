"""A suite whose commits differ in what its server costs, or in how it fails."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from faulty import Done, Suite, docker

from windtunnel.model import Launch
from windtunnel.sample.runfile import Run, read_run

__all__ = ["FAST", "FEW", "ONE", "SETTINGS", "SLOW", "Commits", "Compared", "created", "new_commits", "short"]

SOURCE = Path(__file__).resolve().parent / "suite"
SETTINGS = "targets/tiny/settings.py"
FAST, SLOW = "WORK = 2000\n", "WORK = 12000\n"

FEW = 6
"""Seconds: a budget for a few of `Commits.heavy`'s pairs, on any machine."""

ONE = ("--bench", r"\(2\)", "--batch", "4")
"""One case, with few batches."""


class Commits(Suite):
    """The suite in a git repository of its own; its first commit is fast, and on main."""

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)

    def commit(self, subject: str, files: Mapping[str, str]) -> str:
        """Its hash."""
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", subject)
        return self.hash("HEAD")

    def heavy(self) -> None:
        """From now on a pair is under load for a second and a half: `FEW` has room for one, and none for eight."""
        self.configure(slices=12, single_slices=2, seconds="50ms")

    def hash(self, revision: str) -> str:
        done = subprocess.run(
            ["git", "rev-parse", revision], cwd=self.path, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def clone(self, path: Path, *options: str) -> Commits:
        subprocess.run(
            ["git", "clone", "--quiet", *options, f"file://{self.path}", path], check=True, capture_output=True
        )
        return Commits(path, path.parent, self.environment, _count=100)

    def measured(self) -> Run:
        """The only run file."""
        return read_run(self.run_file)


@dataclass(frozen=True)
class Compared:
    """A comparison that found a case slower. The commits, oldest first: fast, slow, and slow with another README."""

    suite: Commits
    done: Done
    folder: Path


def new_commits(path: Path, scratch: Path, environment: Mapping[str, str]) -> Commits:
    shutil.copytree(SOURCE, path, ignore=shutil.ignore_patterns("__pycache__"))
    (path / "gitignore").rename(path / ".gitignore")
    suite = Commits(path, scratch, environment)
    suite.git("init", "--quiet", "--initial-branch=main")
    assert (path / SETTINGS).read_text() == FAST
    suite.commit("fast", {})
    return suite


def created(done: Done, since: float, until: float) -> Sequence[Mapping[str, str]]:
    """The labels of every container that a command has made in between."""
    span = ("--since", f"{since:.3f}", "--until", f"{until:.3f}")
    kind = ("--filter", "type=container", "--filter", "event=create", "--format", "{{json .Actor.Attributes}}")
    seen = [json.loads(line) for line in docker("events", *span, *kind).splitlines()]
    return [one for one in seen if f"/{done.pid}/" in one.get("windtunnel.owner", "")]


def short(launches: Sequence[Launch]) -> list[tuple[str, int, str]]:
    return [(one.case, one.number, one.arm) for one in launches]
