"""ab (Apache httpd 2.4): HTTP/1.0, one thread, the tool whose reports people know.

Facts found by experiment, which the parser stands on:

- With ``-r`` ab goes on after receive errors and counts every failure as a completed request, up to three times over
  in "Failed": 200 requests to a port where nothing listens end as "Complete requests: 200" and 122,399 requests per
  second. So ``-r`` is never given, and a broken connection ends the run: "Total of N requests completed".
- "Length" counts the bodies that differ in length from the first one, and those that ended early. Answers with
  another status are told by "Non-2xx responses" only; ``Failed: 0`` is compatible with nothing but 500s.
- What is not HTTP at all counts as complete, with an empty body and without a server.
- Everything in the tables is in whole milliseconds; ``-e`` writes percentiles with three decimals.
- ``-k`` asks for keep-alive in HTTP/1.0; "Keep-Alive requests" says how many answers agreed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from windtunnel.load.command import BODY, check_counts, header_lines, refuse, url
from windtunnel.load.output import Output, cause, complaints, elapsed, lost, whole_lines
from windtunnel.model import LoadResult, Workload
from windtunnel.units import Missing, Value

__all__ = ["FIXED_COUNT", "argv", "parse"]

FIXED_COUNT = True
"""It sends exactly the number of requests it is given."""

_PATIENCE = 30
"""Seconds ab waits for an answer before it gives up (``-s``)."""

_LAST = "Transfer rate"
"""The field that ends the report's counts: where it is missing, so may be "Non-2xx responses"."""

_FIELD = re.compile(r"([A-Z][A-Za-z0-9 -]{3,30}):\s+(\S.*?)\s*")
_COUNT = re.compile(r"([0-9]{1,15})(?: bytes)?")
_SECONDS = re.compile(r"([0-9]{1,9}\.([0-9]{1,9})) seconds")
_RATE = re.compile(r"([0-9]{1,12}\.[0-9]{1,9}) \[#/sec\] \(mean\)")
_BREAKDOWN = re.compile(r"\s+\(((?:[A-Z][a-z]+: [0-9]{1,15}(?:, )?)+)\)")
_STOPPED = re.compile(r".*Total of ([0-9]{1,15}) requests completed")
_TABLE = re.compile(r"\s+([0-9]{1,3})%\s+([0-9]{1,12})(?: \(longest request\))?\s*")
_CSV = re.compile(r"([0-9]{1,3}),([0-9]{1,12}\.[0-9]{1,9})")
_KINDS = {"Connect": "connect", "Receive": "read", "Length": "length", "Exceptions": "error"}
_SIGNS = (("refused", "connect"), ("timeout", "timeout"), ("apr_socket_recv", "read"))


def argv(
    workload: Workload, *, port: int, requests: int, concurrency: int, log: str | None = None
) -> tuple[str, ...]:
    """The command line for `requests` over `concurrency` connections. `log` is where percentiles are written.

    A body is read from `BODY`, which the worker writes. Raises ConfigError for what ab can't do.
    """
    check_counts(requests, concurrency)
    if workload.h2:
        refuse("ab", "speak HTTP/2", 'use generator = "h2load"')
    options = ["-q", "-S", "-n", str(requests), "-c", str(concurrency), "-s", str(_PATIENCE)]
    if workload.keepalive:
        options.append("-k")
    if log is not None:
        options += ["-e", log]
    options += _request(workload)
    return ("ab", *options, url(workload, port))


def _request(workload: Workload) -> list[str]:
    """Method, headers and body: ab has an option of its own for each method that carries one."""
    sends = workload.body is not None
    if not sends:
        method = {"GET": [], "HEAD": ["-i"]}.get(workload.method, ["-m", workload.method])
        return [*method, *_options(header_lines(workload))]
    flag = {"POST": "-p", "PUT": "-u"}.get(workload.method)
    if flag is None:
        refuse("ab", f"send a body with {workload.method}", 'use generator = "h2load", or POST or PUT')
    kind = [value for name, value in workload.headers.items() if name.lower() == "content-type"]
    return [flag, BODY, *(["-T", kind[0]] if kind else []), *_options(header_lines(workload, without="content-type"))]


def _options(lines: list[str]) -> list[str]:
    return [word for line in lines for word in ("-H", line)]


# ---------------- parsing


