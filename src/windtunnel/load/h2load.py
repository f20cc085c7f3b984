"""h2load (nghttp2 1.64): a fixed number of requests over HTTP/1.1 or HTTP/2, with a log of every request.

Facts found by experiment, which the parser stands on:

- ``-n`` is honoured with ``Connection: close``: h2load reconnects as often as it is told that a connection ends.
- "failed" is the sum of answers with status 4xx/5xx and of "errored"; "errored" holds "timeout" and all requests
  that were given up with their connection. So whole answers = succeeded + failed - errored, and that is also the
  number "req/s" is computed from.
- A connection that ends without warning (or a body that ends with the connection: no length, no chunks) makes h2load
  give up all requests planned for that connection; it exits 0.
- The status classes count answers that began, whole or not; the log has whole answers only, and -1 for streams that
  were reset (HTTP/2).
- The byte total leaves out the last read of a connection: it is 0 with ``Connection: close``. Body bytes are right.
- A time in the log runs from writing a request to the end of its answer; connecting is not in it.
- After HEAD over HTTP/1.1 it waits for a body for ever.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from windtunnel.load.command import BODY, check_counts, header_lines, refuse, url
from windtunnel.load.output import CLOSED, Output, cause, complaints, elapsed, lost, whole_lines
from windtunnel.model import LoadResult, Workload
from windtunnel.units import Missing, Value

__all__ = ["FIXED_COUNT", "argv", "parse"]

FIXED_COUNT = True
"""It sends exactly the number of requests it is given."""

_N = r"([0-9]{1,15})"
_TIME = r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(us|ms|s)"
_FINISHED = re.compile(rf"finished in {_TIME}, ([0-9]{{1,12}}\.[0-9]{{2}}) req/s, \S+B/s")
_REQUESTS = re.compile(
    rf"requests: {_N} total, {_N} started, {_N} done, {_N} succeeded, {_N} failed, {_N} errored, {_N} timeout"
)
_CLASSES = re.compile(rf"status codes: {_N} 2xx, {_N} 3xx, {_N} 4xx, {_N} 5xx")
_TRAFFIC = re.compile(
    rf"traffic: \S+B \({_N}\) total, \S+B \({_N}\) headers \(space savings [^)]*\), \S+B \({_N}\) data"
)
_COLUMNS = re.compile(r"\s+(min\s+max\s+.*)")
_REQUEST_TIMES = re.compile(r"(?:time for )?request\s*: (.*)")
_ROW = re.compile(rf"([0-9]{{1,20}})\t(-1|[0-9]{{1,3}})\t{_N}")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_FRAME = 9
"""Bytes of an HTTP/2 frame's header: each answer has at least one frame."""
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
UNEVEN = Missing("the answers differ, or h2load left some out of its total")
_STATUS_LINE = len("HTTP/1.1 200 \r\n\r\n")


def argv(
    workload: Workload, *, port: int, requests: int, concurrency: int, log: str | None = None
) -> tuple[str, ...]:
    """The command line for `requests` over `concurrency` connections, one request at a time on each.

    `log` is the path of the log per request; h2load appends to it, so it must not be there before. A body is read
    from `BODY`, which the worker writes. Raises ConfigError for what h2load can't do.
    """
    check_counts(requests, concurrency)
    address = url(workload, port)
    options = ["-n", str(requests), "-c", str(concurrency), "-t", "1", "-m", "1", *_protocol(workload)]
    if log is not None:
        options.append(f"--log-file={log}")
    for line in _headers(workload):
        options += ["-H", line]
    if workload.body:
        options += ["-d", BODY]
    return ("h2load", *options, address)


def _protocol(workload: Workload) -> list[str]:
    if not workload.h2:
        if workload.method == "HEAD":
            refuse("h2load", "do HEAD over HTTP/1.1 (it waits for a body)", 'use generator = "ab" or h2 = True')
        return ["--h1"]
    if not workload.keepalive:
        refuse(
            "h2load", "close an HTTP/2 connection after each answer", "set keepalive = True or h2 = False", key="h2"
        )
    return ["-p", "h2c"]


def _headers(workload: Workload) -> list[str]:
    lines = header_lines(workload)
    if not workload.keepalive:
        lines.append("Connection: close")
    if workload.method != ("POST" if workload.body else "GET"):
        lines.append(f":method: {workload.method}")
    if not workload.body and workload.method in _WITH_BODY:
        lines.append("Content-Length: 0")  # h2load refuses an empty file, and servers a POST of unknown length
    return lines


# ---------------- parsing


@dataclass(frozen=True)
class _Summary:
    """The line "requests:", with what follows from it."""

    total: int
    started: int
    done: int
    succeeded: int
    failed: int
    errored: int
    timeout: int

    @property
    def completed(self) -> int:
        return max(0, self.succeeded + self.failed - self.errored)

    def kinds(self) -> dict[str, int]:
        """What went wrong, by kind. The sum of all but "status" is h2load's "errored"."""
        broken = max(0, self.errored - self.timeout)
        if self.started == 0:
            counts = {"connect": broken}
        else:
            cut = min(broken, max(0, self.started - self.done - self.timeout))
            counts = {"read": cut, "error": broken - cut}
        counts |= {"timeout": self.timeout, "status": max(0, self.failed - self.errored)}
        return {kind: count for kind, count in counts.items() if count}


@dataclass(frozen=True)
class _Log:
    """The log per request: whole answers by status, their times in seconds, streams that failed."""

    status: Mapping[str, int]
    latencies: tuple[float, ...]
    broken: int


