"""Cutting the cases of one comparison into shards: parts that are measured on machines of their own. Pure.

Two ways lead to the same cut on every machine. Where one command decides for all (`windtunnel plan --shards`) cases
weigh what they cost last time; where every machine decides for itself (`windtunnel compare --shard 2/4`) they weigh
the same, since machines need not have seen the same earlier runs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heapreplace

from windtunnel.declare.cases import Discovery
from windtunnel.errors import ConfigError

__all__ = ["MATRIX", "in_shard", "parse_shard", "pattern_of", "select_shard", "shard_of"]

MATRIX = "windtunnel-matrix"
"""The format of a plan that is cut into shards."""

_SHARD = re.compile(r"([0-9]{1,4})/([0-9]{1,4})", re.ASCII)

_MOST = 1000
"""More shards than that are a slip of the hand."""

_LONGEST = 1e9
"""Seconds that no case takes; a file that says so is wrong."""

_WORTH = 1.1
"""So much longer than by the best cut the longest shard may take for the sake of fewer builds."""

_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")


def parse_shard(text: str) -> tuple[int, int]:
    """``"2/4"`` as (2, 4): the second of four. Raises ConfigError for anything else."""
    match = _SHARD.fullmatch(text)
    number, of = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= of <= _MOST:
        raise ConfigError(
            f'--shard: found "{text}", expected the number of a shard and how many there are, from 1/1 to '
            f'{_MOST}/{_MOST}, such as "2/4"'
        )
    return number, of


@dataclass(frozen=True)
class _Lot:
    """Cases that go to one shard together."""

    seconds: float
    cases: tuple[str, ...]


def shard_of(
    costs: Sequence[tuple[str, float]], shards: int, images: Mapping[str, str] | None = None
) -> tuple[tuple[str, ...], ...]:
    """Cut cases into shards that take about equally long.

    The longest goes first, to the shard that has the least so far (Graham, "Bounds on multiprocessing timing
    anomalies", 1969: never more than 4/3 of the best cut there is). Every machine that is given the same costs cuts
    the same way, in whatever order they are given; a tie goes by name.

    Every shard builds the images of its own cases, so those that share one are better kept together. Lots of cases
    with one image are cut in their stead, first whole, then in ever more pieces, down to single cases; the first cut
    whose longest shard is at most a tenth longer than that of the best of them is taken.

    Args:
        costs: case ids, each once, with the seconds that the case takes; what can't be seconds counts as 0.
        shards: how many; where there are fewer cases, the last ones are empty.
        images: by case id what tells its image from others; a case that is not in it shares none.

    Returns:
        The case ids of each shard, in the order of `costs`.
    """
    single = sorted((_Lot(_sound(seconds), (case,)) for case, seconds in costs), key=_order)
    cuts = [_packed(lots, shards) for lots in _lottings(single, shards, images or {})]
    longest = [max(lot.seconds for lot in cut) for cut in cuts]
    best = next(cut for cut, seconds in zip(cuts, longest, strict=True) if seconds <= _WORTH * min(longest))
    place = {case: index for index, (case, _) in enumerate(costs)}
    return tuple(tuple(sorted(lot.cases, key=place.__getitem__)) for lot in best)


def _sound(seconds: float) -> float:
    return seconds if 0 < seconds < _LONGEST else 0.0


def _order(lot: _Lot) -> tuple[float, tuple[str, ...]]:
    """The longest first."""
    return -lot.seconds, lot.cases


def _lottings(single: Sequence[_Lot], shards: int, images: Mapping[str, str]) -> list[list[_Lot]]:
    """The cases in lots of one image: as few lots as a shard's fair share of the time allows, then ever smaller ones,
    and at last each case by itself."""
    by_image: dict[str, list[_Lot]] = {}
    for lot in single:
        by_image.setdefault(images.get(lot.cases[0], f"\0{lot.cases[0]}"), []).append(lot)
    fair = math.fsum(lot.seconds for lot in single) / shards
    lottings = []
    for parts in (1, 2, 4, 8, 16):
        lots = [piece for own in by_image.values() for piece in _pieces(own, fair / parts)]
        lottings.append(sorted(lots, key=_order))
    return [*lottings, list(single)]


def _pieces(own: Sequence[_Lot], limit: float) -> list[_Lot]:
    """The cases of one image in as many lots as it takes for none to be much longer than `limit`."""
    total = math.fsum(lot.seconds for lot in own)
    count = max(1, min(len(own), math.ceil(total / limit))) if limit > 0 else 1  # the least amounts divide to 0
    return _packed(own, count)


def _packed(lots: Sequence[_Lot], shards: int) -> list[_Lot]:
    """Each lot to the shard that has the least (then the fewest cases, then the lowest number) so far."""
    heap = [(0.0, 0, index) for index in range(shards)]
    heapify(heap)
    found = [_Lot(0.0, ()) for _ in range(shards)]
    for lot in lots:
        seconds, count, index = heap[0]
        found[index] = _Lot(seconds + lot.seconds, found[index].cases + lot.cases)
        heapreplace(heap, (found[index].seconds, count + len(lot.cases), index))
    return found


def select_shard(
    cases: Sequence[str], costs: Mapping[str, float], shard: str, images: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The case ids of one shard ("2/4"), in their order; none where there are fewer cases than shards.

    Args:
        cases: all case ids.
        costs: seconds by case id. None at all: they weigh the same; else a case that is not in it costs nothing.
        shard: which one.
        images: as for `shard_of`.

    Raises:
        ConfigError: as `parse_shard`.
    """
    number, of = parse_shard(shard)
    weighed = [(case, costs.get(case, 0.0) if costs else 1.0) for case in cases]
    return shard_of(weighed, of, images)[number - 1]


def in_shard(found: Discovery, shard: str) -> Discovery:
    """What one machine of several has to measure ("" for all of it), decided from what is declared alone.

    What the classes decline is dealt out too, so that all shards together tell it once.
    """
    if not shard:
        return found
    images = {case.id: str(case.variant) for case in found.cases}
    mine = set(select_shard([case.id for case in found.cases], {}, shard, images))
    declined = set(select_shard([case for case, _ in found.skipped], {}, shard))
    return replace(
        found,
        cases=tuple(case for case in found.cases if case.id in mine),
        skipped=tuple(one for one in found.skipped if one[0] in declined),
    )


def pattern_of(cases: Sequence[str]) -> str:
    """A regular expression that finds exactly these case ids."""
    escaped = [_SPECIAL.sub(r"\\\g<0>", case) for case in cases]
    return rf"^(?:{'|'.join(escaped)})\Z"
