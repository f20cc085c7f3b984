"""The results branch: what is where on it, and how something is added while others add as well.

The branch holds nothing but results, and is written from the main branch only. What is added are new files; the few
that have to change are merged (`windtunnel.publish.merging`), so whoever comes second loses nothing.
`site/formats.md` describes the layout.
"""

from __future__ import annotations

import json
import random
import re
import time
import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from windtunnel.errors import ConfigError, StorageError, WindtunnelError
from windtunnel.publish.merging import Merge, ours, theirs
from windtunnel.sample.runfile import Run

__all__ = [
    "FORMAT",
    "FORMAT_FILE",
    "PAUSES",
    "VERSION",
    "Added",
    "Addition",
    "Branch",
    "Layout",
    "TryAgain",
    "Written",
    "add",
    "check_branch_name",
    "check_format",
    "serves",
    "signs",
]

FORMAT = "windtunnel-results"
VERSION = 1
FORMAT_FILE = "format.json"

PAUSES = (0.3, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 30.0)
"""Seconds between one try and the next, on average; afterwards it is given up."""

_PAGES = "gh-pages"
_RUN = re.compile(r"runs/[0-9]{4}/(?P<commit>[0-9a-f]{40,64})(?:-(?P<suite>[^/]+))?\.jsonl\.xz")

_README = """\
# Results of windtunnel

Each push to the main branch adds one commit to this branch: what was measured then. Nothing here is written by hand,
and nothing here is built or deployed; the site is made from it.

| path | what it is |
|---|---|
| `asv/` | results as airspeed velocity writes them: `asv publish` makes its pages of them |
| `runs/YEAR/COMMIT.jsonl.xz` | everything measured for a commit: a run file; `xz -d`, then `windtunnel show` |
| `accepted/COMMIT.json` | who accepted a regression that the commit brought, and why |
| `calibration/calibration.json` | how launches are best loaded on the machines that measure |
| `directories/NAME/` | all of that once more, for a suite that is in a folder of its own |
| `format.json` | the version of this layout |
"""


class TryAgain(WindtunnelError):
    """Somebody else was faster, or the remote did not answer: the same may go well in a moment."""


class Branch(Protocol):
    """The results branch of a remote, as it was when it was fetched the last time."""

    name: str
    tip: str
    """The commit, "" while there is no such branch."""

    def fetch(self) -> None:
        """Look again. Raises TryAgain, StorageError."""

    def paths(self) -> tuple[str, ...]:
        """All files of the tip."""

    def read(self, path: str) -> bytes | None:
        """A file of the tip, None where there is none. Raises TryAgain, StorageError."""

    def append(self, files: Mapping[str, bytes], message: str) -> str:
        """Put these files into one commit on the tip and push it; returns the commit, which is the new tip.

        Where they are there already nothing is pushed. Raises TryAgain where the branch has moved, StorageError where
        the remote refuses; the branch is as it was then.
        """


@dataclass(frozen=True)
class Layout:
    """Where the results of one suite are: `slug` is its folder's, see `windtunnel.publish.artifacts.slug_of`."""

    slug: str = ""

    @property
    def top(self) -> str:
        """The folder of everything, with a slash at its end; "" for the suite at the top of the repository."""
        return f"directories/{self.slug}/" if self.slug else ""

    @property
    def asv(self) -> str:
        """asv's results folder."""
        return f"{self.top}asv"

    @property
    def calibration(self) -> str:
        """What `windtunnel calibrate` found."""
        return f"{self.top}calibration/calibration.json"

    def run(self, commit: str, year: int, suite: str = "") -> str:
        """The run file of a commit (full hash, the year of its date)."""
        name = f"{commit}-{urllib.parse.quote(suite, safe='')}" if suite else commit
        return f"{self.top}runs/{year:04d}/{name}.jsonl.xz"

    def accepted(self, commit: str) -> str:
        """The acceptance of a regression that a commit brought."""
        return f"{self.top}accepted/{commit}.json"

    def recorded(self, paths: Iterable[str], suite: str = "") -> Mapping[str, str]:
        """The commits that have a run file of this suite, with its path."""
        found: dict[str, str] = {}
        for path in paths:
            match = _RUN.fullmatch(path.removeprefix(self.top)) if path.startswith(self.top) else None
            if match and urllib.parse.unquote(match["suite"] or "") == suite:
                found[match["commit"]] = path
        return found


