"""asv's own pages beside ours."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from windtunnel.adapters.pyprogram import run_program
from windtunnel.declare.suite import Suite
from windtunnel.errors import ConfigError, StorageError, WindtunnelError

__all__ = ["copy_asv", "publish"]


def publish(suite: Suite, folder: Path, tell: Callable[[str], None]) -> Path:
    """Let asv write its pages of the suite's results into `folder`, which is returned.

    Raises:
        ConfigError: asv has no results yet.
        WindtunnelError: asv could not do it; its last words are the detail.
    """
    if not (suite.results_dir / "benchmarks.json").is_file():
        raise ConfigError(
            f"{suite.results_dir} has no results of asv yet; measure first, or leave --asv out", key="--asv"
        )
    tell("asv publish: this takes asv a while")
    done = run_program(["asv", "publish", "--no-pull", "--html-dir", str(folder)], suite.root)
    if done.code:
        raise WindtunnelError(f"asv publish ended with exit code {done.code}; leave --asv out", detail=done.tail)
    return folder


def copy_asv(tree: Path, site: Path) -> None:
    """Copy what `asv publish` has written to asv/ of a site.

    Raises:
        ConfigError: `tree` is nothing of the kind.
        StorageError: it can't be written.
    """
    if not (tree / "index.json").is_file():
        raise ConfigError(
            f"{tree} is not what asv publish writes; run asv publish, or leave the option out",
            file="mkdocs.yml",
            key="plugins: windtunnel: asv",
        )
    try:
        shutil.copytree(tree, site / "asv", dirs_exist_ok=True)
    except (OSError, shutil.Error) as error:
        raise StorageError(f"cannot write {site / 'asv'}: {error}; make room, or make it writable") from error
