"""The histogram against the plain list it stands for."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.load.histogram import bounds, bucket, build, mean, merge, quantile

WITHIN = 0.00501
"""Half the width of a bucket, in the ratio."""
seconds = st.floats(1e-9, 1e5, allow_nan=False)
some = st.lists(seconds, min_size=1, max_size=200)


@given(seconds)
def test_a_bucket_holds_what_its_bounds_say(value: float) -> None:
    low, high = bounds(bucket(value))
    assert low <= value < high


@given(st.integers(0, 3500))
def test_an_edge_belongs_to_the_bucket_it_opens(index: int) -> None:
    low, high = bounds(index)
    assert bucket(low) == index
    assert bucket(math.nextafter(high, 0)) == index
    assert bucket(high) == index + 1


@given(seconds, seconds)
def test_longer_is_never_in_an_earlier_bucket(one: float, other: float) -> None:
    assert bucket(min(one, other)) <= bucket(max(one, other))


@given(st.integers(0, 3500))
def test_buckets_are_one_per_cent_wide(index: int) -> None:
    low, high = bounds(index)
    assert high / low == pytest.approx(1.01)


def test_the_documented_places() -> None:
    assert (bucket(0.0), bucket(1e-12), bucket(1e-9), bucket(1e-6), bucket(1.0)) == (0, 0, 0, 694, 2082)


@pytest.mark.parametrize("value", [-1e-9, math.inf, -math.inf, math.nan])
def test_what_is_no_duration_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not a number of seconds"):
        bucket(value)


@given(some, st.floats(0, 1))
def test_a_quantile_is_within_a_per_cent_of_the_order_statistic(values: list[float], q: float) -> None:
    rank = max(1, math.ceil(q * len(values) - 1e-9))
    assert quantile(build(values), q) == pytest.approx(sorted(values)[rank - 1], rel=WITHIN)


@given(some)
def test_extremes_are_the_shortest_and_the_longest(values: list[float]) -> None:
    histogram = build(values)
    assert quantile(histogram, 0.0) == pytest.approx(min(values), rel=WITHIN)
    assert quantile(histogram, 1.0) == pytest.approx(max(values), rel=WITHIN)


@pytest.mark.parametrize("count", [1, 10, 100, 300, 1000])
def test_whole_percents_take_the_rank_they_name(count: int) -> None:
    """7 % of 100 is the 7th, although 0.07 * 100 is more than 7 in floating point."""
    values = [1e-6 * 1.03**index for index in range(count)]
    for percent in range(101):
        rank = max(1, -(-percent * count // 100))
        assert quantile(build(values), percent / 100) == pytest.approx(values[rank - 1], rel=WITHIN)


@given(some)
def test_the_mean_is_within_a_per_cent(values: list[float]) -> None:
    assert mean(build(values)) == pytest.approx(statistics.fmean(values), rel=WITHIN)


@given(st.lists(some, max_size=4))
def test_merged_is_the_histogram_of_all(lists: list[list[float]]) -> None:
    before = [build(values) for values in lists]
    copies = [dict(histogram) for histogram in before]
    assert merge(*before) == build(value for values in lists for value in values)
    assert before == copies


def test_nothing_has_no_quantile_and_no_mean() -> None:
    for call in (lambda: quantile({}, 0.5), lambda: mean({}), lambda: mean(merge())):
        with pytest.raises(ValueError, match="empty histogram"):
            call()


@pytest.mark.parametrize("q", [-0.1, 1.1, 50, math.nan])
def test_a_quantile_is_a_share(q: float) -> None:
    with pytest.raises(ValueError, match="share from 0 to 1"):
        quantile({100: 1}, q)
