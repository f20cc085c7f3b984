"""This repository once more, with a suite that is quickly measured: for workflows that `act` runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from checkouts import Checkout, Origin, git
from projects import suite_files

__all__ = ["ROOT", "as_forge_has_it", "scratch_repository"]

ROOT = Path(__file__).resolve().parents[2]

_SUITE = ("asv.conf.json", "windtunnel.toml", "benchmarks", "targets")


def scratch_repository(path: Path, settings: str = "") -> Origin:
    """Its files as they are in the working tree, as one commit on main. `settings` are added to windtunnel.toml."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if name.split("/")[0] in {*_SUITE, "bench"} or not (ROOT / name).is_file():
            continue
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, path / name)
    files = suite_files()
    files["windtunnel.toml"] += settings
    return Origin(path, files)


def as_forge_has_it(checkout: Checkout, repository: str = "owner/project") -> Path:
    """The checkout as if it came from a forge: act works out from that where it is."""
    git(checkout.path, "remote", "set-url", "origin", f"https://github.com/{repository}")
    return checkout.path
