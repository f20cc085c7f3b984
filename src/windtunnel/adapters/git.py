"""Git repositories: names of commits, and source trees at a commit or in the working tree.

The three trees implement `windtunnel.ports.SourceTree`. Files have the mode 0o755 or 0o644 (symlinks 0o777), as git
has it, whatever the umask made of them on disk.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from windtunnel.adapters.disk import DiskTree, folder_paths, worktree_paths
from windtunnel.adapters.gitprocess import Git, complaint, decode, encode
from windtunnel.adapters.submodules import Gitlink, locate, names_at
from windtunnel.errors import ConfigError, WindtunnelError
from windtunnel.ports import ABSENT_SUBMODULE, SourceFile

__all__ = [
    "CommitInfo",
    "CommitTree",
    "FolderTree",
    "WorkTree",
    "changed",
    "describe",
    "merge_base",
    "resolve",
    "top",
]

_SYMLINK, _EXECUTABLE = "120000", "100755"


@dataclass(frozen=True)
class CommitInfo:
    """What is shown of a commit. `date` is the committer's, with its time zone."""

    hash: str
    short: str
    date: datetime.datetime
    subject: str


def top(path: Path) -> Path:
    """The top of the working tree that `path` is in; of a bare repository, the repository itself.

    Raises:
        ConfigError: `path` is not in a git repository, or git refuses to touch it (the message has its words).
    """
    git = Git(path if path.is_dir() else path.parent)
    inside = git.attempt("rev-parse", "--is-inside-work-tree")
    if inside.returncode:
        raise ConfigError(f"{complaint(inside)}; run this inside the repository, or give its path", file=path)
    if inside.stdout.strip() == b"true":
        return _as_path(git.run("rev-parse", "--show-toplevel"))
    return _as_path(git.run("rev-parse", "--absolute-git-dir"))


def _as_path(output: bytes) -> Path:
    return Path(decode(output.removesuffix(b"\n")))


def resolve(repository: Path, revision: str) -> str:
    """The full hash of the commit that `revision` names (a branch, a tag, ``HEAD~3``, a short hash).

    Raises:
        ConfigError: there is no such commit here, or it is ambiguous.
    """
    if not revision or revision.startswith("-") or "\0" in revision:
        raise ConfigError(f"{revision!r} does not name a commit", file=repository)
    git = Git(repository)
    done = git.attempt("rev-parse", "--verify", revision)
    if done.returncode == 0:  # in two steps: in ":/words" the suffix would be one more word to look for
        done = git.attempt("rev-parse", "--verify", f"{decode(done.stdout).strip()}^{{commit}}")
    if done.returncode:
        raise ConfigError(
            f"{revision!r} does not name a commit ({complaint(done).splitlines()[0]}){_shallow_hint(git)}",
            file=repository,
        )
    return done.stdout.decode("ascii").strip()


def merge_base(repository: Path, one: str, other: str) -> str:
    """The full hash of the best common ancestor of two revisions. Raises ConfigError when there is none here."""
    git = Git(repository)
    commits = resolve(repository, one), resolve(repository, other)
    done = git.attempt("merge-base", *commits)
    if done.returncode:
        raise ConfigError(f"{one} and {other} have no common ancestor{_shallow_hint(git)}", file=repository)
    return done.stdout.decode("ascii").split()[0]


def changed(repository: Path) -> bool:
    """Whether tracked files of the working tree are not as the commit that is checked out has them."""
    return bool(Git(repository).attempt("status", "--porcelain", "--untracked-files=no").stdout.strip())


def _shallow_hint(git: Git) -> str:
    if git.attempt("rev-parse", "--is-shallow-repository").stdout.strip() != b"true":
        return ""
    return "; this clone is shallow: run `git fetch --unshallow` (in a workflow: `fetch-depth: 0`)"


def describe(repository: Path, commit: str) -> CommitInfo:
    """Hash, short hash, date and subject of a commit. Raises ConfigError for an unknown one."""
    full = resolve(repository, commit)
    wanted = "--format=%H%x00%h%x00%cI%x00%s"
    output = Git(repository).run("show", "--no-patch", "--no-show-signature", "--encoding=UTF-8", wanted, full)
    name, short, date, subject = output.decode("utf-8", "replace").removesuffix("\n").split("\0", 3)
    return CommitInfo(name, short, datetime.datetime.fromisoformat(date), subject)


