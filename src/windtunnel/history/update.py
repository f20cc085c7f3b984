"""Bringing the index up to what is on the disk: only files that have changed are read, in one transaction.

A file counts as unchanged while its size and its time are those that were seen, and it was not written so shortly
before it was read that a second write could have the same time. Where the time has changed (a fresh checkout has new
ones everywhere) its content decides.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from windtunnel.history.asvfiles import read_benchmarks, read_machine, read_result
from windtunnel.history.asvrows import Row
from windtunnel.history.database import Database
from windtunnel.history.places import Found, Kind, find
from windtunnel.history.pool import each
from windtunnel.history.runheads import read_head
from windtunnel.history.texts import BadFile
from windtunnel.sample.decode import LINE_BYTES

__all__ = ["FILE_BYTES", "Changes", "Parsed", "parse", "update"]

FILE_BYTES = 32 << 20
"""The largest file of asv that is read: SciPy's have half a MiB; the worst of this size takes 1 GiB to be parsed."""

_DOUBT = 2_000_000_000
"""A file written so many nanoseconds before it was read may have been written once more with the same time."""


@dataclass(frozen=True)
class Changes:
    """What an update found: paths of files that came, that are other than they were, and that are gone."""

    added: tuple[Path, ...] = ()
    changed: tuple[Path, ...] = ()
    removed: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


@dataclass(frozen=True)
class _Known:
    """A file as the index has it."""

    id: int
    size: int
    mtime: int
    looked: int
    digest: bytes

    def is_still(self, found: Found) -> bool:
        return (self.size, self.mtime) == (found.size, found.mtime) and self.mtime < self.looked - _DOUBT


@dataclass(frozen=True)
class Parsed:
    """What a file says: `document` for the index; of a file of results its rows; or why it cannot be used."""

    digest: bytes
    looked: int
    document: str = "{}"
    rows: tuple[Row, ...] = ()
    problem: str = ""


_Files = dict[tuple[int, str], _Known]


def update(database: Database, places: Sequence[Path]) -> Changes:
    """Make the index say what the places hold now.

    Raises:
        StorageError: the index cannot be written, or another process has been writing for two minutes.
        Damaged: it is damaged; what was in it before is lost.
        ConfigError: the file is something else.
    """
    with database.reading() as connection:
        known = _known(connection)
    found = {(one.place, one.name): one for one in find(places)}
    if not _differs(known, found):
        return Changes()
    with database.writing() as connection:
        return _Writer(connection, places).write(_known(connection), found)


def _known(connection: sqlite3.Connection) -> _Files:
    rows = connection.execute("SELECT place, name, id, size, mtime, looked, digest FROM file")
    return {(place, name): _Known(*rest) for place, name, *rest in rows}


def _differs(known: _Files, found: Mapping[tuple[int, str], Found]) -> bool:
    return known.keys() != found.keys() or any(not known[key].is_still(one) for key, one in found.items())


