"""One build of an image at a time, over threads and processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from windtunnel.errors import StorageError

__all__ = ["held"]


@contextmanager
def held(folder: Path, name: str, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock `name`; `waiting` is called once when somebody else has it. It ends with the process.

    Raises:
        StorageError: the lock file can't be made in `folder`.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / f"{name}.lock").open("ab")
    except OSError as error:
        raise StorageError(f"{folder}: no lock can be made there: {error.strerror}; make it writable") from error
    with file:
        _lock(file, waiting)
        yield


if sys.platform == "win32":

    def _lock(file: IO[bytes], waiting: Callable[[], None]) -> None:
        """Two processes may do the same work twice there; the results are the same."""

else:
    import fcntl

    def _lock(file: IO[bytes], waiting: Callable[[], None]) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
