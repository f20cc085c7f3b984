"""What the worker reads of a container's cgroup, read of real ones: version 1 and 2, whichever this kernel has.

Making cgroups takes root; where that is not to be had, these tests say so and are skipped.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from talk import module, talking

Cgroup = module().Cgroup
total = module().total

V1 = Path("/sys/fs/cgroup")

_BURN = """
import json, os, resource, sys, time
for folder in sys.argv[2:]:
    open(f"{folder}/cgroup.procs", "w").write("0")
def used():
    mine, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
before = used()
if not os.fork():
    burn(float(sys.argv[1]) / 3)
    os._exit(0)
burn(float(sys.argv[1]) * 2 / 3)
os.wait()
print(json.dumps(used() - before), flush=True)
"""


@dataclass(frozen=True)
class Container:
    """A container's cgroup, without the container: one folder per controller, or one for all."""

    id: str
    root: Path
    folders: tuple[Path, ...]

    def found(self) -> Any:
        return Cgroup.find(self.id, self.root)

    def burn(self, seconds: float) -> float:
        """Let a process (and a child of it) use the processor within the cgroup; how much it says it was."""
        argv = [sys.executable, "-c", _BURN, str(seconds), *map(str, self.folders)]
        done = subprocess.run(argv, check=True, capture_output=True, text=True)
        return float(json.loads(done.stdout))

    def remove(self) -> None:
        for folder in self.folders:
            deadline = time.monotonic() + 10
            while folder.exists():
                with suppress(OSError):  # busy for a moment, while its last process is being buried
                    folder.rmdir()
                assert time.monotonic() < deadline, f"{folder} can't be removed"
                time.sleep(0.01)


@contextmanager
def _made(root: Path, tops: list[Path]) -> Iterator[Container]:
    identifier = secrets.token_hex(32)
    folders = tuple(top / f"windtunnel-test-{identifier}" for top in tops)
    container = Container(identifier, root, folders)
    try:
        for folder in folders:
            folder.mkdir()
        yield container
    finally:
        container.remove()


@pytest.fixture
def v1() -> Iterator[Container]:
    tops = [V1 / name for name in ("cpuacct", "memory", "cpuset")]
    tops = [top.resolve() for top in tops if (top / "cgroup.procs").exists()]
    if not tops or not os.access(tops[0], os.W_OK):
        pytest.skip("no cgroups of version 1 that can be written here")
    with _made(V1, list(dict.fromkeys(tops))) as container:
        yield container


@pytest.fixture
def v2(tmp_path: Path) -> Iterator[Container]:
    root = tmp_path / "cgroup2"
    root.mkdir()
    if subprocess.run(["mount", "-t", "cgroup2", "none", root], capture_output=True, check=False).returncode:
        pytest.skip("mounting cgroups of version 2 takes root")
    try:
        with _made(root, [root]) as container:
            yield container
    finally:
        subprocess.run(["umount", root], check=True)


@pytest.fixture(params=["v1", "v2"])
def container(request: pytest.FixtureRequest) -> Container:
    made: Container = request.getfixturevalue(request.param)
    return made


# ---------------- processor time


def test_processor_time_is_what_the_processes_say_themselves(container: Container) -> None:
    group = container.found()
    assert group.version == (1 if container.root == V1 else 2)
    before = group.cpu_seconds()
    assert before < 0.05
    for _ in range(2):
        start = group.cpu_seconds()
        said = container.burn(0.5)
        # What it takes to enter and to end is in the one and not in the other.
        assert group.cpu_seconds() - start == pytest.approx(said, rel=0.04, abs=0.03)
    assert group.cpu_seconds() > 0.99


def test_nothing_else_on_the_machine_counts(container: Container) -> None:
    group = container.found()
    before = group.cpu_seconds()
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    assert group.cpu_seconds() == before


def test_a_cgroup_that_has_gone_tells_nothing_rather_than_0(container: Container) -> None:
    group = container.found()
    container.burn(0.01)
    container.remove()
    assert (group.cpu_seconds(), group.memory_peak(), group.memory_kills(), group.cpuset()) == (
        None,
        None,
        None,
        None,
    )
    assert container.found() is None


def test_the_worker_reads_it_around_a_load(container: Container, tmp_path: Path) -> None:
    """The generator here is at the same time what is loaded: it enters the target's cgroup."""
    program = _BURN.replace("print(json.dumps(used() - before), flush=True)", "print(used() - before)")
    with talking(tmp_path / "scratch", container.root) as talk:
        seen = talk.ask("watch", containers=[container.id])
        assert seen["cgroup"] == container.found().version
        start = talk.ask("read")
        loaded = talk.load(program, "0.4", *map(str, container.folders))
        end = talk.ask("read")
        assert loaded["exit"] == 0, loaded
        assert loaded["cpu"] == pytest.approx(float(loaded["stdout"]), rel=0.04, abs=0.03)
        assert end["cpu"] - start["cpu"] == pytest.approx(loaded["cpu"], abs=0.02)
        assert end["at"] - start["at"] >= loaded["wall"]
        assert talk.load("pass")["cpu"] == pytest.approx(0.0, abs=0.001)


def test_of_several_containers_the_sum_is_told_or_nothing(v1: Container, tmp_path: Path) -> None:
    tops = [folder.parent for folder in v1.folders]
    with _made(V1, tops) as other, talking(tmp_path / "scratch", V1) as talk:
        first, second = v1.burn(0.2), other.burn(0.1)
        assert talk.ask("watch", containers=[v1.id, other.id])["cgroup"] == 1
        assert talk.ask("read")["cpu"] == pytest.approx(first + second, rel=0.1, abs=0.05)
        assert talk.ask("watch", containers=[v1.id, "0" * 64])["cgroup"] is None
        assert talk.ask("read")["cpu"] is None


