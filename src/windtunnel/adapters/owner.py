"""Who started a container: a token for this process, and whether the process behind a token still runs."""

from __future__ import annotations

import os
import platform
import re
import secrets
import time
from pathlib import Path

__all__ = ["alive", "new_id", "owner_token"]

_TOKEN = re.compile(r"(?P<here>[^/]*)/(?P<pid>[0-9]{1,10})/(?P<started>[0-9]+)")


def new_id() -> str:
    """A name for one command, its run file and the group of its containers: sorts by time, and no other has it."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"


def _here() -> str:
    """This boot of this machine and this process namespace: process numbers mean something only within it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}.{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return platform.node()


def _start_time(pid: int) -> str | None:
    """When a process started (in clock ticks since boot), so that a reused number is not taken for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def owner_token(pid: int | None = None) -> str:
    """The label's value for a process (this one by default)."""
    number = os.getpid() if pid is None else pid
    return f"{_here()}/{number}/{_start_time(number) or 0}"


def alive(token: str) -> bool | None:
    """Whether the process behind a token runs; None where that can't be known from here."""
    match = _TOKEN.fullmatch(token)
    if match is None or match["here"] != _here():
        return None if token else False
    pid = int(match["pid"])
    if not Path("/proc/self").exists():
        return _answers(pid)
    started = _start_time(pid)
    return started is not None and started == match["started"] and not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return True


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
