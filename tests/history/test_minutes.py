"""Times that people wait for."""

from __future__ import annotations

import math

import pytest

from windtunnel.units import Missing, Value, format_minutes


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (252.0, "4.2 min"),
        (0.0, "0.0 min"),
        (2.0, "<0.1 min"),
        (120000.0, "2,000.0 min"),
        (Missing("not measured"), "n/a"),
        (math.inf, "n/a"),
    ],
)
def test_a_time_in_minutes(seconds: Value, shown: str) -> None:
    assert format_minutes(seconds) == shown
