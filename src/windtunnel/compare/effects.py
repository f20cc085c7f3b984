"""From launches to log ratios: what one pair says of each metric. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from windtunnel.compare.estimate import hodges_lehmann
from windtunnel.compare.rule import JUDGED
from windtunnel.model import METRICS, Launch, Slice
from windtunnel.sample.summary import OPEN_LOOP, launch_metrics
from windtunnel.units import Missing, Value

__all__ = ["Pair", "pair_effect", "pairs_of", "series_of", "slice_ratios"]


@dataclass(frozen=True)
class Pair:
    """A launch of base and one of another arm (head, or control) that were loaded in turn."""

    number: int
    base: Launch
    other: Launch

    @cached_property
    def figures(self) -> tuple[Mapping[str, Value], Mapping[str, Value]]:
        """All metrics of base's launch, and of the other one."""
        return launch_metrics(self.base), launch_metrics(self.other)


def pairs_of(launches: Iterable[Launch], case: str, arm: str = "head") -> tuple[Pair, ...]:
    """The pairs of a case of which both launches are good, by number.

    A number that is there twice was measured again (a run that was cut short between the two, and resumed): the last
    one counts.
    """
    good: dict[str, dict[int, Launch]] = {"base": {}, arm: {}}
    for launch in launches:
        if launch.case == case and launch.outcome == "ok" and launch.arm in good:
            good[launch.arm][launch.number] = launch
    numbers = sorted(good["base"].keys() & good[arm].keys())
    return tuple(Pair(number, good["base"][number], good[arm][number]) for number in numbers)


def series_of(pairs: Sequence[Pair]) -> Mapping[str, tuple[float, ...]]:
    """By judged metric the log ratios of all pairs; a pair that does not have a metric is left out of that one."""
    effects = {name: [pair_effect(name, pair) for pair in pairs] for name in JUDGED}
    return {name: tuple(one for one in values if not isinstance(one, Missing)) for name, values in effects.items()}


def pair_effect(metric: str, pair: Pair) -> Value:
    """The log ratio other / base of one pair, or Missing.

    CPU and time per request come from the slices that were loaded one right after the other: whatever the machine
    did then, it did to both, and the middle of their ratios is not moved by a slice that something else ran into.
    The response time is a ratio of means instead, since a rare wait is what it is there to see. All others are
    ratios of the launches' own figures.
    """
    if metric in {"cpu_per_request", "time_per_request"}:
        return _from_slices(metric, pair)
    if metric == "response_time":
        base, other = _response_time(pair.base), _response_time(pair.other)
    else:
        base, other = (figures[metric] for figures in pair.figures)
    return _log_ratio(base, other, METRICS[metric].description)


def _response_time(launch: Launch) -> Value:
    """As `launch_metrics` has it, without all else that it works out: every pair is asked for it, again and again."""
    times: list[float] = []
    for one in _slices(launch, "single"):
        seconds = _per_request("response_time", one)
        if isinstance(seconds, Missing):
            return seconds
        times.append(seconds)
    if not times or 0 in times:
        return Missing("no time passed" if times else "no slices at concurrency 1")
    return statistics.fmean(times)


def _from_slices(metric: str, pair: Pair) -> Value:
    ratios = slice_ratios(metric, pair)
    return ratios if isinstance(ratios, Missing) else hodges_lehmann(ratios)


def slice_ratios(metric: str, pair: Pair) -> tuple[float, ...] | Missing:
    """The log ratios other / base of a pair's slices, one for each two that were loaded one right after the other.

    A judged metric's: the response time comes from the slices at concurrency 1, the others from those under load.
    """
    role: Literal["load", "single"] = "single" if metric == "response_time" else "load"
    ratios: list[float] = []
    for one, other in zip(_slices(pair.base, role), _slices(pair.other, role), strict=False):
        ratio = _log_ratio(_per_request(metric, one), _per_request(metric, other), METRICS[metric].description)
        if isinstance(ratio, Missing):
            return ratio
        ratios.append(ratio)
    return tuple(ratios) or Missing("no slices under load" if role == "load" else "no slices at concurrency 1")


def _slices(launch: Launch, role: Literal["load", "single"]) -> list[Slice]:
    return [one for one in launch.slices if one.role == role]


def _per_request(metric: str, one: Slice) -> Value:
    if metric == "time_per_request" and one.rate is not None:
        return OPEN_LOOP
    amount = one.cpu if metric == "cpu_per_request" else one.wall
    if isinstance(amount, Missing):
        return amount
    return amount / one.requests if one.requests > 0 else Missing("no request was made")


def _log_ratio(base: Value, other: Value, what: str) -> Value:
    if isinstance(base, Missing):
        return base
    if isinstance(other, Missing):
        return other
    if base <= 0 or other <= 0:
        return Missing(f"{what}: a reading of 0 has no ratio")
    if math.isinf(base) or math.isinf(other):
        return Missing(f"{what}: no number can hold a reading")
    return math.log(other) - math.log(base)  # the quotient itself may be too large, or too small, for a number
