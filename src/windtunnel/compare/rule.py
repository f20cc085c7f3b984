"""The rule: when pairs are looked at, and when what they show is told. Pure; a function of the pairs alone.

`site/design/compare.md` says why it is as it is, and what it was measured to do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from statistics import NormalDist

from windtunnel.compare.estimate import Sample
from windtunnel.model import METRICS

__all__ = ["JUDGED", "Finding", "Rule", "Verdict", "judge", "minimum_detectable"]

JUDGED = tuple(name for name, metric in METRICS.items() if metric.judged)
"""The metrics with a verdict, the one that decides the case first."""

CONFIDENCE = 0.95
"""Of the intervals that are shown. The verdict asks for more, see `Rule.alpha`."""

_POWER = 0.8
"""The share of runs in which a change of the MDE's size would have been found."""

_SUSPECT = 0.05

_LARGEST = 700.0
"""A change whose logarithm is larger is beyond every float."""


class Verdict(Enum):
    """What is said of a case, and of each of its judged metrics."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    UNCHANGED = "unchanged"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Rule:
    """What decides.

    Attributes:
        threshold: a change below it is not worth a word, as a share (0.02 is 2 %).
        alpha: what all looks and all judged metrics together may spend of the chance that a case whose arms are the
            same is called slower; the same for faster. Looks share their pairs, and fresh ones have to agree, so it
            comes to 1 in 1,000 at most, also where the noise is so wide that the threshold keeps nothing away
            (`bench/level`).
        shares: how the judged metrics divide `alpha` among them.
        equivalence: the chance that a case that did change by the threshold is called unchanged, over all looks.
        looks: after how many pairs there is a look, and which share of `alpha` and `equivalence` it may spend. The
            shares add up to 1 at most, so both hold whatever becomes of the pairs between looks (Bonferroni; alpha
            spending after Lan and DeMets, Biometrika 70, 1983, without its assumptions).
        guard: one-sided level of the signed-rank test, which is exact whatever the noise is like; no change is told
            without it.
        flag: its level for flagging a change, of half the threshold or more and not small enough to be unchanged.
            Nothing is told for that: it takes fresh pairs, which have to agree.
        fresh: so many pairs at least have to come after the look that flagged a change before one may be told.
        most: how many pairs a case gets at most.
        false_discoveries: the share of false ones among what is told, over a whole matrix (Benjamini and Hochberg,
            JRSS B 57, 1995).
    """

    threshold: float = 0.02
    alpha: float = 0.0016
    shares: Mapping[str, float] = field(
        default_factory=lambda: {"cpu_per_request": 0.8, "time_per_request": 0.1, "response_time": 0.1}
    )
    equivalence: float = 0.05
    looks: tuple[tuple[int, float, float], ...] = (
        (8, 0.0, 0.10),
        (12, 0.10, 0.25),
        (16, 0.40, 0.30),
        (20, 0.40, 0.25),
        (26, 0.05, 0.05),
        (34, 0.03, 0.03),
        (44, 0.02, 0.02),
    )
    guard: float = 0.005
    flag: float = 0.05
    fresh: int = 3
    most: int = 44
    false_discoveries: float = 0.05

    @property
    def border(self) -> float:
        """The threshold on the scale of log ratios; the same distance in both directions."""
        return math.log1p(self.threshold)

    def looks_at(self, count: int, *, ended: bool) -> tuple[tuple[int, float, float], ...]:
        """The looks that have been taken once there are `count` pairs.

        A case that has ended between two looks, since the time was up, is looked at there on the account of the next.
        """
        taken = tuple(look for look in self.looks if look[0] <= count)
        following = next((look for look in self.looks if look[0] > count), None)
        if not ended or following is None or (taken and taken[-1][0] == count):
            return taken
        return (*taken, (count, *following[1:]))

    def level(self, metric: str) -> float:
        """The part of `alpha` that a metric has, over all looks."""
        return self.alpha * self.shares[metric]


@dataclass(frozen=True)
class Finding:
    """What the pairs of a case say of one judged metric.

    Values are log ratios head / base; `math.exp` makes ratios of them.

    Attributes:
        metric: its name in `METRICS`.
        verdict: REGRESSION, IMPROVEMENT, UNCHANGED or INCONCLUSIVE.
        count: how many pairs.
        estimate: the effect.
        low, high: its 95 % interval; infinite with fewer than six pairs.
        error: the standard error of the estimate.
        p: how unlikely the effect is by chance, all looks accounted for: comparable between metrics and cases, and
            what the control of false discoveries goes by.
        pending: +1 or -1 where a change upwards or downwards is flagged and waits to be confirmed, else 0.
        since: how many pairs there were when it was flagged.
        suspect: a change upwards that is not told, but that more pairs might tell.
        reason: why it is inconclusive, in words, or "".
    """

    metric: str
    verdict: Verdict
    count: int
    estimate: float
    low: float
    high: float
    error: float
    p: float
    pending: int = 0
    since: int = 0
    suspect: bool = False
    reason: str = ""


def judge(metric: str, values: Sequence[float], rule: Rule, *, ended: bool = True) -> Finding:
    """What these pairs, in the order they were made, say of a metric. `values` must not be empty.

    The looks are gone through one after the other, so that a change of mind is seen as it would have been then.
    `ended` says that no more pairs come: then there is a last look, wherever the case ended.
    """
    whole = Sample(values)
    verdict, (pending, since), p = _walk(metric, values, rule, ended)
    agreed = verdict if _agrees(verdict, whole, rule, rule.level(metric)) else Verdict.INCONCLUSIVE
    low, high = whole.interval(CONFIDENCE)
    return Finding(
        metric=metric,
        verdict=agreed,
        count=whole.count,
        estimate=whole.estimate,
        low=low,
        high=high,
        error=whole.error,
        p=min(1.0, p),
        pending=pending,
        since=since if pending else 0,
        suspect=agreed is not Verdict.REGRESSION and whole.estimate > rule.border and whole.p_above() <= _SUSPECT,
        reason=_reason(agreed, verdict, pending, whole, rule) if agreed is Verdict.INCONCLUSIVE else "",
    )


def _walk(metric: str, values: Sequence[float], rule: Rule, ended: bool) -> tuple[Verdict, tuple[int, int], float]:
    """The verdict after the last look, what is flagged there and since how many pairs, and the p over all looks."""
    verdict, flagged, since, p = Verdict.INCONCLUSIVE, 0, 0, math.inf
    for count, spent, equal in rule.looks_at(len(values), ended=ended):
        sample, level = Sample(values[:count]), rule.level(metric) * spent
        # weighted as Genovese, Roeder and Wasserman (Biometrika 93, 2006) have it: the weights' mean is 1
        here = min(sample.p_beyond(1), sample.p_beyond(-1))
        p = min(p, here / (spent * rule.shares[metric] * len(rule.shares))) if spent else p
        same = _equal(sample, rule.border, rule.equivalence * equal)
        direction = 0 if same else _beyond(sample, 1.0, rule.flag, rule.border / 2)
        verdict = Verdict.UNCHANGED if same else verdict
        if direction != flagged:
            flagged, since = direction, count
        elif (
            direction
            and _beyond(sample, level, rule.guard, rule.border)
            and _agree(values[since:count], direction, rule)
        ):
            return (Verdict.REGRESSION if direction > 0 else Verdict.IMPROVEMENT), (0, 0), p
    return verdict, (flagged, since), p


def _beyond(sample: Sample, level: float, guard: float, border: float) -> int:
    """The direction of a change that is beyond the threshold and, by both tests, beyond chance; else 0."""
    for direction, exact in ((1, sample.p_above), (-1, sample.p_below)):
        if sample.estimate * direction > border and exact() <= guard and sample.p_beyond(direction) <= level:
            return direction
    return 0


def _agree(fresh: Sequence[float], direction: int, rule: Rule) -> bool:
    """The pairs that came after the flag are enough, and by themselves point the same way."""
    return len(fresh) >= rule.fresh and Sample(fresh).estimate * direction > 0


def _equal(sample: Sample, border: float, level: float) -> bool:
    """Two one-sided tests: neither a change upwards by the threshold nor one downwards fits what was seen."""
    return sample.p_below(border) <= level and sample.p_above(-border) <= level


def _agrees(verdict: Verdict, whole: Sample, rule: Rule, level: float) -> bool:
    """What was decided on the way still holds for all pairs: the others may have come since."""
    if verdict is Verdict.UNCHANGED:
        return abs(whole.estimate) < rule.border
    if verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT}:
        return _beyond(whole, level, rule.guard, rule.border) == (1 if verdict is Verdict.REGRESSION else -1)
    return True


def _reason(agreed: Verdict, verdict: Verdict, pending: int, whole: Sample, rule: Rule) -> str:
    if verdict is not agreed:
        return f"after {whole.count} pairs the earlier pairs and the later ones say different things"
    if pending:
        return "a change shows, and what there was time for does not confirm it"
    if whole.count < rule.looks[0][0]:
        return f"{whole.count} pairs are too few to tell: it takes {rule.looks[0][0]}"
    return "the noise leaves room for a change as well as for none"


def minimum_detectable(finding: Finding, rule: Rule) -> float:
    """The smallest slowdown (as a share) that these pairs would have told from noise in 80 of 100 runs.

    It has to be both beyond the threshold and beyond chance. Infinite where there are too few pairs to say.
    """
    normal = NormalDist()
    power, chance = normal.inv_cdf(_POWER), -normal.inv_cdf(rule.level(finding.metric))
    if not math.isfinite(finding.error) or finding.count < rule.looks[0][0]:
        return math.inf
    size = max(rule.border + power * finding.error, (chance + power) * finding.error)
    return math.expm1(size) if size < _LARGEST else math.inf
