"""wrk 4.1: as fast as it can for some seconds; used to find the peak, not to compare.

Facts found by experiment and in its source, which the parser stands on:

- It runs for whole seconds, so the number of requests is a result: ask `FIXED_COUNT` before comparing it with a plan.
- Answers with status 4xx and 5xx count as requests and are told in one line; lengths are never looked at.
- A request that never gets an answer leaves no trace: no error, no timeout, no latency. "timeout" counts answers that
  came later than ``-T``; they are in the number of requests as well.
- A connection that ends unannounced is a "read" error, whether its answer was whole or not.
- Latencies are corrected for the wait that a fixed interval would have seen, silently, before anything is printed.
"""

from __future__ import annotations

import math
import re

from windtunnel.load.command import header_lines, refuse, url
from windtunnel.load.output import Output, cause, complaints, elapsed, lost, whole_lines
from windtunnel.model import LoadResult, Workload
from windtunnel.units import Missing, Value

__all__ = ["CORRECTED", "FIXED_COUNT", "NO_LENGTHS", "argv", "parse"]

FIXED_COUNT = False
"""It loads for a time; how many requests that is, it says afterwards."""

CORRECTED = "wrk corrects the latencies it prints for coordinated omission: they are not those of its requests"
NO_LENGTHS = "wrk looks at no body: that lengths are right is known from the answer check only"

_PATIENCE = 10
"""Seconds after which wrk calls an answer late (``-T``); it keeps a table of that many microseconds."""

_LAST = "Transfer/sec:"
"""The line that ends the report: where it is missing, so may be the errors before it."""

_N = r"([0-9]{1,15})"
_TIME = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(us|ms|s|m|h)"
_REQUESTS = re.compile(rf"\s+{_N} requests in {_TIME}, ([0-9]{{1,9}}\.[0-9]{{1,9}})([KMGTP]?)B read")
_RATE = re.compile(r"Requests/sec:\s+([0-9]{1,12}\.[0-9]{1,9})")
_ERRORS = re.compile(rf"\s+Socket errors: connect {_N}, read {_N}, write {_N}, timeout {_N}")
_STATUS = re.compile(rf"\s+Non-2xx or 3xx responses: {_N}")
_LATENCY = re.compile(rf"\s+Latency\s+{_TIME}\s.*")
_PERCENTILE = re.compile(rf"\s+([0-9]{{1,3}}(?:\.[0-9]{{1,6}})?)%\s+{_TIME}\s*")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}


def argv(
    workload: Workload,
    *,
    port: int,
    requests: int,
    concurrency: int,
    log: str | None = None,  # noqa: ARG001 - wrk writes none
    rate: float | None = None,
) -> tuple[str, ...]:
    """The command line for about `requests` over `concurrency` connections.

    `rate` is the expected number of requests per second, which turns `requests` into whole seconds (at least 1, and
    1 where it is not known). Raises ConfigError for what wrk can't do.
    """
    if workload.h2:
        refuse("wrk", "speak HTTP/2", 'use generator = "h2load"')
    if workload.method != "GET" or workload.body is not None:
        refuse("wrk", f"send {workload.method} or a body", 'use generator = "h2load" or "ab"')
    seconds = max(1, math.ceil(requests / rate)) if rate else 1
    options = ["-t", "1", "-c", str(concurrency), "-d", f"{seconds}s", "-T", f"{_PATIENCE}s", "--latency"]
    for line in [*header_lines(workload), *([] if workload.keepalive else ["Connection: close"])]:
        options += ["-H", line]
    return ("wrk", *options, url(workload, port))


# ---------------- parsing


def parse(output: Output) -> LoadResult:
    """What wrk said. Never raises: what can't be read is `Missing`, what did not come back is in `failed`.

    `requested` is what was sent as far as wrk knows: answers and broken connections. Bytes are rounded to wrk's
    three digits. Kinds in `failed`: "connect", "read", "write", "timeout", "status" (4xx and 5xx).
    """
    lines = list(whole_lines(output.stdout))
    match = _first(_REQUESTS, lines)
    if match is None or not any(line.startswith(_LAST) for line in lines):
        return _without_result(output)
    completed, failed = int(match[1]), _failed(lines)
    return LoadResult(
        requested=completed + sum(failed.get(kind, 0) for kind in ("connect", "read", "write")),
        completed=completed,
        seconds=_elapsed(lines, match),
        status=_statuses(completed, failed.get("status", 0)),
        failed=failed,
        body_bytes=Missing("wrk counts no body bytes"),
        total_bytes=round(float(match[4]) * 1024 ** _BYTES[match[5]]),
        percentiles=_percentiles(lines) if completed else {},
        mean_latency=_mean(lines) if completed else Missing("wrk counted no answer"),
        warnings=(CORRECTED, NO_LENGTHS, *_doubts(output), *complaints(output)),
    )


def _without_result(output: Output) -> LoadResult:
    failed = lost(output, 0, "connect" if "unable to connect" in output.stderr else "error")
    why = Missing(cause(output, "wrk"))
    return LoadResult(
        requested=sum(failed.values()),
        completed=0,
        seconds=why,
        failed=failed,
        body_bytes=why,
        total_bytes=why,
        mean_latency=why,
        warnings=complaints(output),
    )


def _first(pattern: re.Pattern[str], lines: list[str]) -> re.Match[str] | None:
    return next((match for line in lines if (match := pattern.fullmatch(line))), None)


def _failed(lines: list[str]) -> dict[str, int]:
    errors, status = _first(_ERRORS, lines), _first(_STATUS, lines)
    counts = (
        dict(zip(("connect", "read", "write", "timeout"), map(int, errors.groups()), strict=True)) if errors else {}
    )
    counts["status"] = int(status[1]) if status else 0
    return {kind: count for kind, count in counts.items() if count}


def _statuses(completed: int, others: int) -> dict[str, int]:
    counts = {"2xx-3xx": completed - others, "4xx-5xx": others}
    return {name: count for name, count in counts.items() if count > 0}


def _elapsed(lines: list[str], match: re.Match[str]) -> Value:
    rate = _first(_RATE, lines)
    size = _SECONDS[match[3]]
    digit = size * 10.0 ** -len(match[2].partition(".")[2])
    return elapsed(int(match[1]), rate[1] if rate else "0", (float(match[2]) * size, digit))


def _mean(lines: list[str]) -> Value:
    match = _first(_LATENCY, lines)
    return float(match[1]) * _SECONDS[match[2]] if match else Missing("wrk printed no mean latency")


def _percentiles(lines: list[str]) -> dict[float, float]:
    found = [match.groups() for line in lines if (match := _PERCENTILE.fullmatch(line))]
    return {float(percent): float(number) * _SECONDS[unit] for percent, number, unit in found}


def _doubts(output: Output) -> list[str]:
    return [f"wrk printed its result and then ended with exit code {output.exit_code}"] if output.exit_code else []
