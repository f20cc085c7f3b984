"""Pairs whose noise is known: drawn level by level."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

import material
from windtunnel.compare.effects import Pair
from windtunnel.model import Launch, Slice

__all__ = ["Levels", "groups", "pairs"]


@dataclass(frozen=True)
class Levels:
    """Standard deviations of log ratios: of launch pairs, and of slice pairs within one."""

    launch: float
    slice: float


def groups(levels: Levels, count: int, sizes: tuple[int, int], seed: int) -> list[list[float]]:
    """`count` groups of normal values, each of a size between `sizes`."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        middle = draw.gauss(0.01, levels.launch)
        found.append([draw.gauss(middle, levels.slice) for _ in range(draw.randint(*sizes))])
    return found


def pairs(levels: Levels, count: int, *, slices: int = 8, singles: int = 3, seed: int = 1) -> list[Pair]:
    """Pairs of launches with that noise, the same in all metrics. Base's slices are all alike."""
    draw = random.Random(seed)
    return [
        _pair(number, draw.gauss(0, levels.launch), levels.slice, (slices, singles), draw) for number in range(count)
    ]


def _pair(number: int, shift: float, spread: float, counts: tuple[int, int], draw: random.Random) -> Pair:
    plain = [material.LOAD] * counts[0] + [material.SINGLE] * counts[1]
    noisy = [_slower(one, shift + draw.gauss(0, spread)) for one in plain]
    return Pair(number + 1, _launch(number + 1, "base", plain), _launch(number + 1, "head", noisy))


def _slower(one: Slice, log_ratio: float) -> Slice:
    factor = math.exp(log_ratio)
    assert isinstance(one.wall, float)
    assert isinstance(one.cpu, float)
    return replace(one, wall=one.wall * factor, cpu=one.cpu * factor)


def _launch(number: int, arm: str, slices: list[Slice]) -> Launch:
    return replace(material.LAUNCH, arm=arm, number=number, slices=(material.WARMUP, *slices))
