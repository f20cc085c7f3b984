"""Run files from disk as digests, each worked out once.

A run file has every slice of every launch, and reading it takes longer than judging it; a site has hundreds of them.
So a digest is kept in a small file of its own, by the digest of the run file's content: the next site reads that.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from pydantic import TypeAdapter

from windtunnel.errors import ConfigError, WindtunnelError
from windtunnel.history.pool import each
from windtunnel.sample.decode import FILE_BYTES, LINE_BYTES
from windtunnel.sample.runfile import read_run
from windtunnel.site.rundigest import RunDigest, digest
from windtunnel.version import __version__

__all__ = ["cache_in", "digest_of", "prepare", "sweep", "unpacked"]

_VERSION = "2"
"""Raise it when a digest changes in what it says or how."""

_CHUNK = 1 << 20
_KEPT_DAYS = 60
_WORK_OF_A_BYTE = 500
"""A packed byte takes about as long as reading so many bytes does."""

_ADAPTER = TypeAdapter(RunDigest)


_kept_in: Path | None = None


def cache_in(folder: Path | None) -> None:
    """Keep the digests of this process in `folder` from now on; None keeps none on disk."""
    global _kept_in  # noqa: PLW0603 - as with drawings, a process builds one site at a time
    _kept_in = folder


def sweep() -> None:
    """Remove the digests that no site has needed for two months."""
    for path in _kept_in.glob("*.json") if _kept_in is not None else ():
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - _KEPT_DAYS * 86_400:
                path.unlink()


def prepare(paths: Sequence[Path]) -> None:
    """Make the digests that are not kept yet, on all processors where that pays; what can't be read is left out.

    Without a folder to keep them in there is nothing to do ahead.
    """
    if _kept_in is None:
        return
    jobs: list[tuple[Path, str, Path]] = []
    work = 0
    for path in paths:
        with suppress(ConfigError):
            key = _key(path)
            if not _place(_kept_in, key).exists():
                jobs.append((path, key, _kept_in))
                work += _WORK_OF_A_BYTE * path.stat().st_size
    for _ in each(_keep, jobs, work):
        pass


def digest_of(path: Path) -> RunDigest:
    """The digest of a run file (``.jsonl`` or ``.jsonl.xz``). Raises ConfigError for one that can't be read."""
    return _known(path, _key(path), _kept_in)


def _key(path: Path) -> str:
    """What a digest is kept under."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path) from error
    return hashlib.sha256(f"{_VERSION} {__version__} ".encode() + content).hexdigest()


def _place(folder: Path, key: str) -> Path:
    return folder / f"{key}.json"


@lru_cache(maxsize=8)
def _known(path: Path, key: str, folder: Path | None) -> RunDigest:
    if folder is not None:
        with suppress(OSError, ValueError):  # not there, or not one of ours: then it is made anew
            found = _ADAPTER.validate_json(_place(folder, key).read_bytes())
            os.utime(_place(folder, key))
            return found
    return _made(path, key, folder)


def _keep(path: Path, key: str, folder: Path) -> None:
    """In a process of its own: what is wrong with a file is told by whoever asks for it."""
    with suppress(WindtunnelError):
        _made(path, key, folder)


def _made(path: Path, key: str, folder: Path | None) -> RunDigest:
    with unpacked(path) as plain:
        found = digest(read_run(plain))
    if folder is not None:
        with suppress(OSError, ValueError):  # without it the next site takes longer, and that is all
            _write(_place(folder, key), _ADAPTER.dump_json(found))
    return found


def _write(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
        file.write(content)
    Path(file.name).replace(place)  # whole or not at all; of two sites that are built at once both are right


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A run file without its packing, for as long as the context lasts.

    Raises ConfigError for what xz can't unpack, and for a file that grows beyond all bounds.
    """
    if path.suffix != ".xz":
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="windtunnel-run-") as folder:
        plain = Path(folder) / path.stem
        try:
            with lzma.open(path) as packed, plain.open("wb") as file:
                for chunk in _checked(packed, path):
                    file.write(chunk)
        except (lzma.LZMAError, EOFError) as error:
            raise ConfigError(f"can't be unpacked: {error}", file=path) from error
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", file=path) from error
        yield plain


def _checked(packed: lzma.LZMAFile, path: Path) -> Iterator[bytes]:
    """Its content in pieces. A line that no run file has ends it before the disk is full of it."""
    size = line = 0
    while chunk := packed.read(_CHUNK):
        size += len(chunk)
        line = len(chunk) - chunk.rfind(b"\n") - 1 if b"\n" in chunk else line + len(chunk)
        if size > FILE_BYTES or line > LINE_BYTES:
            raise ConfigError("unpacks to more than a run file holds", file=path)
        yield chunk
