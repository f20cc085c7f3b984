"""Words for whoever waits for a site."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from windtunnel.site.page import Page, Resource

__all__ = ["counted"]

_PATIENCE = 5.0
"""Seconds without a word."""


def counted(items: Iterable[Page | Resource], tell: Callable[[str], None]) -> Iterator[Page | Resource]:
    """The same items; now and then `tell` hears how many pages there are by now."""
    count, said = 0, time.monotonic()
    for item in items:
        count += isinstance(item, Page)
        if time.monotonic() - said > _PATIENCE:
            tell(f"{count} pages so far")
            said = time.monotonic()
        yield item
