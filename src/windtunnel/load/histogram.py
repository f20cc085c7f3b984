"""A histogram of seconds in buckets of equal ratio: small, mergeable, and exact to half a per cent.

Bucket ``i`` holds the seconds from ``1 ns * 1.01 ** i`` up to (not including) ``1 ns * 1.01 ** (i + 1)``; what is
shorter than a nanosecond, 0 too, is in bucket 0. A microsecond is in bucket 694, a second in bucket 2082. A
histogram is a plain mapping from bucket to count.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["bounds", "bucket", "build", "mean", "merge", "quantile", "thinned"]

_SHORTEST = 1e-9
_GROWTH = 1.01
_LOG_GROWTH = math.log(_GROWTH)
_SLIP = 1e-9
"""What rounding may add to a rank: 0.07 * 100 is a little more than 7."""


def bucket(seconds: float) -> int:
    """The bucket that `seconds` belongs to. Raises ValueError for what is no duration (negative, infinite, NaN)."""
    if not 0.0 <= seconds < math.inf:
        raise ValueError(f"{seconds!r} is not a number of seconds")
    if seconds < _SHORTEST:
        return 0
    index = max(0, math.floor(math.log(seconds / _SHORTEST) / _LOG_GROWTH))
    # The logarithm may be a rounding off at an edge; the edges decide, so that `bounds` always agrees.
    if seconds < _edge(index):
        return index - 1
    return index + 1 if seconds >= _edge(index + 1) else index


def bounds(index: int) -> tuple[float, float]:
    """The seconds where a bucket begins and where the next one does."""
    return _edge(index), _edge(index + 1)


def _edge(index: int) -> float:
    return float(_SHORTEST * _GROWTH**index)


def _middle(index: int) -> float:
    """The geometric middle: at most half a per cent from anything in the bucket."""
    return math.sqrt(_edge(index) * _edge(index + 1))


def build(latencies: Iterable[float]) -> dict[int, int]:
    """The histogram of these seconds."""
    return dict(Counter(map(bucket, latencies)))


def merge(*histograms: Mapping[int, int]) -> dict[int, int]:
    """The histogram of everything in all of them."""
    total: Counter[int] = Counter()
    for histogram in histograms:
        total.update(histogram)
    return dict(total)


def quantile(histogram: Mapping[int, int], q: float) -> float:
    """The ``ceil(q * n)``-th shortest of n (the shortest for q = 0), in seconds, to within half a per cent.

    Raises ValueError for an empty histogram, and for a `q` outside 0 ... 1.
    """
    total = _total(histogram)
    if not 0.0 <= q <= 1.0:
        raise ValueError(f"{q!r} is not a share from 0 to 1")
    rank = _rank(q, total)
    seen = 0
    for index in sorted(histogram):
        seen += histogram[index]
        if seen >= rank:
            break
    return _middle(index)


def _rank(q: float, total: int) -> int:
    return max(1, math.ceil(q * total - _SLIP))


def thinned(histograms: Iterable[Mapping[int, int]], qs: Sequence[float]) -> dict[int, int]:
    """All of these together in the few buckets that it takes for `quantile` to say the same of these shares."""
    whole = {index: count for index, count in sorted(merge(*histograms).items()) if count}
    total = sum(whole.values())
    ranks: list[float] = sorted({_rank(q, total) for q in qs} | {total})
    kept: dict[int, int] = {}
    seen = held = 0
    for index, count in whole.items():
        seen += count
        if ranks[0] <= seen:
            kept[index], held = seen - held, seen
            ranks = [rank for rank in ranks if rank > seen] or [math.inf]
    return kept


def mean(histogram: Mapping[int, int]) -> float:
    """The mean in seconds, to within half a per cent. Raises ValueError for an empty histogram."""
    total = _total(histogram)
    return sum(_middle(index) * count for index, count in histogram.items()) / total


def _total(histogram: Mapping[int, int]) -> int:
    total = sum(histogram.values())
    if total <= 0:
        raise ValueError("an empty histogram has neither quantiles nor a mean; ask whether it is empty first")
    return total
