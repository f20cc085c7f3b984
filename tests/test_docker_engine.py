"""tools/docker-engine: an engine that answers is used, otherwise one is installed and started.

The engine that answers by default is only looked at; those that are started live in networks of their own.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import NOBODY, assert_refused, needs_root, pretend_system, processes_naming, run, wait_until
from engines import TOOLS, docker

ENGINE_LINE = re.compile(r"engine \S+ at \S+\n")


@pytest.mark.engine
def test_an_engine_that_answers_is_used_as_it_is() -> None:
    before = docker(None, "info", "--format", "{{.ID}} {{.SystemTime}}").stdout.split()[0]
    first, again, check = (run(TOOLS / "docker-engine", *more) for more in ([], [], ["--check"]))
    assert ENGINE_LINE.fullmatch(first.stdout)
    assert (again.stdout, check.stdout) == (first.stdout, first.stdout)
    assert (first.returncode, again.returncode, check.returncode) == (0, 0, 0)
    assert docker(None, "info", "--format", "{{.ID}}").stdout.strip() == before


@pytest.mark.engine
def test_docker_host_is_respected(second_engine: str) -> None:
    result = run(TOOLS / "docker-engine", DOCKER_HOST=second_engine)
    assert result.stdout.endswith(f" at {second_engine}\n")


@pytest.mark.engine
def test_an_engine_is_found_without_the_docker_client(second_engine: str, tmp_path: Path) -> None:
    for program in ("bash", "env", "python3", "dirname", "awk", "timeout"):
        (tmp_path / program).symlink_to(shutil.which(program) or sys.executable)
    (tmp_path / "python3").unlink()
    (tmp_path / "python3").symlink_to(sys.executable)
    result = run(TOOLS / "docker-engine", DOCKER_HOST=second_engine, PATH=str(tmp_path))
    assert ENGINE_LINE.fullmatch(result.stdout), result


@pytest.mark.parametrize("address", ["unix:///nonexistent/docker.sock", "tcp://127.0.0.1:9"])
def test_an_engine_elsewhere_is_never_started_here(address: str) -> None:
    assert_refused(run(TOOLS / "docker-engine", DOCKER_HOST=address), address, "DOCKER_HOST")


def test_check_changes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "engine"
    assert_refused(run(TOOLS / "docker-engine", "--check", WINDTUNNEL_DOCKERD_DIR=str(place)), str(place))
    assert not place.exists()


def test_another_distribution_is_told_what_to_install(tmp_path: Path) -> None:
    place = tmp_path / "engine"
    system = pretend_system(tmp_path, "fedora", "Fedora Linux 42")
    result = run(TOOLS / "docker-engine", WINDTUNNEL_DOCKERD_DIR=str(place), WINDTUNNEL_OS_RELEASE=system)
    assert_refused(result, "install and start Docker", "Fedora Linux 42")
    assert not place.exists()


@needs_root
@pytest.mark.skipif(shutil.which("apt-get") is None, reason="only where an engine could be installed")
def test_another_user_is_told_to_be_root(open_tools: Path) -> None:
    place = open_tools.parent / "engine"
    result = run(*NOBODY, open_tools / "docker-engine", WINDTUNNEL_DOCKERD_DIR=str(place))
    assert_refused(result, "as root", "group docker")
    assert not place.exists()


@pytest.fixture
def engine_place(open_folder: Path) -> Iterator[Path]:
    """Where tools/docker-engine starts an engine for a test; it is ended by its process id."""
    place = open_folder / "engine"
    yield place
    pid = place / "docker.pid"
    if pid.exists():
        os.kill(int(pid.read_text()), signal.SIGTERM)
        wait_until(lambda: not processes_naming(place))


def start_engine_at(place: Path, calls: str = '"$0"', **environment: str) -> subprocess.CompletedProcess[str]:
    """Run tools/docker-engine ($0 in `calls`) in a network of its own, out of reach of the default engine's."""
    environment["WINDTUNNEL_DOCKERD_DIR"] = str(place)
    return run("unshare", "--net", "bash", "-c", calls, TOOLS / "docker-engine", timeout=300, **environment)


