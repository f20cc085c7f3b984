"""Sources as they are on the disk: the working tree of a git repository, or a plain folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from windtunnel.adapters.gitprocess import Git, decode, encode
from windtunnel.errors import StorageError, WindtunnelError
from windtunnel.ports import ABSENT_SUBMODULE, SourceFile

__all__ = ["DiskTree", "folder_paths", "worktree_paths"]

_GITLINK = "160000"


class DiskTree:
    """What `FolderTree` and `WorkTree` share. The list of paths is taken once; content is read when it is asked for.

    Only files and symlinks count: no sockets, devices, or anything behind a symlinked folder.
    """

    revision = "worktree"

    def __init__(self, root: Path) -> None:
        self._root = root
        self._paths: tuple[str, ...] | None = None

    def _list(self) -> Iterable[str]:
        raise NotImplementedError

    def _all(self) -> tuple[str, ...]:
        if self._paths is None:
            self._paths = tuple(sorted(set(self._list()), key=encode))
        return self._paths

    def paths(self, under: str = "") -> tuple[str, ...]:
        """Every file's path below the folder `under`, sorted by bytes."""
        prefix = under.strip("/")
        if prefix in ("", "."):
            return self._all()
        return tuple(path for path in self._all() if path.startswith(prefix + "/"))

    def read(self, paths: Iterable[str]) -> tuple[SourceFile, ...]:
        """Those files, in the given order. Raises KeyError for a path that is not part of the tree."""
        known = frozenset(self._all())
        return tuple(self._read(path, known) for path in paths)

    def _read(self, path: str, known: frozenset[str]) -> SourceFile:
        if path not in known:
            raise KeyError(path)
        if path.endswith(ABSENT_SUBMODULE):
            folder = path.removesuffix(ABSENT_SUBMODULE)
            raise WindtunnelError(
                f"submodule {folder}: it is not checked out; run `git submodule update --init --recursive {folder}`"
            )
        full = _on_disk(self._root, path)
        try:
            mode = full.lstat().st_mode
            if stat.S_ISLNK(mode):
                return SourceFile(path, 0o777, os.fsencode(full.readlink()), symlink=True)
            return SourceFile(path, 0o755 if mode & stat.S_IXUSR else 0o644, full.read_bytes())
        except FileNotFoundError as error:
            raise KeyError(path) from error
        except OSError as error:
            raise StorageError(f"{full}: cannot be read: {error.strerror}") from error


def _on_disk(root: Path, path: str) -> Path:
    """Names on disk are text in the locale's encoding to Python, names in git are UTF-8 here."""
    return root / os.fsdecode(encode(path))


def folder_paths(root: Path) -> Iterator[str]:
    """The files below a folder; ``.git`` is left out at every level."""
    for top, folders, files in os.walk(root):
        folder = Path(top)
        linked = [name for name in folders if (folder / name).is_symlink()]
        folders[:] = [name for name in folders if name != ".git" and name not in linked]
        for name in [*files, *linked]:
            if name != ".git" and _is_file(folder / name):
                yield decode(os.fsencode((folder / name).relative_to(root).as_posix()))


def worktree_paths(top: Path, prefix: str = "") -> Iterator[str]:
    """Tracked and untracked files that are not ignored and exist, submodules' too.

    A git repository inside that is not a submodule is no part of the tree.
    """
    git = Git(top)
    others = git.run("ls-files", "-z", "--others", "--exclude-standard")
    files = [decode(name) for name in others.split(b"\0")[:-1]]
    links: list[str] = []
    for record in git.run("ls-files", "-z", "--stage").split(b"\0")[:-1]:
        details, _, name = record.partition(b"\t")
        (links if decode(details).startswith(_GITLINK) else files).append(decode(name))
    folders: dict[str, bool] = {}
    for path in files:
        if not path.endswith("/") and not _behind_symlink(top, path, folders) and _is_file(_on_disk(top, path)):
            yield prefix + path
    for path in links:
        yield from _submodule_paths(top, path, prefix)


def _submodule_paths(top: Path, path: str, prefix: str) -> Iterator[str]:
    folder = _on_disk(top, path)
    if (folder / ".git").exists():
        yield from worktree_paths(folder, f"{prefix}{path}/")
    elif folder.is_dir():  # a removed one is removed, an empty one was never fetched
        yield f"{prefix}{path}{ABSENT_SUBMODULE}"


def _is_file(full: Path) -> bool:
    try:
        mode = full.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _behind_symlink(top: Path, path: str, seen: dict[str, bool]) -> bool:
    """Whether a folder on the way to `path` is a symlink by now; git takes such a file as deleted."""
    folder = path.rpartition("/")[0]
    if not folder:
        return False
    if folder not in seen:
        seen[folder] = _on_disk(top, folder).is_symlink() or _behind_symlink(top, folder, seen)
    return seen[folder]
