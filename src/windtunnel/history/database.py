"""The index on the disk: an SQLite file, its tables, and what is done when it is damaged or of another version.

One transaction is one update, so a crash leaves what was there before. A damaged file is put aside (never deleted: it
might be something else) and made anew from the results, which are what counts.
"""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.errors import ConfigError, StorageError

__all__ = ["SCHEMA", "Damaged", "Database", "trusted"]

SCHEMA = 1
"""The version of the tables. An index of any other is emptied and filled again."""

_APPLICATION = 0x77746878
"""Marks the SQLite files that are ours ("wthx")."""

_WAIT = 120.0
"""Seconds to wait for another process that is writing."""

_TABLES = """
CREATE TABLE file (
    id INTEGER PRIMARY KEY,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime INTEGER NOT NULL,
    looked INTEGER NOT NULL,
    digest BLOB NOT NULL,
    document TEXT NOT NULL,
    problem TEXT NOT NULL,
    UNIQUE (place, name)
);
CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE grid (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, text TEXT NOT NULL);
CREATE TABLE result (
    benchmark INTEGER NOT NULL,
    file INTEGER NOT NULL,
    version TEXT,
    grid INTEGER NOT NULL,
    vals BLOB,
    low BLOB,
    high BLOB,
    PRIMARY KEY (benchmark, file)
) WITHOUT ROWID;
CREATE TABLE level (
    benchmark TEXT NOT NULL,
    machine TEXT NOT NULL,
    environment TEXT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (benchmark, machine, environment)
) WITHOUT ROWID;
CREATE TABLE commits (hash TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE fact (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
_NAMES = ("file", "name", "grid", "result", "level", "commits", "fact")
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class Damaged(Exception):
    """The file is no database any more, or (`inside`) what is in it is not what was put there."""

    def __init__(self, message: str, *, inside: bool = False) -> None:
        super().__init__(message)
        self.inside = inside


@contextmanager
def trusted() -> Iterator[None]:
    """For taking apart what the index has: it was put there by this program, so what does not fit is damage."""
    try:
        yield
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise Damaged(f"{type(error).__name__}: {error}", inside=True) from error


@dataclass
class Database:
    """The file `path`; opened when it is first used. `tell` hears of what had to be made anew."""

    path: Path
    tell: Callable[[str], None]
    _open: sqlite3.Connection | None = field(default=None, init=False)
    _inode: int = field(default=0, init=False)

    def close(self) -> None:
        """Let go of the file."""
        if self._open is not None:
            self._open.close()
            self._open = None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """For statements that change nothing. Raises Damaged, StorageError, ConfigError."""
        with self._faults():
            yield self._connection()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it is kept, or nothing. Raises Damaged, StorageError, ConfigError."""
        with self._faults():
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def renew(self, damage: Damaged) -> None:
        """Put the damaged file aside, so that the next use makes a new one. One process does it, others find it done.

        Raises StorageError.
        """
        self.close()
        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            with lock.open("w") as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                if self.path.exists() and (
                    self.path.stat().st_ino == self._inode if damage.inside else _damaged(self.path)
                ):
                    aside = self.path.with_name(f"{self.path.name}.damaged")
                    # The journal goes first: it must never meet the new file.
                    self.path.with_name(f"{self.path.name}-journal").unlink(missing_ok=True)
                    self.path.replace(aside)
                    self.tell(f"{self.path}: the index is damaged; it is put aside as {aside.name} and made anew")
        except OSError as error:
            raise StorageError(
                f"{self.path}: the index is damaged and cannot be put aside: {error.strerror}"
            ) from error

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF in _DAMAGE if hasattr(error, "sqlite_errorcode") else False:
                raise Damaged(str(error)) from error
            self.close()
            raise StorageError(
                f"{self.path}: the index cannot be used: {error}; make room or name another place for it"
            ) from error

    def _connection(self) -> sqlite3.Connection:
        if self._open is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StorageError(f"{self.path.parent}: cannot be made: {error.strerror}") from error
            connection = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None, check_same_thread=False)
            try:
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("PRAGMA cache_size = -65536")
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._open, self._inode = connection, self.path.stat().st_ino
        return self._open

    def _prepare(self, connection: sqlite3.Connection) -> None:
        if self._state(connection) == (_APPLICATION, SCHEMA):
            return
        connection.execute("BEGIN IMMEDIATE")
        application, version = self._state(connection)  # another process may have been here meanwhile
        if (application, version) != (_APPLICATION, SCHEMA):
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            if application != _APPLICATION and tables:
                raise ConfigError("is a database of something else; name another place for the index", file=self.path)
            if tables:
                self.tell(f"{self.path}: the index is of version {version}, not {SCHEMA}; it is made anew")
            _create(connection, tables)
        connection.execute("COMMIT")

    @staticmethod
    def _state(connection: sqlite3.Connection) -> tuple[int, int]:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return application, version


def _create(connection: sqlite3.Connection, tables: list[str]) -> None:
    for name in tables:
        if not name.startswith("sqlite_"):
            connection.execute(f'DROP TABLE "{name}"')
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {SCHEMA}")


def _damaged(path: Path) -> bool:
    """Whether it still is: another process may have made a new one."""
    connection = sqlite3.connect(path, timeout=_WAIT)
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
    except sqlite3.DatabaseError as error:
        return error.sqlite_errorcode & 0xFF in _DAMAGE
    finally:
        connection.close()
