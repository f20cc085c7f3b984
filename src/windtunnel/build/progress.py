"""What is told of builds while they go on."""

from __future__ import annotations

import threading
from typing import Protocol

from windtunnel.errors import WindtunnelError
from windtunnel.model import Variant

__all__ = ["BuildProgress", "OneAtATime"]


class BuildProgress(Protocol):
    """Gets told of builds. Calls come from several threads, but one at a time."""

    def started(self, tag: str, variant: Variant, arm: str) -> None:
        """A build begins."""

    def line(self, tag: str, text: str) -> None:
        """A line of its log; `tag` is a foreign image's name while that is pulled."""

    def finished(self, tag: str, seconds: float) -> None:
        """The image is there; it took that long."""

    def reused(self, tag: str, variant: Variant, arm: str) -> None:
        """The engine had it."""

    def pulled(self, tag: str, variant: Variant, arm: str) -> None:
        """The registry had it."""

    def failed(self, tag: str, error: WindtunnelError) -> None:
        """It could not be built."""


class OneAtATime:
    """Hands calls on under a lock, so that whoever listens need not think of threads."""

    def __init__(self, progress: BuildProgress) -> None:
        self._progress = progress
        self._lock = threading.Lock()

    def started(self, tag: str, variant: Variant, arm: str) -> None:
        with self._lock:
            self._progress.started(tag, variant, arm)

    def line(self, tag: str, text: str) -> None:
        with self._lock:
            self._progress.line(tag, text)

    def finished(self, tag: str, seconds: float) -> None:
        with self._lock:
            self._progress.finished(tag, seconds)

    def reused(self, tag: str, variant: Variant, arm: str) -> None:
        with self._lock:
            self._progress.reused(tag, variant, arm)

    def pulled(self, tag: str, variant: Variant, arm: str) -> None:
        with self._lock:
            self._progress.pulled(tag, variant, arm)

    def failed(self, tag: str, error: WindtunnelError) -> None:
        with self._lock:
            self._progress.failed(tag, error)
