"""Programs of this Python's environment (asv, windtunnel itself) that are let to finish, and what they said."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Ended", "run_program"]

_SHOWN = 20


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit code, and what it wrote to both of its streams."""

    code: int
    output: str

    @property
    def tail(self) -> str:
        """The last lines of what it said, for the detail of an error."""
        return "\n".join(self.output.strip().splitlines()[-_SHOWN:])


def run_program(arguments: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> Ended:
    """Run ``python -m ARGUMENTS`` in a folder, without input, to its end."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    return Ended(done.returncode, done.stdout)
