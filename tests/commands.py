"""Running the repository's scripts, and looking at what they leave."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

__all__ = ["NOBODY", "assert_refused", "needs_root", "pretend_system", "processes_naming", "run", "wait_until"]

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="starts daemons and makes namespaces: needs root")


def run(*command: str | Path, timeout: float = 300, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {key: value for key, value in os.environ.items() if key not in ("DOCKER_HOST", "DOCKER_CONTEXT")}
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**inherited, **environment},
    )


def processes_naming(text: Path | str) -> dict[int, str]:
    """Process ids and command lines of all processes that mention `text`."""
    found = {}
    # Not a glob: it looks at each file, and stumbles over a process that has ended.
    for process in os.listdir("/proc"):  # noqa: PTH208
        if not process.isdigit():
            continue
        file = Path("/proc", process, "cmdline")
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(text) in line:
            found[int(file.parent.name)] = line
    return found


def wait_until(condition: Callable[[], object], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "this did not come about in time"
        time.sleep(0.05)


def pretend_system(folder: Path, identity: str, name: str) -> str:
    """An os-release file of another distribution."""
    file = folder / f"os-release-{identity}"
    file.write_text(f'ID={identity}\nPRETTY_NAME="{name}"\n')
    return str(file)


def assert_refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit code 6 and one line on standard error that has all the words."""
    assert result.returncode == 6, result
    assert result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert word in result.stderr
