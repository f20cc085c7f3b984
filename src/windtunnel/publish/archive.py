"""One file out of a zip archive that anyone may have made.

A measuring job of a stranger's pull request hands its result over as an artifact, and the forge passes on whatever
that job has uploaded. So the archive is read by what it has to be, not by all that the format allows: one regular
file of the name that was agreed on, stored or deflated, from the first byte of the archive to the last. Whoever reads
archives leniently can be led to two readings of one; here there is one reading or none. No name from within is ever
the name of a file, and nothing is unpacked further than it may be large, whatever the archive says of itself.
"""

from __future__ import annotations

import os
import secrets
import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, NoReturn

from windtunnel.errors import StorageError, WindtunnelError
from windtunnel.report.visible import visible

__all__ = ["LIMITS", "IntakeError", "Limits", "Wanted", "unpack"]

Wanted = Literal["run.jsonl", "matrix.json"]

_END = struct.Struct("<4s4H2LH")
_ENTRY = struct.Struct("<4s4B4HL2L5H2L")
_LOCAL = struct.Struct("<4s2B4HL2L2H")

_DIRECTORY = 4_096
"""Bytes that a directory of one file has at most; an honest one has some sixty."""

_STORED, _DEFLATED = 0, 8
_DESCRIBED = 0x8
"""Sizes and checksum follow the file, in 12 to 24 bytes, since they were not known before."""

_ENCRYPTED = 0x1 | 0x40 | 0x2000
_KNOWN_FLAGS = 0x2 | 0x4 | _DESCRIBED | 0x800
"""How hard it was compressed, that sizes follow, and that names are UTF-8: nothing that changes how it is read."""

_DOS_FOLDER = 0x10
_CHUNK = 1 << 16


class IntakeError(WindtunnelError):
    """What was handed over is not what it should be. The message is one visible line."""

    def __init__(self, message: str) -> None:
        super().__init__(visible(message, 500))


@dataclass(frozen=True)
class Limits:
    """How large what is handed over may be, in bytes.

    Attributes:
        archive: the artifact itself.
        run: a run file.
        matrix: a plan of shards.
        total: all run files of one report together.
    """

    archive: int = 256 << 20
    run: int = 1 << 30
    matrix: int = 8 << 20
    total: int = 4 << 30

    def of(self, wanted: Wanted) -> int:
        """How large the file in the archive may be."""
        return self.run if wanted == "run.jsonl" else self.matrix


LIMITS = Limits()
"""What is taken where nobody says otherwise."""


@dataclass(frozen=True)
class _Entry:
    """What the directory says of the one file."""

    flags: int
    method: int
    checksum: int
    packed: int
    size: int
    attributes: int
    offset: int
    name: bytes


def unpack(archive: Path, wanted: Wanted, folder: Path, limits: Limits = LIMITS) -> Path:
    """The file `wanted` out of an archive, as a new file in `folder` whose name has nothing from the archive.

    Raises:
        IntakeError: the archive is anything but one that holds this one regular file; nothing is left in `folder`.
        StorageError: the file can't be written.
    """
    try:
        with archive.open("rb") as file:
            end = os.fstat(file.fileno()).st_size
            if end > limits.archive:
                _refuse(f"has {end:,} bytes, more than {limits.archive:,}")
            entry, ends_at = _only_entry(file, end, wanted)
            if entry.size > limits.of(wanted):
                _refuse(f"says that its {wanted} has {entry.size:,} bytes, more than {limits.of(wanted):,}")
            _seek_content(file, entry, ends_at)
            return _written(_content(file, entry, wanted), folder, wanted)
    except OSError as error:
        raise IntakeError(f"the artifact can't be read: {error.strerror}") from error


def _refuse(what: str) -> NoReturn:
    raise IntakeError(f"the artifact {what}")


# ---------------- the directory


def _only_entry(file: BinaryIO, end: int, wanted: Wanted) -> tuple[_Entry, int]:
    """The directory's one entry, and where the directory begins, which is where the files have ended."""
    if end < _END.size:
        _refuse("is not a zip archive")
    file.seek(end - _END.size)
    mark, disk, first, here, count, length, offset, comment = _END.unpack(file.read(_END.size))
    if mark != b"PK\x05\x06" or comment:
        _refuse("is not a zip archive, was cut short, or has something behind its end")
    if 0xFFFF in (disk, first, here, count) or 0xFFFFFFFF in (length, offset):
        _refuse("is of the zip64 kind, which is for larger ones")
    if disk or first or here != count:
        _refuse("is one part of several")
    if count != 1:
        _refuse(f"holds {count:,} files, and {wanted} is to be the only one")
    if offset + length + _END.size != end or not _ENTRY.size <= length <= _DIRECTORY:
        _refuse("has more or less in it than its directory says")
    file.seek(offset)
    return _checked(_entry(file.read(length)), wanted), offset


