"""The run file: everything one command measured, with its environment, in one versioned file.

It is JSON lines: a header, then one line per launch (or per case that could not be launched), then an end. A line
is appended and flushed to disk as soon as its launch has ended, so a crash, `kill -9` or a full disk loses the
launch in flight and nothing else; a torn last line is recognised and dropped. `site/formats.md` describes it.
"""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

from windtunnel.errors import ConfigError, StorageError
from windtunnel.model import Case, Host, Launch, LaunchPlan
from windtunnel.sample.decode import (
    FILE_BYTES,
    LINE_BYTES,
    LINES,
    TEXT,
    NotJSON,
    checked_end,
    decoded,
    json_object,
    object_of,
    shown_name,
    text_of,
)
from windtunnel.sample.schedule import Sizes
from windtunnel.units import Missing

__all__ = [
    "FORMAT",
    "VERSION",
    "Arm",
    "ComparePlan",
    "Failure",
    "Header",
    "Run",
    "RunWriter",
    "Shard",
    "check_writable",
    "read_run",
]

_REMEDY = "make room, or name another place with --output"

FORMAT = "windtunnel-run"
VERSION = 1


@dataclass(frozen=True)
class Arm:
    """One commit's side: `revision` as it was asked for, `commit` in full ("worktree" for the working tree)."""

    name: str
    revision: str
    commit: str
    date: str = ""
    subject: str = ""


@dataclass(frozen=True)
class ComparePlan:
    """How a comparison was going to be decided; with the seed it makes the order of everything reproducible.

    Attributes:
        threshold: a change below it is not worth a word, as a share.
        most: how many pairs a case gets at most.
        budget: seconds of machine time for all cases together.
        control: whether base is measured once more, in containers of its own.
        batch: how many pairs start together.
        select: regular expressions that chose the cases.
        suite: the suite of windtunnel.toml that was asked for, or "".
        shard: "2/4" for the second of four parts, or "".
        plans: how a launch is loaded, by case id, where a case has another plan than the header's.
    """

    threshold: float
    most: int
    budget: float | None = None
    control: bool = False
    batch: int = 2
    select: tuple[str, ...] = ()
    suite: str = ""
    shard: str = ""
    plans: Mapping[str, LaunchPlan] = field(default_factory=dict)


@dataclass(frozen=True)
class Shard:
    """A run that was merged into another: its name, when and how it was made, its seed, which part it was ("2/4", or
    "" where its cases were named), the ids of its cases, and the machine that all of them were measured on."""

    id: str
    created: str
    command: tuple[str, ...]
    seed: str
    shard: str
    cases: tuple[str, ...]
    host: Host | None = None


@dataclass(frozen=True)
class Header:
    """What was going to be measured, where and with what. `compare` is there for a comparison of two commits.

    `shards` are the runs that a merged one was made of; it has no seed of its own, and no host if theirs differ.
    `turns` names the cases whose launches of one number were up together and loaded in turn, slice by slice.
    """

    id: str
    created: str
    windtunnel: str
    command: tuple[str, ...]
    project: str
    seed: str
    plan: LaunchPlan
    launches: int
    arms: tuple[Arm, ...]
    cases: tuple[Case, ...]
    host: Host | None = None
    compare: ComparePlan | None = None
    shards: tuple[Shard, ...] = ()
    turns: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Failure:
    """A case that was not launched on an arm.

    `kind` is "failed" (did not build), "skipped" (not there), and in a comparison "identical" (nothing could differ)
    or "first" (base does not have the case, head was measured alone).
    """

    case: str
    arm: str
    kind: str
    reason: str
    detail: str = ""


@dataclass(frozen=True)
class Run:
    """A run file, read. `complete` tells whether the command came to its own end."""

    header: Header
    launches: tuple[Launch, ...] = ()
    failures: tuple[Failure, ...] = ()
    sizes: Mapping[str, Sizes] = field(default_factory=dict)
    end: Mapping[str, Any] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the last line says that the command ended."""
        return bool(self.end)


def _plain(value: object) -> Any:
    if isinstance(value, Missing):
        return {"missing": value.reason}
    if is_dataclass(value) and not isinstance(value, type):
        return {key: _plain(getattr(value, key)) for key in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"missing": f"{value} is no measured number"}  # and JSON has no such numbers
    return value


def check_writable(path: Path) -> None:
    """See whether a run file can be made there, before anything is built or measured for it.

    Raises StorageError. The file is not left behind.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))
        path.unlink()
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}; {_REMEDY}") from error


