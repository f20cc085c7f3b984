"""The open loop: requests that arrive at a fixed rate, by a program of our own in the load image. Pure.

A closed loop asks again when it has been answered; while a server stalls it asks nothing, so the stall is a few slow
requests, however long it was (coordinated omission). Here a request has a moment at which it is due, and its latency
runs from there. `site/design/open-loop.md` says why no other generator does it, and what this one's limits are.

Facts that the figures stand on:

- Latency = from when a request was due to the end of its answer. It holds the time that the request waited for a
  free connection, and connecting where there is a connection per request. What the generator itself was late is left
  out of it, and told where it is often.
- `seconds` run from when the first request was due to the last answer.
- A connection that ends before its answer does is "read", a refused one "connect", what is no HTTP is "error".
"""

from __future__ import annotations

import json
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from windtunnel.errors import ConfigError
from windtunnel.load.command import BODY, header_lines, refuse, url
from windtunnel.load.output import Output, cause, complaints, lost, whole_lines
from windtunnel.model import LoadResult, Workload
from windtunnel.units import Missing

__all__ = [
    "BEHIND",
    "CLOSED",
    "FIXED_COUNT",
    "LATE",
    "WAITED",
    "Arrival",
    "argv",
    "arrivals",
    "falls_behind",
    "parse",
]

FIXED_COUNT = True
"""It sends exactly the number of requests it is given."""

BEHIND = (
    "the server did not keep up with the rate: requests pile up for as long as the load lasts, so latencies say how "
    "long it lasted; ask for less, or sweep the rate"
)
WAITED = (
    "at times all connections were in use and requests waited for one; that is part of their latency. With a higher "
    "concurrency they would wait at the server instead"
)
CLOSED = "the target closed connections although they were to be kept alive"
LATE = "the generator itself was late with more than 1 in 100 requests; its own delay is left out of the latencies"

_NOTICEABLE = 0.001
"""Seconds that a request may be late without being counted so."""

_OFTEN = 0.01
_SHORTEST = 1.0
"""Seconds of a schedule within which being behind is not told from being held up."""

_GROWTH, _LEAST = 0.1, 2
"""By how much the heap grows in each eighth where a server falls behind: a share of its arrivals, and a number."""

_FEW = 16
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_ROW = re.compile(r"(-?[0-9]{1,15})\t(-?[0-9]{1,15})\t(-?[0-9]{1,15})\t([0-9]{1,15})\t(-1|[0-9]{1,3})\t([0-9]{1,15})")


def argv(
    workload: Workload,
    *,
    port: int,
    requests: int,
    concurrency: int,
    log: str | None = None,
) -> tuple[str, ...]:
    """The command line for `requests` at the workload's rate, over at most `concurrency` connections.

    Raises ConfigError for a workload without a rate, and for what the open loop can't do.
    """
    if workload.rate is None:
        raise ConfigError("an open loop needs a rate, in requests per second", key="rate")
    if workload.h2:
        refuse("the open loop", "speak HTTP/2", "leave rate out, or set h2 = False", key="rate")
    if requests < 1 or concurrency < 1:
        raise ConfigError(f"{requests} requests over {concurrency} connections", key="requests")
    plan = {
        "port": port,
        "rate": workload.rate,
        "requests": requests,
        "connections": concurrency,
        "keepalive": workload.keepalive,
        "head": _head(workload, port),
        "body": BODY if workload.body else None,
        "length": bool(workload.body) or workload.method in _WITH_BODY,
        "bodiless": workload.method == "HEAD",
        "log": log,
    }
    return ("python3", "-m", "arrivals", json.dumps(plan))


def _head(workload: Workload, port: int) -> list[str]:
    """The lines of a request's head but Content-Length."""
    place = f"127.0.0.1:{port}"
    path = url(workload, port).partition(place)[2]
    own = {name.lower() for name in workload.headers}
    usual = {"Host": place, "User-Agent": "windtunnel", "Accept": "*/*"}
    lines = [f"{name}: {value}" for name, value in usual.items() if name.lower() not in own]
    closing = [] if workload.keepalive else ["Connection: close"]
    return [f"{workload.method} {path} HTTP/1.1", *lines, *header_lines(workload), *closing]


# ---------------- parsing


@dataclass(frozen=True)
class Arrival:
    """A request: when it was due, sent and answered, and how late the generator by itself was; in seconds.

    `status` is -1 where no whole answer came.
    """

    due: float
    sent: float
    end: float
    own: float
    status: int

    @property
    def latency(self) -> float:
        """From when it was due to the end of its answer, less what was the generator's own delay."""
        return max(0.0, self.end - self.due - self.own)

    @property
    def waited(self) -> float:
        """For a free connection."""
        return max(0.0, self.sent - self.due - self.own)


