"""One windtunnel at a time loads a machine: a lock file that the kernel frees when its holder ends, in any way."""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from windtunnel.errors import StorageError

__all__ = ["host_lock", "lock_path"]

_LONGEST = 1000
"""Bytes of the lock file that tell who holds it."""


def lock_path(engine_address: str) -> Path:
    """The lock of the machine under load: all local engines share one, a remote engine has its own."""
    local = engine_address.startswith(("unix:", "npipe:"))
    suffix = "" if local else "-" + hashlib.sha256(engine_address.encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"windtunnel{suffix}.lock"


@contextmanager
def host_lock(engine_address: str, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Hold the machine; while another process holds it, wait and tell who it is (once, and again every 30 s)."""
    path = lock_path(engine_address)
    try:
        descriptor = _open(path)
    except OSError as error:
        raise StorageError(f"cannot open the lock {path}: {error.strerror}; remove it or set TMPDIR") from error
    try:
        with suppress(OSError):
            os.fchmod(descriptor, 0o666)  # another user's windtunnel must be able to wait on it too
        _acquire(descriptor, on_wait)
        with suppress(OSError):  # a full disk must not keep anybody from measuring
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, _holder(), 0)
        yield
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """Where another user has made it, it must be opened without O_CREAT: kernels refuse that in shared folders."""
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _holder() -> bytes:
    """Who we are, for those who wait: process and folder."""
    return f"{os.getpid()}, in {Path.cwd()}".encode("utf-8", "replace")[:_LONGEST]


def _acquire(descriptor: int, on_wait: Callable[[str], None]) -> None:
    told = 0.0
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() - told > 30 or not told:
                told = time.monotonic()
                holder = os.pread(descriptor, _LONGEST, 0).decode("utf-8", "replace") or "?"
                on_wait(f"another windtunnel (process {holder}) is measuring on this machine; waiting for it")
            time.sleep(0.2)
