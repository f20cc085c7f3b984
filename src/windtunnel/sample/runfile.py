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
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, get_args, get_type_hints

from windtunnel.errors import ConfigError, StorageError
from windtunnel.model import Case, Host, Launch, LaunchPlan, Slice
from windtunnel.sample.schedule import Sizes
from windtunnel.units import Missing

__all__ = ["FORMAT", "VERSION", "Arm", "Failure", "Header", "Run", "RunWriter", "check_writable", "read_run"]

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
class Header:
    """What was going to be measured, where and with what."""

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


@dataclass(frozen=True)
class Failure:
    """A case of an arm that was never launched: `kind` is "failed" (did not build) or "skipped" (not there)."""

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
        """The first line."""
        self._append({"type": "header", "format": FORMAT, "version": VERSION, **_plain(header)})

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


def read_run(path: Path) -> Run:
    """A run file from disk.

    Raises ConfigError for a file that is not one, is of a newer version, or has a broken line before its last.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from error
    records = [(number, _record(path, number, line, number == len(lines))) for number, line in enumerate(lines, 1)]
    whole = [(number, record) for number, record in records if record is not None]
    if not whole or whole[0][1].get("format") != FORMAT:
        raise ConfigError("is not a windtunnel run file", file=path, line=1)
    if whole[0][1].get("version") != VERSION:
        found = whole[0][1].get("version")
        raise ConfigError(f"is of version {found}, this windtunnel reads {VERSION}", file=path, line=1)
    return _assemble(path, whole)


def _record(path: Path, number: int, line: bytes, last: bool) -> dict[str, Any] | None:
    """What a line says; None for an empty one, and for a last one that was cut short."""
    if not line:
        return None
    try:
        found = json.loads(line, parse_float=_finite, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        if last:  # no newline after it: the write was cut short
            return None
        raise ConfigError(f"is not JSON: {error}", file=path, line=number) from error
    if not isinstance(found, dict):
        raise ConfigError("is not an object", file=path, line=number)
    return found


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number that can be measured")


def _assemble(path: Path, records: list[tuple[int, dict[str, Any]]]) -> Run:
    launches: list[Launch] = []
    failures: list[Failure] = []
    sizes: dict[str, Sizes] = {}
    end: dict[str, Any] = {}
    header = _decoded(Header, records[0][1], path, records[0][0])
    for number, record in records[1:]:
        kind = record.get("type")
        if kind == "launch":
            launches.append(_decoded(Launch, record, path, number))
        elif kind == "failure":
            failures.append(_decoded(Failure, record, path, number))
        elif kind == "sizes":
            sizes[str(record.get("case"))] = _decoded(Sizes, record.get("sizes") or {}, path, number)
        elif kind == "end":
            end = {key: value for key, value in record.items() if key != "type"}
    return Run(header, tuple(launches), tuple(failures), sizes, end)


_adapters: dict[str, Any] = {}


def _adapter(kind: type[Any]) -> Any:
    """Reads a dataclass with all its types checked; made once, and only where a run file is read."""
    from pydantic import TypeAdapter

    if kind.__name__ not in _adapters:
        _adapters[kind.__name__] = TypeAdapter(kind)
    return _adapters[kind.__name__]


def _decoded(kind: type[Any], record: dict[str, Any], path: Path, number: int) -> Any:
    from pydantic import ValidationError

    known = kind.__dataclass_fields__
    try:
        return _adapter(kind).validate_python(_revived({key: record[key] for key in record if key in known}))
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(first["msg"], file=path, line=number, key=_key(record, first["loc"])) from error


def _key(record: Any, location: tuple[int | str, ...]) -> str:
    """The key that is wrong: as far as the record has it, and one more that it lacks; then come names of types."""
    parts: list[str] = []
    here = record
    for part in location:
        if isinstance(here, list) and isinstance(part, int):
            here = here[part]
        elif isinstance(here, dict) and (not parts or parts[-1] not in _measured()):
            here = here.get(str(part))
        else:
            break
        parts.append(str(part))
    return ".".join(parts)


@cache
def _measured() -> frozenset[str]:
    """The keys whose values may be `Missing`; elsewhere "missing" is a name like any other (of an axis, a header)."""
    hints = {**get_type_hints(Slice), **get_type_hints(Launch)}
    return frozenset(name for name, hint in hints.items() if Missing in get_args(hint))


def _revived(value: Any, key: str = "") -> Any:
    """Turn ``{"missing": reason}`` back into `Missing`."""
    if isinstance(value, dict):
        if value.keys() == {"missing"} and key in _measured():
            return Missing(str(value["missing"]))
        return {name: _revived(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_revived(item) for item in value]
    return value
