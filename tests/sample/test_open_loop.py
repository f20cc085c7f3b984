"""An open loop's slices: how large they are, and which metrics they have."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import material
from example_comparisons import KEEPALIVE, Measured, run_of
from windtunnel.compare.verdict import compare
from windtunnel.errors import InvalidLoad
from windtunnel.launch.launch import Running
from windtunnel.launch.slices import SliceRequest
from windtunnel.model import Case, LaunchPlan, Slice
from windtunnel.sample.schedule import size_open_slice
from windtunnel.sample.sizing import measure_sizes
from windtunnel.sample.summary import OPEN_LOOP, launch_metrics
from windtunnel.units import Missing


def _case(rate: float | None, requests: int | None = None) -> Case:
    return replace(
        material.CASE, workload=replace(material.CASE.workload, rate=rate, concurrency=4, requests=requests)
    )


@dataclass
class _Server:
    """Stands for a launch that is up: answers `capacity` per second, one at a time."""

    case: Case
    capacity: float
    asked: list[SliceRequest] = field(default_factory=list)
    invalid: str = ""

    def load(self, request: SliceRequest) -> Slice:
        self.asked.append(request)
        rate = self.capacity if request.rate is None else min(self.capacity, request.rate)
        wall = request.requests / rate
        return replace(
            material.LOAD, requests=request.requests, wall=wall, invalid=self.invalid if request.rate else ""
        )

    def failure(self, seen: Slice) -> InvalidLoad:
        return InvalidLoad(seen.invalid)


def _sized(server: _Server, plan: LaunchPlan | None = None) -> SimpleNamespace:
    return SimpleNamespace(**vars(measure_sizes(cast("Running", server), plan or LaunchPlan())))


@pytest.mark.parametrize(
    ("rate", "load"), [(1000.0, 1000), (20_000.0, 20_000), (200.0, 200), (50.0, 100), (10.0, 50), (0.5, 3), (0.01, 2)]
)
def test_a_slice_lasts_a_second_or_longer_for_the_sake_of_percentiles(rate: float, load: int) -> None:
    server = _Server(_case(rate), 100_000)
    sizes = _sized(server)
    assert sizes.load == load
    assert sizes.load_seconds == pytest.approx(load / rate)
    assert {request.rate for request in server.asked} == {None, rate}
    assert all(request.concurrency == (4 if request.rate else 1) for request in server.asked)


def test_where_the_server_is_slower_its_own_pace_decides() -> None:
    sizes = _sized(_Server(_case(10_000.0), 500))
    assert sizes.load == 500
    assert sizes.load_seconds == pytest.approx(1.0)


def test_longer_slices_can_be_asked_for_and_a_fixed_number_is_kept() -> None:
    assert _sized(_Server(_case(1000.0), 9999), LaunchPlan(seconds=3.0)).load == 3000
    assert _sized(_Server(_case(1000.0, requests=40), 9999)).load == 40


def test_a_probe_that_proves_nothing_ends_it() -> None:
    with pytest.raises(InvalidLoad, match="late"):
        _sized(_Server(_case(1000.0), 9999, invalid="sent late"))


@given(st.floats(1e-3, 1e6), st.floats(0.01, 10))
def test_no_slice_is_too_short_to_see_anything(rate: float, seconds: float) -> None:
    size = size_open_slice(rate, seconds)
    assert size >= 2
    assert size >= rate * max(1.0, seconds) - 1e-6
    assert size >= min(100, 5 * rate) - 1e-6


# ---------------- what it measures


def _open(one: Slice) -> Slice:
    return replace(one, rate=1000.0) if one.role == "load" else one


def test_time_per_request_is_the_rate_and_so_not_told() -> None:
    launch = replace(material.LAUNCH, slices=tuple(_open(one) for one in material.LAUNCH.slices))
    closed, found = launch_metrics(material.LAUNCH), launch_metrics(launch)
    assert found["time_per_request"] == OPEN_LOOP
    assert {name for name in found if found[name] != closed[name]} == {"time_per_request"}
    assert not isinstance(found["latency_p99"], Missing)


def test_a_comparison_decides_by_what_there_is() -> None:
    run = run_of([Measured(KEEPALIVE)])
    open_ = tuple(replace(one, slices=tuple(_open(slice_) for slice_ in one.slices)) for one in run.launches)
    (before,), (after,) = compare(run).cases, compare(replace(run, launches=open_)).cases
    assert after.metrics["cpu_per_request"] == before.metrics["cpu_per_request"]
    assert after.metrics["time_per_request"].effect == OPEN_LOOP
    assert after.metrics["time_per_request"].verdict is None
    assert (after.decided_by, after.verdict) == ("cpu_per_request", before.verdict)
    assert any("open loop" in note for note in after.notes)
