"""A repository on a forge, and checkouts of it as actions/checkout makes them: real git, in a folder."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.cli.action.events import Event

__all__ = ["ZERO", "Checkout", "Origin", "git"]

ZERO = "0" * 40


def git(folder: Path, *arguments: str) -> str:
    """What git says."""
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout.strip()


@dataclass(frozen=True)
class Checkout:
    """A clone as a job has it: HEAD detached, branches only as the remote's."""

    path: Path
    sha: str
    ref: str

    def event(self, name: str, payload: Mapping[str, Any], repository: str = "owner/project") -> Event:
        """An event that this was checked out for."""
        return Event(name, payload, repository, self.sha, self.ref, 17, "https://forge.example")


class Origin:
    """The repository on the forge. Its first branch is main, with one commit."""

    def __init__(self, path: Path, files: Mapping[str, str] | None = None) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        git(path, "init", "--quiet", "--initial-branch=main")
        self.commit("first", files)

    def commit(self, subject: str, files: Mapping[str, str] | None = None) -> str:
        """Its hash; on the branch that is checked out."""
        for name, text in (files or {subject.replace(" ", "-"): subject}).items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)
        git(self.path, "add", "--all")
        git(self.path, "commit", "--quiet", "--message", subject)
        return self.hash("HEAD")

    def hash(self, revision: str) -> str:
        return git(self.path, "rev-parse", f"{revision}^{{commit}}")

    def switch(self, branch: str, start: str = "") -> None:
        """Go on with a branch; with a start it is a new one."""
        git(self.path, "checkout", "--quiet", *(["-B", branch, start] if start else [branch]))

    def merge(self, branch: str) -> str:
        """Into the branch that is checked out, by a merge commit."""
        git(self.path, "merge", "--quiet", "--no-ff", "--message", f"merge {branch}", branch)
        return self.hash("HEAD")

    def pull_request(self, number: int, head: str, base: str = "main") -> str:
        """What the forge makes of a pull request: the refs of its head and of a trial merge. The merge's hash."""
        git(self.path, "update-ref", f"refs/pull/{number}/head", self.hash(head))
        git(self.path, "checkout", "--quiet", "--detach", base)
        merged = self.merge(self.hash(head))
        git(self.path, "update-ref", f"refs/pull/{number}/merge", merged)
        self.switch(base)
        return merged

    def checkout(self, folder: Path, ref: str, depth: int | None = None) -> Checkout:
        """As actions/checkout does it for a ref: with everything (fetch-depth: 0), or a few commits of that ref."""
        folder.mkdir(parents=True)
        git(folder, "init", "--quiet")
        git(folder, "remote", "add", "origin", f"file://{self.path}")
        local = ref.replace("refs/heads/", "refs/remotes/origin/").replace("refs/pull/", "refs/remotes/pull/")
        if depth is None:
            git(folder, "fetch", "--quiet", "origin", "+refs/heads/*:refs/remotes/origin/*", f"+{ref}:{local}")
        else:
            git(folder, "fetch", "--quiet", "--no-tags", f"--depth={depth}", "origin", f"+{ref}:{local}")
        git(folder, "checkout", "--quiet", "--detach", local)
        return Checkout(folder, git(folder, "rev-parse", "HEAD"), ref)
