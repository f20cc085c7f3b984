"""Archives that anyone may have made: one regular file of the wanted name comes out, or one sentence."""

from __future__ import annotations

import base64
import io
import os
import struct
import subprocess
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile_zips import Entry, archive, deflated
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.errors import StorageError
from windtunnel.publish.archive import LIMITS, IntakeError, Limits, unpack

TEXT = b'{"type":"header"}\n' * 40


def _unpacked(content: bytes, tmp_path: Path, limits: Limits = LIMITS) -> bytes:
    """What comes out; whatever happens, only the named folder has anything new in it."""
    given = tmp_path / "artifact.zip"
    given.write_bytes(content)
    folder = tmp_path / "taken"
    folder.mkdir(exist_ok=True)
    outside = sorted(path for path in tmp_path.rglob("*") if folder not in path.parents)
    try:
        path = unpack(given, "run.jsonl", folder, limits)
    except IntakeError:
        assert list(folder.iterdir()) == []
        raise
    finally:
        assert sorted(path for path in tmp_path.rglob("*") if folder not in path.parents) == outside
    assert list(folder.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o600
    found = path.read_bytes()
    path.unlink()
    return found


def _refusal(content: bytes, tmp_path: Path, limits: Limits = LIMITS) -> str:
    with pytest.raises(IntakeError) as caught:
        _unpacked(content, tmp_path, limits)
    said = str(caught.value)
    assert said.isprintable()
    assert len(said) <= 500
    assert said.startswith("the artifact ")
    return said


# ---------------- honest ones


class _Unseekable(io.RawIOBase):
    """Sizes are not known before, so they follow the file: as the uploading action writes."""

    def __init__(self) -> None:
        self.written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self.written += piece
        return len(piece)


def _by_zipfile(compression: int, sink: io.RawIOBase | io.BytesIO) -> None:
    with zipfile.ZipFile(sink, "w", compression) as made:  # type: ignore[arg-type]
        made.writestr("run.jsonl", TEXT)


def _streamed(compression: int) -> bytes:
    sink = _Unseekable()
    _by_zipfile(compression, sink)
    return bytes(sink.written)


def _plain(compression: int) -> bytes:
    sink = io.BytesIO()
    _by_zipfile(compression, sink)
    return sink.getvalue()


_UPLOADED = base64.b64decode(
    "UEsDBBQACAAIAHoOgV0AAAAAAAAAAAAAAAAJAAAAcnVuLmpzb25sq1YqqSxIVbJSykhNTEktUqrlAgBQSwcIbozrTh"
    "QAAAASAAAAUEsBAi0DFAAIAAgAeg6BXW6M604UAAAAEgAAAAkAAAAAAAAAAAAgAKSBAAAAAHJ1bi5qc29ubFBLBQYAAAAAAQABADcAAABLAAAAAAA="
)
"""As the uploading action's own library (archiver 7.0.1) wrote it."""

_DESCRIPTOR = struct.pack("<4s3L", b"PK\7\x08", zlib.crc32(TEXT), len(deflated(TEXT)), len(TEXT))


@pytest.mark.parametrize(
    "content",
    [
        _plain(zipfile.ZIP_STORED),
        _plain(zipfile.ZIP_DEFLATED),
        _streamed(zipfile.ZIP_DEFLATED),
        _UPLOADED,
        archive(Entry(TEXT)),
        archive(Entry(TEXT, method=0)),
        archive(Entry(TEXT, attributes=0)),
        archive(Entry(TEXT, extra=b"\x55\x54\x05\0\3abcd")),
        archive(Entry(TEXT, flags=0x808, trailer=_DESCRIPTOR, attributes=(0o100644 << 16) | 0x20, version=45)),
        archive(Entry(b"", method=0)),
        archive(Entry(b"")),
    ],
)
def test_an_honest_archive_gives_its_file(content: bytes, tmp_path: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as known:
        expected = known.read("run.jsonl")
    assert _unpacked(content, tmp_path) == expected


def test_the_archives_of_another_program_are_read(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_bytes(TEXT)
    try:
        subprocess.run(["zip", "-X", "-q", "made.zip", "run.jsonl"], cwd=tmp_path, check=True)
    except FileNotFoundError:
        pytest.skip("there is no zip here")
    assert _unpacked((tmp_path / "made.zip").read_bytes(), tmp_path) == TEXT


def test_a_large_file_comes_out_whole(tmp_path: Path) -> None:
    large = os.urandom(100_000) + bytes(3_000_000) + os.urandom(100_000)
    assert _unpacked(archive(Entry(large)), tmp_path) == large
    assert _unpacked(archive(Entry(large, method=0)), tmp_path) == large


# ---------------- hostile ones

_NAMES = [
    b"../run.jsonl",
    b"/run.jsonl",
    b"./run.jsonl",
    b"a/run.jsonl",
    b"..\\run.jsonl",
    b"C:\\run.jsonl",
    b"run.jsonl/",
    b"run.jsonl\0",
    b"run.jsonl\0.txt",
    b"RUN.JSONL",
    b"run.jsonl ",
    "run\u2024jsonl".encode(),
    "\u202elnosj.nur".encode(),
    b"run.jsonl\xff",
    b"\x1b[2Jrun.jsonl",
    b"::error::run.jsonl\n",
    b"matrix.json",
    b"",
    b"x" * 4000,
]


@pytest.mark.parametrize("name", _NAMES)
def test_no_other_name_is_taken(name: bytes, tmp_path: Path) -> None:
    assert "in place of run.jsonl" in _refusal(archive(Entry(TEXT, name=name)), tmp_path)


_OTHER = Entry(b"other", name=b"other")
_ENTRY = Entry(TEXT)
_BOMB = deflated(bytes(64 << 20))

_HOSTILE: list[tuple[bytes, str]] = [
    (b"", "is not a zip archive"),
    (b"PK", "is not a zip archive"),
    (TEXT, "is not a zip archive"),
    (b"\x1f\x8b\x08\0" * 99, "is not a zip archive"),
    (archive(), "holds 0 files"),
    (archive(_ENTRY, _OTHER), "holds 2 files"),
    (archive(_ENTRY, _ENTRY), "holds 2 files"),
    (archive(_OTHER, _ENTRY), "holds 2 files"),
    (archive(_ENTRY, _OTHER, count=1), "more or less in it than its directory says|directory that can't be read"),
    (archive(_ENTRY, count=40_000), "holds 40,000 files"),
    (archive(_ENTRY, count=0xFFFF), "zip64"),
    (archive(_ENTRY, disk=1), "one part of several"),
    (archive(_ENTRY, comment=b"a comment"), "something behind its end"),
    (archive(_ENTRY, after=b"\n"), "something behind its end"),
    (archive(_ENTRY) + archive(_ENTRY), "more or less in it|something before"),
    (archive(_ENTRY, before=b"#!/bin/sh\n"), "something before its first file"),
    (archive(_ENTRY, before=b"#!/bin/sh\n", shift=-10), "more or less in it"),
    (b"#!/bin/sh\n" + archive(_ENTRY), "more or less in it"),
    (archive(_ENTRY, between=b"hidden"), "more or less in it"),
    (archive(Entry(TEXT, trailer=b"x" * 16)), "more or less in it"),
    (archive(Entry(TEXT, flags=8)), "more or less in it"),
    (archive(Entry(TEXT, attributes=0o120777 << 16)), "no regular file"),
    (archive(Entry(b"/etc/passwd", method=0, attributes=0o120777 << 16)), "no regular file"),
    (archive(Entry(b"", method=0, attributes=0o040755 << 16)), "no regular file"),
    (archive(Entry(b"", method=0, attributes=0x10)), "no regular file"),
    (archive(Entry(b"", method=0, attributes=0o010644 << 16)), "no regular file"),
    (archive(Entry(TEXT, flags=1)), "encrypted"),
    (archive(Entry(TEXT, flags=0x41)), "encrypted"),
    (archive(Entry(TEXT, flags=0x2000)), "encrypted"),
    (archive(Entry(TEXT, flags=0x20)), "0x0020"),
    *((archive(Entry(TEXT, method=method)), f"method {method}") for method in (1, 9, 12, 14, 93, 99)),
    (archive(Entry(TEXT, local_name=b"other.txt")), "contradicts itself"),
    (archive(Entry(TEXT, local_name=b"../../../x")), "contradicts itself|more or less"),
    (archive(Entry(TEXT, local_flags=1)), "contradicts itself"),
    (archive(Entry(TEXT, method=0, packed=TEXT[:-1], packed_size=len(TEXT) - 1)), "contradicts itself"),
    (archive(Entry(TEXT, offset=5)), "something before"),
    (archive(Entry(TEXT, size=10)), "it has more"),
    (archive(Entry(TEXT, size=len(TEXT) + 1)), "checksum"),
    (archive(Entry(TEXT, checksum=1)), "checksum"),
    (archive(Entry(TEXT, size=3 << 30)), "3,221,225,472 bytes"),
    (archive(Entry(TEXT, size=0xFFFFFFFF, packed_size=0xFFFFFFFF)), "4,294,967,295 bytes"),
    (archive(Entry(TEXT, packed_size=0xFFFFFFFF)), "more or less in it"),
    (archive(Entry(TEXT, packed=TEXT)), "inflated"),
    (archive(Entry(TEXT, packed=deflated(TEXT)[:-3])), "ends too early|inflated"),
    (archive(Entry(TEXT, packed=deflated(TEXT) + b"more")), "too early or too late"),
    (archive(Entry(TEXT, packed=deflated(TEXT) + b"more" * 30_000)), "too early"),
    (archive(Entry(TEXT, packed=_BOMB)), "it has more"),
    (archive(Entry(bytes(200), packed=_BOMB)), "it has more"),
    (archive(Entry(packed=_BOMB, size=64 << 20)), "checksum"),
]


@pytest.mark.parametrize(("content", "words"), _HOSTILE)
def test_what_is_anything_else_is_refused_with_what_is_wrong(content: bytes, words: str, tmp_path: Path) -> None:
    said = _refusal(content, tmp_path)
    assert any(word in said for word in words.split("|")), said


@pytest.mark.parametrize("size", [100, 10 << 20, 64 << 20, (64 << 20) - 1])
def test_a_bomb_is_put_out_before_it_takes_any_room(size: int, tmp_path: Path) -> None:
    """Whatever it says of itself: neither memory nor disk holds more than a little of it."""
    content = archive(Entry(packed=_BOMB, size=size))
    assert len(content) < 100_000
    small = Limits(run=32 << 20)
    given = tmp_path / "bomb.zip"
    given.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(IntakeError):
            unpack(given, "run.jsonl", tmp_path / "taken", small)
        assert tracemalloc.get_traced_memory()[1] < 3 << 20
    finally:
        tracemalloc.stop()
    assert not any((tmp_path / "taken").glob("*"))


def test_an_archive_that_is_itself_too_large_is_not_opened(tmp_path: Path) -> None:
    assert "more than 100" in _refusal(archive(_ENTRY), tmp_path, Limits(archive=100))


def test_each_kind_of_file_has_a_limit_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "artifact.zip"
    path.write_bytes(archive(Entry(TEXT, name=b"matrix.json")))
    with pytest.raises(IntakeError, match=r"matrix\.json has 720 bytes, more than 10"):
        unpack(path, "matrix.json", tmp_path / "taken", Limits(matrix=10))
    assert unpack(path, "matrix.json", tmp_path / "taken", Limits(run=10)).read_bytes() == TEXT


def test_a_file_that_is_there_already_is_not_written_through(tmp_path: Path) -> None:
    """Names are drawn, and a link in the folder leads nowhere."""
    folder = tmp_path / "taken"
    folder.mkdir()
    target = tmp_path / "precious"
    target.write_text("as it was")
    for name in ("run.jsonl", "intake.jsonl"):
        (folder / name).symlink_to(target)
    given = tmp_path / "artifact.zip"
    given.write_bytes(archive(_ENTRY))
    one, other = (unpack(given, "run.jsonl", folder) for _ in range(2))
    assert one != other
    assert target.read_text() == "as it was"


def test_a_place_that_cannot_be_written_is_no_fault_of_the_archive(tmp_path: Path) -> None:
    given = tmp_path / "artifact.zip"
    given.write_bytes(archive(_ENTRY))
    with pytest.raises(StorageError, match="make room"):
        unpack(given, "run.jsonl", given / "below")
    with pytest.raises(IntakeError, match="No such file"):
        unpack(tmp_path / "none.zip", "run.jsonl", tmp_path)


# ---------------- any


def test_cut_anywhere_it_is_refused(tmp_path: Path) -> None:
    content = archive(_ENTRY)
    for length in range(len(content)):
        _refusal(content[:length], tmp_path)


_CHANGES: list[Callable[[bytearray, int, int], None]] = [
    lambda content, at, value: content.__setitem__(at, value),
    lambda content, at, value: content.insert(at, value),
    lambda content, at, value: content.__delitem__(at),
]


@given(st.lists(st.tuples(st.sampled_from(_CHANGES), st.integers(0, 10_000), st.integers(0, 255)), max_size=3))
@settings(max_examples=300, deadline=None)
def test_changed_anywhere_it_gives_the_file_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory,
    changes: list[tuple[Callable[[bytearray, int, int], None], int, int]],
) -> None:
    content = bytearray(archive(Entry(TEXT)))
    for change, at, value in changes:
        change(content, at % len(content), value)
    path = tmp_path_factory.mktemp("any")
    try:
        found = _unpacked(bytes(content), path)
    except IntakeError:
        return
    assert found == TEXT
