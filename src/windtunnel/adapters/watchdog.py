"""A small process that outlives the command and removes its containers when it ends without doing so itself.

It waits for the end of a pipe whose other end only the command holds; the kernel closes that on any end of the
command, `kill -9` included.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time

from windtunnel.errors import WindtunnelError

__all__ = ["start_watchdog"]

_SWEEPS = 5
_PAUSE = 0.7


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


def main() -> None:
    """Wait for the end of standard input, then sweep a few times: an orphan may still be creating containers."""
    while os.read(0, 4096):
        pass
    from windtunnel.adapters.docker import DockerEngine
    from windtunnel.launch.reap import reap_group

    engine = DockerEngine(timeout=20.0)
    for _ in range(_SWEEPS):
        with contextlib.suppress(WindtunnelError):
            reap_group(engine, sys.argv[1])
        time.sleep(_PAUSE)


if __name__ == "__main__":
    main()
