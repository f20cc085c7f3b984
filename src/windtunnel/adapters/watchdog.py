"""A small process that outlives the command and removes its containers when it ends without doing so itself.

It waits for the end of a pipe whose other end only the command holds; the kernel closes that on any end of the
command, `kill -9` included. A command that has cleaned up says so before, and then it does nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from windtunnel.adapters.signals import shielded
from windtunnel.errors import WindtunnelError
from windtunnel.launch.reap import reap_group
from windtunnel.ports import Engine

__all__ = ["start_watchdog", "watched"]

_SWEEPS = 5
_PAUSE = 0.7
_CLEAN = b"."


def start_watchdog(group: str) -> int:
    """Start it for a group of containers; returns the descriptor whose closing (by any end) sets it off."""
    reader, writer = os.pipe()
    subprocess.Popen(
        [sys.executable, "-m", "windtunnel.adapters.watchdog", group],
        stdin=reader,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd="/",
    )
    os.close(reader)
    os.set_inheritable(writer, False)
    return writer


@contextmanager
def watched(engine: Engine, group: str) -> Iterator[None]:
    """The group's containers are gone after this block: at once, or, where that fails, by the watchdog's hand."""
    writer = start_watchdog(group)
    try:
        yield
    finally:
        with shielded():
            with suppress(WindtunnelError, OSError):
                reap_group(engine, group)
                os.write(writer, _CLEAN)
            os.close(writer)


def main() -> None:
    """Wait for the end of standard input, then sweep a few times: an orphan may still be creating containers."""
    while said := os.read(0, 4096):
        if said.endswith(_CLEAN):
            return
    from windtunnel.adapters.docker import DockerEngine

    engine = DockerEngine(timeout=20.0)
    for _ in range(_SWEEPS):
        with suppress(WindtunnelError):
            reap_group(engine, sys.argv[1])
        time.sleep(_PAUSE)


if __name__ == "__main__":
    main()
