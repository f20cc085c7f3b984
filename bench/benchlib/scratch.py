"""A scratch repository made from bench/suite, with a branch for everything that is planted."""

from __future__ import annotations

import datetime
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import ConfigError

__all__ = ["DEFAULT", "SUITE", "Branch", "make_history", "make_repository"]

SUITE = Path(__file__).resolve().parent.parent / "suite"
DEFAULT = Path(tempfile.gettempdir()) / "windtunnel-bench"
"""Where the scratch repository is made, if nothing else is said."""

_MARK = "made-by-bench"
_PLANTS = {"starlet": "targets/starlet/Plant.pm", "waitress": "targets/waitress/plant.py"}
_VALUES = {
    "rounds": re.compile(r"^((?:my \$rounds +|ROUNDS )= )[^;\n]*", re.MULTILINE),
    "wait": re.compile(r"^((?:my \$wait +|WAIT )= )[^;\n]*", re.MULTILINE),
}
_IDENTITY = {
    "GIT_AUTHOR_NAME": "Campaign",
    "GIT_AUTHOR_EMAIL": "campaign@example.org",
}
_START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
"""When everything was committed, but for histories."""


@dataclass(frozen=True)
class Branch:
    """What a branch has that main does not: the last commit of a comparison.

    Attributes:
        rounds: of an empty loop for every request, by target.
        wait: seconds that one request of a hundred waits, by target.
        comment: added to every target's source: the image is another one, and behaves the same.
    """

    rounds: Mapping[str, int]
    wait: Mapping[str, float]
    comment: str = ""


def make_repository(folder: Path, branches: Mapping[str, Branch]) -> Path:
    """The suite on main, and a branch for each plant, made anew; the same content always gives the same commits.

    Raises ConfigError where something else is in the way.
    """
    _make(folder)
    for name, branch in branches.items():
        _git(folder, "checkout", "--quiet", "-b", name, "main")
        _plant(folder, branch)
        _commit(folder, name)
    _git(folder, "checkout", "--quiet", "main")
    return folder


def make_history(folder: Path, commits: Sequence[tuple[str, Branch]]) -> list[str]:
    """The suite, and on it one commit a day for each subject and what is planted then; returns all hashes.

    Where it is there already it is left alone, with all that was recorded in it. Raises ConfigError where something
    else is in the way.
    """
    marked, wanted = folder / ".git" / _MARK, hashlib.sha256(repr(commits).encode()).hexdigest()
    known = marked.read_text("utf-8").split() if marked.exists() else []
    if known[:1] == [wanted]:
        return known[1:]
    _make(folder)
    (folder / ".git" / "info" / "exclude").write_text(".windtunnel/\nresults/\n__pycache__/\n")
    hashes = [_head(folder)]
    for number, (subject, branch) in enumerate(commits, 1):
        _git(folder, "checkout", "--quiet", hashes[0], "--", ".")
        _plant(folder, branch)
        _commit(folder, subject, _START + datetime.timedelta(days=number))
        hashes.append(_head(folder))
    marked.write_text("\n".join([wanted, *hashes]), "utf-8")
    return hashes


def _make(folder: Path) -> None:
    """The suite as the first commit of main."""
    if folder.exists() and not (folder / ".git" / _MARK).exists():
        raise ConfigError("is there and was not made by these scripts; name another one with --scratch", file=folder)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SUITE, folder, ignore=shutil.ignore_patterns("__pycache__", ".windtunnel"))
    _git(folder, "init", "--quiet", "--initial-branch=main")
    (folder / ".git" / _MARK).touch()
    (folder / ".git" / "info" / "exclude").write_text(".windtunnel/\n__pycache__/\n")
    _commit(folder, "base")


def _head(folder: Path) -> str:
    return _git(folder, "rev-parse", "HEAD").strip()


def _plant(folder: Path, branch: Branch) -> None:
    for target, name in _PLANTS.items():
        path = folder / name
        text = path.read_text("utf-8")
        for what, values in (("rounds", branch.rounds), ("wait", branch.wait)):
            text = _set(text, what, values[target], path) if target in values else text
        path.write_text(text + (f"# {branch.comment}\n" if branch.comment else ""), "utf-8")


def _set(text: str, what: str, value: float, path: Path) -> str:
    found, count = _VALUES[what].subn(rf"\g<1>{value}", text)
    if count != 1:
        raise ConfigError(f"has no line that says how much is planted ({what}), or several", file=path)
    return found


def _commit(folder: Path, subject: str, date: datetime.datetime = _START) -> None:
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--allow-empty", "--message", subject, date=date)


def _git(folder: Path, *arguments: str, date: datetime.datetime = _START) -> str:
    """What git says. Nobody's own configuration has a say: no signing, no hooks."""
    dated = {**_IDENTITY, "GIT_AUTHOR_DATE": date.isoformat()}
    identity = {**dated, **{key.replace("AUTHOR", "COMMITTER"): value for key, value in dated.items()}}
    own = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null", *arguments]
    environment = {**own, **identity, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(
        command, cwd=folder, check=True, env=environment, timeout=60, stdout=subprocess.PIPE, text=True
    )
    return done.stdout
