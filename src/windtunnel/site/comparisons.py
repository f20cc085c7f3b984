"""Which commits have a comparison of their own (a run file, and a page about it), and which classes are in one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

from windtunnel.errors import WindtunnelError
from windtunnel.history.nouns import History, RunRef
from windtunnel.site.relative import relative_paths, steps_of
from windtunnel.site.rundigest import RunDigest
from windtunnel.site.rundigests import digest_of, prepare
from windtunnel.site.runpages import run_paths

__all__ = ["compared_paths", "comparison_paths"]


@dataclass(frozen=True)
class _Compared:
    """What the digests of run files say, read once for all kinds of pages; `state` is that of the files."""

    state: _State
    commits: Mapping[str, str]
    classes: Mapping[str, str]


_State = tuple[tuple[RunRef, int, int], ...]
_known: WeakKeyDictionary[History, _Compared] = WeakKeyDictionary()


def comparison_paths(history: History) -> Mapping[str, str]:
    """The hash of a commit -> the page of a run that compares it with an earlier one, where there is such a page."""
    return _compared(history).commits


def compared_paths(history: History) -> Mapping[str, str]:
    """The name of a class -> the page that shows it relative to where its comparisons begin, if it is in one."""
    return _compared(history).classes


def _compared(history: History) -> _Compared:
    pages = run_paths(history)
    state = tuple((ref, *_stamp(ref.path)) for ref in pages)
    known = _known.get(history)
    if known is None or known.state != state:
        known = _known[history] = _read(pages, state)
    return known


def _stamp(path: Path) -> tuple[int, int]:
    """Time and size; a file that is not there has neither."""
    try:
        found = path.stat()
    except OSError:
        return (-1, -1)
    return (found.st_mtime_ns, found.st_size)


def _read(pages: Mapping[RunRef, str], state: _State) -> _Compared:
    prepare([ref.path for ref in pages])
    commits: dict[str, str] = {}
    names: set[str] = set()
    for ref, path in pages.items():
        run = _digest(ref)
        if run is None:
            continue
        names |= {step.benchmark for step in steps_of(ref, run, path)}
        if ref.base:
            commits[ref.commit] = path
    return _Compared(state, commits, relative_paths(sorted(names)))


def _digest(ref: RunRef) -> RunDigest | None:
    try:
        return digest_of(ref.path)
    except WindtunnelError:
        return None
