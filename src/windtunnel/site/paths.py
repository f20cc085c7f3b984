"""Where pages are: names from outside as file names, and links from one page to another. Pure.

A file name is made of letters, digits and ``._-`` alone, so it means the same to every file system, server and reader
of an address; what else a name has becomes ``_``, and a few letters of its digest tell it from others.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from windtunnel.history.nouns import History

__all__ = [
    "BENCHMARKS",
    "CHANGES",
    "FEED",
    "HOME",
    "MACHINES",
    "STYLE",
    "class_paths",
    "relative",
    "slug",
    "unique_slugs",
]

HOME = "index.html"
BENCHMARKS = "benchmarks/index.html"
CHANGES = "changes.html"
FEED = "changes.xml"
MACHINES = "machines.html"
STYLE = "assets/pages.css"

_LONGEST = 80
"""Characters of a name that are kept; some file systems take 255 bytes, with suffixes and folders."""

_DIGEST = 8
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d|index|readme)(\..*)?", re.IGNORECASE)
"""Names that mean something else: devices of Windows, and pages that a server or MkDocs shows for a folder."""


def slug(name: str) -> str:
    """A file name for `name`, without a suffix: the name itself where it is harmless, else something like it.

    The same name always has the same slug. Two names have two slugs, but for the case of letters: see `unique_slugs`.
    """
    kept = re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:_LONGEST].strip(".-_")
    if name and kept == name and not _RESERVED.fullmatch(name):
        return name
    return f"{kept or 'x'}-{_digest(name)}"


def unique_slugs(names: Iterable[str]) -> dict[str, str]:
    """Slugs that differ on a file system which takes `Starlet` and `starlet` for one, too.

    Where names differ in nothing else, each of them gets a digest; the others keep what `slug` gives them.
    """
    slugs = {name: slug(name) for name in names}
    times = Counter(one.lower() for one in slugs.values())
    return {name: one if times[one.lower()] == 1 else f"{one}-{_digest(name)}" for name, one in sorted(slugs.items())}


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


def class_paths(history: History) -> Mapping[str, str]:
    """`Benchmark.group` -> the path of its page, for all groups of a history."""
    slugs = unique_slugs({benchmark.group for benchmark in history.benchmarks()})
    return {group: f"benchmarks/{one}.html" for group, one in slugs.items()}


def relative(source: str, target: str) -> str:
    """The address of one path (as in `Page.path`) as the page at another one links to it."""
    return quote(posixpath.relpath(target, posixpath.dirname(source) or "."))
