"""Other work on the machine: processes that burn a core each, in bursts."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["bursts"]

_SHORTEST, _LONGEST = 0.2, 2.0


@contextmanager
def bursts(processes: int) -> Iterator[None]:
    """Let so many processes burn while this lasts; each turns itself on and off for 0.2 to 2 seconds, at random."""
    command = [sys.executable, __file__, str(os.getpid())]
    running = [subprocess.Popen([*command, str(number)]) for number in range(processes)]
    try:
        yield
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait()


def _burn(parent: int, seed: int) -> None:
    """Until whoever started this is gone."""
    generator = random.Random(seed)  # noqa: S311
    while os.getppid() == parent:
        end = time.monotonic() + generator.uniform(_SHORTEST, _LONGEST)
        while time.monotonic() < end:
            pass
        time.sleep(generator.uniform(_SHORTEST, _LONGEST))


if __name__ == "__main__":
    _burn(int(sys.argv[1]), int(sys.argv[2]))
