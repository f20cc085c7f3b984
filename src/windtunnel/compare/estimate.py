"""An effect from pairs: Hodges-Lehmann's estimate, and the signed-rank test and interval that belong to it.

Every value is the log ratio head / base of one pair of launches. If head is the same as base, each of them was as
likely to come out with the other sign: arms are exchangeable within a pair, whatever the noise of the machine does
from pair to pair. So the signs are fair coins given the sizes, and the signed-rank test holds its level exactly,
without a word on how the noise is distributed (Lehmann, Nonparametrics, 1975, chapter 4).

Everything here goes by Walsh averages, the means of two values (of a value and itself too): the estimate is their
median, the test counts those above a shift, the interval lies between two of them (Hollander and Wolfe,
Nonparametric Statistical Methods, section 3.3).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist

__all__ = ["Sample", "hodges_lehmann", "least_pairs", "student_tail"]


@lru_cache(maxsize=256)
def _upper_tail(count: int) -> tuple[float, ...]:
    """P(W >= w) for w = 0, 1, ...: the signed-rank statistic of `count` values without ties under the null.

    W is the sum over the ranks 1 ... count, each in with probability one half; its distribution is built up rank by
    rank.
    """
    mass = [1.0]
    for rank in range(1, count + 1):
        wider = [*mass, *([0.0] * rank)]
        for index, value in enumerate(mass):
            wider[index + rank] += value
        mass = [value / 2 for value in wider]
    return tuple(accumulate(reversed(mass)))[::-1]


@lru_cache(maxsize=1024)
def _least_rejecting(count: int, level: float) -> int | None:
    """The least statistic of `count` values whose p is `level` at most; None where even the largest one's is not."""
    return next((w for w, p in enumerate(_upper_tail(count)) if p <= level), None)


def least_pairs(level: float) -> int:
    """With fewer pairs than that no one-sided p is as small as `level`, however clear: 2 ** -n is the least."""
    return max(1, math.ceil(-math.log2(level) - 1e-12))


def hodges_lehmann(values: Sequence[float]) -> float:
    """The median of the Walsh averages; `values` must not be empty."""
    return Sample(values).estimate


@dataclass(frozen=True, init=False)
class Sample:
    """Values of independent pairs, ready to be asked.

    Attributes:
        walsh: all n (n + 1) / 2 Walsh averages, in order.
        count: how many values.
    """

    walsh: tuple[float, ...]
    count: int

    def __init__(self, values: Sequence[float]) -> None:
        """Raises ValueError for a value that is not finite."""
        if not all(map(math.isfinite, values)):
            raise ValueError("a value of a pair is not finite")
        ordered = sorted(values)  # then the averages come in runs that are in order, which are sorted in no time
        averages = [(one + other) / 2 for index, one in enumerate(ordered) for other in ordered[index:]]
        object.__setattr__(self, "walsh", tuple(sorted(averages)))
        object.__setattr__(self, "count", len(values))

    @property
    def estimate(self) -> float:
        """Hodges-Lehmann's estimate of the middle. Raises ValueError where there are no values."""
        if not self.walsh:
            raise ValueError("no values, no estimate")
        half, odd = divmod(len(self.walsh), 2)
        return self.walsh[half] if odd else (self.walsh[half - 1] + self.walsh[half]) / 2

    def p_above(self, shift: float = 0.0) -> float:
        """One-sided p against "the middle is at most `shift`": small when the values lie above it.

        A Walsh average that equals the shift counts for the null, so ties can only make the test more careful.
        """
        return _upper_tail(self.count)[len(self.walsh) - bisect_right(self.walsh, shift)]

    def p_below(self, shift: float = 0.0) -> float:
        """One-sided p against "the middle is at least `shift`": small when the values lie below it."""
        return _upper_tail(self.count)[bisect_left(self.walsh, shift)]

    def interval(self, confidence: float) -> tuple[float, float]:
        """Where the middle lies, with at least this confidence (0 to 1); infinite where too few values can tell.

        It holds exactly the shifts that neither one-sided test rejects at half of what is left to 1.
        """
        # as many averages at either end lie outside
        rejecting = _least_rejecting(self.count, (1 - confidence) / 2)
        if rejecting is None:
            return -math.inf, math.inf
        outside = len(self.walsh) - rejecting
        return self.walsh[outside], self.walsh[len(self.walsh) - 1 - outside]

    @property
    def error(self) -> float:
        """The estimate's standard error: half the width of an interval of about 95 %, over the normal quantile.

        It goes by the confidence that the interval really has, since with few values there is not one for every
        confidence. Infinite with fewer than three values.
        """
        if self.count < 3:
            return math.inf
        tail = _upper_tail(self.count)
        rejecting = _least_rejecting(self.count, _ERROR_LEVEL)
        rejecting = len(tail) - 1 if rejecting is None else rejecting
        outside = len(self.walsh) - rejecting
        width = self.walsh[len(self.walsh) - 1 - outside] - self.walsh[outside]
        return width / (2 * -NormalDist().inv_cdf(tail[rejecting]))

    def p_beyond(self, direction: int) -> float:
        """One-sided p against "the middle is not on this side of 0" (+1: above, -1: below), by its standard error.

        The estimate over its error is referred to Student's distribution with n - 1 degrees of freedom. Unlike the
        signed-rank p it can be smaller than 2 ** -n; like it it does not mind outliers, and with normal as with
        heavy-tailed values it came out at its level or below (`site/design/compare.md`). It is no exact test: the
        rule asks for both.
        """
        if self.count < 3 or not math.isfinite(self.error):
            return 1.0
        away = self.estimate * direction
        if self.error == 0:
            return 1.0 if away <= 0 else self.p_above() if direction > 0 else self.p_below()
        return student_tail(away / self.error, self.count - 1)


_ERROR_LEVEL = 0.025


def student_tail(value: float, freedom: int) -> float:
    """P(T > value) of Student's distribution with a whole number of degrees of freedom, 1 or more.

    By the finite sums for odd and even numbers (Abramowitz and Stegun, 26.7.3 and 26.7.4). The absolute error is
    some 1e-16.
    """
    angle = math.atan(value / math.sqrt(freedom))
    square = math.cos(angle) ** 2
    term, total = 1.0, 0.0
    for step in range(freedom // 2):
        total += term
        odd = freedom % 2
        term *= square * (2 * step + 1 + odd) / (2 * step + 2 + odd)
    if freedom % 2:
        inside = 2 / math.pi * (angle + (math.sin(angle) * math.cos(angle) * total if freedom > 1 else 0.0))
    else:
        inside = math.sin(angle) * total
    return max(0.0, (1 - inside) / 2)
