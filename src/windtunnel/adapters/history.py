"""Git's history: which commits a range has, what came before each, and which one halves it.

Only objects are read. No checkout, no branch and no state of `git bisect` is touched.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.adapters.git import resolve
from windtunnel.adapters.gitprocess import Git
from windtunnel.errors import ConfigError

__all__ = ["Ancestry", "Commit", "Stretch", "commit_at", "last_merges", "stretch"]

_FORMAT = "%H%x00%P%x00%an <%ae>%x00%cI%x00%s"


@dataclass(frozen=True)
class Commit:
    """A commit as it is told: full hashes, `author` with the address, `date` the committer's."""

    hash: str
    parents: tuple[str, ...]
    author: str
    date: datetime.datetime
    subject: str

    @property
    def merge(self) -> bool:
        """Whether it brought two lines together."""
        return len(self.parents) > 1


@dataclass(frozen=True)
class Stretch:
    """Commits of a first-parent line, newest first, each with a parent; `notes` say how they were chosen."""

    commits: tuple[Commit, ...]
    notes: tuple[str, ...] = ()


def commit_at(repository: Path, revision: str) -> Commit:
    """One commit. Raises ConfigError for an unknown one."""
    (found,) = _log(repository, "--max-count=1", resolve(repository, revision))
    return found


def stretch(repository: Path, revisions: str, merges: bool | None = None, last: int | None = None) -> Stretch:
    """The commits on the first-parent line of B that A does not reach, for `revisions` ``A..B``.

    Args:
        repository: its folder.
        revisions: ``A..B``; either may be left out and is HEAD then, as git has it.
        merges: only merges, only others (False), or all (None).
        last: so many of them at most, the newest.

    Raises:
        ConfigError: it is no such range, names no commit, or has nothing in it.
    """
    base, head = _ends(repository, revisions)
    found = _log(repository, *_filters(merges, last), head, f"^{base}")
    if not found:
        what = {None: "commits", True: "merges", False: "commits that are no merges"}[merges]
        raise ConfigError(
            f"{revisions}: there are no {what} in it on the first-parent line; is it the wrong way round?"
        )
    return _with_parents(repository, found)


def last_merges(repository: Path, count: int, merges: bool | None = None, tip: str = "HEAD") -> Stretch:
    """The last `count` merges on the first-parent line of `tip`, or all kinds of commits where there is no merge.

    `merges` is as for `stretch`; None prefers merges. Raises ConfigError where there is nothing with a parent.
    """
    head = resolve(repository, tip)
    found = _log(repository, *_filters(True if merges is None else merges, count), head)
    notes: tuple[str, ...] = ()
    if not found and merges is None:
        found = _log(repository, *_filters(None, count), head)
        notes = ("no commit on the first-parent line is a merge, so these are its last commits of any kind",)
    chosen = _with_parents(repository, found)
    if not chosen.commits:
        raise ConfigError(f"{tip} has no commit to compare with its parent", file=repository)
    return Stretch(chosen.commits, (*notes, *chosen.notes))


def _ends(repository: Path, revisions: str) -> tuple[str, str]:
    base, dots, head = revisions.partition("..")
    if not dots or head.startswith("."):
        raise ConfigError(f"{revisions!r} is no range of commits; write A..B, such as v1.0..main")
    return resolve(repository, base or "HEAD"), resolve(repository, head or "HEAD")


def _filters(merges: bool | None, last: int | None) -> list[str]:
    chosen = ["--first-parent"]
    if merges is not None:
        chosen.append("--merges" if merges else "--no-merges")
    return [*chosen, f"--max-count={last}"] if last else chosen


def _with_parents(repository: Path, found: Sequence[Commit]) -> Stretch:
    """A root commit has nothing to be compared with; in a shallow clone there is one that only looks like it."""
    kept = tuple(one for one in found if one.parents)
    if len(kept) == len(found):
        return Stretch(kept)
    shallow = Git(repository).attempt("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
    hint = (
        "this clone is shallow: more after `git fetch --unshallow`" if shallow else "it is the first of the history"
    )
    return Stretch(kept, (f"{found[-1].hash[:12]} has no parent to be compared with: {hint}",))


def _log(repository: Path, *arguments: str) -> tuple[Commit, ...]:
    output = Git(repository).run(
        "log", "-z", "--no-show-signature", "--encoding=UTF-8", f"--format={_FORMAT}", *arguments, "--"
    )
    fields = output.decode("utf-8", "replace").removesuffix("\0").split("\0")
    return tuple(_commit(fields[at : at + 5]) for at in range(0, len(fields) - 4, 5))


def _commit(fields: Sequence[str]) -> Commit:
    name, parents, author, date, subject = fields
    return Commit(name, tuple(parents.split()), author, datetime.datetime.fromisoformat(date), subject)


# ---------------- halving


class Ancestry:
    """The commits between a good and a bad one that come after the good one and lead to the bad one.

    Commits of a branch that began before the good one are not among them: they lack what the good one has, so a
    comparison with it would show that too. What such a branch brought is found at its merge.

    Raises ConfigError where the good commit is no ancestor of the bad one.
    """

    def __init__(self, repository: Path, good: str, bad: str) -> None:
        self.repository = repository
        self.good, self.bad = resolve(repository, good), resolve(repository, bad)
        if self.good == self.bad:
            raise ConfigError(f"{good} and {bad} are the same commit")
        if not self._leads(self.good, self.bad):
            raise ConfigError(f"{good} is no ancestor of {bad}; {self._remedy(good, bad)}", file=repository)

    def candidates(self, good: Sequence[str], bad: str) -> tuple[str, ...]:
        """See `windtunnel.compare.bisection.Commits`; git itself says which commit halves the range best."""
        limits = [f"^{name}" for name in good]
        output = Git(self.repository).run("rev-list", "--bisect-all", "--ancestry-path", bad, *limits, "--")
        lines = [line.split(maxsplit=1) for line in output.decode("utf-8", "replace").splitlines()]
        return tuple(fields[0] for fields in lines)

    def parent(self, commit: str) -> str:
        """The parent that is on the way from the good commit; of several the first one. Both are full hashes."""
        parents = commit_at(self.repository, commit).parents
        return next((one for one in parents if self._leads(self.good, one)), parents[0])

    def _leads(self, earlier: str, later: str) -> bool:
        return Git(self.repository).attempt("merge-base", "--is-ancestor", earlier, later).returncode == 0

    def _remedy(self, good: str, bad: str) -> str:
        if self._leads(self.bad, self.good):
            return f"it is the other way round: write {bad} {good}"
        done = Git(self.repository).attempt("merge-base", self.good, self.bad)
        if done.returncode:
            return "they have no common ancestor here"
        return f"they part at {done.stdout.decode('ascii').split()[0][:12]}: start from there, if it is good"
