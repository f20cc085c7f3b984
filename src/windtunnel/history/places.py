"""Which files a folder of results has: asv's, and our run files beside them.

A place may be asv's results folder itself, the results branch (``asv/``, ``runs/YEAR/``: see `site/formats.md`), a
folder of run files, or one run file. Only names and sizes are looked at here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["Found", "Kind", "find"]

Kind = Literal["benchmarks", "machine", "result", "run"]
"""What a file should be, by where it is."""

_NOT_UTF8 = "has a name that is not UTF-8"
_NO_MACHINE = "is missing, so what is beside it is passed over, as asv does"

_RUNS = "runs"
"""Where our run files are, beside asv's machines."""

_RUN_ENDINGS = (".jsonl", ".jsonl.xz")


@dataclass(frozen=True)
class Found:
    """A file: in which of the places (by number), where below it, and what tells that it has changed.

    Attributes:
        place: the number of the place.
        name: the path below the place, with "/"; "" where the place is the file.
        path: the whole path.
        size: in bytes.
        mtime: when it was written, nanoseconds since the epoch.
        problem: why it can't be read at all, or "".
    """

    place: int
    name: str
    path: Path
    kind: Kind
    size: int
    mtime: int
    problem: str = ""


def find(places: Sequence[Path]) -> Iterator[Found]:
    """Every file of the places, in a fixed order; and what stands in the way of reading a folder."""
    for number, place in enumerate(places):
        if place.is_dir():
            folder, below = _results(place)
            yield from _asv(_Folder(number, folder, below))
            yield from _runs(_Folder(number, place, ""))
            yield from _years(_Folder(number, place / _RUNS, f"{_RUNS}/"))
        elif place.name.endswith(_RUN_ENDINGS) and place.is_file():
            yield _Folder(number, place.parent, "").found(place.name, "run", name="")


def _results(place: Path) -> tuple[Path, str]:
    """asv's folder: of a results branch it is one of several, and the others are none of asv's."""
    branch = (place / "asv").is_dir() or (place / "format.json").is_file()
    return (place / "asv", "asv/") if branch and not (place / "benchmarks.json").is_file() else (place, "")


def _shown(name: str) -> str:
    """A name that can be kept and printed; another one than the file has where that is not UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


@dataclass(frozen=True)
class _Folder:
    """A folder of a place; `below` is its path there, with a slash at its end."""

    number: int
    path: Path
    below: str

    def names(self) -> list[str]:
        """What is in it but hidden; nothing where it is not there. Raises OSError where it can't be read."""
        try:
            return sorted(one.name for one in self.path.iterdir() if not one.name.startswith("."))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def inner(self, name: str) -> _Folder:
        return _Folder(self.number, self.path / name, f"{self.below}{name}/")

    def found(self, file: str, kind: Kind, name: str | None = None) -> Found:
        """A file in it. A name that is not UTF-8 can neither be kept nor shown: it is told, and not read."""
        if _shown(file) != file:
            return self.problem(file, kind, _NOT_UTF8)
        try:
            status = (self.path / file).stat()
        except OSError as error:
            return self.problem(file, kind, f"cannot be read: {error.strerror}")
        where = self.below + file if name is None else name
        return Found(self.number, where, self.path / file, kind, status.st_size, status.st_mtime_ns)

    def problem(self, name: str, kind: Kind, reason: str) -> Found:
        """In place of a file that can't be read."""
        shown = _shown(name)
        return Found(self.number, self.below + shown, self.path / shown, kind, 0, 0, reason)

    def files(self, ending: str | tuple[str, ...]) -> list[str]:
        """Names of the files in it that end so. Raises OSError."""
        return [name for name in self.names() if name.endswith(ending) and (self.path / name).is_file()]


def _asv(folder: _Folder) -> Iterator[Found]:
    try:
        names = folder.names()
    except OSError as error:
        yield folder.problem("benchmarks.json", "benchmarks", f"cannot be read: {error.strerror}")
        return
    for name in names:
        if name == "benchmarks.json" and (folder.path / name).is_file():
            yield folder.found(name, "benchmarks")
        elif name != _RUNS and (folder.path / name).is_dir():
            yield from _machine(folder, name)


def _machine(folder: _Folder, name: str) -> Iterator[Found]:
    inner = folder.inner(name)
    try:
        files = inner.files(".json")
    except OSError as error:
        yield folder.problem(name, "machine", f"cannot be read: {error.strerror}")
        return
    if files and _shown(name) != name:
        yield folder.problem(name, "machine", _NOT_UTF8)
    elif files and "machine.json" not in files:
        yield inner.problem("machine.json", "machine", _NO_MACHINE)
    else:
        for file in files:
            if file != "benchmarks.json":
                yield inner.found(file, "machine" if file == "machine.json" else "result")


def _years(folder: _Folder) -> Iterator[Found]:
    yield from _runs(folder)
    with suppress(OSError):  # has been told
        for name in folder.names():
            if (folder.path / name).is_dir():
                yield from _runs(folder.inner(name))


def _runs(folder: _Folder) -> Iterator[Found]:
    try:
        names = folder.files(_RUN_ENDINGS)
    except OSError as error:
        yield folder.problem("", "run", f"cannot be read: {error.strerror}")
        return
    for name in names:
        yield folder.found(name, "run")
