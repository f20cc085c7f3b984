"""The results branch over git: fetched by itself, added to by git's plumbing, pushed without force.

Everything happens in a bare repository of its own in a temporary folder, so the project's checkout, its index and its
HEAD are never touched. Only the tip is fetched, and of its files only those that are asked for: a branch may have
thousands. Nobody sees anything of an addition before the remote has taken its commit as the tip, all at once.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from windtunnel.adapters import git
from windtunnel.adapters.gitprocess import Git, complaint, decode, encode
from windtunnel.adapters.remote import Remote
from windtunnel.declare.settings import Settings
from windtunnel.errors import ConfigError, StorageError, WindtunnelError
from windtunnel.publish.artifacts import slug_of
from windtunnel.publish.results import Layout, TryAgain
from windtunnel.sample.calibration import calibration_file, read_calibration

__all__ = ["ResultsBranch", "layout_of", "open_results", "restore_calibration"]

_PATIENCE = 300.0
"""Seconds that a fetch or a push may take."""

_PAUSES = (1.0, 4.0, 10.0)
"""Seconds until a remote that does not answer is asked once more."""

_BOT = {
    f"GIT_{role}_{key}": value
    for role in ("AUTHOR", "COMMITTER")
    for key, value in (("NAME", "windtunnel bot"), ("EMAIL", "windtunnel-bot@noreply.invalid"))
}

_CONFIG = {
    "core.autocrlf": "false",
    "core.symlinks": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "60",
}
"""What the user's own settings must not change, and when a connection counts as dead."""

_REJECTED = re.compile(r"^!\t\S*\t\[(?P<remote>remote )?(?:rejected|failure)\](?: \((?P<why>.*)\))?", re.MULTILINE)
_BUSY = re.compile(r"lock|failed to update ref|already exists|internal|unpacker error|fetch first|try again", re.I)
_REFUSED = re.compile(
    r"\b40[134]\b|denied|authenticat|could not read username|not found|not appear to be a git repository|protected"
    r"|no such file|dubious ownership",
    re.IGNORECASE,
)

_REMEDY = (
    "let the job write it (`permissions: contents: write`, and no rule that protects the branch {name}), "
    "then run the job again"
)


@contextmanager
def open_results(remote: Remote, name: str, scratch: Path | None = None) -> Iterator[ResultsBranch]:
    """The results branch of a remote, fetched; everything that is local to it is gone afterwards.

    `scratch` is a folder for temporary files, the system's if there is none.

    Raises TryAgain where the remote does not answer, StorageError where it refuses.
    """
    with tempfile.TemporaryDirectory(prefix="windtunnel-results-", dir=scratch, ignore_cleanup_errors=True) as folder:
        branch = ResultsBranch(Path(folder), remote, name)
        _patient(branch.fetch)
        yield branch


def _patient(fetch: Callable[[], None]) -> None:
    for seconds in _PAUSES:
        try:
            fetch()
        except TryAgain:
            time.sleep(seconds)
        else:
            return
    fetch()


