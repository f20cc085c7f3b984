"""The contract of the layers holds: imports run downwards, the inside does not talk to the outside."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LINTER = Path(sys.executable).parent / "lint-imports"


def _lint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    if not LINTER.exists():
        pytest.skip("import-linter is not installed here")
    return subprocess.run(
        [LINTER, "--no-cache", *arguments],
        cwd=folder,
        env={"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contracts_are_kept() -> None:
    done = _lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("units.py", "from windtunnel.errors import Exit"),
        ("sample/summary.py", "from windtunnel.report.run import render_run"),
        ("report/run.py", "import docker"),
    ],
)
def test_a_line_that_goes_upwards_is_found(module: str, line: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    broken = tmp_path / "src" / "windtunnel" / module
    broken.write_text(broken.read_text() + f"\n{line}\n")
    done = _lint(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout
