"""Where the noise of a pair comes from, and what a pair costs: from pairs of the same image in both arms. Pure.

There are three levels of luck: a launch (its memory layout, its worker processes), a slice (its set of connections,
what else the machine did then), a request. A pair's log ratio carries all three, and only the first is not made
smaller by more slices in a launch (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from windtunnel.compare.effects import Pair, pair_effect, slice_ratios
from windtunnel.compare.estimate import Sample
from windtunnel.compare.rule import CONFIDENCE, JUDGED
from windtunnel.load.histogram import bounds
from windtunnel.model import Launch, Slice
from windtunnel.sample.calibration import Costs, Variances
from windtunnel.units import Missing, Value

__all__ = ["LEAST_PAIRS", "Nested", "Noise", "costs_of", "nested", "noise_of", "noises_of"]

LEAST_PAIRS = 4
"""With fewer pairs a variance between launches is not worth a figure."""


@dataclass(frozen=True)
class Nested:
    """Two variances of values that stand in groups: between the groups' own means, and within groups.

    `negative` tells that what the groups' means differ by is less than their values' spread accounts for: `between`
    is 0 then.
    """

    between: float
    within: float
    negative: bool


def nested(groups: Sequence[Sequence[float]]) -> Nested | Missing:
    """Both variances by the method of moments, for groups of any size.

    The mean squares within groups and between them are set to what is expected of them and solved (Searle, Casella
    and McCulloch, Variance Components, 1992, section 3.6, "ANOVA estimation" of unbalanced data). Missing where there
    are fewer than two groups, or none has two values.
    """
    filled = [group for group in groups if group]
    total = sum(map(len, filled))
    if len(filled) < 2 or total == len(filled):
        return Missing("it takes two launches, and two slices in one of them, to tell one's luck from the other's")
    means = [math.fsum(group) / len(group) for group in filled]
    grand = math.fsum(len(group) * mean for group, mean in zip(filled, means, strict=True)) / total
    inside = math.fsum((one - mean) ** 2 for group, mean in zip(filled, means, strict=True) for one in group)
    outside = math.fsum(len(group) * (mean - grand) ** 2 for group, mean in zip(filled, means, strict=True))
    within = inside / (total - len(filled))
    usual = (total - sum(len(group) ** 2 for group in filled) / total) / (len(filled) - 1)
    between = (outside / (len(filled) - 1) - within) / usual
    return Nested(max(0.0, between), within, between < 0)


@dataclass(frozen=True)
class Noise:
    """What the pairs of a case say of one judged metric's noise. All values are log ratios.

    Attributes:
        metric: its name in `METRICS`.
        pairs: how many pairs there are.
        variances: by level.
        negative: the variance between launches came out below 0, and is told as 0.
        seen: what a pair's effect spreads by, as a comparison sees it: the estimate's standard error times the square
            root of the number of pairs.
        factor: `seen` squared over what the variances come to for such a pair. A comparison takes the middle of
            slices and of pairs, so where now and then one runs into something it sees less than the variances say.
        estimate, low, high: the effect and its 95 % interval, which ought to hold 0: both arms are the same.
    """

    metric: str
    pairs: int
    variances: Variances
    negative: bool
    seen: float
    factor: float
    estimate: float
    low: float
    high: float

    def of_pair(self, slices: int) -> float:
        """The variance of a pair's effect, were a launch loaded with so many slices; infinite without any."""
        if not slices:
            return math.inf
        return self.factor * (self.variances.launch + self.variances.slice / slices)

    @property
    def holds_nothing(self) -> bool:
        """Whether the interval holds 0."""
        return self.low <= 0 <= self.high


def noises_of(pairs: Sequence[Pair]) -> Mapping[str, Noise | Missing]:
    """By judged metric."""
    return {metric: noise_of(metric, pairs) for metric in JUDGED}