def parse(output: Output) -> LoadResult:
    """What the run came to. Never raises: what can't be read is `Missing`, what did not come back is in `failed`."""
    summary, rows = _summary(output.stdout), arrivals(output.log)
    whole = [row for row in rows if row.status >= 0]
    if summary is None or len(rows) != summary.requests:
        return _without_summary(output, rows)
    latencies = tuple(row.latency for row in sorted(whole, key=lambda row: row.end))
    return LoadResult(
        requested=summary.requests,
        completed=len(whole),
        seconds=summary.seconds if summary.seconds > 0 else Missing("no time was measured"),
        status=Counter(str(row.status) for row in whole),
        failed=summary.failed,
        body_bytes=summary.body,
        total_bytes=summary.total,
        latencies=latencies,
        mean_latency=sum(latencies) / len(latencies) if latencies else Missing("no request was answered"),
        warnings=(*([CLOSED] if summary.keepalive and summary.closed else []), *_doubts(rows), *complaints(output)),
        late=_lag(rows),
        kept=len(whole) - min(len(whole), summary.closed),
    )


def _without_summary(output: Output, rows: Sequence[Arrival]) -> LoadResult:
    whole = [row for row in rows if row.status >= 0]
    why = Missing(cause(output, "the open loop"))
    failed = lost(output, len(whole))
    return LoadResult(
        requested=output.requested or len(whole) + sum(failed.values()),
        completed=len(whole),
        seconds=why,
        status=Counter(str(row.status) for row in whole),
        failed=failed,
        body_bytes=why,
        total_bytes=why,
        mean_latency=why,
        warnings=complaints(output),
    )


@dataclass(frozen=True)
class _Summary:
    requests: int
    seconds: float
    failed: dict[str, int]
    keepalive: bool
    closed: int
    body: int
    total: int


def _summary(text: str) -> _Summary | None:
    """The last line, where it is what the program writes."""
    for line in whole_lines(text):
        try:
            found: Any = json.loads(line)
            failed = {str(kind): int(count) for kind, count in found["failed"].items() if count}
            seconds, keepalive = float(found["seconds"]), bool(found["keepalive"])
            numbers = (int(found[key]) for key in ("closed", "body", "total"))
            return _Summary(int(found["requests"]), seconds, failed, keepalive, *numbers)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            continue
    return None


def arrivals(log: str | None) -> list[Arrival]:
    """The requests of a log, in the order they were due; lines that are none are passed over."""
    matches = (_ROW.fullmatch(line) for line in whole_lines(log))
    return sorted((_arrival(match) for match in matches if match), key=lambda row: row.due)


def _arrival(match: re.Match[str]) -> Arrival:
    due, sent, end, own = (int(text) * 1e-6 for text in match.groups()[:4])
    return Arrival(due, sent, end, own, int(match[5]))


# ---------------- what the schedule tells


def _doubts(rows: Sequence[Arrival]) -> Iterator[str]:
    if falls_behind(rows):
        yield BEHIND
    elif _often(row.waited > _NOTICEABLE for row in rows):
        yield WAITED
    if _often(row.own > _NOTICEABLE for row in rows):
        yield LATE


def _lag(rows: Sequence[Arrival]) -> float:
    """A generator that can't make the rate is later and later; one that was held up for a moment catches up."""
    last = [row.own for row in rows[-max(1, len(rows) // 4) :]]
    return statistics.median(last) / max(_SHORTEST, rows[-1].due - rows[0].due) if rows else 0.0


def _often(flags: Iterator[bool]) -> bool:
    known = list(flags)
    return sum(known) > _OFTEN * len(known)


def falls_behind(rows: Sequence[Arrival]) -> bool:
    """Whether more and more requests were open at a time, in each eighth of the second half of the arrivals.

    A stall at some moment grows the heap in one or two of them; a server that is too slow does in all.
    """
    last = len(rows) - 1
    if last < _FEW:
        return False
    heaps = [_open_at(rows, rows[last * eighth // 8].due) for eighth in range(4, 9)]
    least = max(_LEAST, _GROWTH * len(rows) / 8)
    return all(after - before >= least for before, after in pairwise(heaps))


def _open_at(rows: Sequence[Arrival], moment: float) -> int:
    return sum(row.due <= moment < row.end for row in rows)
