"""Reading a table key by key: every problem is collected, so that one run of windtunnel shows all of them.

A key counts as known once it was asked for; `Table.close` reports the others with the nearest known one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from windtunnel.declare.toml import Document, Path, format_key
from windtunnel.declare.values import Unfit, describe
from windtunnel.errors import ConfigError

__all__ = ["Problems", "Table", "near", "root_table"]

T = TypeVar("T")


@dataclass(frozen=True)
class _Problem:
    line: int | None
    key: str
    message: str


@dataclass
class Problems:
    """What is wrong with one file, in the order found."""

    file: str
    found: list[_Problem] = field(default_factory=list)

    def add(self, message: str, *, line: int | None = None, key: str = "") -> None:
        """Note one problem."""
        self.found.append(_Problem(line, key, message))

    def check(self) -> None:
        """Raise one ConfigError for everything noted, sorted by line; file, line and key are the first one's."""
        if not self.found:
            return
        first, *others = sorted(self.found, key=lambda problem: problem.line or 0)
        errors = [ConfigError(other.message, file=self.file, line=other.line, key=other.key) for other in others]
        message = "\n".join([first.message, *map(str, errors)])
        raise ConfigError(message, file=self.file, line=first.line, key=first.key or None)


def near(word: str, known: Mapping[str, object] | list[str] | tuple[str, ...] | set[str]) -> str:
    """``did you mean "x"?`` for the nearest known word, else the list of all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.6)
    if close:
        return f'did you mean "{close[0]}"?'
    return f"known here: {', '.join(names)}" if names else "nothing is known here"


@dataclass
class Table:
    """One table of a document, and where it is."""

    document: Document
    problems: Problems
    path: Path
    data: Mapping[str, object]
    known: set[str] = field(default_factory=set)

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def line(self, *path: str | int) -> int:
        """The line of a key below this table, or of the nearest thing around it."""
        return self.document.line((*self.path, *path))

    def wrong(self, message: str, *path: str | int) -> None:
        """Note a problem with the table, or with what is at `path` in it."""
        whole = (*self.path, *path)
        self.problems.add(message, line=self.document.line(whole), key=format_key(whole))

    def get(self, key: str, convert: Callable[[object], T], default: T) -> T:
        """The value of `key` by `convert`; the default where it is absent or (then a problem is noted) unfit."""
        self.known.add(key)
        if key not in self.data:
            return default
        try:
            return convert(self.data[key])
        except Unfit as error:
            self.wrong(str(error), key, *error.at)
            return default

    def need(self, key: str, convert: Callable[[object], T], default: T, expected: str) -> T:
        """Like `get`, but an absent key is a problem."""
        if key not in self.data:
            self.known.add(key)
            self.wrong(f"missing; expected {expected}", key)
        return self.get(key, convert, default)

    def table(self, key: str, expected: str) -> Table | None:
        """The table at `key`, or None."""
        self.known.add(key)
        if key not in self.data:
            return None
        value = self.data[key]
        if not isinstance(value, Mapping):
            self.wrong(f"found {describe(value)}, expected {expected}", key)
            return None
        return Table(self.document, self.problems, (*self.path, key), value)

    def tables(self, key: str, expected: str) -> list[Table]:
        """The tables of the array of tables at `key`."""
        self.known.add(key)
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(element, Mapping) for element in value):
            self.wrong(f"found {describe(value)}, expected {expected}", key)
            return []
        path = (*self.path, key)
        return [Table(self.document, self.problems, (*path, index), element) for index, element in enumerate(value)]

    def close(self, hint: Callable[[str], str] | None = None) -> None:
        """Report every key that nobody asked for. `hint` may know better (it returns "" where it does not)."""
        for key in self.data:
            if key not in self.known:
                self.wrong(f"unknown key; {(hint(key) if hint else '') or near(key, self.known)}", key)


def root_table(document: Document) -> Table:
    """The document as a table, with a fresh list of problems."""
    return Table(document, Problems(document.file), (), document.data)
