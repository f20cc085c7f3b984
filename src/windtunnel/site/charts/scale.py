"""Units of axes: which of our units asv's one is, and by what an axis is divided. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from windtunnel.history.nouns import Benchmark
from windtunnel.site.values import unit_of, value_text
from windtunnel.units import Unit, format_value, unit_steps

__all__ = ["Measure", "Scale", "measure_of", "rounded"]


@dataclass(frozen=True)
class Scale:
    """What the numbers of an axis are divided by, and the name they then have ("ms"; "" for plain numbers)."""

    size: float
    name: str


@dataclass(frozen=True)
class Measure:
    """A unit as a chart has it: one of ours, or a name that only the benchmark's author knows."""

    unit: Unit
    name: str = ""

    def text(self, value: float) -> str:
        """A value (base unit) as people read it."""
        shown = format_value(value, self.unit)
        return f"{shown} {self.name}" if self.name and math.isfinite(value) else shown

    def scale(self, values: Iterable[float]) -> Scale:
        """The step of the unit in which the middle of `values` (base unit) is a handy number."""
        sizes = sorted(abs(value) for value in values if math.isfinite(value) and value)
        middle = sizes[len(sizes) // 2] if sizes else 1.0
        steps = unit_steps(self.unit)
        size, name = next(((size, name) for size, name in steps if middle >= size), steps[-1])
        return Scale(size, name or self.name)

    def setup(self) -> dict[str, Any]:
        """What the script has to know to print values as `text` does."""
        return {"unit": self.unit.value, "name": self.name, "steps": [list(step) for step in unit_steps(self.unit)]}


def measure_of(benchmark: Benchmark) -> Measure:
    """The measure of a benchmark's values, named as its tables name them."""
    unit = unit_of(benchmark)
    name = value_text(1.0, benchmark).removeprefix(format_value(1.0, unit))
    return Measure(unit, name.strip())


def rounded(value: float, digits: int = 6) -> float | None:
    """`value` with that many significant digits, None for what is not finite: what goes into files is no longer."""
    return float(f"{value:.{digits - 1}e}") if math.isfinite(value) else None