class FolderTree(DiskTree):
    """A plain folder without git: every file below `root` except what is in a ``.git``."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise ConfigError("no such folder", file=root)
        super().__init__(root)

    def _list(self) -> Iterable[str]:
        return folder_paths(self._root)


class WorkTree(DiskTree):
    """The working tree of the repository that `repository` is in: tracked files, and untracked ones not ignored.

    Content comes from the disk, deleted files are absent, and so it is in submodules. Raises ConfigError for a bare
    repository.
    """

    def __init__(self, repository: Path) -> None:
        folder = top(repository)
        if Git(folder).attempt("rev-parse", "--show-toplevel").returncode:
            raise ConfigError("a bare repository has no working tree; name a commit instead", file=repository)
        super().__init__(folder)

    def _list(self) -> Iterable[str]:
        return worktree_paths(self._root)


@dataclass(frozen=True)
class _Blob:
    mode: str
    id: str
    git: Git


@dataclass(frozen=True)
class _Pending:
    """A submodule whose tree was not looked at yet."""

    parent: Git
    link: Gitlink
    checkout: Path | None


class CommitTree:
    """The repository at one commit: exactly what git has, no attribute (``export-ignore``) taking anything away.

    A submodule is opened when a path in it is asked for, and is then read at the commit that this commit names.
    `revision` may be anything that `resolve` understands. Raises ConfigError for an unknown one.
    """

    def __init__(self, repository: Path, revision: str) -> None:
        folder = top(repository)
        self.revision = resolve(folder, revision)
        git = Git(folder)
        bare = git.attempt("rev-parse", "--is-inside-work-tree").stdout.strip() != b"true"
        self._blobs: dict[str, _Blob] = {}
        self._pending: dict[str, _Pending] = {}
        self._failed: dict[str, WindtunnelError] = {}
        self._add(git, self.revision, "", None if bare else folder)

    def paths(self, under: str = "") -> tuple[str, ...]:
        """Every file's path below the folder `under`, sorted by bytes, submodules included."""
        prefix = under.strip("/")
        prefix = "" if prefix in ("", ".") else prefix + "/"
        self._open(lambda folder: folder.startswith(prefix) or prefix.startswith(folder))
        absent = [folder.removesuffix("/") + ABSENT_SUBMODULE for folder in self._failed]
        return tuple(sorted((path for path in [*self._blobs, *absent] if path.startswith(prefix)), key=encode))

    def read(self, paths: Iterable[str]) -> tuple[SourceFile, ...]:
        """Those files, in the given order; one git process for each repository that they are in.

        Raises:
            KeyError: a path that isn't there.
            WindtunnelError: a submodule that can't be had, or an object that is missing.
        """
        wanted = list(paths)
        self._open(lambda folder: any(path.startswith(folder) for path in wanted))
        blobs = [self._blob(path) for path in wanted]
        contents: dict[tuple[Git, str], bytes] = {}
        for git in dict.fromkeys(blob.git for blob in blobs):
            ids = dict.fromkeys(blob.id for blob in blobs if blob.git == git)
            contents |= {(git, name): content for name, content in _objects(git, list(ids))}
        return tuple(
            _source_file(path, blob, contents[blob.git, blob.id]) for path, blob in zip(wanted, blobs, strict=True)
        )

    def _blob(self, path: str) -> _Blob:
        for folder, error in self._failed.items():
            if path.startswith(folder):
                raise error
        return self._blobs[path]

    def _open(self, relevant: Callable[[str], bool]) -> None:
        """List the submodules whose folder (with its slash) is `relevant`, and those in them."""
        while chosen := [folder for folder in self._pending if relevant(folder)]:
            for folder in chosen:
                submodule = self._pending.pop(folder)
                try:
                    git = locate(submodule.parent, submodule.link, submodule.checkout)
                except WindtunnelError as error:
                    self._failed[folder] = error
                else:
                    self._add(git, submodule.link.commit, folder, submodule.checkout)

    def _add(self, git: Git, commit: str, prefix: str, checkout: Path | None) -> None:
        """Take in the tree of one repository's commit, shown below `prefix`."""
        links = []
        for mode, kind, name, path in _entries(git, commit):
            if kind == "commit":
                links.append((path, name))
            else:
                self._blobs[prefix + path] = _Blob(mode, name, git)
        names = names_at(git, commit) if links else {}
        for path, name in links:
            known, url = names.get(path, (None, None))
            below = None if checkout is None else checkout / path
            self._pending[f"{prefix}{path}/"] = _Pending(git, Gitlink(path, name, known, url, prefix + path), below)


def _entries(git: Git, commit: str) -> Iterator[tuple[str, str, str, str]]:
    """Mode, kind, object and path of everything in a commit's tree."""
    for record in git.run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
        details, _, path = record.partition(b"\t")
        mode, kind, name = details.decode("ascii").split()
        yield mode, kind, name, decode(path)


def _objects(git: Git, names: list[str]) -> Iterator[tuple[str, bytes]]:
    """The content of blobs, by one ``git cat-file --batch``."""
    output = git.run("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode("ascii"))
    at = 0
    for name in names:
        end = output.index(b"\n", at)
        header = output[at:end].split()
        if len(header) != 3:
            raise WindtunnelError(
                f"{git.folder}: object {name} is missing; run `git fsck` there, or clone the repository anew"
            )
        size = int(header[2])
        yield name, output[end + 1 : end + 1 + size]
        at = end + 1 + size + 1


def _source_file(path: str, blob: _Blob, content: bytes) -> SourceFile:
    if blob.mode == _SYMLINK:
        return SourceFile(path, 0o777, content, symlink=True)
    return SourceFile(path, 0o755 if blob.mode == _EXECUTABLE else 0o644, content)
