"""Ctrl-C and SIGTERM: the first one unwinds, later ones must not stop the clean-up half-way."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from windtunnel.errors import Interrupted

__all__ = ["graceful_signals", "shielded"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _State:
    """What the handler knows: whether the process is on its way out, and whether it may be unwound right now."""

    stopping = False
    shields = 0
    waiting: Interrupted | None = None


@contextmanager
def graceful_signals(tell: Callable[[str], None]) -> Iterator[None]:
    """The first SIGINT, SIGTERM or SIGHUP raises Interrupted in the main thread; from then on they only tell.

    After the block they are what they were before or, where one has come, ignored to the end of the process.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        if _State.stopping:
            tell("already stopping: containers are being removed")
            return
        _State.stopping = True
        error = Interrupted(_reason(number))
        if not _State.shields:
            raise error
        _State.waiting = error

    _State.stopping, _State.waiting = False, None
    before = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, old in before.items():
            # Who is stopping has said so: one more Ctrl-C must not change the exit code while Python winds up.
            signal.signal(number, signal.SIG_IGN if _State.stopping else old)


@contextmanager
def shielded() -> Iterator[None]:
    """A clean-up that a first Ctrl-C must not cut short: it is raised at the end of the block instead."""
    _State.shields += 1
    try:
        yield
    finally:
        _State.shields -= 1
        if _State.waiting is not None and not _State.shields:
            error, _State.waiting = _State.waiting, None
            raise error


def _reason(number: int) -> str:
    return "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
