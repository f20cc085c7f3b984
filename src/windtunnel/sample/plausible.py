"""How large and how small the numbers in a run file may be. Pure.

A run file may come from anyone, and whoever reckons with it divides, takes logarithms and adds up. Within these
bounds nothing of that overflows, underflows to nothing or fails; they are so far from anything that can be measured
that no honest file comes near them. `site/design/hostile.md` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windtunnel.units import Missing

__all__ = ["BUCKETS", "RANGES", "Implausible", "Range", "check_numbers"]


class Implausible(ValueError):
    """A number is out of bounds; `key` is where."""

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class Range:
    """What a number may be.

    Attributes:
        low, high: both are in it.
        grain: the least amount above or below 0 that there may be; 0 itself is in it, if `low` lets it.
    """

    low: float
    high: float
    grain: float = 0.0

    def holds(self, value: float) -> bool:
        """Whether a number is in it."""
        return self.low <= value <= self.high and (value == 0 or abs(value) >= self.grain)

    def __str__(self) -> str:
        whole = f"from {self.low:g} to {self.high:g}"
        return f"{whole} and not nearer to 0 than {self.grain:g}" if self.grain else whole


SECONDS = Range(0, 1e9, 1e-12)
"""A time that has passed: up to thirty years. No clock tells a thousandth of a nanosecond."""

DIFFERENCE = Range(-1e9, 1e9, 1e-12)
"""What lies between two readings of a counter or of two clocks; where they do not agree it may be negative."""

MOMENT = Range(-1e12, 1e12)
"""Seconds since the epoch."""

COUNT = Range(0, 1e15)
"""A number of things: a million million requests, and a thousand times that."""

FEW = Range(0, 1e6)
"""A number of things that somebody chose or a machine has: launches, slices, cores, connections."""

ONE_OR_MORE = Range(1, 1e6)
"""The same, where none would be nothing to divide by."""

BYTES = Range(0, 1 << 60)

SHARE = Range(0, 1)

PER_SECOND = Range(1e-6, 1e9)
"""Of what happens again and again."""

PERCENTS = Range(0, 100)
"""Of requests, the share that a percentile is for."""

BUCKETS = Range(0, 5_000)
"""Of a histogram: 1.01^5000 nanoseconds are more than a hundred thousand years."""

RANGES: Mapping[str, Range] = {
    "wall": SECONDS,
    "mean_latency": SECONDS,
    "percentiles": SECONDS,
    "spent": SECONDS,
    "seconds": SECONDS,
    "build_seconds": SECONDS,
    "load_seconds": SECONDS,
    "single_seconds": SECONDS,
    "deadline": SECONDS,
    "budget": SECONDS,
    "cpu": DIFFERENCE,
    "time_to_ready": DIFFERENCE,
    "idle_cpu": DIFFERENCE,
    "generator_share": DIFFERENCE,
    "server_share": DIFFERENCE,
    "started": MOMENT,
    "requests": COUNT,
    "latency": COUNT,
    "status": COUNT,
    "failed": COUNT,
    "kept": COUNT,
    "load": COUNT,
    "single": COUNT,
    "number": COUNT,
    "concurrency": ONE_OR_MORE,
    "cores": ONE_OR_MORE,
    "most": ONE_OR_MORE,
    "batch": ONE_OR_MORE,
    "warmup": FEW,
    "slices": FEW,
    "single_slices": FEW,
    "launches": FEW,
    "online": FEW,
    "siblings": FEW,
    "body_bytes": BYTES,
    "total_bytes": BYTES,
    "peak_memory": BYTES,
    "image_size": BYTES,
    "memory": BYTES,
    "length": BYTES,
    "threshold": SHARE,
    "rate": PER_SECOND,
}
"""By the name of the field, in whatever record it stands; for a mapping, of each of its values."""


def check_numbers(found: object, key: str = "", at: str = "") -> None:
    """See that all numbers of a record are plausible, at any depth.

    Args:
        found: a record or anything in one.
        key: the name of the field it stands in.
        at: where that is in the record, for messages: ``slices.0.wall``.

    Raises Implausible.
    """
    if isinstance(found, str | bool | Missing) or found is None:
        return
    if isinstance(found, int | float):
        _check(found, key, at)
    elif isinstance(found, Mapping):
        _check_mapping(found, key, at)
    elif isinstance(found, tuple | list):
        for index, item in enumerate(found):
            check_numbers(item, key, f"{at}.{index}")
    else:
        for name in type(found).__dataclass_fields__:  # type: ignore[attr-defined]
            check_numbers(getattr(found, name), name, f"{at}.{name}" if at else name)


def _check(number: float, key: str, at: str) -> None:
    if key in RANGES and not RANGES[key].holds(number):
        raise Implausible(f"{number} can't be; it is {RANGES[key]}", at)


def _check_mapping(found: Mapping[object, object], key: str, at: str) -> None:
    if key == "latency":
        _check_histogram(found, at)  # type: ignore[arg-type]
        return
    if key == "percentiles":
        _check_percents(found, at)
    for item in found.values():
        check_numbers(item, key, at)


def _check_percents(found: Mapping[object, object], at: str) -> None:
    for percent in found:
        if not (isinstance(percent, int | float) and PERCENTS.holds(percent)):
            raise Implausible(f"there is no percentile {percent}; they are {PERCENTS}", at)


def _check_histogram(found: Mapping[int, int], at: str) -> None:
    """Thousands of buckets are usual, so only the extremes are looked at."""
    if not found:
        return
    for bucket in (min(found), max(found)):
        if not BUCKETS.holds(bucket):
            raise Implausible(f"there is no bucket {bucket}; they are {BUCKETS}", at)
    for count in (min(found.values()), max(found.values())):
        _check(count, "latency", at)
