"""Remotes of the results branch: real bare repositories, and what is on them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from windtunnel.adapters.remote import Remote
from windtunnel.adapters.results import ResultsBranch, open_results

__all__ = ["ADDING", "BRANCH", "Bare", "adding", "make_bare", "opened"]

BRANCH = "windtunnel-results"

ADDING = Path(__file__).resolve().parent / "results_adding.py"
"""A program that adds to a branch, to be run several times at once, and killed."""


@dataclass(frozen=True)
class Bare:
    """A bare repository, as a forge has it."""

    path: Path

    @property
    def url(self) -> str:
        return f"file://{self.path}"

    def git(self, *arguments: str, stdin: bytes = b"") -> str:
        return self.raw(*arguments, stdin=stdin).decode(errors="replace").strip()

    def raw(self, *arguments: str, stdin: bytes = b"") -> bytes:
        done = subprocess.run(["git", *arguments], cwd=self.path, input=stdin, capture_output=True, check=False)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def exists(self, branch: str = BRANCH) -> bool:
        return bool(self.git("for-each-ref", f"refs/heads/{branch}"))

    def tip(self, branch: str = BRANCH) -> str:
        return self.git("rev-parse", f"refs/heads/{branch}")

    def files(self, branch: str = BRANCH) -> dict[str, str]:
        """The content of each file."""
        names = self.git("ls-tree", "-r", "--name-only", branch).splitlines()
        return {name: self.git("cat-file", "blob", f"{branch}:{name}") for name in names}

    def log(self, form: str = "%s", branch: str = BRANCH) -> list[str]:
        return self.git("log", f"--format={form}", branch).splitlines()

    def check(self) -> None:
        """Every object is there and whole."""
        self.git("fsck", "--full", "--strict", "--no-dangling")

    def hook(self, name: str, script: str) -> None:
        path = self.path / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


def make_bare(path: Path) -> Bare:
    """An empty one that lets clones leave out what they don't need, as forges do."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", path], check=True)
    bare = Bare(path)
    bare.git("config", "uploadpack.allowFilter", "true")
    bare.git("config", "uploadpack.allowAnySHA1InWant", "true")
    return bare


@contextmanager
def opened(bare: Bare, token: str = "", scratch: Path | None = None) -> Iterator[ResultsBranch]:
    with open_results(Remote(bare.url, token), BRANCH, scratch) as branch:
        yield branch


def adding(bare: Bare, name: str, scratch: Path, **environment: str) -> subprocess.Popen[str]:
    """A process that adds the file NAME, and NAME to a list that all of them change."""
    variables: Mapping[str, str] = {**os.environ, **environment}
    return subprocess.Popen(
        [sys.executable, ADDING, bare.url, BRANCH, name, scratch],
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
