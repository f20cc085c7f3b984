"""The page on what strangers hand over names every bound, with its value."""

from __future__ import annotations

import re
from dataclasses import asdict

from pages import read, rows, section

from windtunnel.publish.intake import BOUNDS, LIMITS
from windtunnel.sample.plausible import RANGES


def _table(field: str) -> dict[str, list[str]]:
    """The rows of the table that has this name in its first column."""
    text = section(read("design/hostile.md"), "## Bounds")
    blocks = [block for block in re.split(r"\n\n", text) if block.startswith("|")]
    return next(found for block in blocks if field in (found := rows(block)))


def test_every_limit_and_bound_is_told() -> None:
    for record in (LIMITS, BOUNDS):
        known = asdict(record)
        told = {name: int(cells[0].replace(",", "")) for name, cells in _table(next(iter(known))).items()}
        assert told == known


def test_every_range_is_told() -> None:
    found: dict[str, tuple[float, float, float]] = {}
    text = section(read("design/hostile.md"), "## Bounds")
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 5 and re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", cells[1]):
            ends = float(cells[1]), float(cells[2]), float(cells[3] or 0)
            found |= dict.fromkeys(re.findall(r"`(\w+)`", cells[4]), ends)
    assert found == {name: (one.low, one.high, one.grain) for name, one in RANGES.items()}
