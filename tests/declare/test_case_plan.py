from __future__ import annotations

import pytest

from windtunnel.declare.plan import image_keys, plan_case, plan_lines
from windtunnel.model import AxisValue, Case, LaunchPlan, Service, Target, Variant, Workload

TARGETS = {
    "web": Target(
        "web",
        "targets/web",
        build_args={"A": "1", "SUITE": "bullseye"},
        axes={
            "perl": {"5.36": AxisValue({"SUITE": "bookworm"}), "5.40": AxisValue({"SUITE": "trixie"})},
            "workers": {"4": AxisValue(env={"W": "4"}), "8": AxisValue(env={"W": "8"})},
        },
        services=(Service("cache", target="cache", axes={"v": "1"}), Service("db", image="db:1")),
    ),
    "cache": Target("cache", "targets/cache", axes={"v": {"1": AxisValue({"V": "1"})}}),
}


def case(perl: str, workers: str) -> Case:
    params = (("perl", perl), ("workers", workers))
    return Case("b.Web", params, Variant("web", params), Workload())


def test_images_differ_by_build_arguments_only() -> None:
    expected = ("web A=1 SUITE=trixie", "cache V=1", "db:1")
    assert image_keys(case("5.40", "4").variant, TARGETS.__getitem__) == expected
    assert image_keys(case("5.40", "8").variant, TARGETS.__getitem__) == expected
    assert image_keys(case("5.36", "4").variant, TARGETS.__getitem__)[0] == "web A=1 SUITE=bookworm"


def test_the_estimate_grows_with_launches_slices_and_arms() -> None:
    def seconds(launches: int = 8, arms: int = 2, **plan: float) -> float:
        parts = LaunchPlan(**plan)  # type: ignore[arg-type]
        return plan_case(case("5.36", "4"), TARGETS.__getitem__, launches, parts, arms=arms).seconds

    assert seconds(launches=16) == pytest.approx(2 * seconds(launches=8))
    assert seconds(arms=2) == pytest.approx(2 * seconds(arms=1))
    assert seconds(slices=20) > seconds(slices=10)
    assert seconds(single_slices=9) > seconds(single_slices=3)
    assert seconds(seconds=1.0) > seconds(seconds=0.04)


def test_what_was_measured_counts_more_than_the_rule() -> None:
    plan = plan_case(case("5.36", "4"), TARGETS.__getitem__, 8, LaunchPlan(), measured=33.0)
    assert (plan.seconds, plan.measured) == (33.0, True)


def test_lines_count_a_shared_image_once() -> None:
    plans = [
        plan_case(case(perl, workers), TARGETS.__getitem__, 8, LaunchPlan(), measured=70.0)
        for perl in ("5.36", "5.40")
        for workers in ("4", "8")
    ]
    lines = plan_lines(plans)
    assert lines[0] == "b.Web(5.36, 4): 8 launches an arm, 70.00 s as last time"
    assert lines[-1] == "4 cases, 4 images per commit (builds not counted), 5 min as last time"
    assert plan_lines(plans[:1])[-1].startswith("1 case, 3 images per commit (builds not counted), ")
    assert len(lines) == 5


def test_no_cases() -> None:
    assert plan_lines([]) == ("no cases",)
