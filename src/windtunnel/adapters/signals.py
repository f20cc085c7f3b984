"""Ctrl-C and SIGTERM: the first one unwinds, later ones must not stop the clean-up half-way."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from windtunnel.errors import Interrupted

__all__ = ["graceful_signals"]


@contextmanager
def graceful_signals(tell: Callable[[str], None]) -> Iterator[None]:
    """The first SIGINT or SIGTERM raises Interrupted in the main thread; from then on they only tell."""
    stopping = False

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        if stopping:
            tell("already stopping: containers are being removed")
            return
        stopping = True
        raise Interrupted("interrupted" if number == signal.SIGINT else "ended by SIGTERM")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
