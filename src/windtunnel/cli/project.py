"""What `windtunnel init` finds out about a repository, whatever it is written in."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from windtunnel.errors import ConfigError

__all__ = ["Entry", "Project", "existing", "files_below", "knowledge", "papers", "read", "slug"]

Language = Literal["python", "perl", "docker", "unknown"]

_SKIPPED = {"__pycache__", "node_modules", "venv", "env", "build", "dist", "blib"}
_PAPERS = ("README*", "LICEN[CS]E*", "COPYING*", "NOTICE*", "AUTHORS*", "CHANGE*", "Changes", "HISTORY*")
_MOST_FILES = 2000
_LARGEST_FILE = 1 << 20


@dataclass(frozen=True)
class Entry:
    """The application that a project serves: `name` in `module`; `factory` when calling it makes one."""

    module: str
    name: str
    factory: bool = False


@dataclass(frozen=True)
class Project:
    """A repository, as far as its files tell.

    Attributes:
        top: the repository's folder.
        name: what the project calls itself, or the folder's name.
        language: what it is built with; "docker" where its own Dockerfile says how it is served.
        found: the file by which it was recognised, or "".
        sources: patterns of the files that are measured, for target.toml.
        build_only: patterns of files that building needs and that can't change a speed.
        modules: what can be imported, the most likely one first.
        requires: what it needs at run time: name in its canonical spelling -> as it is declared ("flask>=3").
        build: names of what building it needs.
        installable: there is a recipe to install it, rather than just files to run.
        compiled: building it needs a compiler.
        entry: its own application, or None.
        port: where its Dockerfile says it listens, or None.
    """

    top: Path
    name: str
    language: Language
    found: str
    sources: tuple[str, ...] = ("**",)
    build_only: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    requires: Mapping[str, str] = field(default_factory=dict)
    build: tuple[str, ...] = ()
    installable: bool = True
    compiled: bool = False
    entry: Entry | None = None
    port: int | None = None

    @property
    def slug(self) -> str:
        """The name as a folder and an image may have it."""
        return slug(self.name)


def slug(name: str) -> str:
    """`name` in lower-case letters, digits and single dashes; "server" where nothing is left."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "server"


def knowledge(name: str) -> dict[str, Any]:
    """The table `templates/NAME.toml`: which servers, frameworks and Debian packages there are."""
    return tomllib.loads((resources.files("windtunnel.cli") / "templates" / f"{name}.toml").read_text("utf-8"))


def read(path: Path) -> str:
    """The text of a project's file, "" where it has none; bytes that are no UTF-8 don't matter here.

    Raises:
        ConfigError: it is there and can't be read.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return ""
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror}", file=path) from error


def existing(top: Path, names: Iterable[str]) -> tuple[str, ...]:
    """Those of `names` (patterns are allowed) that are files right in `top`, each once."""
    found = [path.name for name in names for path in sorted(top.glob(name)) if path.is_file()]
    return tuple(dict.fromkeys(found))


def papers(top: Path) -> tuple[str, ...]:
    """README, licence and the like: packaging reads them, no request does."""
    return existing(top, _PAPERS)


def files_below(folder: Path, *suffixes: str) -> Iterator[Path]:
    """Files below `folder` with one of `suffixes`, in a fixed order; at most some thousands, none that is huge."""
    for found, path in enumerate(_walk(folder, suffixes)):
        if found >= _MOST_FILES:
            return
        yield path


def _walk(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            if path.name not in _SKIPPED:
                yield from _walk(path, suffixes)
        elif path.suffix in suffixes and path.stat().st_size <= _LARGEST_FILE:
            yield path
