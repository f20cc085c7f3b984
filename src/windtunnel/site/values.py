"""Values of asv's benchmarks as text: which of our units asv's is. Pure."""

from __future__ import annotations

from windtunnel.history.nouns import Benchmark
from windtunnel.report.visible import visible
from windtunnel.units import Unit, format_value

__all__ = ["bare", "parameters_text", "unit_of", "value_text"]

_UNITS = {
    "seconds": Unit.SECOND,
    "second": Unit.SECOND,
    "s": Unit.SECOND,
    "bytes": Unit.BYTE,
    "byte": Unit.BYTE,
    "B": Unit.BYTE,
    "bytes/second": Unit.BYTE_PER_SECOND,
    "requests/second": Unit.PER_SECOND,
    "1/s": Unit.PER_SECOND,
    "ratio": Unit.RATIO,
}

_PLAIN = {"unit", "1", "", "count"}
"""What asv writes where a benchmark says nothing of its unit."""


def unit_of(benchmark: Benchmark) -> Unit:
    """Our unit for asv's text; what is not known is a count."""
    return _UNITS.get(benchmark.unit, Unit.COUNT)


def value_text(value: float, benchmark: Benchmark) -> str:
    """``2.103 ms``, ``30.5 MiB``, ``17 iterations``; ``n/a`` where it is not finite."""
    shown = format_value(value, unit_of(benchmark))
    if shown == "n/a" or benchmark.unit in _UNITS or benchmark.unit in _PLAIN:
        return shown
    return f"{shown} {visible(benchmark.unit, 30)}"


def parameters_text(params: tuple[str, ...]) -> str:
    """``5.40, keepalive`` for the values as asv has them (``'5.40'``, ``'keepalive'``); "" for none."""
    return ", ".join(bare(one) for one in params)


def bare(value: str) -> str:
    """A value of a parameter without the quotation marks that Python puts around a text."""
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value
