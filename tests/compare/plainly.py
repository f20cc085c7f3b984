"""What the statistics have to come to, worked out slowly from their textbook words; and series to try them on.

Nothing here goes by Walsh averages or by floating-point sums: signed ranks, counted subsets, exact fractions.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from statistics import NormalDist

import scipy.stats
from hypothesis import strategies as st

from windtunnel.compare.rule import Rule, Verdict

GRID = 1 << 20
"""Values that are whole numbers of 1 / GRID add up without rounding, so that a tie is a tie."""


# ---------------- one sample


def statistic(values: Sequence[float], shift: float = 0.0) -> int:
    """The signed-rank statistic of what lies above the shift, the ranks of ties given out against it."""
    gaps = [Fraction(value) - Fraction(shift) for value in values]
    ranked = sorted(gaps, key=lambda gap: (abs(gap), gap <= 0))
    return sum(rank for rank, gap in enumerate(ranked, 1) if gap > 0)


@cache
def subset_sums(count: int) -> Counter[int]:
    """How many subsets of the ranks 1 ... count have which sum."""
    if count == 0:
        return Counter({0: 1})
    sums: Counter[int] = Counter()
    for total, times in subset_sums(count - 1).items():
        sums[total] += times
        sums[total + count] += times
    return sums


@cache
def tail(count: int, at_least: int) -> Fraction:
    """The share of subsets of the ranks whose sum is at least that."""
    return Fraction(sum(times for total, times in subset_sums(count).items() if total >= at_least), 2**count)


def p_above(values: Sequence[float], shift: float = 0.0) -> Fraction:
    """One-sided, against a middle of at most `shift`."""
    return tail(len(values), statistic(values, shift))


def p_below(values: Sequence[float], shift: float = 0.0) -> Fraction:
    """One-sided, against a middle of at least `shift`: the same in the mirror."""
    return p_above([-value for value in values], -shift)


def middle(values: Sequence[float]) -> float:
    """The median of the means of all pairs, a value with itself included, each unordered pair once."""
    return statistics.median((one + other) / 2 for one, other in itertools.combinations_with_replacement(values, 2))


@cache
def rejecting(count: int) -> int:
    """The least sum of ranks of which a one-sided p is 2.5 % or less; the largest there is where none is."""
    largest = count * (count + 1) // 2
    return next((total for total in range(largest + 1) if tail(count, total) <= 0.025), largest)


def error(values: Sequence[float]) -> float:
    """Half an interval over the normal quantile of its confidence: about 95 %, or the widest that there is."""
    count = len(values)
    if count < 3:
        return math.inf
    least = rejecting(count)
    means = sorted((one + other) / 2 for one, other in itertools.combinations_with_replacement(values, 2))
    width = means[least - 1] - means[len(means) - least]
    return width / (2 * -NormalDist().inv_cdf(float(tail(count, least))))


def p_beyond(values: Sequence[float], direction: int) -> float:
    """One-sided, of the middle over its error by Student's distribution; the exact p where there is no width."""
    away, width = middle(values) * direction, error(values)
    if width == 0 and away > 0:
        return float(p_above([value * direction for value in values]))
    return float(scipy.stats.t.sf(away / width, len(values) - 1)) if 0 < width < math.inf else 1.0


# ---------------- the rule


def beyond(values: Sequence[float], border: float, exact: float, level: float = 1.0) -> int:
    """+1, -1 or 0: beyond a border, and beyond chance by the exact test and by the other one."""
    for direction in (1, -1):
        turned = [value * direction for value in values]
        if p_above(turned) <= exact and middle(turned) > border and p_beyond(turned, 1) <= level:
            return direction
    return 0


def equal(values: Sequence[float], level: float, rule: Rule) -> bool:
    """Neither a rise by the threshold nor a fall by it can be believed."""
    border = math.log(1 + rule.threshold)
    return p_below(values, border) <= level and p_above(values, -border) <= level


def taken(count: int, rule: Rule, ended: bool) -> Iterator[tuple[int, float, float]]:
    """The looks, and where the case has ended between two of them one there, paid for by the one it did not reach."""
    for at, spent, same in rule.looks:
        if at <= count:
            yield at, spent, same
        else:
            if ended and count not in [planned for planned, _, _ in rule.looks]:
                yield count, spent, same
            return


