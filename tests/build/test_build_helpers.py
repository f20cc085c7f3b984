"""The log of a build, the pool of threads, the lock between processes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from windtunnel.build.bases import Bases
from windtunnel.build.locks import held
from windtunnel.build.log import BuildLog
from windtunnel.build.pool import run_all
from windtunnel.errors import StorageError

FAILING = """\
Step 1/4 : FROM debian:trixie-slim
 ---> 8372346b3701
Step 2/4 : COPY a /a
 ---> Using cache
 ---> 111111111111
Step 3/4 : RUN true
 ---> Running in aaaaaaaaaaaa
Removing intermediate container aaaaaaaaaaaa
 ---> 222222222222
Step 4/4 : RUN false
 ---> Running in bbbbbbbbbbbb
Removing intermediate container bbbbbbbbbbbb"""


def written(path: Path, text: str) -> BuildLog:
    with BuildLog(path, lambda _: None) as log:
        for line in text.splitlines():
            log.line(line)
    return log


def test_the_log_is_in_the_file_and_its_end_at_hand(tmp_path):
    told: list[str] = []
    with BuildLog(tmp_path / "deep" / "x.log", told.append) as log:
        assert log.is_empty
        for number in range(30):
            log.line(f"line {number} \udcff")
        assert (tmp_path / "deep" / "x.log").read_text().count("\n") == 30  # while it is still open
    assert len(told) == 30
    assert log.tail.splitlines()[0].startswith("line 10 ")
    assert not log.is_empty


@pytest.mark.parametrize(
    ("upto", "leftover"),
    [("Step 2", "8372346b3701"), ("Step 3", None), ("Step 4", "222222222222"), ("nothing", "222222222222")],
)
def test_what_the_classic_builder_leaves_behind(tmp_path, upto, leftover):
    assert written(tmp_path / "x.log", FAILING.partition(upto)[0]).leftover == leftover


def test_the_other_builder_leaves_nothing(tmp_path):
    log = written(tmp_path / "x.log", "#1 [internal] load\n#5 0.123  ---> 222222222222\n ---> 222222222222\n")
    assert (log.leftover, log.is_classic) == (None, False)


def test_a_log_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file"):
        BuildLog(tmp_path / "file" / "x.log", lambda _: None)


# ---------------- the pool


@pytest.mark.parametrize("jobs", [0, 1, 2, 100])
def test_every_item_is_worked_on_once(jobs):
    done: list[int] = []
    run_all(jobs, done.append, range(20))
    assert sorted(done) == list(range(20))
    run_all(jobs, done.append, [])


def test_jobs_is_a_limit_that_is_reached():
    barrier = threading.Barrier(3, timeout=30)
    running, most = [], []

    def work(_: int) -> None:
        running.append(1)
        most.append(len(running))
        barrier.wait()
        running.pop()

    run_all(3, work, range(9))
    assert max(most) == 3


def test_what_work_lets_out_is_raised_after_the_others_have_ended():
    done: list[int] = []

    def work(item: int) -> None:
        if item == 1:
            raise ZeroDivisionError
        done.append(item)

    with pytest.raises(ZeroDivisionError):
        run_all(2, work, range(5))
    assert sorted(done) == [0, 2, 3, 4]


def test_an_interruption_does_not_wait_for_what_is_running():
    """In a process of its own: Ctrl-C in the middle of work that would never end."""
    code = (
        "import os, signal, threading, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # whoever runs the tests may have it ignored
        "from windtunnel.build.pool import run_all\n"
        "def work(item):\n"
        "    print(item, flush=True)\n"
        "    time.sleep(0.5)\n"  # by then the main thread waits
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    threading.Event().wait()\n"
        "try:\n"
        "    run_all(1, work, ['first', 'second'])\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["first", "interrupted"]


# ---------------- the lock


def test_a_lock_keeps_others_out_and_says_that_they_wait(tmp_path):
    order: list[str] = []
    waiting = threading.Event()

    def other() -> None:
        with held(tmp_path / "locks", "x", waiting.set):
            order.append("other")

    with held(tmp_path / "locks", "x", lambda: order.append("nobody had it")):
        thread = threading.Thread(target=other)
        thread.start()
        assert waiting.wait(30)
        order.append("first")
    thread.join(30)
    assert order == ["first", "other"]


def test_locks_of_two_names_do_not_meet(tmp_path):
    with held(tmp_path, "x", lambda: pytest.fail("waited")), held(tmp_path, "y", lambda: pytest.fail("waited")):
        pass


def test_a_lock_ends_with_its_process(tmp_path):
    code = (
        "import sys, time, pathlib\nfrom windtunnel.build.locks import held\n"
        "with held(pathlib.Path(sys.argv[1]), 'x', lambda: None):\n"
        "    print('held', flush=True)\n    time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process, process.stdout:
        assert process.stdout.readline() == b"held\n"
        waited = threading.Event()
        timer = threading.Timer(0, lambda: waited.wait(30) and process.kill())
        timer.start()
        began = time.monotonic()
        with held(tmp_path, "x", waited.set):
            assert waited.is_set()
        assert time.monotonic() - began < 300
        timer.join()


def test_a_lock_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="make it writable"), held(tmp_path / "file", "x", lambda: None):
        pass


@pytest.mark.engine
def test_a_base_is_known_by_its_id(engine):
    bases = Bases(engine, lambda *_: None)
    info = bases.get("debian:trixie-slim", "test")
    assert bases.has_id(info.id.removeprefix("sha256:")[:12])
    assert not bases.has_id("0" * 12)
    assert bases.stack("debian:trixie-slim").layers == info.layers
    assert bases.stack(None).layers == ()
