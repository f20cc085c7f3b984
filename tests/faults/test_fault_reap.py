"""What is left behind, told from what somebody needs: by its owner, and, where it has none, by what it is."""

from __future__ import annotations

import pytest
from faulty import docker

from windtunnel.adapters.docker import DockerEngine
from windtunnel.launch.reap import OWNER_LABEL, stale
from windtunnel.ports import LABEL, ContainerInfo

NOW = 1_000_000.0
ALIVE = {"alive": True, "dead": False}


@pytest.mark.parametrize(
    ("owner", "age", "build_step", "left"),
    [
        ("dead", 0.0, False, True),
        ("alive", 1e6, False, False),
        ("of another machine", 3600.0, False, False),
        ("of another machine", 90_000.0, False, True),
        ("", 1e6, False, False),  # run by hand, from an image of ours
        ("", 0.1, True, False),  # of a build that goes on
        ("", 3600.0, True, True),  # of a build that was given up
    ],
)
def test_whose_containers_are_left_behind(owner: str, age: float, build_step: bool, left: bool) -> None:
    labels = {LABEL: "image", **({OWNER_LABEL: owner} if owner else {})}
    one = ContainerInfo("1", "one", labels, running=not build_step, created=NOW - age, build_step=build_step)
    assert bool(stale([one], ALIVE.get, NOW)) == left


@pytest.mark.engine
@pytest.mark.parametrize(("command", "is_step"), [("#(nop) LABEL a=b", True), ("sleep 60", False)])
def test_a_step_of_a_build_is_known_as_such(image: str, command: str, is_step: bool) -> None:
    made = docker("create", "--network=none", image, "/bin/sh", "-c", command).strip()
    try:
        (seen,) = [one for one in DockerEngine().containers(LABEL) if one.id == made]
        assert seen.build_step == is_step
    finally:
        docker("rm", "--force", made)
