"""A class in a few figures: what is on its card. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from windtunnel.compare.unpaired import Between, from_intervals, mean_of
from windtunnel.history.nouns import Benchmark, Series
from windtunnel.site.changes import Change, which_text
from windtunnel.site.groups import Group
from windtunnel.site.levels import Level, Place, is_at, level_of
from windtunnel.site.tables import tone
from windtunnel.site.values import bare, unit_of, value_text
from windtunnel.units import Direction, Unit, format_change, format_share, format_value

__all__ = ["Card", "Failure", "card_of", "failures_of"]


_CONTESTANTS = 12


@dataclass(frozen=True)
class Card:
    """What a card says.

    Attributes:
        name: of the class.
        metric: what stands for it, or "".
        latest: its newest value; of several combinations their geometric mean.
        combinations: of how many.
        change: against a month ago, as text; "" where there is nothing to compare with.
        tone: "better", "worse" where it has a new level since a month ago, or "".
        leader: ``fastest perl: 5.36, 12 % ahead of 5.40``; "" also where the intervals leave open who is ahead.
        line: values relative to their own middle, by position, for the sparkline.
        weight: what matters most has most: the size of what changed lately, as a logarithm.
        failing: how many of its combinations failed at the newest attempt.
    """

    name: str
    metric: str
    latest: str
    combinations: int
    change: str
    tone: str
    leader: str
    line: tuple[tuple[int, float], ...]
    weight: float
    failing: int


@dataclass(frozen=True)
class Failure:
    """A benchmark that failed when it was last tried, at the place where its class was measured last.

    Attributes:
        which: its parameter combinations, in words; "" where it has none.
        position: of the newest attempt.
        since: of the first failure after the last value; -1 where it never had a value, so that nothing is new.
        count: of combinations.
    """

    benchmark: Benchmark
    which: str
    position: int
    since: int
    count: int


def card_of(group: Group, start: int, lately: Sequence[Change]) -> Card:
    """The card of a class; `lately` are its changes since `start` (`levels.months_start`)."""
    main, place = group.main, group.place
    at = [one for one in group.series[main.name] if place and is_at(one, place)]
    levels = [level_of(one, start) for one in at]
    change = _mean(level.change for level in levels)
    changed = any(one.benchmark == main and one.place == place for one in lately)
    return Card(
        name=group.name,
        metric=main.metric if at else "",
        latest=value_text(_mean(level.value for level in levels), main) if at else "",
        combinations=sum(math.isfinite(level.value) for level in levels),
        change=format_change(change) if math.isfinite(change) else "",
        tone=tone(change, main.direction) if changed else "",  # what moves with the noise has no colour
        leader=_leader(main, at, levels),
        line=_line(at),
        weight=max((_size(one.ratio) for one in lately), default=0.0) or _size(change) / 1000,
        failing=sum(one.count for one in failures_of(group, start)),
    )


def failures_of(group: Group, start: int) -> list[Failure]:
    """What failed when it was last tried, and has been tried since `start`; what used to work comes first."""
    place = group.place
    found = [
        _failure(benchmark, several, since, len(group.series[benchmark.name]))
        for benchmark in group.benchmarks
        for since, several in _failing(group.series[benchmark.name], place, start).items()
    ]
    return sorted(found, key=lambda one: (-one.since, one.benchmark.name))


def _failing(series: Sequence[Series], place: Place | None, start: int) -> dict[int, list[Series]]:
    """What fails, by when that began."""
    failing: dict[int, list[Series]] = defaultdict(list)
    for one in series:
        if place and is_at(one, place) and math.isnan(one.values[-1]) and one.positions[-1] >= start:
            failing[_since(one)].append(one)
    return failing


def _since(series: Series) -> int:
    """Of the first failure after the last value, -1 where there was none."""
    last = next((at for at in reversed(range(len(series))) if math.isfinite(series.values[at])), -1)
    return series.positions[last + 1] if last >= 0 else -1


def _failure(benchmark: Benchmark, several: Sequence[Series], since: int, of: int) -> Failure:
    newest = max(one.positions[-1] for one in several)
    which = which_text(benchmark, [one.key.params for one in several], of)
    return Failure(benchmark, which, newest, since, len(several))


def _mean(values: Iterable[float]) -> float:
    """The geometric mean of the values that are known and positive; of zeros alone it is 0."""
    known = [value for value in values if math.isfinite(value)]
    positive = [math.log(value) for value in known if value > 0]
    if not positive:
        return known[0] if known else math.nan
    return math.exp(math.fsum(positive) / len(positive))


def _size(ratio: float) -> float:
    return abs(math.log(ratio)) if math.isfinite(ratio) and ratio > 0 else 0.0


def _line(series: Sequence[Series]) -> tuple[tuple[int, float], ...]:
    """The mean of all combinations by position, each relative to its own mean, so that any may be missing."""
    logs: dict[int, list[float]] = defaultdict(list)
    for one in series:
        pairs = [
            (position, math.log(value))
            for position, value in zip(one.positions, one.values, strict=True)
            if value > 0 and math.isfinite(value)
        ]
        middle = math.fsum(log for _, log in pairs) / len(pairs) if pairs else 0.0
        for position, log in pairs:
            logs[position].append(log - middle)
    return tuple((position, math.fsum(several) / len(several)) for position, several in sorted(logs.items()))


def _leader(benchmark: Benchmark, series: Sequence[Series], levels: Sequence[Level]) -> str:
    """Who is ahead along the first axis whose values are names, over the combinations that all of them have."""
    axis = next((number for number, values in enumerate(benchmark.params) if _names(values)), None)
    if axis is None or axis >= min((len(one.key.params) for one in series), default=0):
        return ""
    by_value: dict[str, dict[tuple[str, ...], Between]] = defaultdict(dict)
    for one, level in zip(series, levels, strict=True):
        params = one.key.params
        if math.isfinite(level.value) and level.value > 0:
            by_value[params[axis]][params[:axis] + params[axis + 1 :]] = Between(level.value, level.low, level.high)
    common = set.intersection(*map(set, by_value.values())) if by_value else set()
    if len(by_value) < 2 or not common:
        return ""
    means = {value: mean_of([known[rest] for rest in common]) for value, known in by_value.items()}
    return _ahead(benchmark, axis, means)


def _lead(ratio: float) -> str:
    return f"{format_value(ratio, Unit.COUNT)} times" if ratio >= 2 else format_share(round(ratio - 1, 3))


def _names(values: Sequence[str]) -> bool:
    """A few texts, such as versions and servers; a size that is a number has no winner."""
    return 1 < len(values) <= _CONTESTANTS and all(value[:1] in {"'", '"'} for value in values)


def _ahead(benchmark: Benchmark, axis: int, means: Mapping[str, Between]) -> str:
    """Who is ahead of the next; nobody, where the interval of the lead has room for none."""
    lower = benchmark.direction is Direction.LOWER_IS_BETTER
    ranked = sorted(means, key=lambda value: (means[value].ratio if lower else -means[value].ratio, value))
    first, second = ranked[:2]
    ahead = from_intervals(*((means[second], means[first]) if lower else (means[first], means[second])))
    if ahead.low <= 1:  # never so where it is not known
        return ""
    lead = ahead.ratio
    name = benchmark.param_names[axis] if axis < len(benchmark.param_names) else ""
    word = "fastest" if unit_of(benchmark) is Unit.SECOND else ("lowest" if lower else "highest")
    return f"{word} {name}: {bare(first)}, {_lead(lead)} ahead of {bare(second)}"
