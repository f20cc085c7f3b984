"""The same call for many, in several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from windtunnel.history import pool


@pytest.fixture(autouse=True)
def always_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_WORTH", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


def doubled(number: int, _parent: int) -> tuple[int, int]:
    return 2 * number, os.getpid()


def fatal(number: int, parent: int) -> tuple[int, int]:
    if number == 30 and os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
    return doubled(number, parent)


def test_results_come_in_order_from_other_processes() -> None:
    found = list(pool.each(doubled, [(number, 0) for number in range(50)], 1))
    assert [one[0] for one in found] == [2 * number for number in range(50)]
    assert os.getpid() not in {one[1] for one in found}


def test_what_a_killed_process_leaves_is_done_here() -> None:
    jobs = [(number, os.getpid()) for number in range(50)]
    assert [one[0] for one in pool.each(fatal, jobs, 1)] == [2 * number for number in range(50)]


def test_nothing_to_do() -> None:
    assert list(pool.each(doubled, [], 0)) == []


def wrong(number: int) -> int:
    if number == 30:
        raise ValueError("thirty")
    return number


def test_what_goes_wrong_there_goes_wrong_here() -> None:
    found = []
    with pytest.raises(ValueError, match="thirty"):
        for one in pool.each(wrong, [(number,) for number in range(50)], 1):
            found.append(one)
    assert found == list(range(30))


def loud(number: int) -> int:
    print("between the results")
    return number


def test_what_a_call_prints_is_not_taken_for_a_result() -> None:
    assert list(pool.each(loud, [(number,) for number in range(9)], 1)) == list(range(9))


def test_a_script_is_not_run_once_more_for_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\n"
        "os.sched_getaffinity = lambda _: {0, 1}\n"
        "print('started', flush=True)\n"
        "from windtunnel.history import pool\n"
        "import math\n"
        "print(sum(pool.each(math.isqrt, [(4,)] * 10, 1 << 40)))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout == "started\n20\n"


def test_no_process_stays_when_it_is_left_early() -> None:
    found = pool.each(doubled, [(number, 0) for number in range(50)], 1)
    _, number = next(found)
    found.close()
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