class _Writer:
    """One transaction's worth of writing."""

    def __init__(self, connection: sqlite3.Connection, places: Sequence[Path]) -> None:
        self.connection = connection
        self.places = places
        self.names: dict[str, int] = dict(connection.execute("SELECT text, id FROM name"))
        self.grids: dict[bytes, int] = {
            bytes(digest): number for digest, number in connection.execute("SELECT digest, id FROM grid")
        }

    def write(self, known: _Files, found: Mapping[tuple[int, str], Found]) -> Changes:
        gone = [key for key in known if key not in found]
        for key in gone:
            self._remove(known[key].id)
        added, changed = [], []
        doubtful = [one for key, one in found.items() if key not in known or not known[key].is_still(one)]
        for one, parsed in _read(doubtful, known):
            before = known.get((one.place, one.name))
            if before is None:
                added.append(one.path)
            elif before.digest != parsed.digest:
                changed.append(one.path)
                self._remove(before.id)
            else:
                self._seen(before.id, one, parsed.looked)
                continue
            self._add(one, parsed)
        return Changes(tuple(added), tuple(changed), tuple(self._path(key) for key in gone))

    def _path(self, key: tuple[int, str]) -> Path:
        place, name = key
        return self.places[place] / name if place < len(self.places) else Path(name)

    def _remove(self, number: int) -> None:
        self.connection.execute("DELETE FROM result WHERE benchmark IN (SELECT id FROM name) AND file = ?", (number,))
        self.connection.execute("DELETE FROM file WHERE id = ?", (number,))

    def _seen(self, number: int, one: Found, looked: int) -> None:
        self.connection.execute(
            "UPDATE file SET size = ?, mtime = ?, looked = ? WHERE id = ?", (one.size, one.mtime, looked, number)
        )

    def _add(self, one: Found, parsed: Parsed) -> None:
        values = (one.place, one.name, one.kind, one.size, one.mtime, parsed.looked, parsed.digest, parsed.document)
        cursor = self.connection.execute(
            "INSERT INTO file (place, name, kind, size, mtime, looked, digest, document, problem) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, parsed.problem),
        )
        self.connection.executemany(
            "INSERT OR REPLACE INTO result (file, benchmark, version, grid, vals, low, high) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    cursor.lastrowid,
                    self._name(row.name),
                    row.version,
                    self._grid(row.grid),
                    row.values,
                    row.low,
                    row.high,
                )
                for row in parsed.rows
            ),
        )

    def _name(self, text: str) -> int:
        if text not in self.names:
            cursor = self.connection.execute("INSERT INTO name (text) VALUES (?)", (text,))
            self.names[text] = cursor.lastrowid or 0
        return self.names[text]

    def _grid(self, text: str) -> int:
        digest = _digest(text.encode())
        if digest not in self.grids:
            insert = "INSERT INTO grid (digest, text) VALUES (?, ?)"
            self.grids[digest] = int(self.connection.execute(insert, (digest, text)).lastrowid or 0)
        return self.grids[digest]


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


# ---------------- reading


def _read(files: Sequence[Found], known: _Files) -> Iterator[tuple[Found, Parsed]]:
    """The files, parsed unless their content is what is known of them."""
    digests = {key: one.digest for key, one in known.items()}
    jobs = [(one.path, one.kind, digests.get((one.place, one.name), b""), one.problem) for one in files]
    with closing(each(parse, jobs, sum(one.size for one in files))) as parsed:
        yield from zip(files, parsed, strict=True)


def parse(path: Path, kind: Kind, before: bytes = b"", problem: str = "") -> Parsed:
    """Read one file, unless there is a `problem`. Where its digest is `before`, only the digest is found out."""
    looked = time.time_ns()
    try:
        content = _content(path, kind, problem)
    except BadFile as error:
        return Parsed(_digest(str(error).encode()), looked, problem=str(error))
    digest = _digest(content)
    if digest == before:
        return Parsed(digest, looked)
    try:
        document, rows = _PARSERS[kind](path, content)
    except BadFile as error:
        return Parsed(digest, looked, problem=str(error))
    return Parsed(digest, looked, json.dumps(document), rows)


def _content(path: Path, kind: Kind, problem: str) -> bytes:
    """Of a run file no more than its head may take. Raises BadFile."""
    if problem:
        raise BadFile(problem)
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            if kind == "run":
                return size.to_bytes(8, "big") + file.read(LINE_BYTES + 2)
            if size > FILE_BYTES:
                raise BadFile(f"has {size >> 20} MiB, more than the {FILE_BYTES >> 20} MiB that are read")
            return file.read(FILE_BYTES)
    except OSError as error:
        raise BadFile(f"cannot be read: {error.strerror}") from error


_Read = tuple[Mapping[str, Any], tuple[Row, ...]]


def _benchmarks(_path: Path, content: bytes) -> _Read:
    found, dropped = read_benchmarks(content)
    return {"benchmarks": [asdict(one) for one in found], "dropped": _summary(dropped)}, ()


def _machine(_path: Path, content: bytes) -> _Read:
    return asdict(read_machine(content)), ()


def _result(_path: Path, content: bytes) -> _Read:
    found = read_result(content)
    head = {key: getattr(found, key) for key in ("commit", "date", "machine", "cpu", "environment", "facts")}
    return {**head, "dropped": _summary(found.dropped)}, tuple(found.rows)


def _run(path: Path, content: bytes) -> _Read:
    return asdict(read_head(content[8:], packed=path.name.endswith(".xz"))), ()


_PARSERS = {"benchmarks": _benchmarks, "machine": _machine, "result": _result, "run": _run}


def _summary(dropped: Iterable[str]) -> str:
    reasons = list(dropped)
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"a part of it is left out: {reasons[0]}{more}" if reasons else ""
