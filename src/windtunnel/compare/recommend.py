"""From variances and costs to a plan: slices per launch, their length, and what a budget then can tell. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from windtunnel.compare.effects import Pair
from windtunnel.compare.rule import JUDGED, Finding, Rule, Verdict, judge, minimum_detectable
from windtunnel.compare.variance import LEAST_PAIRS, Noise, costs_of, noises_of
from windtunnel.model import LaunchPlan
from windtunnel.sample.calibration import Costs
from windtunnel.sample.schedule import Sizes, adapted
from windtunnel.units import Missing, Value

__all__ = [
    "Advice",
    "Length",
    "Outlook",
    "advise",
    "look_ahead",
    "measured_length",
    "pair_seconds",
    "pairs_to_tell",
    "recommended",
]

_SLICES = (4, 30)
"""Slices of a launch under load: below, one that something ran into decides; above, a launch is no longer short."""

_SINGLES = (2, 15)
"""The same at concurrency 1."""

_SPARE = 6
"""So many pairs more than the fewest that tell have to fit into the budget: a change that does not show at once needs
another look, and what a pair costs is known roughly."""


@dataclass(frozen=True)
class Length:
    """What was measured with slices of one length.

    Attributes:
        plan: by which it was measured, as the size of a slice let it be.
        sizes: requests per slice, and how long such a slice took.
        noises: by judged metric.
        costs: of launches and of such slices.
        pairs: how many good pairs.
        seconds: of machine time that all of it took.
    """

    plan: LaunchPlan
    sizes: Sizes
    noises: Mapping[str, Noise | Missing]
    costs: Costs
    pairs: int
    seconds: float

    @property
    def known(self) -> Mapping[str, Noise]:
        """The metrics whose noise is known."""
        return {name: one for name, one in self.noises.items() if isinstance(one, Noise)}


@dataclass(frozen=True)
class Outlook:
    """What a plan comes to within a budget.

    Attributes:
        plan: how a launch is loaded.
        pair: seconds of machine time that a pair takes.
        pairs: how many fit.
        mde: by judged metric, the smallest slowdown (as a share) that they would tell from noise, or Missing.
    """

    plan: LaunchPlan
    pair: float
    pairs: int
    mde: Mapping[str, Value]


@dataclass(frozen=True)
class Advice:
    """What is recommended for a case.

    Attributes:
        best: the length that is recommended, and what was measured with it.
        lengths: all that were measured.
        present: what the plan that it has today comes to, or Missing where slices of its length were not measured.
        recommended: what the recommended plan comes to.
        budget: the seconds both are meant for.
    """

    best: Length
    lengths: tuple[Length, ...]
    present: Outlook | Missing
    recommended: Outlook
    budget: float


def measured_length(plan: LaunchPlan, sizes: Sizes, pairs: Sequence[Pair]) -> Length | Missing:
    """What these pairs say, which were loaded by this plan with slices of these sizes.

    Missing where there are too few pairs, or none of the judged metrics can be split.
    """
    if len(pairs) < LEAST_PAIRS:
        return Missing(f"{len(pairs)} good pairs are too few, it takes {LEAST_PAIRS}")
    noises = noises_of(pairs)
    if not any(isinstance(one, Noise) for one in noises.values()):
        return next(one for one in noises.values() if isinstance(one, Missing))
    seconds = math.fsum(spent for pair in pairs for one in (pair.base, pair.other) for spent in one.spent.values())
    return Length(adapted(plan, sizes), sizes, noises, costs_of(pairs), len(pairs), seconds)


def advise(lengths: Sequence[Length], present: LaunchPlan, budget: float, rule: Rule) -> Advice:
    """The best plan for a budget, of all that slices of these lengths allow. `lengths` must not be empty.

    Lengths are compared by variance x cost, each at its own best number of slices, and a length with which too few
    pairs fit into the budget comes after all others.
    """
    today = next((one for one in lengths if one.plan.seconds == present.seconds), None)
    usual = today or lengths[0]
    weights = _weights(usual, replace(present, seconds=usual.plan.seconds), rule)
    enough = budget / (pairs_to_tell(rule, *usual.known) + _SPARE)
    plans = [recommended(one, weights, enough) for one in lengths]

    def rank(index: int) -> tuple[bool, float]:
        length, plan = lengths[index], plans[index]
        return pair_seconds(length.costs, plan) > enough, _score(length, plan, weights)

    best = min(range(len(lengths)), key=rank)
    return Advice(
        lengths[best],
        tuple(lengths),
        look_ahead(today, present, budget, rule) if today else Missing("slices of its length were not measured"),
        look_ahead(lengths[best], plans[best], budget, rule),
        budget,
    )


def pairs_to_tell(rule: Rule, *metrics: str) -> int:
    """With fewer pairs the rule tells no slowdown of some of these metrics, however clear it is: it is asked."""
    clear = [1 + 10 * rule.border + (index % 3) / 100 for index in range(rule.most)]

    def told(metric: str, count: int) -> bool:
        return judge(metric, clear[:count], rule).verdict is Verdict.REGRESSION

    counts = range(1, rule.most + 1)
    return next((one for one in counts if all(told(metric, one) for metric in metrics)), rule.most)


def _weights(length: Length, present: LaunchPlan, rule: Rule) -> Mapping[str, float]:
    """What the variance of a pair is multiplied by, metric by metric, before they are added up.

    A metric counts by its share of the rule's alpha, and by how its variance compares with what it is today: else the
    one that is the noisiest by nature would decide alone.
    """
    found = {
        name: rule.shares[name] / variance
        for name, noise in length.known.items()
        if 0 < (variance := noise.of_pair(_slices_for(name, adapted(present, length.sizes)))) < math.inf
    }
    return found or dict.fromkeys(length.known, 1.0)


def _slices_for(metric: str, plan: LaunchPlan) -> int:
    """How many slices of a launch a metric comes from."""
    return plan.single_slices if metric == "response_time" else plan.slices


def recommended(length: Length, weights: Mapping[str, float], most: float = math.inf) -> LaunchPlan:
    """The plan that has the least variance for its cost, of those whose pairs take at most `most` seconds.

    Slices = sqrt(launch cost / slice cost x slice variance / launch variance), after Kalibera and Jones (ISMM 2013).
    With several metrics, whose slices are of two kinds, the variances are weighted sums: launch variance over all
    metrics, slice variance over those that a kind of slice is for. That is where the weighted variance of a pair
    times its cost is least. Where that takes too long, both kinds are cut by the same factor, which is the best that
    can be done with what is left (their ratio is the same in both optima).
    """
    costs, plan = length.costs, length.plan
    launch, load, single = _weighted(length, weights)
    slices = _count(costs.launch, costs.slice, load, launch, _SLICES) if load else plan.slices
    singles = _count(costs.launch, costs.single, single, launch, _SINGLES) if single else plan.single_slices
    best = replace(plan, slices=slices, single_slices=singles)
    return adapted(_cut(best, costs, most) if pair_seconds(costs, best) > most else best, length.sizes)


def _cut(plan: LaunchPlan, costs: Costs, most: float) -> LaunchPlan:
    """Both kinds of slices cut to what fits; what one kind can't give the other has to."""
    room = most - costs.launch
    share = room / max(pair_seconds(costs, plan) - costs.launch, 1e-9)
    slices = max(min(plan.slices, _SLICES[0]), math.floor(plan.slices * share))
    left = math.floor((room - slices * costs.slice) / costs.single) if costs.single else plan.single_slices
    singles = max(min(plan.single_slices, _SINGLES[0]), min(math.floor(plan.single_slices * share), left))
    left = math.floor((room - singles * costs.single) / costs.slice) if costs.slice else slices
    return replace(plan, slices=max(min(plan.slices, _SLICES[0]), min(slices, left)), single_slices=singles)


