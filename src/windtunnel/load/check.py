"""Is a slice worth anything? Pure: from what the generator said to a reason why not, and to doubts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from windtunnel.load.output import CLOSED
from windtunnel.model import Expect, LoadResult
from windtunnel.units import Missing

__all__ = ["judge"]

_LITTLE = 0.25
_HUNG = 0.5
_LATE = 0.05
_CLASS = re.compile(r"([1-5])xx(?:-([1-5])xx)?")


def judge(
    result: LoadResult,
    *,
    requests: int | None,
    concurrency: int | None,
    expect: Expect,
    length: int | None,
    keepalive: bool,
) -> tuple[str, tuple[str, ...]]:
    """Why the slice proves nothing ("" if it does), and what a reader should know besides.

    `requests` is what was asked for; None for a generator that decides that itself (`FIXED_COUNT` is False). `length`
    is a body's length in bytes as the answer check saw it; None leaves it to `expect.length`, then unchecked.
    `concurrency` is None for an open loop: there it is a bound, and does not say how many should be under way.
    """
    flow = _in_flight(result) if keepalive and concurrency is not None else None
    reasons = [
        *_incomplete(result, requests),
        *_failures(result),
        *_wrong_status(result, expect.status),
        *_wrong_length(result, requests, expect.length if length is None else length),
        *_no_time(result),
        *_late(result),
        *_hung(flow if requests is None else None, concurrency or 0),
    ]
    warnings = [*result.warnings, *_closed(result, keepalive)]
    if not reasons and requests is not None and flow is not None:
        warnings += _uneven(flow, concurrency or 1)
    return "; ".join(reasons), tuple(warnings)


def _incomplete(result: LoadResult, requests: int | None) -> Iterator[str]:
    if requests is None:
        if result.completed == 0:
            yield "no request was answered"
    elif result.completed != requests:
        yield f"{result.completed:,} of {requests:,} requests were answered"


def _failures(result: LoadResult) -> Iterator[str]:
    """What broke. "status" is the generator's opinion of a status; the expected one is what counts, see below."""
    broken = {kind: count for kind, count in result.failed.items() if kind != "status" and count}
    if broken:
        yield "failed: " + ", ".join(f"{count:,} {kind}" for kind, count in broken.items())


def _wrong_status(result: LoadResult, expected: int) -> Iterator[str]:
    wrong = {status: count for status, count in result.status.items() if count and not _may_be(status, expected)}
    if wrong:
        said = ", ".join(f"{count:,} x {status}" for status, count in sorted(wrong.items()))
        yield f"status {said} instead of {expected}"
    unknown = result.completed - sum(result.status.values())
    if unknown > 0:
        yield f"the status of {unknown:,} answers is not known"


def _may_be(key: str, expected: int) -> bool:
    """Whether an answer counted under `key` ("404", "2xx", "2xx-3xx", "non-2xx") can have the expected status."""
    if key == "non-2xx":
        return expected // 100 != 2
    if match := _CLASS.fullmatch(key):
        return int(match[1]) <= expected // 100 <= int(match[2] or match[1])
    return key == str(expected)


def _wrong_length(result: LoadResult, requests: int | None, length: int | None) -> Iterator[str]:
    """Where all answers are there; else the bytes of broken ones would be told as well."""
    if length is None or requests not in {None, result.completed}:
        return
    if isinstance(result.body_bytes, Missing):
        if requests is not None:  # those that run for a time count no bodies, and say so in a warning
            yield f"the length of bodies is not known: {result.body_bytes.reason}"
        return
    off = result.body_bytes - result.completed * length
    if off:
        unit = "byte" if abs(off) == 1 else "bytes"
        yield f"{abs(off):,} {unit} {'more' if off > 0 else 'less'} than {result.completed:,} x {length:,}"


def _no_time(result: LoadResult) -> Iterator[str]:
    if isinstance(result.seconds, Missing):
        yield f"no time: {result.seconds.reason}"
    elif result.seconds <= 0:
        yield "no time: the generator measured nothing"


def _late(result: LoadResult) -> Iterator[str]:
    """Requests that arrive more and more slowly are another load than what was asked for."""
    if result.late > _LATE:
        yield "the generator itself fell behind the rate, it can't make it here; ask for a lower one"


def _in_flight(result: LoadResult) -> float | None:
    """Throughput x mean latency: how many requests were under way on average (Little's law)."""
    if isinstance(result.seconds, Missing) or isinstance(result.mean_latency, Missing) or result.seconds <= 0:
        return None
    return result.completed / result.seconds * result.mean_latency


def _hung(flow: float | None, concurrency: int) -> Iterator[str]:
    """A generator that runs for a time does not notice requests that are never answered; its throughput does."""
    if flow is not None and flow < concurrency * _HUNG:
        yield f"only {flow:.1f} of {concurrency} connections were served at a time: the others hung"


def _uneven(flow: float, concurrency: int) -> Iterator[str]:
    """The figure itself stays out: it differs from slice to slice, and equal warnings are told once."""
    if abs(flow / concurrency - 1) > _LITTLE:
        yield (
            f"throughput x mean latency is more than 25 % {'below' if flow < concurrency else 'above'} the "
            f"concurrency of {concurrency}: connections or the generator were held up outside the measured times"
        )


def _closed(result: LoadResult, keepalive: bool) -> Iterator[str]:
    if keepalive and result.completed and result.total_bytes == CLOSED:
        yield "the target closed connections although they were to be kept alive"
