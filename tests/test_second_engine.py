"""tools/second-engine: as far away as another machine, and gone without a trace afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import uuid
from pathlib import Path

import pytest

from commands import assert_refused, needs_root, processes_naming, run
from engines import TOOLS, base, copy_image, docker, started_engine

REPOSITORY = TOOLS.parent


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
    seconds = str(uuid.uuid4().int % 10**9 + 10**9)  # no other process sleeps as long as ours
    first = docker(None, "info", "--format", "{{.ID}}").stdout
    with started_engine(place) as address:
        copy_image(base("trixie"), address)
        options = ["--detach", "--network", "none", "--stop-timeout", "1"]
        docker(address, "run", *options, base("trixie"), "sleep", seconds)
        [sleeper] = processes_naming(seconds)
        folders = cgroups_of(sleeper)
        assert folders
        if crashed:
            os.kill(int((place / "first.pid").read_text().split()[0]), signal.SIGKILL)
    assert not processes_naming(place) and not processes_naming(seconds)
    assert not place.exists()
    assert str(place) not in Path("/proc/mounts").read_text()
    assert [folder for folder in folders if folder.exists()] == []
    assert docker(None, "info", "--format", "{{.ID}}").stdout == first


def cgroups_of(pid: int) -> list[Path]:
    """The engine's own top folder in every hierarchy that the process is in."""
    paths = {line.split(":", 2)[2] for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()}
    names = {part for path in paths for part in path.split("/") if part.startswith("windtunnel-second-")}
    root = Path("/sys/fs/cgroup")
    return [folder for name in names for folder in (*root.glob(name), *root.glob(f"*/{name}"))]


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