def parse(output: Output) -> LoadResult:
    """What ab said. Never raises: what can't be read is `Missing`, what did not come back is in `failed`.

    Kinds in `failed`: "length" (another length than the first answer, or ended early: ab counts both as completed),
    "connect", "read", "timeout" (no answer for 30 s), "error", "status" (not 2xx). `completed` may be one too high
    where ab stopped at a broken connection. `mean_latency` is known at concurrency 1 only, connecting included.
    """
    lines = list(whole_lines(output.stdout))
    fields = _fields(lines)
    complete = _count(fields, "Complete requests")
    if isinstance(complete, Missing) or _LAST not in fields:
        return _stopped(output, lines)
    failed = _failed(fields, lines)
    completed = max(0, complete - failed.get("connect", 0) - failed.get("read", 0))
    seconds = _elapsed(fields, complete)
    percentiles = _percentiles(output.log, lines) if completed else {}
    return LoadResult(
        requested=output.requested or complete,
        completed=completed,
        seconds=seconds,
        status=_statuses(completed, failed.get("status", 0)),
        failed=failed,
        body_bytes=_count(fields, "HTML transferred"),
        total_bytes=_count(fields, "Total transferred"),
        percentiles=percentiles,
        mean_latency=_mean(fields, seconds, completed),
        server=fields.get("Server Software", ""),
        warnings=(*_doubts(fields, completed, output), *complaints(output)),
        kept=_count(fields, "Keep-Alive requests"),
    )


def _fields(lines: list[str]) -> dict[str, str]:
    """The report's "Name:   value" lines; the first of a name counts ("Time per request" is there twice)."""
    fields: dict[str, str] = {}
    for line in lines:
        if match := _FIELD.fullmatch(line):
            fields.setdefault(match[1], match[2])
    return fields


def _count(fields: Mapping[str, str], name: str) -> int | Missing:
    match = _COUNT.fullmatch(fields.get(name, ""))
    return int(match[1]) if match else Missing(f"ab printed no {name!r}")


def _stopped(output: Output, lines: list[str]) -> LoadResult:
    """ab ended before its report: nothing but a count is known."""
    done = next((int(match[1]) for line in lines if (match := _STOPPED.fullmatch(line))), 0)
    kind = next((kind for sign, kind in _SIGNS if sign in output.stderr), "error")
    failed = lost(output, done, kind)
    return LoadResult(
        requested=output.requested or done + sum(failed.values()),
        completed=done,
        seconds=Missing(cause(output, "ab")),
        failed=failed,
        body_bytes=Missing(cause(output, "ab")),
        total_bytes=Missing(cause(output, "ab")),
        mean_latency=Missing(cause(output, "ab")),
        warnings=complaints(output),
    )


def _failed(fields: Mapping[str, str], lines: list[str]) -> dict[str, int]:
    """Failures by kind; a number of "Failed requests" that nothing explains is "error"."""
    counts = dict.fromkeys(("connect", "read", "length", "error", "status"), 0)
    match = next((match for line in lines if (match := _BREAKDOWN.fullmatch(line))), None)
    for name, _, number in (part.partition(": ") for part in (match[1] if match else "").split(", ") if part):
        counts[_KINDS.get(name, "error")] += int(number)
    total = _count(fields, "Failed requests")
    unexplained = (total if isinstance(total, int) else 1) - sum(counts.values())
    writes, status = _count(fields, "Write errors"), _count(fields, "Non-2xx responses")
    counts["error"] += max(0, unexplained) + (writes if isinstance(writes, int) else 0)
    counts["status"] = status if isinstance(status, int) else 0
    return {kind: count for kind, count in counts.items() if count}


def _statuses(completed: int, others: int) -> dict[str, int]:
    counts = {"2xx": completed - others, "non-2xx": others}
    return {name: count for name, count in counts.items() if count > 0}


def _elapsed(fields: Mapping[str, str], complete: int) -> Value:
    time = _SECONDS.fullmatch(fields.get("Time taken for tests", ""))
    rate = _RATE.fullmatch(fields.get("Requests per second", ""))
    if time is None:
        return Missing("ab printed no time")
    printed = (float(time[1]), 10.0 ** -len(time[2]))
    return elapsed(complete, rate[1] if rate else "0", printed)


def _mean(fields: Mapping[str, str], seconds: Value, completed: int) -> Value:
    if _count(fields, "Concurrency Level") == 1 and not isinstance(seconds, Missing) and completed:
        return seconds / completed
    return Missing("ab prints whole milliseconds")


def _percentiles(log: str | None, lines: list[str]) -> dict[float, float]:
    """Seconds by percent, from the file in microseconds, else from the table; "0 ms" there is not a measurement."""
    rows = [match.groups() for line in whole_lines(log) if (match := _CSV.fullmatch(line))]
    rows = rows or [match.groups() for line in lines if (match := _TABLE.fullmatch(line))]
    return {float(percent): float(millis) * 1e-3 for percent, millis in rows if float(millis) > 0}


def _doubts(fields: Mapping[str, str], completed: int, output: Output) -> list[str]:
    doubts = []
    kept = _count(fields, "Keep-Alive requests")
    if isinstance(kept, int) and kept < completed:
        doubts.append(f"{completed - kept} of {completed} answers did not keep the connection of an HTTP/1.0 client")
    if output.exit_code:
        doubts.append(f"ab printed its report and then ended with exit code {output.exit_code}")
    return doubts
