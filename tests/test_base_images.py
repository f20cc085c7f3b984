"""tools/base-images: kept, pulled or built, on a second engine that has none and reaches no registry."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from commands import assert_refused, needs_root, pretend_system, processes_naming, run, wait_until
from engines import TOOLS, base, docker


@pytest.mark.engine
def test_images_that_are_there_are_kept(tmp_path: Path) -> None:
    suites = ["bullseye", "bookworm", "trixie"]
    before = docker(None, "image", "inspect", "--format", "{{.Id}}", *map(base, suites)).stdout
    result = run(TOOLS / "base-images", TMPDIR=str(tmp_path))
    assert result.returncode == 0, result
    assert result.stdout == "".join(f"{base(suite)}: present\n" for suite in suites)
    assert docker(None, "image", "inspect", "--format", "{{.Id}}", *map(base, suites)).stdout == before


@pytest.fixture
def without_bookworm(second_engine: str) -> str:
    """The second engine, which has no image of bookworm and no registry within its reach."""
    docker(second_engine, "image", "rm", "--force", base("bookworm"), check=False)
    return second_engine


@pytest.mark.nightly
@needs_root
@pytest.mark.engine
@pytest.mark.slow
def test_two_calls_at_once_build_an_image_once(without_bookworm: str, tmp_path: Path) -> None:
    leftover = tmp_path / "windtunnel-base-bookworm.aBcDe1"
    leftover.mkdir()
    command = f'"{TOOLS}/base-images" bookworm & "{TOOLS}/base-images" bookworm & wait -n && wait -n'
    both = run("bash", "-c", command, DOCKER_HOST=without_bookworm, TMPDIR=str(tmp_path), timeout=500)
    assert both.returncode == 0, both
    assert len(re.findall(rf"^{base('bookworm')}: built in \d+ s$", both.stdout, re.MULTILINE)) == 1
    assert len(re.findall(rf"^{base('bookworm')}: present$", both.stdout, re.MULTILINE)) == 1
    assert list(tmp_path.iterdir()) == []
    label = docker(without_bookworm, "image", "inspect", "-f", "{{json .Config}}", base("bookworm")).stdout
    assert '"windtunnel.base":"bookworm"' in label and '"Cmd":["bash"]' in label
    assert_works(without_bookworm)


def assert_works(host: str) -> None:
    """apt is whole, has its three suites, can write where it must; and what makes an image big is gone."""
    script = """
        set -e; apt-get check -qq; . /etc/os-release; echo "$VERSION_CODENAME"
        awk '{ print $3 }' /etc/apt/sources.list; test -d /var/lib/apt/lists/partial
        find /usr/share/doc /usr/share/man /usr/share/locale /var/cache/apt -type f |
            grep -v -e copyright -e locale.alias || echo slim
    """
    words = docker(host, "run", "--rm", "--network", "none", base("bookworm"), "sh", "-c", script).stdout.split()
    assert words == ["bookworm", "bookworm", "bookworm-updates", "bookworm-security", "slim"]


@needs_root
@pytest.mark.engine
@pytest.mark.parametrize(
    "stop",
    [signal.SIGTERM, *(pytest.param(one, marks=pytest.mark.nightly) for one in (signal.SIGINT, signal.SIGHUP))],
)
def test_an_interrupted_build_leaves_nothing(stop: signal.Signals, without_bookworm: str, tmp_path: Path) -> None:
    environment = {**os.environ, "DOCKER_HOST": without_bookworm, "TMPDIR": str(tmp_path)}
    command = [str(TOOLS / "base-images"), "bookworm"]
    with subprocess.Popen(command, env=environment, start_new_session=True, stdout=subprocess.DEVNULL) as build:
        wait_until(lambda: list(tmp_path.glob("windtunnel-base-bookworm.*/root/var")))
        build.send_signal(stop)
        assert build.wait(30) == 128 + stop
    assert list(tmp_path.iterdir()) == []
    assert not processes_naming(tmp_path)
    assert str(tmp_path) not in Path("/proc/mounts").read_text()
    assert docker(without_bookworm, "image", "inspect", base("bookworm"), check=False).returncode != 0


@needs_root
@pytest.mark.engine
def test_a_suite_that_does_not_exist_fails_with_what_debootstrap_said(without_bookworm: str, tmp_path: Path) -> None:
    result = run(TOOLS / "base-images", "buulseye", DOCKER_HOST=without_bookworm, TMPDIR=str(tmp_path))
    assert result.returncode == 6
    assert "dists/buulseye" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("debian:buulseye-slim could not be built")
    assert "unpacked" not in result.stdout
    assert list(tmp_path.iterdir()) == []


@needs_root
@pytest.mark.engine
def test_the_mirror_can_be_chosen(without_bookworm: str, tmp_path: Path) -> None:
    """One that does not exist is enough to see that it was asked."""
    mirror = "http://127.0.0.1:9/debian"
    places = {"DOCKER_HOST": without_bookworm, "TMPDIR": str(tmp_path), "WINDTUNNEL_DEBIAN_MIRROR": mirror}
    result = run(TOOLS / "base-images", "bookworm", timeout=300, **places)
    assert result.returncode == 6
    assert f"{mirror}/dists/bookworm" in result.stderr
    assert "WINDTUNNEL_DEBIAN_MIRROR" in result.stderr.splitlines()[-1]


@pytest.mark.engine
def test_images_are_not_built_on_another_distribution(without_bookworm: str, tmp_path: Path) -> None:
    system = pretend_system(tmp_path, "arch", "Arch Linux")
    result = run(TOOLS / "base-images", "bookworm", DOCKER_HOST=without_bookworm, WINDTUNNEL_OS_RELEASE=system)
    assert_refused(result, base("bookworm"), "Arch Linux")


@needs_root
@pytest.mark.engine
def test_images_are_not_built_by_another_user(without_bookworm: str, open_tools: Path) -> None:
    group = str(Path(without_bookworm.removeprefix("unix://")).stat().st_gid)
    user = ["setpriv", "--reuid", "65534", "--regid", group, "--clear-groups"]
    result = run(*user, open_tools / "base-images", "bookworm", DOCKER_HOST=without_bookworm)
    assert_refused(result, base("bookworm"), "root")


def test_base_images_needs_an_engine() -> None:
    assert_refused(run(TOOLS / "base-images", DOCKER_HOST="unix:///nonexistent/docker.sock"), "tools/docker-engine")
