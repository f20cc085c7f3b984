"""What a card says of who is ahead: only what the intervals bear out."""

from __future__ import annotations

import math
from array import array

import pytest

from windtunnel.history.nouns import Benchmark, Series, SeriesKey
from windtunnel.site.cards import card_of
from windtunnel.site.groups import Group
from windtunnel.units import Direction

_NAME = "psgi.Starlet.time_request"


def _leader(values: dict[tuple[str, ...], tuple[float, float, float]], direction: Direction) -> str:
    """Of the newest values, each with its interval, by the parameters."""
    params = tuple(tuple(dict.fromkeys(key[place] for key in values)) for place in range(len(next(iter(values)))))
    benchmark = Benchmark(
        _NAME, "time", "seconds", ("perl", "connection")[: len(params)], params, direction=direction
    )
    series = tuple(
        Series(
            SeriesKey(_NAME, key, "here", "container"),
            array("q", [0]),
            array("d", [value]),
            array("d", [low]),
            array("d", [high]),
        )
        for key, (value, low, high) in values.items()
    )
    return card_of(Group("psgi.Starlet", (benchmark,), {_NAME: series}, ()), 0, ()).leader


LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER


@pytest.mark.parametrize(
    ("direction", "first", "words"), [(LOWER, "5.36", "20 % ahead of 5.40"), (HIGHER, "5.40", "20 % ahead of 5.36")]
)
def test_who_is_ahead_beyond_doubt_is_told(direction: Direction, first: str, words: str) -> None:
    found = _leader({("'5.36'",): (1.0, 0.98, 1.02), ("'5.40'",): (1.2, 1.18, 1.22)}, direction)
    assert found == f"fastest perl: {first}, {words}"


@pytest.mark.parametrize("direction", [LOWER, HIGHER])
def test_nobody_is_ahead_where_the_intervals_leave_it_open(direction: Direction) -> None:
    assert _leader({("'5.36'",): (1.0, 0.7, 1.3), ("'5.40'",): (1.2, 0.9, 1.6)}, direction) == ""


def test_several_combinations_together_tell_what_one_alone_does_not() -> None:
    values = {
        (perl, f"'{number}'"): (value, value / 1.12, value * 1.12)
        for perl, value in {"'5.36'": 1.0, "'5.40'": 1.1}.items()
        for number in range(9)
    }
    assert _leader({key: value for key, value in values.items() if key[1] == "'0'"}, LOWER) == ""
    assert _leader(values, LOWER) == "fastest perl: 5.36, 10 % ahead of 5.40"


def test_values_without_intervals_are_taken_as_they_are() -> None:
    """As some projects' results have them: there is nothing to doubt them by."""
    found = _leader({("'a'",): (1.0, math.nan, math.nan), ("'b'",): (3.0, math.nan, math.nan)}, LOWER)
    assert found.startswith("fastest perl: a, 3.000 times ahead")