def noise_of(metric: str, pairs: Sequence[Pair]) -> Noise | Missing:
    """One judged metric's; pairs that do not have it are left out. Missing, with the reason, where too few do."""
    ratios = [slice_ratios(metric, pair) for pair in pairs]
    effects = [one for pair in pairs if not isinstance(one := pair_effect(metric, pair), Missing)]
    known = [one for one in ratios if not isinstance(one, Missing)]
    if len(known) < LEAST_PAIRS:
        why = next((one.reason for one in ratios if isinstance(one, Missing)), "")
        return Missing(why or f"{len(known)} good pairs are too few, it takes {LEAST_PAIRS}")
    found = nested(known)
    if isinstance(found, Missing):
        return found
    requests = _request_variance(metric, pairs)
    part = requests if isinstance(requests, Missing) else min(requests, found.within)
    sample = Sample(effects)
    seen = sample.error * math.sqrt(sample.count)
    plain = found.between + found.within / statistics.harmonic_mean(map(len, known))
    return Noise(
        metric,
        len(known),
        Variances(found.between, found.within, part),
        found.negative,
        seen,
        seen**2 / plain if plain else 1.0,
        sample.estimate,
        *sample.interval(CONFIDENCE),
    )


def _request_variance(metric: str, pairs: Sequence[Pair]) -> Value:
    """What requests alone would make slice pairs differ by, if each one's latency were independent of the others'.

    In a closed loop a slice's time per request is its mean latency over the concurrency (Little), so the relative
    variance of that mean is the variance of its logarithm, nearly.
    """
    if metric == "cpu_per_request":
        return Missing("CPU time is not known request by request")
    role: Literal["load", "single"] = "single" if metric == "response_time" else "load"
    arms = [
        _mean_request_variance(launches, role) for launches in zip(*((p.base, p.other) for p in pairs), strict=True)
    ]
    known = [one for one in arms if not isinstance(one, Missing)]
    return math.fsum(known) if len(known) == len(arms) else next(one for one in arms if isinstance(one, Missing))


def _mean_request_variance(launches: Sequence[Launch], role: Literal["load", "single"]) -> Value:
    slices = [one for launch in launches for one in launch.slices if one.role == role]
    if not slices or not all(any(one.latency.values()) for one in slices):
        return Missing("no latency of single requests is known")
    return math.fsum(map(_relative_variance, slices)) / len(slices)


def _relative_variance(one: Slice) -> float:
    """Of a slice's mean latency, from its histogram."""
    count = sum(one.latency.values())
    middles = {index: math.sqrt(math.prod(bounds(index))) for index in one.latency}
    mean = math.fsum(middles[index] * times for index, times in one.latency.items()) / count
    squares = math.fsum((middles[index] - mean) ** 2 * times for index, times in one.latency.items())
    return squares / count / mean**2 / count


# ---------------- costs


def costs_of(pairs: Sequence[Pair]) -> Costs:
    """What pairs cost, from where their launches' time went. `pairs` must not be empty.

    Of starting, warming up and stopping the middle counts: the first launch of a case is also there to find the size
    of a slice. A slice costs its own time and an equal share of what passes between slices.
    """
    launches = [launch for pair in pairs for launch in (pair.base, pair.other)]
    between = statistics.fmean(map(_between_slices, launches))
    return Costs(
        launch=statistics.median(_start_and_stop(pair.base) + _start_and_stop(pair.other) for pair in pairs),
        slice=2 * _slice_seconds(launches, "load", between),
        single=2 * _slice_seconds(launches, "single", between),
    )


def _start_and_stop(launch: Launch) -> float:
    return math.fsum(seconds for phase, seconds in launch.spent.items() if phase != "slices")


def _between_slices(launch: Launch) -> float:
    """Seconds that pass beside each slice of a launch."""
    counted = [one for one in launch.slices if one.role != "warmup"]
    loaded = math.fsum(one.wall for one in counted if not isinstance(one.wall, Missing))
    return max(0.0, launch.spent.get("slices", 0.0) - loaded) / len(counted) if counted else 0.0


def _slice_seconds(launches: Sequence[Launch], role: Literal["load", "single"], between: float) -> float:
    walls = [
        one.wall
        for launch in launches
        for one in launch.slices
        if one.role == role and not isinstance(one.wall, Missing)
    ]
    return statistics.fmean(walls) + between if walls else 0.0
