"""Two independent samples, or two intervals: what one is to the other, as a ratio with its interval. Pure.

Within a run two cases are not loaded in turn, so their launches make no pairs: what is known of one against the other
comes from all launches of both. Where no launches are kept there are only two values with an interval each.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

__all__ = ["Between", "from_intervals", "from_launches", "least_launches", "mean_of"]

_EXACT = 2500
"""With more products of two samples than that, the normal distribution is as good as the exact one."""


@dataclass(frozen=True)
class Between:
    """One against another: `ratio` with its interval from `low` to `high`; NaN where an end is not known."""

    ratio: float
    low: float = math.nan
    high: float = math.nan


@lru_cache(maxsize=64)
def _outside(count: int, others: int, confidence: float) -> int | None:
    """How many of all differences, in order, are beyond each end of the interval of this confidence at least.

    None where so few values can't tell. The number of ways to every value of Mann and Whitney's statistic comes from
    its generating function, the Gaussian binomial coefficient, one factor at a time.
    """
    level = (1 - confidence) / 2
    if count * others > _EXACT:
        spread = math.sqrt(count * others * (count + others + 1) / 12)
        return max(0, math.floor(count * others / 2 + NormalDist().inv_cdf(level) * spread - 0.5))
    limit = level * math.comb(count + others, count)
    seen = 0
    for statistic, ways in enumerate(_ways(count, others)):
        seen += ways
        if seen > limit:
            return statistic - 1 if statistic else None
    return None


def _ways(count: int, others: int) -> list[int]:
    size = count * others + 1
    ways = [1, *([0] * (size - 1))]
    for step in range(1, count + 1):
        for index in range(size - 1, others + step - 1, -1):
            ways[index] -= ways[index - others - step]
        for index in range(step, size):
            ways[index] += ways[index - step]
    return ways


def least_launches(confidence: float) -> int:
    """With fewer launches than that on both sides there is no interval of this confidence."""
    count = 1
    while _outside(count, count, confidence) is None:
        count += 1
    return count


def from_launches(these: Sequence[float], others: Sequence[float], confidence: float = 0.95) -> Between:
    """These against the others, both positive: Hodges and Lehmann's estimate for two samples, of the logarithms.

    The ratio is the median of all quotients of one of these and one of the others; the interval, which lies between
    two of them, belongs to Mann and Whitney's test and holds its confidence whatever the distribution (Lehmann,
    Nonparametrics, 1975, section 2.5; Hollander and Wolfe, Nonparametric Statistical Methods, section 4.3).

    Raises ValueError where a sample is empty or a value is not positive and finite.
    """
    if not these or not others or not all(value > 0 and math.isfinite(value) for value in (*these, *others)):
        raise ValueError("a quotient needs positive numbers on both sides")
    logs = [math.log(other) for other in others]
    differences = sorted(math.log(one) - other for one in these for other in logs)
    middle = math.exp(statistics.median(differences))
    outside = _outside(len(these), len(others), confidence)
    if outside is None:
        return Between(middle)
    return Between(middle, math.exp(differences[outside]), math.exp(differences[-1 - outside]))


def from_intervals(this: Between, other: Between) -> Between:
    """One value with an interval against another such one, as asv's results have them; independent of each other.

    The interval is that of the difference of two logarithms by the method of variance estimates recovery (Zou and
    Donner, Statistics in Medicine 27, 2008, 1693-1702): each end takes the distances of the two ends that make it
    so, squared and added. It has about the confidence of the two it comes from. An end that is not positive, or not
    known, leaves the ratio without an interval. Raises ValueError for a value that is not positive and finite.
    """
    if not all(one.ratio > 0 and math.isfinite(one.ratio) for one in (this, other)):
        raise ValueError("a quotient needs positive numbers on both sides")
    middle = math.log(this.ratio) - math.log(other.ratio)
    ends = (this.low, this.high, other.low, other.high)
    if not all(end > 0 and math.isfinite(end) for end in ends):
        return Between(_exp(middle))
    below = math.hypot(math.log(this.ratio / this.low), math.log(other.high / other.ratio))
    above = math.hypot(math.log(this.high / this.ratio), math.log(other.ratio / other.low))
    return Between(_exp(middle), _exp(middle - below), _exp(middle + above))


def mean_of(values: Sequence[Between]) -> Between:
    """The geometric mean of values that are independent of each other; its interval as in `from_intervals`.

    Raises ValueError where there are none, or one is not positive and finite.
    """
    if not values or not all(one.ratio > 0 and math.isfinite(one.ratio) for one in values):
        raise ValueError("a geometric mean needs positive numbers")
    middle = math.fsum(math.log(one.ratio) for one in values) / len(values)
    if not all(end > 0 and math.isfinite(end) for one in values for end in (one.low, one.high)):
        return Between(_exp(middle))
    below = math.hypot(*(math.log(one.ratio / one.low) for one in values)) / len(values)
    above = math.hypot(*(math.log(one.high / one.ratio) for one in values)) / len(values)
    return Between(_exp(middle), _exp(middle - below), _exp(middle + above))


def _exp(value: float) -> float:
    return math.exp(value) if abs(value) < 700 else math.nan
