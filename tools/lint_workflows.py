#!/usr/bin/env python3
"""Lints workflows and actions with actionlint and zizmor.

    python tools/lint_workflows.py            this repository's, and those that `windtunnel init --github` writes
    python tools/lint_workflows.py FILE...    these

Needs windtunnel to be installed with its extra "dev". Exit code 1 where something was found.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from windtunnel.cli.workflows import Source, installed_source, workflow_files

__all__ = ["lint", "written"]

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(sys.executable).parent

_PINNED = Source("someone/a-fork", "0123456789abcdef0123456789abcdef01234567")


def lint(files: Sequence[Path]) -> bool:
    """Whether both linters find nothing; what they find goes to standard output."""
    workflows = [path for path in files if path.name not in ("action.yml", "action.yaml")]
    clean = not workflows or _passes("actionlint", *workflows)
    return _passes("zizmor", "--offline", "--quiet", "--persona", "pedantic", *files) and clean


def written(folder: Path) -> list[Path]:
    """Workflows as `windtunnel init --github` writes them, for a suite at the top and one in a folder."""
    found = []
    for name, directory, source in (("top", "", installed_source()), ("below", "a folder/perf", _PINNED)):
        for path, text in workflow_files(directory, "main", source).items():
            file = folder / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
            found.append(file)
    return found


def _own() -> list[Path]:
    return [*sorted((ROOT / ".github").rglob("*.yml")), *sorted((ROOT / "action").rglob("action.yml"))]


def _passes(program: str, *arguments: str | Path) -> bool:
    command = [str(PROGRAMS / program), *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def _main(arguments: list[str]) -> int:
    if arguments:
        return int(not lint([Path(one).resolve() for one in arguments]))
    with tempfile.TemporaryDirectory(prefix="windtunnel-lint-") as folder:
        return int(not lint([*_own(), *written(Path(folder))]))


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
