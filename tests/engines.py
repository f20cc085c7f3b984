"""Container engines for tests: the one that answers anyway, and a second one as far away as another machine."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["TOOLS", "base", "copy_image", "docker", "second_engine", "started_engine"]

TOOLS = Path(__file__).resolve().parent.parent / "tools"


def base(suite: str) -> str:
    """The base image of a Debian suite."""
    return f"debian:{suite}-slim"


def docker(host: str | None, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the docker client against the engine at the address `host` (None: the one that answers by default)."""
    where = ["--host", host] if host else []
    result = subprocess.run(["docker", *where, *arguments], capture_output=True, text=True, timeout=300, check=False)
    if check and result.returncode:
        raise AssertionError(f"docker {' '.join(arguments)}: {result.stderr.strip()}")
    return result


def copy_image(reference: str, host: str) -> None:
    """Give the engine at `host` an image of the default engine; one that is there already is left alone."""
    wanted = docker(None, "image", "inspect", "--format", "{{.Id}}", reference).stdout
    if docker(host, "image", "inspect", "--format", "{{.Id}}", reference, check=False).stdout == wanted:
        return
    save = subprocess.Popen(["docker", "save", reference], stdout=subprocess.PIPE)
    command = ["docker", "--host", host, "load"]
    load = subprocess.run(command, stdin=save.stdout, capture_output=True, text=True, check=False)
    assert save.stdout is not None
    save.stdout.close()
    if save.wait() or load.returncode:
        raise AssertionError(f"copying {reference} to {host}: {load.stderr.strip()}")


@contextmanager
def started_engine(folder: Path) -> Iterator[str]:
    """The address of a second engine that lives in `folder`, ended afterwards. Fails where there can be none."""
    command = [str(TOOLS / "second-engine"), "start", str(folder)]
    started = subprocess.run(command, capture_output=True, text=True, check=False)
    if started.returncode == 6:
        pytest.fail(f"no second engine can be had here: {started.stderr.strip()}")
    assert started.returncode == 0, started.stderr
    try:
        yield started.stdout.strip()
    finally:
        subprocess.run([TOOLS / "second-engine", "stop", folder], check=True, timeout=120)


@pytest.fixture(scope="session")
def second_engine() -> Iterator[str]:
    """The address (for DOCKER_HOST) of an engine without images that shares no path with us; see `copy_image`.

    Its containers can have the network "none" or "container:ID", and nothing outside is within its reach.
    """
    # Not below pytest's own folder: that is closed to other users, and the path of a socket has to be short.
    folder = Path(tempfile.mkdtemp(prefix="windtunnel-second-"))
    folder.chmod(0o755)
    try:
        with started_engine(folder) as address:
            yield address
    finally:
        shutil.rmtree(folder, ignore_errors=True)
