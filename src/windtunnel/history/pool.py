"""The same call for many, on all processors where that pays.

The workers are processes of their own (`windtunnel.history.worker`), not those of `multiprocessing`: who asks may
have threads, which a fork does not survive, or be a script that must not be run once more to make a worker.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, suppress
from typing import Any, TypeVar

__all__ = ["each"]

_T = TypeVar("_T")

_WORTH = 8 << 20
"""Work below it (as bytes to be read) is done before the second process has started."""


def each(call: Callable[..., _T], jobs: Sequence[tuple[Any, ...]], work: int) -> Generator[_T, None, None]:
    """``call(*job)`` for each of `jobs`, in their order; `work` tells how much it is, as bytes to be read.

    `call` has to be a function of a module, and everything picklable. What a worker can't do, because it was killed
    or because `call` raises, is done here.
    """
    count = min(len(os.sched_getaffinity(0)), len(jobs))
    if work < _WORTH or count < 2:
        yield from (call(*job) for job in jobs)
        return
    with ExitStack() as stack:
        workers = [stack.enter_context(_Worker(call, jobs[number::count])) for number in range(count)]
        for number, job in enumerate(jobs):
            done = workers[number % count].next()
            yield call(*job) if done is None else done[0]


class _Worker:
    """A process with its share of the jobs. It works ahead as far as the pipe takes what it has done."""

    def __init__(self, call: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "windtunnel.history.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # what it fails at is done again here, and fails here
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.output = self.process.stdout
        with suppress(BrokenPipeError), self.process.stdin as file:
            pickle.dump((call, jobs), file, pickle.HIGHEST_PROTOCOL)

    def next(self) -> tuple[Any] | None:
        """What came of its next job; None where nothing did, and nothing will."""
        try:
            return (pickle.load(self.output),)  # noqa: S301 - from our own process
        except (EOFError, pickle.UnpicklingError):
            return None

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.output.close()
        self.process.wait()
