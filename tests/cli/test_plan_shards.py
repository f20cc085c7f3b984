"""`windtunnel plan --shards`: what comparisons cost the last time, and the matrix that is made of it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import material
from windtunnel.cli.plan import _compared, _matrix
from windtunnel.compare.expect import expectations
from windtunnel.compare.rule import JUDGED
from windtunnel.declare.plan import CasePlan, compare_lines
from windtunnel.errors import NothingMeasured
from windtunnel.model import Case, Launch
from windtunnel.sample.runfile import Arm, ComparePlan, Run

ARMS = (Arm("base", "main", "a" * 40), Arm("head", "HEAD", "b" * 40))


def case(name: str) -> Case:
    return replace(material.CASE, benchmark=name, params=())


def launch(name: str, arm: str, number: int, seconds: float = 2.0) -> Launch:
    """One that took so long, with a CPU time that is a little different each time."""
    cost = 0.03 * (1 + 0.001 * ((5 * number + (arm == "head")) % 7))
    slices = tuple(replace(one, cpu=cost) for one in material.LAUNCH.slices)
    spent = {"start": seconds / 2, "slices": seconds / 2}
    return replace(material.LAUNCH, case=name, arm=arm, number=number, slices=slices, spent=spent)


def comparison(*launches: Launch, ended: bool = True) -> Run:
    names = dict.fromkeys(one.case for one in launches)
    header = replace(material.HEADER, arms=ARMS, cases=tuple(map(case, names)), compare=ComparePlan(0.02, 40))
    return Run(header, launches, end={"exit": 0} if ended else {})


def pairs(name: str, count: int, seconds: float = 2.0, arms: tuple[str, ...] = ("base", "head")) -> list[Launch]:
    return [launch(name, arm, number, seconds) for number in range(count) for arm in arms]


def plan(name: str, image: str, seconds: float = 60.0, *, measured: bool = False) -> CasePlan:
    return CasePlan(case(name), (image,), 8, seconds, measured)


# ---------------- what is known


def test_a_case_costs_what_all_its_arms_took_the_last_time() -> None:
    newest = comparison(*pairs("b.A", 10, 3.0, ("base", "head", "control")))
    older = comparison(*pairs("b.A", 10, 100.0), *pairs("b.B", 10, 1.0))
    found = expectations([newest, older], {"b.A", "b.B", "b.C"})
    assert {name: one.seconds for name, one in found.items()} == {"b.A": pytest.approx(90), "b.B": pytest.approx(20)}


def test_what_could_have_been_told_is_known_for_the_judged_metrics() -> None:
    (found,) = expectations([comparison(*pairs("b.A", 20))], {"b.A"}).values()
    assert set(found.mde) <= set(JUDGED)
    assert 0 < found.mde["cpu_per_request"] < 0.5


def test_a_run_that_tells_nothing_of_the_cost_is_passed_over() -> None:
    cut_short = comparison(*pairs("b.A", 10), ended=False)
    one_revision = Run(material.HEADER, (material.LAUNCH,), end={"exit": 0})
    first = comparison(*pairs("b.A", 4, arms=("head",)))
    assert expectations([cut_short, one_revision, first], {"b.A", material.CASE.id}) == {}


def test_a_case_that_nobody_compared_goes_by_the_rule_of_thumb() -> None:
    plans = _compared(
        [plan("b.A", "x", 5.0, measured=True), plan("b.B", "x", 5.0)], [comparison(*pairs("b.B", 8, 1.0))]
    )
    assert [(one.seconds, one.measured, bool(one.mde)) for one in plans] == [(60.0, False, False), (16.0, True, True)]


# ---------------- the matrix


def test_every_case_is_named_by_one_part_and_found_by_no_other() -> None:
    plans = [plan(f"b.{name}", "x", seconds) for name, seconds in zip("ABCDE", (300, 90, 90, 60, 60), strict=True)]
    matrix = _matrix(plans, {}, 2, None)
    include = matrix["include"]
    assert isinstance(include, list)
    assert [part["cases"] for part in include] == [["b.A"], ["b.B", "b.C", "b.D", "b.E"]]
    names = [one.case.id for one in plans]
    for part in include:
        assert [name for name in names if re.search(part["bench"], name)] == part["cases"]
    assert [(part["shard"], part["number"]) for part in include] == [("1/2", 1), ("2/2", 2)]
    assert [part["budget"] for part in include] == [60.0, 240.0]


def test_cases_of_one_image_are_built_once() -> None:
    plans = [plan(f"b.{image}{number}", image) for number in range(2) for image in "xyz"]
    include = _matrix(plans, {}, 3, None)["include"]
    assert isinstance(include, list)
    assert sorted(part["cases"] for part in include) == [[f"b.{image}0", f"b.{image}1"] for image in "xyz"]


def test_there_is_never_an_empty_part() -> None:
    matrix = _matrix([plan("b.A", "x"), plan("b.B", "x")], {}, 5, None)
    assert isinstance(matrix["include"], list)
    assert [(part["shard"], part["cases"]) for part in matrix["include"]] == [("1/2", ["b.A"]), ("2/2", ["b.B"])]
    with pytest.raises(NothingMeasured, match="nothing to cut") as caught:
        _matrix([], {"b.Old": "not there"}, 2, None)
    assert "b.Old: not there" in caught.value.detail


def test_a_budget_is_divided_by_what_cases_cost_and_bounds_the_minutes() -> None:
    plans = [plan("b.A", "x", 300.0, measured=True), plan("b.B", "y", 100.0, measured=True)]
    matrix = _matrix(plans, {}, 2, 80.0)
    assert isinstance(matrix["include"], list)
    assert [(part["budget"], part["minutes"]) for part in matrix["include"]] == [(60.0, 1.0), (20.0, 0.33)]
    rich = _matrix(plans, {}, 2, 8000.0)["include"]
    assert isinstance(rich, list)
    assert [part["minutes"] for part in rich] == [5.0, 1.67]


def test_what_is_skipped_is_told_by_one_part() -> None:
    include = _matrix([plan("b.A", "x"), plan("b.B", "x")], {"b.Old": "not there"}, 2, None)["include"]
    assert isinstance(include, list)
    assert [bool(re.search(part["bench"], "b.Old")) for part in include] == [True, False]
    assert all("b.Old" not in part["cases"] for part in include)


def test_what_is_not_known_is_null() -> None:
    known = replace(plan("b.A", "x", 90.0, measured=True), mde={"cpu_per_request": 0.012})
    assert _matrix([known, plan("b.B", "x")], {}, 1, None)["cases"] == [
        {"case": "b.A", "minutes": 1.5, "mde": {"cpu_per_request": 0.012}, "measured": True},
        {"case": "b.B", "minutes": 1.0, "mde": None, "measured": False},
    ]


# ---------------- for people


def test_lines_of_a_comparison() -> None:
    known = replace(plan("b.A", "x", 90.0, measured=True), mde={"cpu_per_request": 0.012, "time_per_request": 0.03})
    assert compare_lines([known, plan("b.B", "x")], 120.0) == (
        "b.A: 90.00 s as last time, MDE 1.2 % (cpu_per_request)",
        "b.B: about 60.00 s, MDE not known",
        "2 cases, 1 image per commit (builds not counted), about 2 min; the budget is 2 min",
    )
    assert compare_lines([plan("b.B", "x")], None)[-1].endswith("about 60.00 s")
    assert compare_lines([], 60.0) == ("no cases",)
