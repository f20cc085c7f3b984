"""The sample project with a past, and the commands as they are used."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pasts import Repository

from windtunnel.cli.init import initialise

SETTINGS = "[launch]\nwarmup = 1\nslices = 3\nsingle_slices = 1\nseconds = '20ms'\n"


@dataclass
class Project:
    """The sample project in a repository; its commits are in `repository.names` by subject."""

    repository: Repository
    temporary: Path

    @property
    def path(self) -> Path:
        return self.repository.path

    def commit(self, subject: str, name: str = "", text: str = "") -> str:
        """Put a file, and commit it."""
        if name:
            (self.path / name).write_text(text)
        self.repository.git("add", "--all")
        return self.repository.commit(subject)

    def windtunnel(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command, with a lock of its own: other tests measure on this machine too."""
        self.temporary.mkdir(exist_ok=True)
        own = {**os.environ, "TMPDIR": str(self.temporary), "TERM": "dumb", "COLUMNS": "200"}
        argv = [sys.executable, "-m", "windtunnel.cli.main", *arguments]
        return subprocess.run(argv, cwd=self.path, env=own, capture_output=True, text=True, check=False, timeout=850)


def make_project(folder: Path) -> Project:
    """Before the suite, then with it, a comment, a commit that does not build, a slow one, another comment."""
    made = Project(Repository(folder / "project"), folder / "tmp")
    initialise(made.path, example=True, force=False)
    (made.path / "windtunnel.toml").write_text(SETTINGS)
    plain = (made.path / "hello/app.py").read_text()
    slow = plain.replace("    body = page()\n", "    for _ in range(6):\n        body = page()\n")
    assert slow != plain
    made.repository.git("add", "hello")
    made.repository.commit("before the suite")
    made.commit("the suite")
    made.commit("a comment", "hello/app.py", plain + "# one\n")
    made.commit("broken", "hello/app.py", plain + "def\n")
    made.commit("slow", "hello/app.py", slow)
    made.commit("notes", "NOTES", "nothing that is served\n")
    made.commit("another comment", "hello/app.py", slow + "# two\n")
    return made
