"""One windtunnel at a time, with real processes: the second waits, is told for whom, and gets it after any end."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from windtunnel.adapters.hostlock import host_lock, lock_path
from windtunnel.errors import StorageError

LOCAL = "unix:///var/run/docker.sock"
_HOLDER = """
import sys
from windtunnel.adapters.hostlock import host_lock
with host_lock(sys.argv[1], lambda words: print("waits", words, flush=True)):
    print("holds", flush=True)
    sys.stdin.readline()
print("free", flush=True)
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the machine's lock: somebody may be measuring."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


@contextmanager
def _process(address: str = LOCAL) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _let_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def _killed(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_nobody_waits_for_a_free_machine(tmp_path: Path) -> None:
    told: list[str] = []
    for _ in range(2):
        with host_lock(LOCAL, told.append):
            assert lock_path(LOCAL).parent == tmp_path
    assert told == []


@pytest.mark.parametrize("ends", [_let_go, _killed])
def test_the_second_waits_is_told_for_whom_and_follows(ends: Callable[[subprocess.Popen[str]], None]) -> None:
    with _process() as first:
        assert _line(first) == "holds"
        with _process() as second:
            words = _line(second)
            assert words.startswith("waits ")
            assert f"process {first.pid}" in words
            ends(first)
            assert _line(second) == "holds"


def test_the_words_name_process_and_folder() -> None:
    with _process() as holder:
        assert _line(holder) == "holds"
        with _process() as other:
            words = _line(other)
            assert f"process {holder.pid}" in words
            assert str(Path.cwd()) in words


def test_it_is_free_again_when_its_holder_fails() -> None:
    told: list[str] = []
    with pytest.raises(RuntimeError), host_lock(LOCAL, told.append):
        raise RuntimeError
    with _process() as process:
        assert _line(process) == "holds"


def test_a_program_that_the_holder_starts_does_not_keep_it() -> None:
    """Descriptors are inherited unless one says otherwise; a helper that outlives the command must not hold it."""
    with host_lock(LOCAL, lambda _: None):
        helper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    with helper, _process() as process:
        assert _line(process) == "holds"
        helper.kill()


def test_two_threads_of_one_process_exclude_each_other_too() -> None:
    told = threading.Event()
    inside = threading.Event()

    def second() -> None:
        with host_lock(LOCAL, lambda _: told.set()):
            inside.set()

    with host_lock(LOCAL, lambda _: None):
        thread = threading.Thread(target=second)
        thread.start()
        assert told.wait(20)
        assert not inside.is_set()
    thread.join(20)
    assert inside.is_set()


def test_local_engines_share_a_machine_and_remote_ones_have_their_own() -> None:
    assert lock_path(LOCAL) == lock_path("unix:///run/user/1000/docker.sock") == lock_path("npipe:////./pipe/engine")
    remote = [lock_path(f"tcp://10.0.0.{number}:2375") for number in range(4)]
    assert len({*remote, lock_path(LOCAL)}) == 5
    with host_lock(LOCAL, lambda _: None), _process("ssh://other") as process:
        assert _line(process) == "holds"


def test_other_users_can_wait_on_it() -> None:
    before = os.umask(0o077)
    try:
        with host_lock(LOCAL, lambda _: None):
            assert stat.S_IMODE(lock_path(LOCAL).stat().st_mode) == 0o666
    finally:
        os.umask(before)


def test_a_place_where_it_cannot_be_is_told_with_the_way_out(tmp_path: Path) -> None:
    lock_path(LOCAL).mkdir()
    with pytest.raises(StorageError, match="TMPDIR") as caught, host_lock(LOCAL, lambda _: None):
        pass
    assert str(tmp_path) in str(caught.value)


def test_a_lock_file_full_of_something_else_does_no_harm() -> None:
    lock_path(LOCAL).write_bytes(bytes(range(256)) * 40)
    with _process() as holder:
        assert _line(holder) == "holds"
        with _process() as other:
            assert f"(process {holder.pid}, in {Path.cwd()})" in _line(other)
