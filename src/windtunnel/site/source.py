"""Where a site's results are: what mkdocs.yml says, and else what the suite beside it says."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.declare.suite import FILES, Suite, load_suite
from windtunnel.errors import ConfigError
from windtunnel.history import Index, open_history
from windtunnel.history.nouns import History
from windtunnel.site.html import web_address
from windtunnel.site.page import Around

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig

    from windtunnel.site.plugin import Options

__all__ = ["Source", "beside", "find_source", "folder_of", "index_for", "suite_of", "top_of"]

INDEX = Path(".windtunnel") / "history.sqlite"
"""Where the index is kept, below the suite or beside mkdocs.yml."""

_FOLDER = re.compile(r"(?:[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?")
_COMMITS = "commit/"


@dataclass(frozen=True)
class Source:
    """Everything that the pages are made of.

    Attributes:
        results: folders of results, in order of importance; they need not exist.
        index: the file of the index.
        repository: of the project, or None.
        folder: of the site, "" for its top.
        commit_url: as `Around` has it.
        title: of the project, "" for what the results say.
    """

    results: tuple[Path, ...]
    index: Path
    repository: Path | None = None
    folder: str = ""
    commit_url: str = ""
    title: str = ""

    def open(self, tell: Callable[[str], None]) -> tuple[Index, Around]:
        """The history, up to date, and what else pages have to know. Raises StorageError."""
        history = open_history(
            [folder for folder in self.results if folder.is_dir()],
            self.index,
            repository=self.repository,
            project=self.title,
            tell=tell,
        )
        history.update(tell)
        return history, around_of(history, self)


def around_of(history: History, source: Source) -> Around:
    """What pages have to know besides the history."""
    commits = history.commits()
    newest = max((commit.date.timestamp() for commit in commits), default=0.0)
    return Around(source.commit_url, source.title or history.project, newest)


def find_source(options: Options, config: MkDocsConfig) -> Source:
    """What the plug-in's options ask for; the suite is looked for beside mkdocs.yml and above.

    Raises ConfigError where an option is wrong.
    """
    top = top_of(config)
    suite = suite_of(top)
    results = _results(options, top, suite)
    repository = beside(top, options.repository) if options.repository else suite and suite.repository
    return Source(
        results=results,
        index=beside(top, options.index) if options.index else (suite.root if suite else top) / INDEX,
        repository=repository if repository and repository.is_dir() else None,
        folder=folder_of(options.folder),
        commit_url=_commit_url(options.commit_url, config.repo_url or ""),
        title=options.title or (suite.project if suite else ""),
    )


def top_of(config: MkDocsConfig) -> Path:
    """The folder that paths of mkdocs.yml are relative to."""
    return Path(config.config_file_path).parent if config.config_file_path else Path.cwd()


def suite_of(folder: Path) -> Suite | None:
    """The suite in a folder or above it, None where there is none: pages can do without. Raises ConfigError."""
    for place in (folder.resolve(), *folder.resolve().parents):
        for name in FILES:
            if (place / name).is_file():
                return load_suite(place / name)
    return None


def _results(options: Options, top: Path, suite: Suite | None) -> tuple[Path, ...]:
    named = [options.results] if isinstance(options.results, str) else options.results
    if not all(isinstance(one, str) for one in named):
        raise ConfigError("a folder, or a list of folders", file="mkdocs.yml", key="plugins: windtunnel: results")
    folders = tuple(beside(top, one) for one in named if one)
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(
                f"{folder} is not there; measure first (asv run, or windtunnel run), or name another folder",
                file="mkdocs.yml",
                key="plugins: windtunnel: results",
            )
    return folders or ((suite.results_dir,) if suite else ())


def beside(top: Path, path: str) -> Path:
    """A path as a configuration in `top` means it."""
    return (top / Path(path).expanduser()).resolve()


def folder_of(text: str) -> str:
    """The folder of the site, without a slash at its ends. Raises ConfigError where it is no plain path."""
    if not _FOLDER.fullmatch(text.strip("/")):
        raise ConfigError(
            f"{text!r} is no folder of a site; write a name such as performance, or nothing for the top",
            file="mkdocs.yml",
            key="plugins: windtunnel: folder",
        )
    return text.strip("/")


def _commit_url(given: str, repo_url: str) -> str:
    if given and not web_address(given):
        raise ConfigError(
            f"{given!r} is no address of http or https", file="mkdocs.yml", key="plugins: windtunnel: commit_url"
        )
    guessed = f"{repo_url.rstrip('/').removesuffix('.git')}/{_COMMITS}" if web_address(repo_url) else ""
    return given or guessed


def index_for(results: Sequence[Path], folder: Path) -> Path:
    """Where the index of results of somebody else's is kept, below `folder`: one for each set of folders."""
    names = "\n".join(str(path) for path in results)
    return folder / ".windtunnel" / f"history-{hashlib.sha256(names.encode()).hexdigest()[:12]}.sqlite"
