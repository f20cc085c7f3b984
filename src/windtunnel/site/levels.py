"""What a series says in short: where it is now, where it was a month ago. Pure."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.history.nouns import Commit, History, Series, SeriesKey

__all__ = ["MONTH", "Level", "Place", "is_at", "level_of", "main_place", "months_start", "places"]

MONTH = 30 * 86_400.0
"""Seconds."""

_SEVERAL = 3
"""Values whose median is a level: one value alone is as often luck as news."""


@dataclass(frozen=True, order=True)
class Place:
    """Where something was measured: values are compared within one place only."""

    machine: str
    environment: str

    @classmethod
    def of(cls, key: SeriesKey) -> Place:
        """Where a series was measured."""
        return cls(key.machine, key.environment)


@dataclass(frozen=True)
class Level:
    """The state of one series.

    Attributes:
        value: the newest value, in the benchmark's unit; NaN where the newest attempt failed.
        low, high: its interval, NaN where there is none.
        position: of the newest attempt.
        change: the level now / the level a month before `months_start`; NaN where there is none to compare with.
    """

    value: float
    low: float
    high: float
    position: int
    change: float


def places(series: Sequence[Series]) -> list[Place]:
    """All places of some series: the one with the newest value first, among equals the one with the most values."""
    newest: dict[Place, tuple[int, int]] = {}
    for one in series:
        place = Place.of(one.key)
        last, count = newest.get(place, (-1, 0))
        newest[place] = (max(last, one.positions[-1] if len(one) else -1), count + len(one))
    return sorted(newest, key=lambda place: (-newest[place][0], -newest[place][1], place))


def is_at(series: Series, place: Place) -> bool:
    """Whether a series was measured there, and has anything."""
    return Place.of(series.key) == place and len(series) > 0


def main_place(series: Sequence[Series]) -> Place | None:
    """The place that is shown first; None where there is no series."""
    return next(iter(places(series)), None)


def months_start(history: History, today: float) -> int:
    """The position of the first commit that is younger than a month; everything before it is the past."""
    return _start(history.commits(), today - MONTH)


def _start(commits: Sequence[Commit], moment: float) -> int:
    return next((one.position for one in commits if one.date.timestamp() > moment), len(commits))


def level_of(series: Series, start: int) -> Level:
    """The state of a series that has a value or a failure; `start` is `months_start`."""
    values, cut = series.values, bisect_right(series.positions, start - 1)
    now, past = _median(values[max(cut, len(values) - _SEVERAL) :]), _median(values[max(0, cut - _SEVERAL) : cut])
    change = now / past if past > 0 else math.nan
    return Level(values[-1], series.low[-1], series.high[-1], series.positions[-1], change)


def _median(values: Sequence[float]) -> float:
    known = [value for value in values if math.isfinite(value)]
    return statistics.median(known) if known else math.nan