class RunWriter:
    """Appends to a run file; every line is on the disk when the call returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._mend()
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror}; {_REMEDY}") from error

    @property
    def empty(self) -> bool:
        """Whether nothing is in the file yet, so that it still needs its header."""
        return os.fstat(self._descriptor).st_size == 0

    def header(self, header: Header) -> None:
        """The first line. Raises ConfigError for one that could not be read again."""
        line = {"type": "header", "format": FORMAT, "version": VERSION, **_plain(header)}
        if len(json.dumps(line)) > TEXT:
            raise ConfigError(
                f"the cases take more than {TEXT >> 20} MiB to write down; shorten the bodies of their workloads"
            )
        self._append(line)

    def launch(self, launch: Launch) -> None:
        """One launch, whatever its outcome."""
        self._append({"type": "launch", **_plain(launch)})

    def failure(self, failure: Failure) -> None:
        """A case that could not be launched."""
        self._append({"type": "failure", **_plain(failure)})

    def sizes(self, case: str, sizes: Sizes) -> None:
        """The calibrated slice sizes of a case: what a resumed run has to go on with."""
        self._append({"type": "sizes", "case": case, "sizes": _plain(sizes)})

    def end(self, **facts: object) -> None:
        """The command's own end: exit code, seconds by phase."""
        self._append({"type": "end", **{key: _plain(value) for key, value in facts.items()}})

    def close(self) -> None:
        """Let go of the file; one that nothing was written to does not stay."""
        if self.empty:
            with suppress(OSError):
                self.path.unlink()
        os.close(self._descriptor)

    def _append(self, line: Mapping[str, Any]) -> None:
        data = json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        start = os.fstat(self._descriptor).st_size
        try:
            if os.write(self._descriptor, data) == len(data):
                os.fsync(self._descriptor)
                return
        except OSError as error:
            self._undo(start)
            raise _storage(self.path, error) from error
        self._undo(start)
        raise _storage(self.path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))

    def _mend(self) -> None:
        """Drop a last line that an earlier writer could not finish, before anything is written behind it.

        If nothing but its newline is missing the reader takes it for whole, so it is kept.
        """
        content = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
        start = content.rfind(b"\n") + 1
        if not content[start:]:
            return
        if _record(self.path, 0, content[start:], last=True) is None:
            os.ftruncate(self._descriptor, start)
        else:
            os.write(self._descriptor, b"\n")

    def _undo(self, size: int) -> None:
        """Take a half-written line back, so that what was there before stays a whole file."""
        try:
            os.ftruncate(self._descriptor, size)
        except OSError:
            return  # the reader drops a torn last line


def _storage(path: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot write {path}: {error.strerror}; what was measured before is in it; {_REMEDY}")


def read_run(path: Path, *, each: Callable[[Launch], Launch] | None = None) -> Run:
    """A run file from disk.

    Args:
        path: the file.
        each: what is to be kept of a launch, asked as soon as it is read; None keeps all of it.

    Raises ConfigError for a file that is not one, is of a newer version, has a broken line before its last, or holds
    anything that is not what it should be (see `windtunnel.sample.decode`).
    """
    records = _records(path)
    line, first = next(records, (1, {}))
    if first.get("format") != FORMAT:
        raise ConfigError("is not a windtunnel run file", file=path, line=1)
    if first.get("version") != VERSION or isinstance(first.get("version"), bool):
        found = json.dumps(first.get("version"))[:30]
        raise ConfigError(f"is of version {found}, this windtunnel reads {VERSION}", file=path, line=1)
    return _assemble(path, decoded(Header, first, path, line), records, each)


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines that hold something, by number."""
    size = 0
    for number, line in enumerate(_lines(path), 1):
        whole = line.removesuffix(b"\n")
        size += len(line)
        for what, found, most in (("line", len(whole), LINE_BYTES), ("file", size, FILE_BYTES)):
            if found > most:
                raise ConfigError(
                    f"a {what} of more than {most >> 20} MiB, no run file has one", file=path, line=number
                )
        if number > LINES:
            raise ConfigError(f"more than {LINES} lines, no run file has so many", file=path, line=number)
        record = _record(path, number, whole, last=line == whole)
        if record is not None:
            yield number, record


def _lines(path: Path) -> Iterator[bytes]:
    """One at a time, none much longer than it may be."""
    try:
        with path.open("rb") as file:
            while line := file.readline(LINE_BYTES + 2):
                yield line
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from error


def _record(path: Path, number: int, line: bytes, last: bool) -> dict[str, Any] | None:
    """What a line says; None for an empty one, and for a last one that was cut short."""
    if not line:
        return None
    try:
        return json_object(line)
    except NotJSON as error:
        if last:  # no newline after it: the write was cut short
            return None
        raise ConfigError(str(error), file=path, line=number) from error
    except ValueError as error:
        raise ConfigError(str(error), file=path, line=number) from error


def _assemble(
    path: Path,
    header: Header,
    records: Iterator[tuple[int, dict[str, Any]]],
    each: Callable[[Launch], Launch] | None,
) -> Run:
    launches: list[Launch] = []
    failures: list[Failure] = []
    sizes: dict[str, Sizes] = {}
    end: dict[str, Any] = {}
    known = _declared(header)
    for number, record in records:
        kind = text_of(record, "type", path, number)
        if kind == "launch":
            launch = decoded(Launch, record, path, number)
            _belongs(launch, known, path, number)
            launches.append(each(launch) if each else launch)
        elif kind == "failure":
            failures.append(decoded(Failure, record, path, number))
        elif kind == "sizes":
            case = text_of(record, "case", path, number)
            sizes[case] = decoded(Sizes, object_of(record, "sizes", path, number), path, number)
        elif kind == "end":
            end = checked_end(record, path, number)
        elif kind == "header":
            raise ConfigError("a second header: put run files together with windtunnel merge", file=path, line=number)
    return Run(header, tuple(launches), tuple(failures), sizes, end)


def _declared(header: Header) -> Mapping[str, frozenset[str]]:
    """The only arms and cases that a comparison may have launches of: verdicts rely on that. Others are not held to
    it: asv's processes each write what they have."""
    if header.compare is None:
        return {}
    arms = {"control", *(arm.name for arm in header.arms)}
    return {"arm": frozenset(arms), "case": frozenset(case.id for case in header.cases)}


def _belongs(launch: Launch, declared: Mapping[str, frozenset[str]], path: Path, number: int) -> None:
    for key, names in declared.items():
        name = getattr(launch, key)
        if name not in names:
            raise ConfigError(f'the header has no {key} "{shown_name(name)}"', file=path, line=number, key=key)