def test_a_sum_of_which_a_part_is_not_known_is_not_known() -> None:
    assert total([1.0, 2.0]) == 3.0
    assert total([0.0]) == 0.0
    assert total([1.0, None]) is None
    assert total([]) is None


# ---------------- memory and processors (version 1: the test's own cgroup has them for sure)


def _controller(container: Container, name: str) -> Path:
    found: Path | None = container.found().folders.get(name)
    if found is None:
        pytest.skip(f"this kernel has no controller {name} of version 1")
    return found


def _allocate(folder: Path, size: int) -> int:
    """Use memory within a cgroup; the exit code."""
    program = (
        "import sys; open(sys.argv[1] + '/cgroup.procs', 'w').write('0'); x = b'x' * int(sys.argv[2]); print(len(x))"
    )
    return subprocess.run(
        [sys.executable, "-c", program, folder, str(size)], capture_output=True, check=False
    ).returncode


def test_peak_memory_stays_when_it_is_given_back(v1: Container) -> None:
    folder = _controller(v1, "memory")
    group = v1.found()
    assert _allocate(folder, 60 << 20) == 0
    assert 60 << 20 <= group.memory_peak() < 120 << 20
    assert group.memory_kills() == 0


def test_a_kill_for_memory_is_counted(v1: Container) -> None:
    folder = _controller(v1, "memory")
    limit = 40 << 20
    (folder / "memory.limit_in_bytes").write_text(str(limit))
    with suppress(OSError):  # without this it might be swapped out instead, where there is swap
        (folder / "memory.memsw.limit_in_bytes").write_text(str(limit))
    if _allocate(folder, 200 << 20) == 0:
        pytest.skip("it was swapped out")
    assert v1.found().memory_kills() == 1
    assert v1.found().memory_peak() <= limit


def test_the_processors_it_may_use(v1: Container) -> None:
    folder = _controller(v1, "cpuset")
    (folder / "cpuset.cpus").write_text("0")
    assert v1.found().cpuset() == "0"


def test_what_a_version_2_kernel_does_not_keep_is_none(v2: Container) -> None:
    """Without the memory controller there is no peak."""
    group = v2.found()
    if not (v2.folders[0] / "memory.peak").exists():
        assert group.memory_peak() is None
    if not (v2.folders[0] / "memory.events").exists():
        assert group.memory_kills() is None
    assert group.cpu_seconds() is not None


# ---------------- where engines put it


def _write(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


ID = "3f" * 32


@pytest.mark.parametrize(
    "place",
    [
        f"docker/{ID}",
        f"system.slice/docker-{ID}.scope",
        f"docker/{'0' * 64}/docker/{ID}",
        f"user.slice/user-1000.slice/user@1000.service/user.slice/docker-{ID}.scope",
        f"machine.slice/libpod-{ID}.scope",
        f"kubepods/besteffort/pod1/{ID}",
    ],
)
def test_wherever_an_engine_puts_a_container_it_is_found(place: str, tmp_path: Path) -> None:
    one, two, hybrid = tmp_path / "1", tmp_path / "2", tmp_path / "3"
    _write(one / "cpuacct" / place, cpuacct__usage="1500000000\n")
    _write(two, cgroup__controllers="cpu memory\n")
    _write(two / place, cpu__stat="usage_usec 2500000\nuser_usec 1\n", memory__peak="4096\n")
    _write(hybrid / "unified", cgroup__controllers="")
    _write(hybrid / "unified" / place, cpu__stat="usage_usec 3500000\n")
    found = [Cgroup.find(ID, root) for root in (one, two, hybrid)]
    assert [group.version for group in found] == [1, 2, 2]
    assert [group.cpu_seconds() for group in found] == [1.5, 2.5, 3.5]
    assert [group.memory_peak() for group in found] == [None, 4096, None]


def test_joined_controllers_of_version_1(tmp_path: Path) -> None:
    _write(tmp_path / "cpu,cpuacct" / "docker" / ID, cpuacct__usage="7000000000")
    _write(tmp_path / "memory" / "docker" / ID, memory__max_usage_in_bytes="8192")
    group = Cgroup.find(ID, tmp_path)
    assert (group.cpu_seconds(), group.memory_peak(), group.cpuset()) == (7.0, 8192, None)


def test_another_containers_cgroup_is_not_taken(tmp_path: Path) -> None:
    _write(tmp_path / "cpuacct" / "docker" / ("4f" * 32), cpuacct__usage="1")
    assert Cgroup.find(ID, tmp_path) is None
    assert Cgroup.find(ID, tmp_path / "none") is None


@pytest.mark.parametrize("text", ["", "many\n", "usage_usec\n", "usage_usec many\n", "user_usec 5\n"])
def test_files_that_say_something_else_are_none(text: str, tmp_path: Path) -> None:
    _write(tmp_path, cgroup__controllers="")
    _write(tmp_path / "docker" / ID, cpu__stat=text, memory__peak="max\n", memory__events=text)
    _write(tmp_path / "v1" / "cpuacct" / "docker" / ID, cpuacct__usage=text)
    assert Cgroup.find(ID, tmp_path / "v1").cpu_seconds() is None
    group = Cgroup.find(ID, tmp_path)
    assert (group.cpu_seconds(), group.memory_peak(), group.memory_kills()) == (None, None, None)
