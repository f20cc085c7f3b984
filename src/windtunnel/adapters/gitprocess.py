"""Running git: one place for its environment, its failures and the layout of a repository."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.errors import WindtunnelError

__all__ = ["Git", "complaint", "decode", "encode"]

# What a git hook (or a caller that is itself run by git) leaves in the environment would point every command at the
# hook's repository. Settings given by GIT_CONFIG_* stay: they are the user's.
_REPOSITORY_VARIABLES = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
_QUIET = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C.UTF-8"}


def decode(name: bytes) -> str:
    """A path as git stores it; bytes that are not UTF-8 survive the way there and back."""
    return name.decode("utf-8", "surrogateescape")


def encode(name: str) -> bytes:
    """The inverse of `decode`."""
    return name.encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Git:
    """A folder in which git commands are run. `variables` are set on top of the environment.

    Two of them are the same when both fields are: it can be a key.
    """

    folder: Path
    variables: tuple[tuple[str, str], ...] = field(default=())

    @classmethod
    def bare(cls, git_dir: Path) -> Git:
        """A git folder by itself, without the working tree that its configuration speaks of: that may be gone."""
        return cls(git_dir, (("GIT_DIR", str(git_dir)), ("GIT_WORK_TREE", str(git_dir))))

    def attempt(
        self,
        *arguments: str,
        stdin: bytes = b"",
        variables: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run ``git ARGUMENTS``, whatever it exits with.

        Raises:
            WindtunnelError: there is no git, the folder can't be entered, or `timeout` seconds have passed.
        """
        environment = {key: value for key, value in os.environ.items() if key not in _REPOSITORY_VARIABLES}
        environment |= {**_QUIET, **dict(self.variables), **(variables or {})}
        try:
            return subprocess.run(
                ["git", *arguments],
                cwd=self.folder,
                env=environment,
                input=stdin,
                capture_output=True,
                check=False,
                timeout=timeout,
            )
        except FileNotFoundError as error:
            raise _not_found(self.folder, error) from error
        except OSError as error:
            raise WindtunnelError(f"{self.folder}: git cannot be run there: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise WindtunnelError(f"{self.folder}: git {arguments[0]} gave no result in {timeout:.0f} s") from error

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """The standard output of ``git ARGUMENTS``. Raises WindtunnelError with git's own words when it fails."""
        done = self.attempt(*arguments, stdin=stdin)
        if done.returncode:
            raise WindtunnelError(f"{self.folder}: git {arguments[0]}: {complaint(done)}")
        return done.stdout

    def config(self, key: str) -> str | None:
        """One value of the repository's configuration, or None."""
        done = self.attempt("config", "--get", key)
        return decode(done.stdout.removesuffix(b"\n")) if done.returncode == 0 else None

    @functools.cached_property
    def git_dirs(self) -> tuple[Path, ...]:
        """The git folder, and the one it shares with other working trees where that is another one."""
        own = Path(decode(self.run("rev-parse", "--absolute-git-dir").removesuffix(b"\n")))
        common = self.folder / decode(self.run("rev-parse", "--git-common-dir").removesuffix(b"\n"))
        return (own,) if own.resolve() == common.resolve() else (own, common)

    def has(self, commit: str) -> bool:
        """Whether that commit's object is here."""
        return self.attempt("cat-file", "-e", f"{commit}^{{commit}}").returncode == 0


def complaint(done: subprocess.CompletedProcess[bytes]) -> str:
    """What git said on standard error, without its "fatal:"."""
    text = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
    return text or f"exit code {done.returncode}"


def _not_found(folder: Path, error: FileNotFoundError) -> WindtunnelError:
    if not folder.is_dir():
        return WindtunnelError(f"{folder}: no such folder")
    return WindtunnelError("there is no git command; install git and have it on PATH", detail=str(error))
