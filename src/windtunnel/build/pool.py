"""A few threads for builds. They never keep the process from ending: Ctrl-C during a build of minutes must work."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["run_all"]

_Item = TypeVar("_Item")


def run_all(jobs: int, work: Callable[[_Item], None], items: Iterable[_Item]) -> None:
    """Call `work` on every item, `jobs` at a time, and wait. The first exception that `work` lets out is raised.

    When the waiting is interrupted, nothing more is begun; what was begun ends with the process.
    """
    waiting: queue.SimpleQueue[_Item] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    errors: list[BaseException] = []
    stop = threading.Event()

    def drain() -> None:
        while not stop.is_set():
            try:
                work(waiting.get_nowait())
            except queue.Empty:
                return
            except BaseException as error:  # noqa: BLE001 - it is raised below, in the thread that waits
                errors.append(error)
                return

    threads = [threading.Thread(target=drain, daemon=True) for _ in range(min(max(1, jobs), waiting.qsize()))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        stop.set()
    if errors:
        raise errors[0]
