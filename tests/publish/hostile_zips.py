"""Zip archives written byte by byte, so that each can lie in one place of its own choice."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

__all__ = ["Entry", "archive", "deflated"]

REGULAR = 0o100644 << 16


def deflated(content: bytes) -> bytes:
    """Raw deflate, as archives have it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(content) + packer.flush()


@dataclass(frozen=True)
class Entry:
    """One file; what is None is as it honestly would be.

    Attributes:
        content: what it unpacks to.
        packed: the bytes in the archive.
        size, checksum, packed_size: what the directory says.
        local_name, local_flags: what stands before the file itself.
        trailer: what follows the packed bytes.
        offset: where the directory says it begins.
    """

    content: bytes = b"{}\n"
    name: bytes = b"run.jsonl"
    method: int = 8
    flags: int = 0
    attributes: int = REGULAR
    packed: bytes | None = None
    size: int | None = None
    checksum: int | None = None
    packed_size: int | None = None
    local_name: bytes | None = None
    local_flags: int | None = None
    trailer: bytes = b""
    offset: int | None = None
    extra: bytes = b""
    version: int = 20

    @property
    def raw(self) -> bytes:
        if self.packed is not None:
            return self.packed
        return deflated(self.content) if self.method == 8 else self.content

    def facts(self) -> tuple[int, int, int]:
        """Checksum, packed size, size."""
        packed = len(self.raw) if self.packed_size is None else self.packed_size
        size = len(self.content) if self.size is None else self.size
        return zlib.crc32(self.content) if self.checksum is None else self.checksum, packed, size

    def local(self) -> bytes:
        name = self.name if self.local_name is None else self.local_name
        flags = self.flags if self.local_flags is None else self.local_flags
        facts = (0, 0, 0) if flags & 8 else self.facts()
        head = struct.pack("<4s5H3L2H", b"PK\3\4", self.version, flags, self.method, 0, 33, *facts, len(name), 0)
        return head + name + self.raw + self.trailer

    def central(self, offset: int) -> bytes:
        sizes = (len(self.name), len(self.extra), 0, 0, 0)
        at = offset if self.offset is None else self.offset
        numbers = (*self.facts(), *sizes, self.attributes, at)
        head = struct.pack("<4s6H3L5H2L", b"PK\1\2", 0x314, self.version, self.flags, self.method, 0, 33, *numbers)
        return head + self.name + self.extra


def archive(
    *entries: Entry,
    before: bytes = b"",
    between: bytes = b"",
    after: bytes = b"",
    count: int | None = None,
    shift: int = 0,
    comment: bytes = b"",
    disk: int = 0,
) -> bytes:
    """An archive of these files.

    `before`, `between` (files and directory) and `after` are further bytes; `shift` is added to where the directory
    is said to begin, and `count` is how many files it is said to have.
    """
    files, directory = before, b""
    for entry in entries:
        directory += entry.central(len(files))
        files += entry.local()
    files += between
    number = len(entries) if count is None else count
    end = struct.pack(
        "<4s4H2LH", b"PK\5\6", disk, 0, number, number, len(directory), len(files) + shift, len(comment)
    )
    return files + directory + end + comment + after
