"""The scripts that give a bare machine what it lacks: an engine, base images, a virtualenv; and how CI calls them.

None of these tests touches the engine that answers by default, except to read from it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engines import TOOLS, copy_image, docker, started_engine

REPOSITORY = TOOLS.parent
ENGINE_LINE = re.compile(r"engine \S+ at \S+\n")
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


def processes_naming(text: Path | str) -> list[str]:
    """The command lines of all processes that mention `text`."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(text) in line:
            found.append(line)
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


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can enter; pytest's own are closed to others, and long for the path of a socket."""
    folder = Path(tempfile.mkdtemp(prefix="windtunnel-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def open_tools(open_folder: Path) -> Path:
    """A copy of the scripts where every user can read them."""
    shutil.copytree(TOOLS, open_folder / "tools")
    return open_folder / "tools"


def assert_refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit code 6 and one line on standard error that has all the words."""
    assert result.returncode == 6, result
    assert result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert word in result.stderr


# ---------------- all scripts


def scripts() -> list[Path]:
    return [
        file for file in (*TOOLS.iterdir(), REPOSITORY / ".ci/run") if file.read_text().startswith("#!/usr/bin/env b")
    ]


@pytest.mark.parametrize("script", scripts(), ids=lambda script: script.name)
def test_a_script_is_sound_bash_and_can_be_run(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert run("bash", "-n", script).stderr == ""


@pytest.mark.parametrize("name", ["docker-engine", "base-images", "second-engine", "virtualenv"])
def test_help_is_the_text_at_the_top(name: str) -> None:
    result = run(TOOLS / name, "--help")
    assert result.returncode == 0
    assert result.stdout.startswith(f"tools/{name} ")
    assert "#" not in result.stdout and "set -" not in result.stdout


@pytest.mark.parametrize(
    "command",
    [["docker-engine", "--chek"], ["base-images", "Trixie"], ["base-images", "../x"], ["second-engine", "halt", "x"]],
    ids=" ".join,
)
def test_a_wrong_argument_is_a_usage_error(command: list[str], tmp_path: Path) -> None:
    result = run(TOOLS / command[0], *command[1:], TMPDIR=str(tmp_path))
    assert result.returncode == 2
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


# ---------------- docker-engine


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
    return [line for line in processes_naming(place) if line.startswith("dockerd ")]


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
        for folder in /sys /sys/fs/cgroup /sys/fs/cgroup/*; do mount -o remount,rw $folder 2>/dev/null; done
        exec 2>&1
        /tools/docker-engine --check; /tools/docker-engine && /tools/docker-engine --check && docker network ls
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
    assert next(line for line in lines if ENGINE_LINE.fullmatch(f"{line}\n")) == lines[-5]
    assert re.search(r"bridge +bridge", result.stdout)


# ---------------- base-images


def base(suite: str) -> str:
    return f"debian:{suite}-slim"


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
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_interrupted_build_leaves_nothing(stop: signal.Signals, without_bookworm: str, tmp_path: Path) -> None:
    environment = {**os.environ, "DOCKER_HOST": without_bookworm, "TMPDIR": str(tmp_path)}
    command = [str(TOOLS / "base-images"), "bookworm"]
    with subprocess.Popen(command, env=environment, start_new_session=True, stdout=subprocess.DEVNULL) as build:
        wait_until(lambda: list(tmp_path.glob("windtunnel-base-bookworm.*/root/var")))
        build.send_signal(stop)
        assert build.wait(30) == 128 + stop
    assert list(tmp_path.iterdir()) == []
    assert processes_naming(tmp_path) == []
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


# ---------------- second-engine


@pytest.mark.engine
def test_the_second_engine_is_another_machine(second_engine: str) -> None:
    copy_image(base("trixie"), second_engine)
    command = ["run", "--rm", "--network", "none", base("trixie"), "ls", "/sys/class/net"]
    assert docker(second_engine, *command).stdout.split() == ["lo"]
    names = ["info", "--format", "{{.ID}}"]
    assert docker(second_engine, *names).stdout != docker(None, *names).stdout


@pytest.mark.engine
@pytest.mark.parametrize("path", [REPOSITORY, Path(tempfile.gettempdir()), Path.home()], ids=str)
def test_the_second_engine_sees_none_of_our_files(second_engine: str, path: Path, tmp_path: Path) -> None:
    copy_image(base("trixie"), second_engine)
    inner = tmp_path if path == Path(tempfile.gettempdir()) else next(iter(path.iterdir()))
    mount = f"type=bind,source={inner},target=/mnt,readonly"
    result = docker(second_engine, "run", "--rm", "--network=none", "--mount", mount, base("trixie"), check=False)
    assert result.returncode != 0
    assert "does not exist" in result.stderr


@pytest.mark.engine
@pytest.mark.parametrize("crashed", [False, True], ids=["running", "crashed"])
def test_stop_leaves_nothing_of_an_engine_and_its_containers(crashed: bool, open_folder: Path) -> None:
    place = open_folder / "second"
    mine = {"cgroups": cgroups(), "first": docker(None, "info", "--format", "{{.ID}}").stdout}
    with started_engine(place) as address:
        copy_image(base("trixie"), address)
        options = ["--detach", "--network", "none", "--stop-timeout", "1"]
        docker(address, "run", *options, base("trixie"), "sleep", "86399")
        assert processes_naming("86399") and cgroups() != mine["cgroups"]
        if crashed:
            os.kill(int((place / "first.pid").read_text().split()[0]), signal.SIGKILL)
    assert processes_naming(place) == [] and processes_naming("86399") == []
    assert not place.exists()
    assert str(place) not in Path("/proc/mounts").read_text()
    assert cgroups() == mine["cgroups"]
    assert docker(None, "info", "--format", "{{.ID}}").stdout == mine["first"]


def cgroups() -> set[str]:
    """The cgroups of second engines."""
    return {str(folder) for folder in Path("/sys/fs/cgroup").glob("**/windtunnel-second-*")}


@pytest.mark.engine
def test_a_second_engine_is_started_once(open_folder: Path) -> None:
    place = open_folder / "second"
    with started_engine(place) as address:
        assert_refused(run(TOOLS / "second-engine", "start", place), str(place))
        assert docker(address, "version").returncode == 0


@needs_root
def test_stop_ends_no_process_that_only_has_the_number(open_folder: Path) -> None:
    place = open_folder / "second"
    place.mkdir()
    (place / "mine").write_text("not made by start")
    with subprocess.Popen(["sleep", "60"]) as other:
        for file in ("first.pid", "outer.pid"):
            (place / file).write_text(f"{other.pid} 12345\n")
        result = run(TOOLS / "second-engine", "stop", place)
        alive = other.poll() is None
        other.kill()
    assert (result.returncode, alive) == (0, True)
    assert [file.name for file in place.iterdir()] == ["mine"]


@needs_root
def test_stop_of_nothing_is_fine(tmp_path: Path) -> None:
    assert run(TOOLS / "second-engine", "stop", tmp_path / "never").returncode == 0


# ---------------- virtualenv, Makefile, CI


def test_an_old_python_is_named_and_refused(tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    lie = "import sys, platform; sys.version_info = (3, 9, 2); platform.python_version = lambda: '3.9.2'"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{lie}; $2"\n')
    old.chmod(0o755)
    result = run(TOOLS / "virtualenv", tmp_path / "venv", "dev", PYTHON=str(old))
    assert_refused(result, "3.9.2", "3.11", "make PYTHON=")
    assert not (tmp_path / "venv").exists()


def test_a_python_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert_refused(run(TOOLS / "virtualenv", tmp_path / "venv", "dev", PYTHON="python3.99"), "python3.99", "PATH")


def test_make_alone_explains_every_target() -> None:
    rules = (REPOSITORY / "Makefile").read_text()
    targets = next(line for line in rules.splitlines() if line.startswith(".PHONY:")).split()[1:]
    result = run("make", "-s", "-C", REPOSITORY)
    explained = re.findall(r"^make ([a-z-]+) +\S", result.stdout, re.MULTILINE)
    assert sorted(explained) == sorted(targets)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """As much of this repository as make needs, with a virtualenv that is up to date."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, tmp_path)
    for name in ("tools", ".ci"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    (tmp_path / "tests").mkdir()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/pytest").write_text(f'#!/bin/sh\nexec {sys.executable} -m pytest "$@"\n')
    (tmp_path / ".venv/bin/pytest").chmod(0o755)
    (tmp_path / ".venv/.dev").touch()
    return tmp_path


@pytest.mark.engine
@pytest.mark.parametrize(
    ("content", "code", "summary"),
    [
        ("def test_fine(): pass", 0, r"=+ 1 passed in .*"),
        ("def test_wrong(): raise ValueError", 1, r"=+ 1 failed in .*"),
        ("import no_such_module_anywhere", 2, r"!* ?.*Interrupted.*|=+ 1 error in .*"),
    ],
    ids=["passed", "failed", "broken"],
)
def test_ci_ends_with_pytests_own_words(clone: Path, content: str, code: int, summary: str) -> None:
    (clone / "tests/test_it.py").write_text(content)
    result = run(clone / ".ci/run", PYTEST_ADDOPTS="")
    assert result.returncode == code, result
    assert re.fullmatch(summary, result.stdout.splitlines()[-1])
    assert result.stderr == ""


def test_ci_without_an_engine_says_so_and_fails(clone: Path) -> None:
    (clone / "build").mkdir()
    (clone / "build/pytest.status").write_text("0")  # of an earlier run: it must not count
    (clone / "tests/test_it.py").write_text("def test_fine(): pass")
    result = run(clone / ".ci/run", DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert result.returncode not in (0, 1)
    assert "no container engine answers at unix:///nonexistent/docker.sock" in result.stdout
    assert "passed" not in result.stdout
