"""From slices to metrics, against the slowest and plainest way to work them out."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import material
from windtunnel.load.histogram import build
from windtunnel.model import METRICS, Launch, Slice
from windtunnel.sample.summary import launch_metrics, summarise
from windtunnel.units import Missing, Value

quick = settings(max_examples=40, deadline=None)
seconds = st.floats(1e-5, 5.0)
latencies = st.lists(st.floats(1e-6, 2.0), min_size=1, max_size=40)


# ---------------- the oracle


def _middle(numbers: Sequence[float]) -> float:
    """The median: throw away the smallest and the largest until one or two are left."""
    left = sorted(numbers)
    while len(left) > 2:
        left = left[1:-1]
    return sum(left) / len(left)


def _average(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _percentile(numbers: Sequence[float], percent: float) -> float:
    """The shortest time within which at least so many per cent were served."""
    for number in sorted(numbers):
        if sum(other <= number for other in numbers) * 100 >= percent * len(numbers) * (1 - 1e-12):
            return number
    raise AssertionError("the longest serves all")


class _Loaded:
    """A launch, with the latencies its histograms were made of."""

    def __init__(self, drawn: list[tuple[str, int, float, float, list[float]]], number: int = 1) -> None:
        self.times = [times for role, _, _, _, times in drawn if role == "load"]
        self.slices = tuple(_slice(*one) for one in drawn)
        self.launch = replace(material.LAUNCH, number=number, slices=self.slices)

    def of(self, role: str) -> list[Slice]:
        return [one for one in self.slices if one.role == role]


def _slice(role: str, requests: int, wall: float, cpu: float, times: list[float]) -> Slice:
    return replace(
        material.LOAD,
        role=role,  # type: ignore[arg-type]
        requests=requests,
        wall=wall,
        cpu=cpu,
        latency=build(times),
        mean_latency=_average(times),
        total_bytes=requests * 300,
        body_bytes=requests * 128,
    )


drawn_slices = st.tuples(
    st.sampled_from(["load", "single", "warmup"]), st.integers(1, 10_000), seconds, seconds, latencies
)
drawn_launches = st.lists(drawn_slices, max_size=6).map(
    lambda drawn: _Loaded([("load", 100, 0.1, 0.05, [0.001]), ("single", 10, 0.1, 0.05, [0.001]), *drawn])
)


# ---------------- one launch


@quick
@given(drawn_launches)
def test_the_metrics_of_a_launch_against_the_oracle(loaded: _Loaded) -> None:
    load, single = loaded.of("load"), loaded.of("single")
    seen = launch_metrics(loaded.launch)
    per_request = _middle([one.wall / one.requests for one in load])  # type: ignore[operator]
    expected = {
        "cpu_per_request": _middle([one.cpu / one.requests for one in load]),  # type: ignore[operator]
        "time_per_request": per_request,
        "response_time": _average([one.wall / one.requests for one in single]),  # type: ignore[operator]
        "throughput": 1 / per_request,
        "latency_mean": _average([one.mean_latency for one in load]),  # type: ignore[misc]
        "transfer_rate": _middle([one.total_bytes / one.wall for one in load]),  # type: ignore[operator]
        "body_rate": _middle([one.body_bytes / one.wall for one in load]),  # type: ignore[operator]
        "peak_memory": 8e7,
        "time_to_ready": 0.4,
        "idle_cpu": 0.0,
        "image_size": 3.2e8,
    }
    for name, number in expected.items():
        assert seen[name] == pytest.approx(number, rel=1e-9), name
    times = [time for slice_times in loaded.times for time in slice_times]
    for percent in (50, 90, 99):
        assert seen[f"latency_p{percent}"] == pytest.approx(_percentile(times, percent), rel=0.01)


@quick
@given(material.launches)
def test_every_launch_has_every_metric_or_a_reason(launch: Launch) -> None:
    seen = launch_metrics(launch)
    assert set(seen) == set(METRICS)
    for name, value in seen.items():
        assert isinstance(value, Missing) or math.isfinite(value), name


def _changed(one: Slice, **changes: Any) -> Slice:
    return replace(one, **changes)


def _without(key: str) -> Callable[[Launch], Launch]:
    def strip(launch: Launch) -> Launch:
        return replace(launch, slices=tuple(_changed(one, **{key: Missing("gone")}) for one in launch.slices))

    return strip


_DEPENDS = [
    (_without("cpu"), {"cpu_per_request"}),
    (_without("wall"), {"time_per_request", "response_time", "throughput", "transfer_rate", "body_rate"}),
    (_without("total_bytes"), {"transfer_rate"}),
    (_without("body_bytes"), {"body_rate"}),
    (_without("mean_latency"), {"latency_mean"}),
    (lambda launch: replace(launch, peak_memory=Missing("gone")), {"peak_memory"}),
    (lambda launch: replace(launch, idle_cpu=Missing("gone")), {"idle_cpu"}),
    (lambda launch: replace(launch, time_to_ready=Missing("gone")), {"time_to_ready"}),
    (lambda launch: replace(launch, image_size=Missing("gone")), {"image_size"}),
]


@pytest.mark.parametrize(("strip", "gone"), _DEPENDS)
def test_what_was_not_measured_takes_its_own_metrics_along_and_no_others(
    strip: Callable[[Launch], Launch], gone: set[str]
) -> None:
    whole, seen = launch_metrics(material.LAUNCH), launch_metrics(strip(material.LAUNCH))
    for name in METRICS:
        assert seen[name] == (Missing("gone") if name in gone else whole[name]), name


def test_one_slice_that_lacks_a_number_makes_the_launch_lack_it() -> None:
    """The rest would be another choice of slices: a median over those that happened to work."""
    broken = replace(material.LOAD, cpu=Missing("not read"))
    launch = replace(material.LAUNCH, slices=(material.LOAD, broken, material.LOAD, material.SINGLE))
    assert launch_metrics(launch)["cpu_per_request"] == Missing("not read")


def test_no_histogram_no_percentile() -> None:
    launch = replace(material.LAUNCH, slices=tuple(replace(one, latency={}) for one in material.LAUNCH.slices))
    for percent in (50, 90, 99):
        assert isinstance(launch_metrics(launch)[f"latency_p{percent}"], Missing)
    assert summarise([launch]).percentiles == {}


def test_no_slices_at_all() -> None:
    seen = launch_metrics(replace(material.LAUNCH, slices=()))
    for name in ("cpu_per_request", "time_per_request", "response_time", "throughput", "transfer_rate"):
        assert isinstance(seen[name], Missing), name


@pytest.mark.parametrize("role", ["load", "single"])
@pytest.mark.parametrize("change", [{"wall": 0.0}, {"requests": 0}, {"wall": 0.0, "requests": 0}])
def test_a_slice_of_nothing_is_no_division_and_no_0(role: str, change: dict[str, float]) -> None:
    slices = tuple(_changed(one, **change) if one.role == role else one for one in material.LAUNCH.slices)
    seen = launch_metrics(replace(material.LAUNCH, slices=slices))
    names = ["response_time"] if role == "single" else ["time_per_request", "throughput"]
    if role == "load" and "wall" in change:
        names += ["transfer_rate", "body_rate"]
    for name in names:
        assert isinstance(seen[name], Missing), name


@pytest.mark.parametrize("outcome", ["invalid", "failed", "lost"])
def test_a_launch_that_proves_nothing_has_no_metric_but_the_reason(outcome: str) -> None:
    launch = material.LAUNCH.failing(outcome, "why")  # type: ignore[arg-type]
    assert set(launch_metrics(launch).values()) == {Missing("why")}


def test_warm_up_counts_nowhere() -> None:
    slow = replace(
        material.WARMUP, wall=100.0, cpu=100.0, status={"500": 160}, failed={"status": 160}, warnings=("w",)
    )
    launch = replace(material.LAUNCH, slices=(slow, *material.LAUNCH.slices))
    assert launch_metrics(launch) == launch_metrics(material.LAUNCH)
    assert summarise([launch]) == summarise([material.LAUNCH])


def test_a_rare_wait_shows_in_the_response_time() -> None:
    """One slow slice of ten: a median would not see it, and seeing it is what this metric is for."""
    slow = replace(material.SINGLE, wall=0.4)
    plain = [material.SINGLE] * 9
    seen = launch_metrics(replace(material.LAUNCH, slices=(material.LOAD, *plain, slow)))["response_time"]
    assert seen == pytest.approx(1.9 * 0.04 / 40)


# ---------------- launches of a case


@quick
@given(st.lists(drawn_launches, min_size=1, max_size=5))
def test_a_case_is_the_median_of_its_launches_with_their_spread(drawn: list[_Loaded]) -> None:
    launches = [one.launch for one in drawn]
    seen = summarise(launches)
    for name in METRICS:
        numbers = [launch_metrics(launch)[name] for launch in launches]
        known = [number for number in numbers if isinstance(number, float)]
        assert len(known) == len(numbers)
        metric = seen.metrics[name]
        assert metric.median == pytest.approx(_middle(known), rel=1e-9)
        assert (metric.low, metric.high, metric.launches) == (min(known), max(known), len(known))
        middle, average = _middle(known), _average(known)
        if len(known) < 2 or middle == 0:
            assert metric.spread is None
        else:
            deviation = math.sqrt(sum((number - average) ** 2 for number in known) / (len(known) - 1))
            assert metric.spread == pytest.approx(deviation / abs(middle), rel=1e-6, abs=1e-12)


@quick
@given(st.lists(drawn_launches, min_size=1, max_size=4))
def test_percentiles_of_a_case_are_those_of_all_its_requests(drawn: list[_Loaded]) -> None:
    times = [time for one in drawn for slice_times in one.times for time in slice_times]
    seen = summarise([one.launch for one in drawn]).percentiles
    assert list(seen) == sorted(seen)
    for percent, value in seen.items():
        assert value == pytest.approx(_percentile(times, percent), rel=0.01), percent


@quick
@given(st.lists(material.launches, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_launches_does_not_count(launches: list[Launch], shuffle: random.Random) -> None:
    numbered = [replace(launch, case="c", arm="a", number=number) for number, launch in enumerate(launches)]
    shuffled = numbered[:]
    shuffle.shuffle(shuffled)
    assert summarise(shuffled) == summarise(numbered)


@quick
@given(st.lists(material.launches, min_size=1, max_size=5))
def test_a_metric_is_known_exactly_when_a_good_launch_knows_it(launches: list[Launch]) -> None:
    seen = summarise(launches)
    good = [launch_metrics(launch) for launch in launches if launch.outcome == "ok"]
    assert seen.launches == len(good)
    for name, metric in seen.metrics.items():
        known = [one[name] for one in good if not isinstance(one[name], Missing)]
        assert metric.launches == len(known)
        values: list[Value] = [metric.median, metric.low, metric.high]
        assert [isinstance(value, Missing) for value in values] == [not known] * 3
        if not known:
            assert metric.spread is None


def test_a_bad_launch_adds_no_number_and_hides_none() -> None:
    fast = replace(material.LOAD, wall=1e-9, cpu=1e-9, latency={0: 1000})
    bad = replace(material.LAUNCH, number=2, slices=(fast, material.SINGLE)).failing("invalid", "wrong length")
    with_bad, without = summarise([material.LAUNCH, bad]), summarise([material.LAUNCH])
    assert with_bad.metrics == without.metrics
    assert with_bad.percentiles == without.percentiles
    assert (dict(with_bad.outcomes), with_bad.reasons) == ({"ok": 1, "invalid": 1}, ("wrong length",))


def test_requests_of_bad_launches_are_counted_with_what_went_wrong() -> None:
    """A report that left them out would say "failed requests 0" beside a launch that failed for them."""
    wrong = replace(material.LOAD, status={"200": 100, "500": 60}, failed={"status": 60})
    bad = replace(material.LAUNCH, number=2, slices=(wrong,)).failing("invalid", "status 60 x 500 instead of 200")
    seen = summarise([material.LAUNCH, bad])
    assert seen.status == {"200": 160 + 40 + 100, "500": 60}
    assert seen.failed == {"status": 60}
    assert seen.requests == 160 + 40 + 160


def test_nothing_good_is_missing_with_the_first_reason() -> None:
    launches = [
        replace(material.LAUNCH, number=number).failing("failed", reason)
        for number, reason in ((3, "later"), (1, "first"), (2, "first"))
    ]
    seen = summarise(launches)
    assert seen.launches == 0
    assert {metric.median for metric in seen.metrics.values()} == {Missing("first")}
    assert seen.reasons == ("first", "later")


def test_equal_warnings_are_told_once_in_the_order_of_launches() -> None:
    one = replace(material.LAUNCH, number=1, warnings=("a", "b"))
    two = replace(
        material.LAUNCH, number=2, warnings=("b", "c"), slices=(replace(material.LOAD, warnings=("d", "a")),)
    )
    slices = sum(slice_.role != "warmup" for launch in (one, two) for slice_ in launch.slices)
    share = f"(in 1 of {slices} slices)"
    assert summarise([two, one]).warnings == ("a", "b", "c", f"d {share}", f"a {share}")


@pytest.mark.parametrize(
    ("having", "told"),
    [(0, ()), (1, ()), (2, ("w (in 2 of 20 slices)",)), (19, ("w (in 19 of 20 slices)",)), (20, ("w",))],
)
def test_a_warning_that_few_slices_have_is_not_told(having: int, told: tuple[str, ...]) -> None:
    slices = tuple(replace(material.LOAD, warnings=("w", "w") if number < having else ()) for number in range(20))
    assert summarise([replace(material.LAUNCH, warnings=(), slices=slices)]).warnings == told