class ResultsBranch:
    """`windtunnel.publish.results.Branch` over git. `tip` is "" while the remote has no such branch."""

    def __init__(self, folder: Path, remote: Remote, name: str) -> None:
        self.name, self.tip = name, ""
        self._remote, self._folder = remote, folder
        self._paths: tuple[str, ...] | None = None
        repository = folder / "results.git"
        made = Git(folder).attempt("init", "--quiet", "--bare", "--template=", str(repository))
        if made.returncode:
            raise StorageError(f"cannot write {repository}: {complaint(made)}; make room, or set TMPDIR")
        self._git = Git.bare(repository)
        for key, value in _CONFIG.items():
            self._git.run("config", key, value)
        self._git.run("remote", "add", "origin", remote.url)

    def fetch(self) -> None:
        """Look again. Raises TryAgain, StorageError."""
        ref = f"refs/heads/{self.name}"
        options = ("--quiet", "--no-tags", "--no-auto-gc", "--depth=1", "--filter=blob:none")
        done = self._far("fetch", *options, "origin", f"+{ref}:{self._ref}")
        if done.returncode and self._far("ls-remote", "--exit-code", "origin", ref).returncode == 2:
            self._set("")
            return
        if done.returncode:
            raise self._fault(done, "fetched")
        self._set(self._git.run("rev-parse", self._ref).decode("ascii").strip())

    def paths(self) -> tuple[str, ...]:
        """All files of the tip."""
        if self._paths is None:
            listed = self._git.run("ls-tree", "-r", "-z", "--name-only", self.tip) if self.tip else b""
            self._paths = tuple(decode(path) for path in listed.split(b"\0")[:-1])
        return self._paths

    def read(self, path: str) -> bytes | None:
        """A file of the tip, None where there is none. Raises TryAgain, StorageError."""
        if path not in self.paths():
            return None
        done = self._far("cat-file", "blob", f"{self.tip}:{path}")
        if done.returncode:
            raise self._fault(done, "read")
        return done.stdout

    def lay(self, path: str, folder: Path) -> int:
        """Put the files below a folder of the branch into a folder on the disk, over what is there; how many.

        Raises TryAgain, StorageError.
        """
        count = sum(one.startswith(f"{path}/") for one in self.paths())
        if not count:
            return 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot write {folder}: {error.strerror}; make room, or make it writable") from error
        with self._index() as index:
            variables = {**index, "GIT_WORK_TREE": str(folder)}
            done = self._far("read-tree", "--reset", "-u", f"{self.tip}:{path}", variables=variables)
        if done.returncode:
            raise self._fault(done, "read")
        return count

    def append(self, files: Mapping[str, bytes], message: str) -> str:
        """See `windtunnel.publish.results.Branch`."""
        tree = self._tree(files)
        if self.tip and self._git.run("rev-parse", f"{self.tip}^{{tree}}").decode("ascii").strip() == tree:
            return self.tip
        parents = ("-p", self.tip) if self.tip else ()
        done = self._near("commit-tree", *parents, "-F", "-", tree, stdin=message.encode(), variables=_BOT)
        commit = done.decode("ascii").strip()
        options = ("--quiet", "--porcelain", "--no-verify")
        pushed = self._far("push", *options, "origin", f"{commit}:refs/heads/{self.name}")
        if pushed.returncode:
            raise self._fault(pushed, "pushed to")
        self._set(commit)
        return commit

    # ---------------- git

    @property
    def _ref(self) -> str:
        return f"refs/remotes/origin/{self.name}"

    def _set(self, tip: str) -> None:
        self.tip, self._paths = tip, None

    def _tree(self, files: Mapping[str, bytes]) -> str:
        """The tip's tree with these files, of which the others need not be here."""
        lines = []
        for path, content in files.items():
            name = self._near("hash-object", "-w", "--stdin", stdin=content).decode("ascii").strip()
            lines.append(f"100644 {name}\t{_checked(path)}\0")
        with self._index() as index:
            if self.tip:
                self._near("read-tree", self.tip, variables=index)
            self._near("update-index", "-z", "--index-info", stdin=encode("".join(lines)), variables=index)
            return self._near("write-tree", "--missing-ok", variables=index).decode("ascii").strip()

    @contextmanager
    def _index(self) -> Iterator[Mapping[str, str]]:
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            yield {"GIT_INDEX_FILE": str(Path(folder) / "index")}

    def _near(self, *arguments: str, stdin: bytes = b"", variables: Mapping[str, str] | None = None) -> bytes:
        """A command that needs no remote."""
        done = self._git.attempt(*arguments, stdin=stdin, variables=variables)
        if done.returncode:
            raise StorageError(f"git {arguments[0]}: {complaint(done)}; make room for temporary files, or set TMPDIR")
        return done.stdout

    def _far(self, *arguments: str, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
        """A command that may ask the remote, with the token."""
        known = {**self._remote.variables(os.environ), **(variables or {})}
        try:
            return self._git.attempt(*arguments, variables=known, timeout=_PATIENCE)
        except WindtunnelError as error:
            raise TryAgain(self._remote.redacted(str(error))) from None

    def _fault(self, done: subprocess.CompletedProcess[bytes], what: str) -> WindtunnelError:
        """What went wrong at the remote, and whether the same may go well in a moment."""
        told = self._remote.redacted(complaint(done))
        match = _REJECTED.search(done.stdout.decode("utf-8", "replace"))
        if match:
            moved = not match["remote"] or _BUSY.search(match["why"] or "") is not None
            told = "\n".join([self._remote.redacted(match["why"] or "rejected"), *_remote_lines(told)])
        else:
            moved = not _REFUSED.search(told)
        first, _, rest = told.partition("\n")
        said = f"the branch {self.name} of {self._remote.shown} can't be {what}: {first}"
        if moved:
            return TryAgain(said, detail=rest)
        return StorageError(f"{said}; {_REMEDY.format(name=self.name)}", detail=rest)


def _remote_lines(text: str) -> list[str]:
    """What the remote itself has said of it."""
    return [line for line in text.splitlines() if line.startswith("remote:")][:20]


def _checked(path: str) -> str:
    """A path that a tree can have; ours are made of hashes, encoded names and names of machines."""
    parts = PurePosixPath(path).parts
    if not parts or path != "/".join(parts) or {"..", ".", ".git", "/"} & set(parts):
        raise StorageError(f"{path!r} is no path for the results branch")
    return path


# ---------------- where, and what a measuring job wants of it


def layout_of(root: Path) -> Layout:
    """Where on the branch a suite's results are, by its folder within its repository."""
    return Layout(slug_of(root.resolve().relative_to(git.top(root).resolve()).as_posix()))


def restore_calibration(root: Path, repository: Path, settings: Settings) -> bool:
    """Lay what `windtunnel calibrate` found earlier from the results branch to where `windtunnel compare` finds it.

    Args:
        root: the folder of asv.conf.json.
        repository: a clone that has the branch as origin's (`fetch-depth: 0`).
        settings: the suite's.

    Returns:
        Whether there is one now that was not there before. A calibration that is there already stays, one that can't
        be read is left alone, and it only counts on machines of the kind that it was found on.
    """
    path = calibration_file(root)
    if path.exists():
        return False
    name = f"refs/remotes/origin/{settings.results_branch}:{layout_of(root).calibration}"
    done = Git(repository).attempt("cat-file", "blob", name)
    if done.returncode:
        return False
    beside = path.with_name(f".{path.name}.restored")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(done.stdout)
        if not read_calibration(beside):
            return False
        beside.replace(path)
    except (OSError, ConfigError):
        return False
    finally:
        beside.unlink(missing_ok=True)
    return True
