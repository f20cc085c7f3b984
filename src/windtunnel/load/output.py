"""What a generator's process left behind, and the few readers that all three parsers share. Pure.

Generators are read by whole lines: a line without its newline was cut off, and half a number is not a number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from windtunnel.units import Missing, Value

__all__ = ["CLOSED", "Output", "cause", "complaints", "elapsed", "lost", "whole_lines"]

CLOSED = Missing("h2load leaves out the answers that end a connection")
"""`LoadResult.total_bytes` where answers ended their connections: h2load's total is then much too small, or 0."""

_LINE = 200
_COMPLAINTS = 3


@dataclass(frozen=True)
class Output:
    """One run of a generator, as the process left it.

    Attributes:
        stdout, stderr: what it printed.
        exit_code: None where the process did not end by itself, negative for a signal.
        log: contents of the file named by `argv(..., log=...)`: h2load's rows per request, ab's percentiles.
        timed_out: it was killed at its deadline.
        wall: seconds from its start to its end, by the clock of whoever started it.
        requested: the `requests` that `argv` was given; 0 where that is not known. It tells how many are lost
            when the generator dies without a summary.
    """

    stdout: str
    stderr: str
    exit_code: int | None
    log: str | None
    timed_out: bool
    wall: float
    requested: int = 0


def whole_lines(text: str | None) -> Iterator[str]:
    """The lines of `text` that ended in a newline, without it."""
    for line in (text or "").split("\n")[:-1]:
        yield line.rstrip("\r")


def complaints(output: Output) -> tuple[str, ...]:
    """The first lines of standard error, each once, cut to a readable length."""
    lines = [line.strip()[:_LINE] for line in output.stderr.split("\n") if line.strip()]
    return tuple(dict.fromkeys(lines))[:_COMPLAINTS]


def cause(output: Output, tool: str) -> str:
    """Why `tool` gave no number, in words."""
    if output.timed_out:
        return f"{tool} was killed at its deadline after {output.wall:.1f} s"
    said = f": {complaints(output)[0]}" if complaints(output) else ""
    if output.exit_code:
        return f"{tool} ended with exit code {output.exit_code}{said}"
    return f"{tool} printed no result{said}"


def lost(output: Output, seen: int, kind: str = "error") -> dict[str, int]:
    """The requests that are missing where a generator ended without a summary: by kind, none where none is missing.

    `seen` requests are accounted for. Where it is not known how many were asked for, at least one is lost.
    """
    count = output.requested - seen if output.requested else 1
    return {"timeout" if output.timed_out else kind: count} if count > 0 else {}


def elapsed(count: int, rate: str, printed: tuple[float, float]) -> Value:
    """Seconds of a run from the finer of the two figures a generator prints: ``count / rate`` or the time itself.

    `rate` is requests per second as printed; `printed` is the time in seconds and the size of its last digit.
    Rounded figures agree; where they don't, the time is the misprinted one (old versions of ab wrote 49.072042 s as
    49.72042) and the rate is believed. `Missing` where neither says anything.
    """
    seconds, digit = printed
    per_second, step = float(rate), _last_digit(rate)
    if count <= 0 or per_second <= 0:
        return seconds if seconds > 0 else Missing("no time was measured")
    quotient = count / per_second
    coarse = seconds <= 0 or step / per_second < digit / seconds
    apart = abs(quotient - seconds) > digit + quotient * step / per_second
    return quotient if coarse or apart else seconds


def _last_digit(number: str) -> float:
    """The value of one unit in the last printed digit: "20.38" -> 0.01."""
    return math.pow(10.0, -len(number.partition(".")[2]))
