"""The two tables at the end of ab's report: connection times, and the share of requests within a time. Pure.

A generator that gives the time of every request leaves a histogram, from which both are made, to within half a per
cent. One that prints percentiles itself (ab, wrk) leaves those, for each slice; they can't be put together, so their
median over slices is told, and whose they are.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windtunnel.load.histogram import bounds, mean, merge, quantile
from windtunnel.model import Slice, Workload
from windtunnel.sample.summary import PERCENTS

__all__ = ["loader", "time_lines"]

_ROWS = ("Connect", "Processing", "Waiting", "Total")
_COLUMNS = ("min", "mean", "[+/-sd]", "median", "max")
_NOTHING = "-"
_PERCENTS = (0.0, *PERCENTS)


@dataclass(frozen=True)
class _Times:
    """Seconds by percent (0 is the least, 100 the most), where they come from, and which row of ab's table they are.

    `mean` and `spread` (a standard deviation) are NaN where they are not known.
    """

    percents: Mapping[float, float]
    row: str
    source: str
    mean: float = math.nan
    spread: float = math.nan


def loader(workload: Workload) -> str:
    """What makes the load, in words."""
    if workload.rate is not None:
        return "an open loop"
    return "its own program" if workload.generator == "program" else workload.generator


def time_lines(load: Sequence[Slice], workload: Workload) -> list[str]:
    """Both tables, each after an empty line; a dash stands where nothing was measured."""
    times = _measured(load, workload)
    if times is None:
        return ["", f"Connection Times, percentages: not measured ({loader(workload)} told no times of requests)"]
    return ["", *_table(times), "", *_percentages(times)]


def _measured(load: Sequence[Slice], workload: Workload) -> _Times | None:
    whole = merge(*(one.latency for one in load))
    if any(whole.values()):
        return _logged(whole, sum(one.requests for one in load), workload)
    return _printed(load, workload)


def _logged(whole: Mapping[int, int], requests: int, workload: Workload) -> _Times:
    known = sum(whole.values())
    which = f"all {requests:,}" if known == requests else f"{known:,} of {requests:,}"
    what, row = _meaning(workload)
    return _Times(
        {percent: quantile(whole, percent / 100) for percent in _PERCENTS},
        row,
        f"from the times of {which} {what}",
        mean(whole),
        _spread(whole),
    )


def _meaning(workload: Workload) -> tuple[str, str]:
    """What the times in a log are, and the row of ab's table that they belong to."""
    if workload.rate is not None:
        return "requests, from when each was due", "Total"
    return (
        ("calls", "Total")
        if workload.generator == "program"
        else ("requests; connecting is not in them", "Processing")
    )


def _spread(whole: Mapping[int, int]) -> float:
    """Standard deviation of everything in a histogram; NaN for one thing alone."""
    count = sum(whole.values())
    if count < 2:
        return math.nan
    middle = mean(whole)
    return math.sqrt(sum(n * (math.sqrt(math.prod(bounds(i))) - middle) ** 2 for i, n in whole.items()) / (count - 1))


def _printed(load: Sequence[Slice], workload: Workload) -> _Times | None:
    """What the generator said itself: the least and the most of all slices, else the median over slices."""
    found = {
        percent: [one.percentiles[percent] for one in load if percent in one.percentiles] for percent in _PERCENTS
    }
    full = {percent: values for percent, values in found.items() if values and len(values) == len(load)}
    if not full:
        return None
    extreme = {0.0: min, 100.0: max}
    which = "" if len(load) == 1 else f", the median of {len(load):,} slices (the least and the longest: of all)"
    return _Times(
        {percent: extreme.get(percent, statistics.median)(values) for percent, values in full.items()},
        "Total" if workload.generator == "ab" else "Processing",
        f"{workload.generator}'s own{which}",
    )


def _table(times: _Times) -> list[str]:
    known = (times.percents.get(0.0), times.mean, times.spread, times.percents.get(50.0), times.percents.get(100.0))
    rows = [("", _COLUMNS), *((f"{row}:", _cells(known if row == times.row else ())) for row in _ROWS)]
    return [
        "Connection Times (ms)",
        *(f"{name:<11}" + "".join(f"{cell:>10}" for cell in cells) for name, cells in rows),
    ]


def _cells(known: Sequence[float | None]) -> tuple[str, ...]:
    return tuple(_millis(value) for value in known) if known else (_NOTHING,) * len(_COLUMNS)


def _millis(seconds: float | None) -> str:
    return _NOTHING if seconds is None or not math.isfinite(seconds) else f"{seconds * 1000:.3f}"


def _percentages(times: _Times) -> list[str]:
    return [
        "Percentage of the requests served within a certain time (ms)",
        *(
            f"{percent:>4g}%{_millis(seconds):>11}{' (longest request)' if percent == 100 else ''}"
            for percent, seconds in sorted(times.percents.items())
            if percent
        ),
        f"  ({times.source})",
    ]
