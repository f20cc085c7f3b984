"""An engine that shares nothing with us but its socket, as one on another machine: it works there, and when that
machine goes away in the middle, what was measured before is kept.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from faulty import Suite, containers

from engines import TOOLS, copy_image, started_engine
from windtunnel.adapters.docker import DockerEngine
from windtunnel.launch.setup import ensure_load_image

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture
def far(image: str) -> Iterator[tuple[str, Path]]:
    """Address and folder of a second engine that has the images; one of our own, since it is killed here."""
    folder = Path(tempfile.mkdtemp(prefix="windtunnel-far-"))
    folder.chmod(0o755)
    try:
        with started_engine(folder) as address:
            for reference in ("debian:trixie-slim", ensure_load_image(DockerEngine(), print), image):
                copy_image(reference, address)
            yield address, folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_on_an_engine_far_away_until_it_goes_away(long: Suite, far: tuple[str, Path]) -> None:
    address, folder = far
    done = long.run("run", "Server.ok", "--quick", "--output", "near.jsonl", DOCKER_HOST=address)
    done.expect(0, "Requests per second", r"CPU per request +\d")
    assert "building" not in done.err
    assert not containers(done.pid, address)

    arguments = ("run", "Server.ok", "--launches", "30", "--batch", "2")
    with long.command(*arguments, DOCKER_HOST=address) as command:
        command.until(long.launches, "a launch is recorded")
        command.until_loading()
        subprocess.run([TOOLS / "second-engine", "stop", folder], check=True, timeout=120)
        done = command.wait()
    done.expect(6, f"no container engine answers at {address}|the load side-car", "lost")
    run = long.recorded()
    assert run is not None
    assert run.launches[0].outcome == "ok"
    assert {one.outcome for one in run.launches} == {"ok", "lost"}
    assert len(run.launches) < 30