def parse(output: Output) -> LoadResult:
    """What h2load said. Never raises: what can't be read is `Missing`, what did not come back is in `failed`.

    Kinds in `failed`: "connect" (nothing could be sent), "read" (the connection ended within an answer or before
    it), "error" (given up with its connection, or the stream was reset), "timeout", "status" (4xx and 5xx).
    """
    lines = list(whole_lines(output.stdout))
    summary, traffic = _summary(lines), _first(_TRAFFIC, lines)
    log = _read_log(output.log)
    if summary is None or traffic is None:
        return _without_summary(output, log)
    total, data = _bytes(traffic, summary, lines)
    log, classes = _reconcile(lines, summary, log)
    return LoadResult(
        requested=summary.total,
        completed=summary.completed,
        seconds=_seconds(lines, summary),
        status=classes,
        failed=summary.kinds(),
        body_bytes=data,
        total_bytes=total,
        latencies=log.latencies,
        mean_latency=_mean(log, lines, summary),
        warnings=(*_doubts(lines, summary, output), *complaints(output)),
    )


def _without_summary(output: Output, log: _Log) -> LoadResult:
    completed = len(log.latencies)
    failed = lost(output, completed + log.broken)
    if log.broken:
        failed["error"] = failed.get("error", 0) + log.broken
    return LoadResult(
        requested=output.requested or completed + sum(failed.values()),
        completed=completed,
        seconds=Missing(cause(output, "h2load")),
        status=log.status,
        failed=failed,
        latencies=log.latencies,
        mean_latency=_average(log.latencies) if log.latencies else Missing(cause(output, "h2load")),
        warnings=complaints(output),
    )


def _first(pattern: re.Pattern[str], lines: Iterable[str]) -> re.Match[str] | None:
    return next((match for line in lines if (match := pattern.fullmatch(line))), None)


def _summary(lines: list[str]) -> _Summary | None:
    match = _first(_REQUESTS, lines)
    return _Summary(*(int(text) for text in match.groups())) if match else None


def _seconds(lines: list[str], summary: _Summary) -> Value:
    match = _first(_FINISHED, lines)
    if match is None:
        return Missing("h2load printed no time")
    number, unit, rate = match.groups()
    digit = _SECONDS[unit] * 10.0 ** -len(number.partition(".")[2])
    return elapsed(summary.completed, rate, (float(number) * _SECONDS[unit], digit))


def _bytes(traffic: re.Match[str], summary: _Summary, lines: list[str]) -> tuple[int | Missing, int]:
    """Bytes in all, and of bodies."""
    total, headers, data = (int(text) for text in traffic.groups())
    return _total(total, total - headers - data, summary.completed, lines), data


def _total(total: int, framing: int, answers: int, lines: list[str]) -> int | Missing:
    """The total if it holds every answer; `framing` is what it has beside header fields and bodies.

    In HTTP/1.1 that is the same number of bytes for each of a run's answers, in HTTP/2 at least a frame's header.
    """
    http1 = "Application protocol: http/1.1" in lines
    if framing < answers * (_STATUS_LINE if http1 else _FRAME):
        return CLOSED
    return UNEVEN if http1 and answers and framing % answers else total


def _read_log(text: str | None) -> _Log:
    rows = [match.groups() for line in whole_lines(text) if (match := _ROW.fullmatch(line))]
    whole = [(status, micros) for _, status, micros in rows if status != "-1"]
    return _Log(
        Counter(status for status, _ in whole),
        tuple(int(micros) * 1e-6 for _, micros in whole),
        len(rows) - len(whole),
    )


def _reconcile(lines: list[str], summary: _Summary, log: _Log) -> tuple[_Log, Mapping[str, int]]:
    """The log and exact statuses where the log has every whole answer; else no log, and the classes printed."""
    if len(log.latencies) == summary.completed:
        return log, log.status
    return _Log({}, (), 0), _classes(lines)


def _classes(lines: list[str]) -> dict[str, int]:
    match = _first(_CLASSES, lines)
    counts = [int(text) for text in match.groups()] if match else []
    return {f"{digit}xx": count for digit, count in enumerate(counts, start=2) if count}


def _mean(log: _Log, lines: list[str], summary: _Summary) -> Value:
    if log.latencies:
        return _average(log.latencies)
    columns, times = _first(_COLUMNS, lines), _first(_REQUEST_TIMES, lines)
    if summary.completed == 0 or columns is None or times is None:
        return Missing("h2load printed no time per request")
    names, values = columns[1].split(), times[1].split()
    if "mean" not in names or names.index("mean") >= len(values):
        return Missing("h2load printed no mean time per request")
    match = re.fullmatch(_TIME, values[names.index("mean")])
    return float(match[1]) * _SECONDS[match[2]] if match else Missing("h2load's mean time could not be read")


def _average(latencies: tuple[float, ...]) -> float:
    return sum(latencies) / len(latencies)


def _doubts(lines: list[str], summary: _Summary, output: Output) -> list[str]:
    doubts = []
    begun = sum(_classes(lines).values()) - summary.completed
    if begun > 0:
        doubts.append(
            f"answers that began and never ended whole: {begun}; where the end of the connection ends the body "
            '(no Content-Length, no chunks), use generator = "ab"'
        )
    if output.log is not None and len(_read_log(output.log).latencies) != summary.completed:
        doubts.append("h2load's log does not have every answer: statuses are known by class only, and no percentiles")
    if output.exit_code:
        doubts.append(f"h2load printed its result and then ended with exit code {output.exit_code}")
    return doubts