def daemons_of(place: Path) -> list[str]:
    return [line for line in processes_naming(place).values() if line.startswith("dockerd ")]


@needs_root
@pytest.mark.engine
def test_two_calls_at_once_start_one_engine(engine_place: Path) -> None:
    both = start_engine_at(engine_place, '"$0" & "$0" & wait -n && wait -n')
    assert both.returncode == 0, both
    line = f"engine {docker(f'unix://{engine_place}/docker.sock', 'info', '-f', '{{.ServerVersion}}').stdout.strip()}"
    assert both.stdout == f"{line} at unix://{engine_place}/docker.sock\n" * 2
    assert len(daemons_of(engine_place)) == 1
    # The engine goes on running, and must not take the lock with it.
    assert run("flock", "--nonblock", "/run/lock/windtunnel-docker-engine.lock", "true").returncode == 0


@needs_root
@pytest.mark.engine
def test_stale_process_ids_do_not_keep_an_engine_from_starting(engine_place: Path) -> None:
    """After a crash the number in a pid file may belong to any other program."""
    (engine_place / "exec/containerd").mkdir(parents=True)
    with subprocess.Popen(["sleep", "60"]) as other:
        for file in ("docker.pid", "exec/containerd/containerd.pid"):
            (engine_place / file).write_text(str(other.pid))
        result = start_engine_at(engine_place)
        alive = other.poll() is None
        other.kill()
    assert ENGINE_LINE.fullmatch(result.stdout), result
    assert alive


@needs_root
@pytest.mark.engine
def test_without_iptables_the_engine_has_no_bridge(engine_place: Path, tmp_path: Path) -> None:
    for name in ("iptables", "iptables-legacy"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 3\n")
        (tmp_path / name).chmod(0o755)
    result = start_engine_at(engine_place, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert result.returncode == 0, result
    assert "no network" in result.stdout
    networks = docker(f"unix://{engine_place}/docker.sock", "network", "ls", "--format", "{{.Name}}").stdout.split()
    assert sorted(networks) == ["host", "none"]


@needs_root
@pytest.mark.engine
def test_an_engine_that_dies_is_reported_with_its_log(engine_place: Path) -> None:
    engine_place.mkdir()
    (engine_place / "data").write_text("a file where the engine needs a folder")
    result = start_engine_at(engine_place)
    assert result.returncode == 6
    assert str(engine_place / "data") in result.stderr  # from its log
    assert str(engine_place / "dockerd.log") in result.stderr.splitlines()[-1]
    assert not daemons_of(engine_place)


@pytest.mark.engine
@pytest.mark.slow
def test_a_bare_debian_gets_an_engine() -> None:
    """In a container: nothing but Debian is there, and the client is a package of its own in trixie."""
    script = """
        for folder in /sys /sys/fs/cgroup /sys/fs/cgroup/*; do mount -o remount,bind,rw $folder 2>/dev/null; done
        exec 2>&1
        /tools/docker-engine --check
        /tools/docker-engine && /tools/docker-engine --check && docker network ls --format "network {{.Name}}"
        tar -ch /usr/bin/echo $(ldd /usr/bin/echo | grep -o "/[^ ]*") 2>/dev/null | docker import - tiny >/dev/null
        docker run --rm --network none tiny /usr/bin/echo "a container runs"
    """
    options = ["--rm", "--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN", "--volume", "/var/lib/docker"]
    unconfined = [f"--security-opt={what}=unconfined" for what in ("seccomp", "apparmor", "systempaths")]
    mount = ["--volume", f"{TOOLS}:/tools:ro"]
    result = docker(
        None, "run", *options, *unconfined, *mount, "debian:trixie-slim", "bash", "-c", script, check=False
    )
    assert result.returncode == 0, result.stdout
    lines = result.stdout.splitlines()
    assert lines[0].startswith("no container engine answers")
    engine = next(line for line in lines if ENGINE_LINE.fullmatch(f"{line}\n"))
    assert lines[-5:] == [engine, "network bridge", "network host", "network none", "a container runs"]
