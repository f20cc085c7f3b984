"""The small drawings: that lengths and places are those of the numbers."""

from __future__ import annotations

import math
import re
from importlib import resources
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.site.shapes import WIDTH, Link, bar, chain, distribution, dots

any_number = st.floats(allow_nan=True, allow_infinity=True)


def _paths(svg: str, start: str = "") -> list[list[float]]:
    shapes = ElementTree.fromstring(svg)
    assert shapes.get("aria-hidden") == "true"
    return [
        [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", str(shape.get("d")))]
        for shape in shapes
        if shape.get("d")
    ]


def test_a_bar_is_as_long_as_its_value_and_the_whisker_as_its_interval() -> None:
    shapes = ElementTree.fromstring(bar(0.5, 0.4, 0.75, 1.0))
    assert float(str(shapes[0].get("width"))) == WIDTH / 2
    assert re.match(r"M400 5H750M", str(shapes[1].get("d")))


def test_a_bar_without_an_interval_has_no_whisker_and_one_without_a_value_is_empty() -> None:
    assert len(ElementTree.fromstring(bar(0.5, math.nan, math.nan, 1.0))) == 1
    assert len(ElementTree.fromstring(bar(math.nan, math.nan, math.nan, 1.0))) == 0


@settings(max_examples=80, deadline=None)
@given(any_number, any_number, any_number, any_number)
def test_no_number_gets_out_of_the_picture(value: float, low: float, high: float, most: float) -> None:
    svg = bar(value, low, high, most)
    assert "nan" not in svg
    assert "inf" not in svg
    for width in re.findall(r'width="([\d.-]+)"', svg):
        assert 0 <= float(width) <= WIDTH


def test_dots_stand_where_their_values_are() -> None:
    places = [place for place, _ in re.findall(r"M([\d.]+) (\d)h", dots([1.0, 2.0, 3.0], 1.0, 3.0))]
    assert float(places[1]) == WIDTH / 2
    assert float(places[0]) == WIDTH - float(places[2]) > 0


def test_dots_of_one_value_are_in_the_middle() -> None:
    assert f"M{WIDTH // 2} 3h" in dots([5.0], 5.0, 5.0)


def test_a_distribution_is_as_high_as_its_share() -> None:
    first, second = _paths(distribution([{10: 1, 11: 3}, {11: 5}]))
    tops = [min(points[1::2]) for points in (first, second)]
    assert 100 - tops[0] == pytest.approx(0.75 * (100 - tops[1]))
    assert second[0:2] == [0, 100]
    assert distribution([{}, {}]).count("<path") == 0


def test_a_chain_has_a_band_and_a_line_for_each_segment_and_none_between() -> None:
    segments = [[Link(0, 1, 1, 1), Link(0.25, 2, 1.5, 3)], [Link(0.5, 1, 1, 1), Link(1, 1.5, 1.2, 2)]]
    across, *others = _paths(chain(segments, 1.0, 3.0))
    assert across[1] == across[3] == 100  # a value of 1 is the lowest there is
    assert len(others) == 4
    assert others[1] == [0, 100, 250, 50]
    assert others[3][0] == 500


def test_the_colours_are_those_of_the_charts() -> None:
    """So what the charts' tests say of their contrast holds for the small drawings, too."""
    folder = resources.files("windtunnel.site")
    pages, charts = ((folder / name).read_text() for name in ("static/pages.css", "charts/static/charts.css"))
    for number in range(1, 4):
        shapes = re.findall(rf"--wt-shape-{number}: (#\w+)", pages)
        assert len(shapes) == 2  # light and dark
        assert shapes == re.findall(rf"--wt-line-{number}: (#\w+)", charts)