def _entry(record: bytes) -> _Entry:
    fields = _ENTRY.unpack_from(record)
    mark, flags, method, checksum, packed, size = fields[0], fields[5], fields[6], *fields[9:12]
    name_length, extra_length, comment_length = fields[12:15]
    if mark != b"PK\x01\x02" or _ENTRY.size + name_length + extra_length + comment_length != len(record):
        _refuse("has a directory that can't be read")
    name = record[_ENTRY.size :][:name_length]
    return _Entry(flags, method, checksum, packed, size, fields[17], fields[18], name)


def _checked(entry: _Entry, wanted: Wanted) -> _Entry:
    """The entry, if it is of one regular file of the right name that can be read."""
    if entry.name != wanted.encode():
        _refuse(f'holds "{visible(entry.name.decode("utf-8", "replace"), 60)}" in place of {wanted}')
    if entry.attributes & _DOS_FOLDER or stat.S_IFMT(entry.attributes >> 16) not in {0, stat.S_IFREG}:
        _refuse(f"holds a {wanted} that is no regular file")
    if entry.flags & _ENCRYPTED:
        _refuse("is encrypted")
    if entry.flags & ~_KNOWN_FLAGS:
        _refuse(f"has its {wanted} marked with {entry.flags:#06x}, which nothing is known of")
    if entry.method not in {_STORED, _DEFLATED}:
        _refuse(f"is compressed by method {entry.method}; known are {_STORED} (not at all) and {_DEFLATED} (deflate)")
    if entry.method == _STORED and entry.packed != entry.size:
        _refuse("contradicts itself")
    if entry.offset:
        _refuse("has something before its first file")
    return entry


# ---------------- the file


def _seek_content(file: BinaryIO, entry: _Entry, ends_at: int) -> None:
    """Go to where the content begins: behind a header that says the same as the directory does."""
    file.seek(0)
    header = file.read(_LOCAL.size)
    if len(header) < _LOCAL.size:
        _refuse("was cut short")
    mark, _, _, flags, method, *_, name_length, extra_length = _LOCAL.unpack(header)
    begins = _LOCAL.size + name_length + extra_length
    if (mark, flags, method, file.read(name_length)) != (b"PK\x03\x04", entry.flags, entry.method, entry.name):
        _refuse("contradicts itself")
    between = ends_at - (begins + entry.packed)
    if between not in ({12, 16, 20, 24} if entry.flags & _DESCRIBED else {0}):
        _refuse("has more or less in it than its directory says")
    file.seek(begins)


def _content(file: BinaryIO, entry: _Entry, wanted: Wanted) -> Iterator[bytes]:
    """The content in pieces: as much as the directory says and no more, and with the checksum that it says."""
    total, checksum = 0, 0
    for piece in _stored(file, entry.packed) if entry.method == _STORED else _inflated(file, entry.packed):
        total, checksum = total + len(piece), zlib.crc32(piece, checksum)
        if total > entry.size:
            _refuse(f"says that its {wanted} has {entry.size:,} bytes, and it has more")
        yield piece
    if (total, checksum) != (entry.size, entry.checksum):
        _refuse(f"is damaged: its {wanted} is not what its checksum says")


def _stored(file: BinaryIO, packed: int) -> Iterator[bytes]:
    while packed and (piece := file.read(min(packed, _CHUNK))):
        packed -= len(piece)
        yield piece


def _inflated(file: BinaryIO, packed: int) -> Iterator[bytes]:
    """In pieces that are bounded, however much a few bytes may stand for."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        for piece_in in _stored(file, packed):
            if inflate.eof:
                _refuse("is damaged: what is compressed in it ends too early")
            rest = piece_in
            while rest and not inflate.eof:
                if piece := inflate.decompress(rest, _CHUNK):
                    yield piece
                rest = inflate.unconsumed_tail
        while not inflate.eof and (piece := inflate.decompress(b"", _CHUNK)):
            yield piece
    except zlib.error:
        _refuse("is damaged: it can't be inflated")
    if not inflate.eof or inflate.unused_data:
        _refuse("is damaged: what is compressed in it ends too early or too late")


def _written(content: Iterator[bytes], folder: Path, wanted: Wanted) -> Path:
    """A new file of a name of our own; nothing is left of it if the content is refused on the way."""
    path = folder / f"intake-{secrets.token_hex(8)}{Path(wanted).suffix}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")
    except OSError as error:
        raise _storage(path, error) from error
    try:
        with file:
            for piece in content:
                _put(file, piece, path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def _put(file: BinaryIO, piece: bytes, path: Path) -> None:
    try:
        file.write(piece)
    except OSError as error:
        raise _storage(path, error) from error


def _storage(path: Path, error: OSError) -> StorageError:
    return StorageError(f"cannot write {path}: {error.strerror}; make room there")
