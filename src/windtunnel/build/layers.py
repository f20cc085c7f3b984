"""Do two images of one target stand on the same layers, up to where their sources come in?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.ports import HistoryEntry

__all__ = ["Stack", "shared_prefix"]

# "/bin/sh -c #(nop) COPY file:... in /app" is the classic builder's, "COPY app.py /app # buildkit" the other's
_SOURCES = re.compile(r"(?:^|#\(nop\)\s+)(?:COPY|ADD)\s")
_WRITTEN = re.compile(r"^(?:/bin/sh -c #\(nop\)\s+|RUN )|\s*# buildkit$")


@dataclass(frozen=True)
class Stack:
    """An image's instructions (oldest first) and layers (diff-ids, base first)."""

    history: tuple[HistoryEntry, ...] = ()
    layers: tuple[str, ...] = ()


def shared_prefix(one: Stack, other: Stack, base: Stack, independent: int | None = None) -> bool:
    """Whether two images built on `base` share every layer before the first one that depends on sources.

    An instruction that differs ends what has to be shared, since there the Dockerfile itself has changed. False
    therefore means: the same instructions gave different layers, so something drifted (packages, most likely).

    Args:
        one, other: the images.
        base: the image that both begin with; empty when they start from scratch.
        independent: after how many instructions on top of `base` sources come in, where that is known. Without it
            the first COPY or ADD is taken.
    """
    common = _common(one.layers, other.layers)
    if common < len(base.layers):
        return False
    steps = _same_steps(one, other, len(base.history), independent)
    return common >= len(base.layers) + max(_layers_of(stack, base, steps) for stack in (one, other))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def _same_steps(one: Stack, other: Stack, start: int, independent: int | None) -> int:
    """How many instructions on top of the base are the same and do not depend on sources."""
    steps = 0
    for a, b in zip(one.history[start:], other.history[start:], strict=False):
        if steps == independent or _plain(a) != _plain(b) or _SOURCES.search(a.created_by):
            break
        steps += 1
    return steps


def _plain(entry: HistoryEntry) -> str:
    """The instruction, whichever builder wrote it: main may be built by one of them, a pull request by the other."""
    return _WRITTEN.sub("", entry.created_by).strip()


def _layers_of(stack: Stack, base: Stack, steps: int) -> int:
    """How many layers the first `steps` instructions on top of the base have made, at least.

    An instruction that changed nothing may or may not have made a layer. Where the total tells that all of them have,
    they are counted; else only those that surely have.
    """
    own = stack.history[len(base.history) :]
    possible = [entry for entry in own if not entry.empty]
    everything = len(base.layers) + len(possible) == len(stack.layers)
    return sum(1 for entry in own[:steps] if not entry.empty and (everything or entry.size > 0))
