"""Two that work on one forge at the same time, in every order that their calls can have."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from windtunnel.publish.forge import Forge

__all__ = ["in_turns", "orders"]

_SECONDS = 30


def orders(steps: int) -> Iterator[str]:
    """Every order of so many first calls of A and B; the rest of them follows A first."""
    return map("".join, itertools.product("AB", repeat=steps))


def in_turns(order: str, forges: Sequence[Forge], **work: Callable[[Any], object]) -> dict[str, int]:
    """Do A's and B's work, each call when it is its turn; by name, after how many calls of all each was done.

    `forges` are what the one and the other call; it may be the same.
    """
    workers = {name: _Worker(forge, act) for forge, (name, act) in zip(forges, work.items(), strict=True)}
    for worker in workers.values():
        worker.begin()
    ended: dict[str, int] = {}
    for step, name in enumerate(itertools.chain(order, *(name * 50 for name in workers))):
        workers[name].one_call()
        if workers[name].done:
            ended.setdefault(name, step)
    for worker in workers.values():
        worker.end()
    return ended


@dataclass
class _Worker:
    """Does its work in a thread that stops before every call."""

    forge: Forge
    act: Callable[[Any], object]
    may_go: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    has_stopped: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    done: bool = False
    error: Exception | None = None

    def begin(self) -> None:
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        assert self.has_stopped.acquire(timeout=_SECONDS)

    def one_call(self) -> None:
        if not self.done:
            self.may_go.release()
            assert self.has_stopped.acquire(timeout=_SECONDS)

    def end(self) -> None:
        assert self.done
        self.thread.join(_SECONDS)
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            self.act(self)
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            self.error = error
        self.done = True
        self.has_stopped.release()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A call of the forge, once it may be made."""

        def call(*arguments: Any) -> Any:
            self.has_stopped.release()
            assert self.may_go.acquire(timeout=_SECONDS)
            return getattr(self.forge, name)(*arguments)

        return call