def verdict_of(metric: str, values: Sequence[float], rule: Rule, *, ended: bool = True) -> tuple[Verdict, int, int]:
    """The verdict of all looks, the direction of what is flagged at the last one, and how many pairs that one had.

    A flag is up from the first of a row of looks that all show the same change, of half the threshold or more, and
    that are not looks of no change. While
    it is up a look may tell the change, if it is beyond the threshold, and beyond chance by the exact test and at
    that look's own level, and if the pairs since the flag went up are enough, and say the same by themselves.
    """
    border, whole = math.log(1 + rule.threshold), rule.alpha * rule.shares[metric]
    said, flags = Verdict.INCONCLUSIVE, [(0, 0)]
    for count, spent, same in taken(len(values), rule, ended):
        seen = values[:count]
        alike = equal(seen, rule.equivalence * same, rule)
        flags.append((0 if alike else beyond(seen, border / 2, rule.flag), count))
        row = [at for direction, at in itertools.takewhile(lambda flag: flag[0] == flags[-1][0], reversed(flags))]
        direction, fresh = flags[-1][0], values[row[-1] : count]
        if alike:
            said = Verdict.UNCHANGED
        backed = len(fresh) >= max(1, rule.fresh) and middle(fresh) * direction > 0
        if direction and backed and beyond(seen, border, rule.guard, whole * spent) == direction:
            told = Verdict.REGRESSION if direction > 0 else Verdict.IMPROVEMENT
            return (
                (told if beyond(values, border, rule.guard, whole) == direction else Verdict.INCONCLUSIVE),
                0,
                count,
            )
    if said is Verdict.UNCHANGED and abs(middle(values)) >= border:
        said = Verdict.INCONCLUSIVE
    return said, *flags[-1]


# ---------------- series


def _noise(rng: random.Random) -> Callable[[int], float]:
    """Noise of one pair, by its place: quiet, heavy-tailed, two-humped, drifting, getting worse."""
    spread = rng.choice([0.002, 0.01, 0.02, 0.05])
    slope = rng.uniform(-0.004, 0.004)
    kinds: list[Callable[[int], float]] = [
        lambda place: rng.gauss(0, spread),
        lambda place: spread * math.tan(math.pi * (rng.random() - 0.5)),
        lambda place: rng.gauss(0, spread * rng.choice([0.1, 10])),
        lambda place: rng.choice([-1, 1]) * spread,
        lambda place: rng.gauss(slope * place, spread),
        lambda place: rng.gauss(0, spread * (1 + place / 8)),
    ]
    return rng.choice(kinds)


def drawn(seed: int, most: int) -> list[float]:
    """A series with an effect, or none, under some noise, now and then with a change on the way; on the grid."""
    rng = random.Random(seed)
    effect = rng.choice([0.0, 0.0, 0.015, 0.02, 0.03, 0.06, 0.2]) * rng.choice([-1, 1])
    noise, count = _noise(rng), rng.randint(1, most)
    turn = rng.choice([count, count, rng.randint(0, count)])
    coarse = rng.choice([1, 1, 1 << 12])
    series = [(effect if place < turn else -effect) + noise(place) for place in range(count)]
    return [round(value * GRID / coarse) * coarse / GRID for value in series]


def series(most: int) -> st.SearchStrategy[list[float]]:
    """Such series, and any at all."""
    grid = st.integers(-GRID, GRID).map(lambda number: number / GRID)
    few = st.sampled_from([-0.25, -0.03125, 0.0, 0.03125, 0.25])
    seeds = st.integers(0, 2**40)
    return seeds.map(lambda seed: drawn(seed, most)) | st.lists(grid | few, min_size=1, max_size=most)


magnitudes = st.lists(
    st.floats(0, 1e6) | st.floats(0, 1e-3) | st.sampled_from([0.0, 1.0]),
    min_size=1,
    max_size=10,
)
"""Sizes of noise, any: ties, zeros, one that is a million times the next."""


def flips(sizes: Sequence[float]) -> Iterator[list[float]]:
    """All equally likely series of those sizes when the arms are the same."""
    for signs in itertools.product((-1, 1), repeat=len(sizes)):
        yield [sign * size for sign, size in zip(signs, sizes, strict=True)]
