"""Units and directions: the only place where numbers become text.

Everything inside is in base SI units (seconds, bytes, counts, ratios); scaling happens here, when printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

__all__ = [
    "Direction",
    "Missing",
    "Unit",
    "Value",
    "counted",
    "format_change",
    "format_effect",
    "format_minutes",
    "format_share",
    "format_spread",
    "format_value",
    "unit_steps",
]


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
_BYTE_STEPS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))
_COUNT_STEPS = ((1e9, "G"), (1e6, "M"), (1.0, ""))
_DIGITS = 4
_SMALLEST = 0.001
"""What is nearer to zero is told as a bound: it must not look like nothing at all."""


def _exponent(number: float) -> int:
    """The power of ten of `number` once it is rounded to as many digits as are shown: 2 for 999.94, 3 for 999.96."""
    return int(f"{number:.{_DIGITS - 1}e}".partition("e")[2])


def _significant(number: float) -> str:
    """`number` with four significant digits, all digits of its whole part, never in exponent notation."""
    if number == 0:
        return "0"
    if abs(number) < _SMALLEST:
        return f"<{_SMALLEST}" if number > 0 else f">-{_SMALLEST}"
    return f"{number:,.{max(0, _DIGITS - 1 - _exponent(number))}f}"


def _scaled(number: float, steps: tuple[tuple[float, str], ...], base: str) -> str:
    """`number` in the largest unit of `steps` of which it has at least 1; `base` is the unit that a 0 is told in."""
    if number == 0:
        return f"0 {base}".rstrip()
    # A quotient of 0 is a number too small for the unit; it has exponent 0 nevertheless.
    size, name = next(
        (step for step in steps if (quotient := number / step[0]) and _exponent(quotient) >= 0), steps[-1]
    )
    if name == "B" and number == int(number):
        return f"{number:,.0f} B"  # there are no parts of a byte, so none are shown
    return f"{_significant(number / size)} {name}".rstrip()


def format_value(value: Value | None, unit: Unit) -> str:
    """`value` (in the base unit `unit`) as people read it: ``0.0000276 s`` is ``27.60 µs``.

    What is not known (None, `Missing`, not finite) is ``n/a``, and nothing else is. Only 0 reads as 0.
    """
    if value is None or isinstance(value, Missing) or not math.isfinite(value):
        return "n/a"
    return _FORMATS[unit](value)


def _count(value: float) -> str:
    return f"{value:,.0f}" if value and value == int(value) else _significant(value)


def _rate(value: float) -> str:
    return f"{_significant(value) if _exponent(value) < 6 else _scaled(value, _COUNT_STEPS, '')}/s"


def _percent(value: float) -> str:
    if value and abs(value) < 0.0005:
        return "<0.1 %" if value > 0 else ">-0.1 %"
    return f"{value * 100:,.1f} %" if value else "0.0 %"


_FORMATS: dict[Unit, Callable[[float], str]] = {
    Unit.SECOND: lambda value: _scaled(value, _SECOND_STEPS, "s"),
    Unit.BYTE: lambda value: _scaled(value, _BYTE_STEPS, "B"),
    Unit.BYTE_PER_SECOND: lambda value: f"{_scaled(value, _BYTE_STEPS, 'B')}/s",
    Unit.PER_SECOND: _rate,
    Unit.COUNT: _count,
    Unit.RATIO: _percent,
}


def unit_steps(unit: Unit) -> tuple[tuple[float, str], ...]:
    """How an axis in `unit` may be scaled: (size in the base unit, name), the largest first."""
    return _STEPS.get(unit, ((1.0, ""),))


_STEPS: dict[Unit, tuple[tuple[float, str], ...]] = {
    Unit.SECOND: _SECOND_STEPS,
    Unit.BYTE: _BYTE_STEPS,
    Unit.BYTE_PER_SECOND: tuple((size, f"{name}/s") for size, name in _BYTE_STEPS),
    Unit.PER_SECOND: tuple((size, f"{name}/s") for size, name in _COUNT_STEPS),
    Unit.RATIO: ((0.01, "%"),),
}


def format_change(ratio: float) -> str:
    """A ratio head/base as a signed percentage: 1.034 is ``+3.4 %``; what rounds to nothing has no sign."""
    if not math.isfinite(ratio):
        return "n/a"
    shown = f"{(ratio - 1) * 100:+,.1f} %"
    return "0.0 %" if shown in {"+0.0 %", "-0.0 %"} else shown


def format_effect(ratio: Value, low: Value, high: Value) -> str:
    """A ratio head/base with its interval: ``+3.4 % [+2.2, +4.6]``; the interval is left out where there is none."""
    if isinstance(ratio, Missing) or not math.isfinite(ratio):
        return "n/a"
    if isinstance(low, Missing) or isinstance(high, Missing) or not (math.isfinite(low) and math.isfinite(high)):
        return format_change(ratio)
    ends = ", ".join(format_change(end).removesuffix(" %") for end in (low, high))
    return f"{format_change(ratio)} [{ends}]"


def counted(number: int, noun: str, nouns: str = "") -> str:
    """How many of a thing: ``1 case``, ``2 cases``; `nouns` where several are not called by the noun and an s."""
    return f"{number} {noun if number == 1 else nouns or noun + 's'}"


def format_share(share: float) -> str:
    """A share that somebody chose: 0.02 is ``2 %``, 0.025 is ``2.5 %``. Only 0 reads as 0."""
    if not math.isfinite(share):
        return "n/a"
    if share and abs(share) < 0.0001:
        return "<0.01 %" if share > 0 else ">-0.01 %"
    return f"{share * 100:,.2f}".rstrip("0").removesuffix(".") + " %"


def format_minutes(seconds: Value) -> str:
    """A time in seconds that somebody waits for: 252 is ``4.2 min``; what is not known is ``n/a``."""
    if isinstance(seconds, Missing) or not math.isfinite(seconds):
        return "n/a"
    return "<0.1 min" if 0 < seconds < 3 else f"{seconds / 60:,.1f} min"


def format_spread(relative: float | None) -> str:
    """A relative spread (0.021) as ``±2.1 %``; nothing where it is not known."""
    return "" if relative is None or not math.isfinite(relative) else f"±{relative * 100:,.1f} %"
