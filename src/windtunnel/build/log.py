"""The log of a build: a file with all of it, its last lines, and what a builder left behind."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from windtunnel.errors import StorageError

__all__ = ["BuildLog"]

_TAIL = 20
_STEP = re.compile(r"Step \d+/\d+ :")
_LAYER = re.compile(r"\s*---> ([0-9a-f]{12,64})")
_CACHED = "---> Using cache"


class BuildLog:
    """Writes lines to `path` and hands them on to `also`. Raises StorageError where that can't be written.

    Attributes:
        path: the file.
        is_classic: whether a line was the classic builder's.
        leftover: the id of the image that its last finished step has made, or None. When a later step fails, that
            image has no name and no label.
    """

    def __init__(self, path: Path, also: Callable[[str], None]) -> None:
        self.path = path
        self.is_classic = False
        self.leftover: str | None = None
        self._also = also
        self._tail: deque[str] = deque(maxlen=_TAIL)
        self._previous = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("w", encoding="utf-8", errors="replace")
        except OSError as error:
            raise self._unwritable(error) from error

    def __enter__(self) -> BuildLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._file.close()

    def line(self, text: str) -> None:
        """Take one line, without its newline."""
        self._tail.append(text)
        if _STEP.match(text):
            self.is_classic = True
        layer = _LAYER.fullmatch(text)
        if layer and self.is_classic:
            self.leftover = None if self._previous.strip() == _CACHED else layer[1]
        self._previous = text
        try:
            self._file.write(f"{text}\n")
            self._file.flush()
        except OSError as error:
            raise self._unwritable(error) from error
        self._also(text)

    @property
    def tail(self) -> str:
        """The last 20 lines."""
        return "\n".join(self._tail)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was logged: the engine refused before the first step."""
        return not self._tail

    def _unwritable(self, error: OSError) -> StorageError:
        return StorageError(f"{self.path}: the build's log can't be written: {error.strerror}")
