"""Units and directions: the only place where numbers become text.

Everything inside is in base SI units (seconds, bytes, counts, ratios); scaling happens here, when printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

__all__ = ["Direction", "Missing", "Unit", "Value", "format_change", "format_spread", "format_value"]


class Direction(Enum):
    """Which way a metric should move."""

    LOWER_IS_BETTER = "lower"
    HIGHER_IS_BETTER = "higher"


class Unit(Enum):
    """The base unit a metric is kept in; the value is the name used in files."""

    SECOND = "s"
    BYTE = "B"
    BYTE_PER_SECOND = "B/s"
    PER_SECOND = "1/s"
    COUNT = "1"
    RATIO = "ratio"


@dataclass(frozen=True)
class Missing:
    """A number that was not measured, and why. It is never 0 and never a pass."""

    reason: str

    def __str__(self) -> str:
        return "n/a"


Value = float | Missing

_SECOND_STEPS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_BYTE_STEPS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))
_COUNT_STEPS = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def _significant(number: float, digits: int = 4) -> str:
    """`number` with about `digits` significant digits, never in exponent notation."""
    if number == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(number))))
    return f"{number:.{min(decimals, 9)}f}"


def _scaled(number: float, steps: tuple[tuple[float, str], ...]) -> str:
    for size, name in steps:
        if abs(number) >= size:
            return f"{_significant(number / size)} {name}".rstrip()
    size, name = steps[-1]
    return f"{_significant(number / size)} {name}".rstrip()


def format_value(value: Value | None, unit: Unit) -> str:
    """`value` (in the base unit `unit`) as people read it: ``0.0000276 s`` is ``27.60 µs``."""
    if value is None or isinstance(value, Missing) or not math.isfinite(value):
        return "n/a"
    return _FORMATS[unit](value)


def _rate(value: float) -> str:
    return f"{_significant(value)}/s" if abs(value) < 1e6 else f"{_scaled(value, _COUNT_STEPS)}/s"


_FORMATS: dict[Unit, Callable[[float], str]] = {
    Unit.SECOND: lambda value: _scaled(value, _SECOND_STEPS),
    Unit.BYTE: lambda value: _scaled(value, _BYTE_STEPS),
    Unit.BYTE_PER_SECOND: lambda value: f"{_scaled(value, _BYTE_STEPS)}/s",
    Unit.PER_SECOND: _rate,
    Unit.COUNT: lambda value: f"{value:,.0f}" if value == int(value) else _significant(value),
    Unit.RATIO: lambda value: f"{value * 100:.1f} %",
}


def format_change(ratio: float) -> str:
    """A ratio head/base as a signed percentage: 1.034 is ``+3.4 %``."""
    return f"{(ratio - 1) * 100:+.1f} %"


def format_spread(relative: float | None) -> str:
    """A relative spread (0.021) as ``±2.1 %``; nothing where it is not known."""
    return "" if relative is None else f"±{relative * 100:.1f} %"
