"""Numbers become text in one place: what is shown must be near what was measured, and 0 must mean 0."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.units import (
    Missing,
    Unit,
    counted,
    format_change,
    format_effect,
    format_share,
    format_spread,
    format_value,
)

_SIZES = {
    "s": 1.0,
    "ms": 1e-3,
    "µs": 1e-6,
    "ns": 1e-9,
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "%": 0.01,
    "": 1.0,
}
_SHOWN = re.compile(r"([<>]?)(-?[0-9,]+(?:\.[0-9]+)?) ?([A-Za-zµ%]*)(/s)?")

units = st.sampled_from(list(Unit))
numbers = st.builds(
    lambda mantissa, exponent, sign: sign * mantissa * 10.0**exponent,
    st.floats(1.0, 9.9999999),
    st.integers(-14, 12),
    st.sampled_from([1, -1]),
) | st.integers(-(10**12), 10**12).map(float)


def _read(text: str, unit: Unit) -> tuple[str, float]:
    """What a text says, in the base unit: the bound sign, if there is one, and the number."""
    match = _SHOWN.fullmatch(text)
    assert match, text
    sign, digits, name, per_second = match.groups()
    assert bool(per_second) == (unit in {Unit.BYTE_PER_SECOND, Unit.PER_SECOND}), text
    return sign, float(digits.replace(",", "")) * _SIZES[name]


@given(numbers, units)
def test_what_is_shown_is_what_was_measured(number: float, unit: Unit) -> None:
    sign, shown = _read(format_value(number, unit), unit)
    if sign:
        assert 0 < abs(number) < abs(shown) * 1.0000001
        assert (number > 0) == (shown > 0) == (sign == "<")
    elif unit is Unit.RATIO:
        assert shown == pytest.approx(number, abs=0.000501, rel=1e-12)
    else:
        assert shown == pytest.approx(number, rel=0.00051)


@given(numbers.filter(bool), units)
def test_only_nothing_reads_as_nothing(number: float, unit: Unit) -> None:
    assert _read(format_value(number, unit), unit)[1] != 0


@given(numbers, units)
def test_no_number_is_taken_for_a_missing_one_or_shown_with_an_exponent(number: float, unit: Unit) -> None:
    shown = format_value(number, unit)
    assert shown != "n/a"
    assert not re.search(r"\de[+-]?\d", shown)


@given(numbers.filter(lambda number: abs(number) > 1e-8), units)
def test_a_number_and_its_negative_differ_by_the_sign_alone(number: float, unit: Unit) -> None:
    shown, negative = format_value(abs(number), unit), format_value(-abs(number), unit)
    assert negative.translate({ord(sign): None for sign in "-<>"}) == shown.translate({ord("<"): None})
    assert "-" in negative


@given(st.floats(1e-9, 1e6), st.floats(1e-9, 1e6), st.sampled_from([unit for unit in Unit if unit is not Unit.RATIO]))
def test_the_order_of_numbers_survives(one: float, other: float, unit: Unit) -> None:
    low, high = sorted((one, other))
    assert _read(format_value(low, unit), unit)[1] <= _read(format_value(high, unit), unit)[1] * 1.0000001


@given(st.floats(1e-9, 0.9994))
def test_times_below_a_second_use_the_unit_that_leaves_one_to_a_thousand(seconds: float) -> None:
    number = float(format_value(seconds, Unit.SECOND).split()[0].replace(",", ""))
    assert 1 <= number < 1000


@pytest.mark.parametrize(
    ("unit", "shown"),
    [
        (Unit.SECOND, "0 s"),
        (Unit.BYTE, "0 B"),
        (Unit.BYTE_PER_SECOND, "0 B/s"),
        (Unit.PER_SECOND, "0/s"),
        (Unit.COUNT, "0"),
        (Unit.RATIO, "0.0 %"),
    ],
)
@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_zero_is_told_in_the_base_unit(zero: float, unit: Unit, shown: str) -> None:
    assert format_value(zero, unit) == shown


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("value", [None, Missing("why"), math.nan, math.inf, -math.inf])
def test_what_is_not_known_is_never_a_number(value: float | Missing | None, unit: Unit) -> None:
    assert format_value(value, unit) == "n/a"


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0000276, Unit.SECOND, "27.60 µs"),
        (1.5e-10, Unit.SECOND, "0.1500 ns"),
        (1e-14, Unit.SECOND, "<0.001 ns"),
        (-1e-14, Unit.SECOND, ">-0.001 ns"),
        (0.99994e-3, Unit.SECOND, "999.9 µs"),
        (0.99996e-3, Unit.SECOND, "1.000 ms"),
        (0.99996, Unit.SECOND, "1.000 s"),
        (86400.0, Unit.SECOND, "86,400 s"),
        (-0.0184, Unit.SECOND, "-18.40 ms"),
        (128, Unit.BYTE, "128 B"),
        (1023, Unit.BYTE, "1,023 B"),
        (1024, Unit.BYTE, "1.000 KiB"),
        (1024**2 - 1, Unit.BYTE, "1.000 MiB"),
        (5 * 1024**4, Unit.BYTE, "5.000 TiB"),
        (2.5, Unit.BYTE, "2.500 B"),
        (3.42 * 1024**2, Unit.BYTE_PER_SECOND, "3.420 MiB/s"),
        (869.7, Unit.PER_SECOND, "869.7/s"),
        (11379.4, Unit.PER_SECOND, "11,379/s"),
        (999_999.6, Unit.PER_SECOND, "1.000 M/s"),
        (14792, Unit.COUNT, "14,792"),
        (2.5, Unit.COUNT, "2.500"),
        (0.9, Unit.RATIO, "90.0 %"),
        (0.0004, Unit.RATIO, "<0.1 %"),
        (-0.0004, Unit.RATIO, ">-0.1 %"),
    ],
)
def test_as_people_read_it(value: float, unit: Unit, shown: str) -> None:
    assert format_value(value, unit) == shown


@pytest.mark.parametrize("value", [5e-324, -5e-324, 1e300, -1e300])
@pytest.mark.parametrize("unit", list(Unit))
def test_the_ends_of_what_a_float_holds(value: float, unit: Unit) -> None:
    shown = format_value(value, unit)
    assert shown[0] in (">-" if value < 0 else "<123456789")


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [
        (1.034, "+3.4 %"),
        (0.966, "-3.4 %"),
        (1.0, "0.0 %"),
        (1.0004, "0.0 %"),
        (0.9996, "0.0 %"),
        (1.0006, "+0.1 %"),
        (25.0, "+2,400.0 %"),
        (math.nan, "n/a"),
        (math.inf, "n/a"),
    ],
)
def test_a_change_has_a_sign_unless_it_is_none(ratio: float, shown: str) -> None:
    assert format_change(ratio) == shown


@given(st.floats(0.01, 100))
def test_a_change_goes_the_way_of_the_ratio(ratio: float) -> None:
    shown = format_change(ratio)
    assert float(shown.removesuffix(" %").replace(",", "")) == pytest.approx((ratio - 1) * 100, abs=0.051)
    assert shown[0] == ("+" if ratio >= 1.001 else "-" if ratio <= 0.999 else shown[0])


@pytest.mark.parametrize(
    ("ratio", "low", "high", "shown"),
    [
        (1.031, 1.022, 1.04, "+3.1 % [+2.2, +4.0]"),
        (0.969, 0.96, 1.0001, "-3.1 % [-4.0, 0.0]"),
        (1.031, Missing("too few pairs"), Missing("too few pairs"), "+3.1 %"),
        (1.031, 1.022, math.inf, "+3.1 %"),
        (Missing("not measured"), Missing("not measured"), Missing("not measured"), "n/a"),
        (math.nan, 1.0, 1.0, "n/a"),
    ],
)
def test_an_effect_has_its_interval_beside_it(
    ratio: float | Missing, low: float | Missing, high: float | Missing, shown: str
) -> None:
    assert format_effect(ratio, low, high) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.02, "2 %"),
        (0.025, "2.5 %"),
        (0.0333, "3.33 %"),
        (1.0, "100 %"),
        (20.0, "2,000 %"),
        (0.0, "0 %"),
        (1e-6, "<0.01 %"),
        (-1e-6, ">-0.01 %"),
        (math.inf, "n/a"),
    ],
)
def test_a_share_has_the_digits_that_somebody_wrote(share: float, shown: str) -> None:
    assert format_share(share) == shown


def test_what_is_counted_is_one_or_several() -> None:
    assert [counted(number, "case") for number in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]
    assert [counted(number, "launch", "launches") for number in (1, 2)] == ["1 launch", "2 launches"]


def test_a_spread() -> None:
    assert format_spread(0.021) == "±2.1 %"
    assert format_spread(1.614) == "±161.4 %"
    assert not format_spread(None)
    assert not format_spread(math.nan)


def test_missing_prints_as_not_available_and_keeps_its_reason() -> None:
    assert (str(Missing("no cgroup")), Missing("no cgroup").reason) == ("n/a", "no cgroup")
    assert Missing("one") != Missing("other")
