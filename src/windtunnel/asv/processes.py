"""Benchmark processes that asv, or whoever kills it, ends half-way: known by their numbers, ended before the sweep.

A sweep of containers means nothing while a process still starts some. So each process that launches is registered
in the call's folder for as long as it does; what is registered after its end was killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from windtunnel.adapters.owner import alive, owner_token
from windtunnel.asv.call import Call
from windtunnel.errors import WindtunnelError
from windtunnel.launch.reap import reap_group
from windtunnel.ports import Engine

__all__ = ["end_processes", "ending_with_owner", "registered", "sweep", "unfinished"]

_POLL = 0.5
_PATIENCE = 5.0
_SETTLE = 0.3
"""How long an engine may still be creating what a killed process asked for, in seconds."""


def _folder(call: Call) -> Path:
    return call.folder / "processes"


@contextmanager
def registered(call: Call) -> Iterator[None]:
    """This process launches containers meanwhile."""
    path = _folder(call) / str(os.getpid())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(owner_token())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def unfinished(call: Call) -> tuple[Path, ...]:
    """The entries of processes that still launch, or were killed when they did."""
    try:
        return tuple(_folder(call).iterdir())
    except OSError:
        return ()


def end_processes(call: Call) -> None:
    """Kill what still launches, and wait until it is gone."""
    for entry in unfinished(call):
        token = entry.read_text()
        deadline = time.monotonic() + _PATIENCE
        while alive(token) and time.monotonic() < deadline:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(entry.name), signal.SIGKILL)
            time.sleep(0.02)
        entry.unlink(missing_ok=True)


def sweep(engine: Engine, group: str) -> None:
    """Remove a group's containers, until none has appeared for a moment."""
    with contextlib.suppress(WindtunnelError):
        reap_group(engine, group)
        time.sleep(_SETTLE)
        while reap_group(engine, group):
            time.sleep(_SETTLE)


@contextmanager
def ending_with_owner(call: Call, engine: Engine, aborting: threading.Event) -> Iterator[None]:
    """If asv's process ends meanwhile in a way that does not reach this one (`kill -9`), this one ends as well.

    `aborting` is set first, so that nothing more is created; then the call's containers are removed.
    """
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_POLL):
            if alive(call.owner) is False:
                aborting.set()
                sweep(engine, call.id)
                os._exit(1)

    thread = threading.Thread(target=watch, name="windtunnel-owner", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(_PATIENCE)
