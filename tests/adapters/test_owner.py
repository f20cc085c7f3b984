"""Who started a container, and does it still run? Asked of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.adapters.owner import alive, owner_token

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="start times are read from /proc")


@contextmanager
def _child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        yield child


def _until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_this_process_runs() -> None:
    assert alive(owner_token()) is True
    assert owner_token() == owner_token(os.getpid())


def test_a_child_runs_until_it_has_ended() -> None:
    with _child() as child:
        token = owner_token(child.pid)
        assert alive(token) is True
        child.kill()
        child.wait()
        assert alive(token) is False


def test_a_zombie_does_not_run_any_more() -> None:
    """It has ended, and only its parent has not asked how."""
    with _child() as child:
        token = owner_token(child.pid)
        child.kill()
        assert _until(lambda: alive(token) is False)
        assert Path(f"/proc/{child.pid}").exists()


def test_a_number_that_another_process_has_now_is_not_its_owner() -> None:
    here, number, started = owner_token().split("/")
    assert alive(f"{here}/{number}/{int(started) - 1}") is False
    assert alive(f"{here}/{number}/0") is False


def test_a_process_whose_name_is_odd_is_read_as_well(tmp_path: Path) -> None:
    """The name stands in brackets before the start time, and may have brackets and spaces itself."""
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to(sys.executable)
    with subprocess.Popen([odd, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert _until(lambda: b"a) R 1 (b" in Path(f"/proc/{child.pid}/stat").read_bytes())
        assert owner_token(child.pid).rpartition("/")[2] != "0"
        assert alive(owner_token(child.pid)) is True


def test_other_machines_other_boots_and_other_namespaces_cannot_be_asked() -> None:
    here, number, started = owner_token().split("/")
    boot, namespace = here.split(".", 1)
    for other in (f"{boot}0.{namespace}", f"{boot}.{namespace}0", "elsewhere", ""):
        assert alive(f"{other}/{number}/{started}") is None, other


@given(st.text(max_size=40))
def test_what_is_no_token_belongs_to_nobody_known(token: str) -> None:
    assert alive(token) in {None, False}


@pytest.mark.parametrize("number", ["", "x", "-1", "²", "٣", "0", "1 ", "9" * 30, "9" * 5000, "1/1", "\0", "../1"])
@pytest.mark.parametrize("started", ["", "0", "x"])
def test_a_token_of_here_that_is_damaged_is_not_alive(number: str, started: str) -> None:
    here = owner_token().split("/")[0]
    assert alive(f"{here}/{number}/{started}") in {None, False}


def test_a_token_fits_a_label_and_says_what_it_must() -> None:
    token = owner_token()
    assert token.isascii()
    assert token.isprintable()
    assert token.split("/")[1] == str(os.getpid())
    assert len(token) < 200
