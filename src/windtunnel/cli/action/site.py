"""The site of a recorded history, as far as it can be built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.adapters import git
from windtunnel.adapters.pyprogram import run_program
from windtunnel.declare.suite import Suite
from windtunnel.errors import ConfigError, StorageError

__all__ = ["SiteFolders", "build_site"]

_FRONT = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Results of windtunnel</title>
<meta http-equiv="refresh" content="0; url=asv/index.html">
<p><a href="asv/index.html">Results</a></p>
</html>
"""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class SiteFolders:
    """Where the site goes, and a folder with what the results branch has (None while that has nothing)."""

    out: Path
    results: Path | None


def build_site(suite: Suite, folders: SiteFolders, commit_url: str, tell: Tell) -> bool:
    """Build the pages of the history, with those of the project's mkdocs.yml, and asv's into their `asv/`.

    What can't be built is told and left out; returns whether anything was built.

    Raises StorageError where the folder can't be made.
    """
    folder = folders.out.resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot write {folder}: {error.strerror}; name another folder with --site") from error
    pages = _pages(suite, replace(folders, out=folder), commit_url, tell)  # first: it empties the folder
    graphs = _graphs(suite, folder / "asv", tell)
    if graphs and not (folder / "index.html").exists():
        (folder / "index.html").write_text(_FRONT, encoding="utf-8")
    return pages or graphs


def _pages(suite: Suite, folders: SiteFolders, commit_url: str, tell: Tell) -> bool:
    own = _configuration(suite)
    if own is None and folders.results is None:
        return False
    command = ["windtunnel", "site", "--out", str(folders.out), "--repository", str(suite.repository)]
    command += ["--title", suite.project, "--commit-url", commit_url]
    command += ["--config", str(own)] if own else []
    command += ["--results", str(folders.results)] if folders.results else []
    return _built(command, suite.root, tell)


def _configuration(suite: Suite) -> Path | None:
    """The project's mkdocs.yml: at the top of the repository that the suite is in."""
    try:
        top = git.top(suite.root)
    except ConfigError:
        top = suite.root
    path = top / "mkdocs.yml"
    return path if path.is_file() else None


def _graphs(suite: Suite, folder: Path, tell: Tell) -> bool:
    if not (suite.results_dir / "benchmarks.json").is_file():
        tell("asv publish is left out: asv has no results yet")
        return False
    return _built(["asv", "publish", "--no-pull", "--html-dir", str(folder)], suite.root, tell)


def _built(command: Sequence[str], folder: Path, tell: Tell) -> bool:
    done = run_program(command, folder)
    if done.code:
        tell(f"{' '.join(command[:2])} ended with exit code {done.code}, so it is left out:\n{done.tail}")
    return done.code == 0
