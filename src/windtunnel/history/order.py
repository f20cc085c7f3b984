"""The order of commits: as git has it where a repository is given, by date where not.

One call of git tells of all commits that are not known yet; what it said is kept in the index. A new commit on top of
the known ones, which is what a push brings, makes git look at that one alone.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.adapters.gitprocess import Git, complaint
from windtunnel.errors import WindtunnelError
from windtunnel.history.database import Database, trusted
from windtunnel.history.nouns import Commit

__all__ = ["Told", "by_date", "in_order", "told"]

_FORMAT = "%H%x00%an%x00%cI%x00%s"
_FIELDS = 4
_FULL = (40, 64)
_KEPT = "repository"


@dataclass(frozen=True)
class Told:
    """What git says of a commit. `rank` rises along its history: no commit has a higher rank than its children."""

    hash: str
    rank: int
    author: str
    date: datetime.datetime
    subject: str


def by_date(milliseconds: float) -> datetime.datetime:
    """A date of asv's."""
    return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)


def in_order(
    dates: Mapping[str, float], known: Mapping[str, Told], tags: Mapping[str, tuple[str, ...]]
) -> tuple[Commit, ...]:
    """All commits, oldest first. Those that git does not know stand where their date puts them.

    Args:
        dates: of every commit, in milliseconds since the epoch.
        known: what git says of those that it knows.
        tags: of commits.
    """
    ranked = [_commit(known[name], tags) for name in sorted(known.keys() & dates.keys(), key=lambda n: known[n].rank)]
    others = [Commit(0, name, by_date(date)) for name, date in dates.items() if name not in known]
    others.sort(key=lambda one: (one.date, one.hash), reverse=True)
    merged: list[Commit] = []
    for one in ranked:
        while others and others[-1].date < one.date:
            merged.append(others.pop())
        merged.append(one)
    merged.extend(reversed(others))
    return tuple(replace(one, position=position) for position, one in enumerate(merged))


def _commit(found: Told, tags: Mapping[str, tuple[str, ...]]) -> Commit:
    return Commit(0, found.hash, found.date, found.subject, found.author, tags.get(found.hash, ()))


# ---------------- asking git


def told(
    database: Database, repository: Path, hashes: Iterable[str], tell: Callable[[str], None]
) -> tuple[dict[str, Told], dict[str, tuple[str, ...]]]:
    """What git says of these commits, and the tags of commits. A repository that can't be asked is told of.

    Raises as `Database` does.
    """
    git = Git(repository)
    wanted = sorted(one for one in hashes if len(one) in _FULL)
    kept = _kept(database, repository)
    try:
        new = [one for one in wanted if one not in kept]
        known = (_extended(git, kept, new) or _all(git, wanted)) if new else kept
        tags = _tags(git)
    except WindtunnelError as error:
        tell(f"{error}; commits are in the order of their dates")
        return {}, {}
    if new:
        _keep(database, repository, wanted, known)
    return {name: one for name, one in known.items() if one is not None}, tags


_Known = dict[str, Told | None]
"""None where git does not know the commit: it is asked again when another one is new."""


def _all(git: Git, wanted: Sequence[str]) -> _Known:
    found = _log(git, wanted, ())
    return {name: found.get(name) for name in wanted}


def _extended(git: Git, known: _Known, new: Sequence[str]) -> _Known | None:
    """With the new ones behind all others; None where it is not certain that this is their place.

    Commits that git did not know are asked for once more: a repository may have got them meanwhile.
    """
    there = [one for one in known.values() if one is not None]
    missing = [name for name, one in known.items() if one is None]
    if not there:
        return None
    found = _log(git, [*new, *missing], [one.hash for one in there])
    newest = max(one.date for one in there)
    if any(name in found for name in missing) or any(one.date < newest for one in found.values()):
        return None
    if not all(name in found for name in new) and _log(git, [name for name in new if name not in found], ()):
        return None  # it is an ancestor of a known one
    top = 1 + max(one.rank for one in there)
    ranked = {name: replace(one, rank=top + one.rank) for name, one in found.items()}
    return {**known, **{name: ranked.get(name) for name in new}}


def _log(git: Git, tips: Sequence[str], without: Sequence[str]) -> dict[str, Told]:
    """What the tips reach and `without` does not; parents before children, else by date."""
    lines = [*tips, *(f"^{one}" for one in without)]
    done = git.attempt(
        *("log", "-z", "--no-show-signature", "--encoding=UTF-8", f"--format={_FORMAT}", "--date-order"),
        *("--ignore-missing", "--stdin"),
        stdin="".join(f"{line}\n" for line in lines).encode(),
    )
    if done.returncode:
        raise WindtunnelError(f"{git.folder}: git log: {complaint(done)}")
    fields = done.stdout.decode("utf-8", "replace").removesuffix("\0").split("\0")
    count = len(fields) // _FIELDS
    wanted = frozenset(tips)
    return {
        fields[at]: Told(fields[at], count - at // _FIELDS, fields[at + 1], _date(fields[at + 2]), fields[at + 3])
        for at in range(0, count * _FIELDS, _FIELDS)
        if fields[at] in wanted
    }


def _date(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)


def _tags(git: Git) -> dict[str, tuple[str, ...]]:
    output = git.run("for-each-ref", "--format=%(objectname) %(*objectname) %(refname:strip=2)", "refs/tags")
    found: dict[str, tuple[str, ...]] = {}
    for line in output.decode("utf-8", "replace").splitlines():
        own, _, rest = line.partition(" ")
        peeled, _, name = rest.partition(" ")
        found[peeled or own] = (*found.get(peeled or own, ()), name)
    return found


# ---------------- what was told is kept


def _kept(database: Database, repository: Path) -> _Known:
    with database.reading() as connection:
        row = connection.execute("SELECT value FROM fact WHERE key = ?", (_KEPT,)).fetchone()
        if row is None or row[0] != str(repository.resolve()):
            return {}
        rows = connection.execute("SELECT hash, document FROM commits").fetchall()
    with trusted():
        return {name: _from(name, json.loads(document)) for name, document in rows}


def _from(name: str, document: Sequence[object]) -> Told | None:
    if not document:
        return None
    rank, author, date, subject = document
    return Told(name, int(str(rank)), str(author), datetime.datetime.fromisoformat(str(date)), str(subject))


def _keep(database: Database, repository: Path, wanted: Sequence[str], known: _Known) -> None:
    rows = [(name, json.dumps(_plain(known.get(name)))) for name in wanted]
    with database.writing() as connection:
        connection.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (_KEPT, str(repository.resolve())))
        connection.execute("DELETE FROM commits")
        connection.executemany("INSERT INTO commits VALUES (?, ?)", rows)


def _plain(one: Told | None) -> list[object]:
    return [] if one is None else [one.rank, one.author, one.date.isoformat(), one.subject]