def _weighted(length: Length, weights: Mapping[str, float]) -> tuple[float, float, float]:
    """Weighted sums of the variances: of launches, of slices under load, of slices at concurrency 1."""
    known = {name: noise.variances for name, noise in length.known.items() if name in weights}
    return (
        math.fsum(weights[name] * one.launch for name, one in known.items()),
        math.fsum(weights[name] * one.slice for name, one in known.items() if name != "response_time"),
        math.fsum(weights[name] * one.slice for name, one in known.items() if name == "response_time"),
    )


def _count(launch_cost: float, cost: float, variance: float, launch_variance: float, bounds: tuple[int, int]) -> int:
    least, most = bounds
    if launch_variance <= 0 or cost <= 0:
        return most
    return min(most, max(least, round(math.sqrt(launch_cost / cost * variance / launch_variance))))


def _score(length: Length, plan: LaunchPlan, weights: Mapping[str, float]) -> float:
    """Variance x cost: the smaller, the less machine time it takes to see a change of some size."""
    known = {name: noise for name, noise in length.known.items() if name in weights}
    if len(known) < len(weights):
        return math.inf
    variance = math.fsum(weights[name] * noise.of_pair(_slices_for(name, plan)) for name, noise in known.items())
    return variance * pair_seconds(length.costs, plan)


def pair_seconds(costs: Costs, plan: LaunchPlan) -> float:
    """Seconds of machine time that a pair takes."""
    return costs.launch + plan.slices * costs.slice + plan.single_slices * costs.single


def look_ahead(length: Length, plan: LaunchPlan, budget: float, rule: Rule) -> Outlook:
    """What a plan with slices of this length comes to in `budget` seconds of one case."""
    plan = adapted(plan, length.sizes)
    seconds = pair_seconds(length.costs, plan)
    pairs = min(rule.most, int(budget / seconds)) if seconds > 0 else rule.most
    return Outlook(plan, seconds, pairs, {name: _mde(length.noises[name], plan, pairs, rule) for name in JUDGED})


def _mde(noise: Noise | Missing, plan: LaunchPlan, pairs: int, rule: Rule) -> Value:
    if isinstance(noise, Missing):
        return noise
    least = pairs_to_tell(rule, noise.metric)
    if pairs < least:
        return Missing(f"{pairs} pairs are too few to tell any change, it takes {least}")
    variance = noise.of_pair(_slices_for(noise.metric, plan))
    if not math.isfinite(variance):
        return Missing("the plan has no slices for it")
    error = math.sqrt(variance / pairs)
    finding = Finding(noise.metric, Verdict.INCONCLUSIVE, pairs, 0.0, -math.inf, math.inf, error, 1.0)
    return minimum_detectable(finding, rule)