# ---------------- adding


@dataclass(frozen=True)
class Written:
    """A file to be added.

    Attributes:
        path: where, on the branch.
        content: ours.
        before: what the branch had there when ours was made, or None.
        merge: what is to be there where the branch has something else by now.
    """

    path: str
    content: bytes
    before: bytes | None = None
    merge: Merge = ours

    def beside(self, there: bytes | None) -> bytes:
        """What is to be written where `there` is."""
        if there is None or there == self.before:
            return self.content
        return self.merge(self.before, self.content, there)


@dataclass(frozen=True)
class Addition:
    """One commit: these files, with that message. Where the file `key` is there already, it was made before."""

    files: tuple[Written, ...]
    message: str
    key: str = ""


@dataclass(frozen=True)
class Added:
    """The commit of the branch that has an addition; `before` tells that somebody else had made it."""

    commit: str
    before: bool = False


def add(branch: Branch, addition: Addition, pause: Callable[[float], None] = time.sleep) -> Added:
    """Add to the branch, once more on its new tip whenever it has moved meanwhile.

    Raises:
        StorageError: the remote refuses, or it went wrong every time.
        ConfigError: the branch is none of ours any more.
    """
    for seconds in PAUSES:
        try:
            return _added(branch, addition)
        except TryAgain:
            pause(seconds * random.uniform(0.5, 1.5))  # noqa: S311 - so that two that collided do not collide again
        try:
            branch.fetch()
        except TryAgain:
            continue
    try:
        return _added(branch, addition)
    except TryAgain as error:
        raise StorageError(
            f"{len(PAUSES) + 1} times nothing could be added to the branch {branch.name}: {error}; run the job again",
            detail=error.detail,
        ) from error


def _added(branch: Branch, addition: Addition) -> Added:
    check_format(branch)
    if addition.key and addition.key in branch.paths():
        return Added(branch.tip, before=True)
    files = {one.path: one.beside(branch.read(one.path)) for one in (*signs(), *addition.files)}
    return Added(branch.append(files, addition.message))


def signs() -> tuple[Written, ...]:
    """What says that a branch is one of results: there from its first commit on, and never changed."""
    document = json.dumps({"format": FORMAT, "version": VERSION}, indent=2) + "\n"
    return (
        Written(FORMAT_FILE, document.encode(), merge=theirs),
        Written("README.md", _README.encode(), merge=theirs),
    )


# ---------------- checks


def check_format(branch: Branch) -> None:
    """Raises ConfigError for a branch that holds something else, or results of another version."""
    if not branch.tip:
        return
    try:
        found = json.loads(branch.read(FORMAT_FILE) or b"null")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ConfigError(
            f"the branch {branch.name} is there, and it is none of results (it has no {FORMAT_FILE} of ours); "
            "nothing is written to it: name another branch",
            file="windtunnel.toml",
            key="results_branch",
        )
    if found.get("version") != VERSION:
        raise ConfigError(
            f"the branch {branch.name} has version {str(found.get('version'))[:20]} of the results, this windtunnel "
            f"knows {VERSION}; install the windtunnel that wrote it, or name another branch",
            file="windtunnel.toml",
            key="results_branch",
        )


def check_branch_name(name: str, main: str) -> None:
    """Raises ConfigError for a branch that is something else already."""
    if name not in {main, _PAGES}:
        return
    why = (
        "is the main branch" if name == main else "is what Pages are deployed from, and a deploy wipes what it holds"
    )
    raise ConfigError(
        f'"{name}" {why}; results need a branch of their own, such as "windtunnel-results"',
        file="windtunnel.toml",
        key="results_branch",
    )


def serves(run: Run) -> bool:
    """Whether head of a recorded run can be a base: there is a case that did not fail there."""
    broken = {one.case for one in run.failures if one.arm == "head" and one.kind == "failed"}
    launched = [one for one in run.launches if one.arm == "head"]
    good = {one.case for one in launched if one.outcome == "ok"}
    broken |= {one.case for one in launched} - good
    return any(case.id not in broken for case in run.header.cases)
