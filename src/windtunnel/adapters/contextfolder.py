"""A build context laid out as a folder, for builders that read one.

BuildKit goes by a .dockerignore where the context is a folder; of a tar stream it takes everything.
"""

from __future__ import annotations

import io
import os
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from windtunnel.errors import BuildFailed, StorageError

__all__ = ["ContextFolder", "laid_out"]


@dataclass(frozen=True)
class ContextFolder:
    """Where a context is on this disk. The Dockerfile is not in `folder`, so that nothing can copy it, and that no
    file which happens to be called like it, with .dockerignore at the end, is taken for its rules.
    """

    folder: Path
    dockerfile: Path


@contextmanager
def laid_out(context: bytes, dockerfile: str) -> Iterator[ContextFolder]:
    """The files of the tar stream `context` in a folder that is gone afterwards; `dockerfile` is one of them.

    Raises:
        BuildFailed: a path that leads out of the context, something that is no file, folder or symbolic link, or two
            files that this disk does not tell apart.
        StorageError: it can't be written.
    """
    with tempfile.TemporaryDirectory(prefix="windtunnel-context-", ignore_cleanup_errors=True) as scratch:
        laid = ContextFolder(Path(scratch, "context"), Path(scratch, "recipe", "Dockerfile"))
        try:
            for folder in (laid.folder, laid.dockerfile.parent):
                folder.mkdir()
            _unpack(context, laid.folder)
            (laid.folder / dockerfile).rename(laid.dockerfile)
        except (FileExistsError, NotADirectoryError) as error:
            name = os.path.relpath(error.filename2 or error.filename, laid.folder)
            raise BuildFailed(
                f"another file of the build context is in the way of {name!r} on this disk; rename one of them"
            ) from error
        except OSError as error:
            raise StorageError(
                f"the build context can't be laid out in {scratch}: {error.strerror} ({error.filename}); "
                "make room there, or set TMPDIR to another folder"
            ) from error
        yield laid


def _unpack(context: bytes, into: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(context), encoding="utf-8", errors="surrogateescape") as archive:
        placed = [(member, _place(into, member.name)) for member in archive]
        for member, path in placed:
            if not member.issym():
                _write(archive, member, path)
        # At the end, so that no file is written through one.
        for member, path in placed:
            if member.issym():
                path.symlink_to(member.linkname)
        _set_times(placed)


def _place(into: Path, name: str) -> Path:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise BuildFailed(f"{name!r} leads out of the build context")
    return into / path


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
    else:
        content = archive.extractfile(member) if member.isreg() else None
        if content is None:
            raise BuildFailed(f"{member.name!r} in the build context is no file, folder or symbolic link")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content.read())
    path.chmod(member.mode & 0o777)  # whatever the umask is


def _set_times(placed: Iterable[tuple[tarfile.TarInfo, Path]]) -> None:
    """What is copied into an image keeps its time. The last first: writing into a folder changes the folder's."""
    for member, path in reversed(list(placed)):
        os.utime(path, (member.mtime, member.mtime), follow_symlinks=False)
