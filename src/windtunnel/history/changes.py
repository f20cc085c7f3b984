"""Which steps between levels are worth a word: both directions, the same rule for either. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["THRESHOLD", "Change", "Level", "changes"]

THRESHOLD = 0.05
"""The smallest step that counts, as a share of the smaller level: what asv has for regressions."""

_SHORT = 2


@dataclass(frozen=True)
class Level:
    """Values from index `left` up to before `right` lie around `value`, `error` away from it on average."""

    left: int
    right: int
    value: float
    error: float


@dataclass(frozen=True)
class Change:
    """From index `index` on the level is another; `previous` is the index of the last value before."""

    index: int
    previous: int
    before: float
    after: float


def changes(levels: Sequence[Level], threshold: float = THRESHOLD) -> tuple[Change, ...]:
    """The changes in a sequence of levels, oldest first.

    Each level is compared with the one of the last change, not with its neighbour, so that many small steps in one
    direction add up to a change. A single value that stands out is none if what follows is where it was before.
    """
    found: list[Change] = []
    reference: Level | None = None
    for number, level in enumerate(levels):
        if reference is None:
            reference = level
        elif _differ(reference, level, threshold) and not _passing(reference, levels, number, threshold):
            found.append(Change(level.left, levels[number - 1].right - 1, reference.value, level.value))
            reference = level
    return tuple(found)


def _differ(one: Level, other: Level, threshold: float) -> bool:
    least = threshold * min(abs(one.value), abs(other.value))
    return abs(one.value - other.value) > max(one.error, other.error, least)


def _passing(reference: Level, levels: Sequence[Level], number: int, threshold: float) -> bool:
    """Whether it is a single value, and the next level is back where it was."""
    level = levels[number]
    if level.right - level.left >= _SHORT or number + 1 == len(levels):
        return False
    return not _differ(reference, levels[number + 1], threshold)
