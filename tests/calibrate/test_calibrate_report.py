"""What a calibration tells: every figure under its name, and what a reader should know before going by it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from nested_noise import Levels, pairs

import material
from windtunnel.compare.recommend import Advice, Length, advise, measured_length
from windtunnel.compare.rule import JUDGED, Rule
from windtunnel.compare.variance import Noise
from windtunnel.model import LaunchPlan, Workload
from windtunnel.report.calibration import CaseAdvice, advice_to_json, notes_of, render_advice
from windtunnel.sample.schedule import Sizes
from windtunnel.units import Missing

PLAN = LaunchPlan(slices=8, single_slices=3, seconds=0.08)
RULE = Rule()


def measured(levels: Levels, seconds: float = 0.08, count: int = 24) -> Length:
    sizes = Sizes(1600, 400, seconds, seconds)
    found = measured_length(replace(PLAN, seconds=seconds), sizes, pairs(levels, count))
    assert isinstance(found, Length)
    return found


def advice(*lengths: Length, budget: float = 60.0) -> Advice:
    return advise(lengths or (measured(Levels(0.02, 0.06)),), PLAN, budget, RULE)


def report(found: Advice | Missing) -> str:
    return render_advice([CaseAdvice(material.CASE, found)], RULE)


def row(text: str, label: str) -> list[str]:
    """The cells of the first row with that label."""
    line = next(line for line in text.splitlines() if line.strip().startswith(label))
    return re.split(r" {2,}", line.strip().removeprefix(label).strip())


def test_every_judged_metric_has_its_figures() -> None:
    length = measured(Levels(0.02, 0.06))
    text = report(advice(length))
    assert "psgi.Starlet(5.36, close)   the same image in both arms, 24 pairs in 58 s" in text
    assert "Slices of 80 ms (1,600 requests, 400 at concurrency 1):" in text
    assert re.split(r" {2,}", text.splitlines()[3].strip()) == list(JUDGED)
    for label in ("sd between launch pairs", "sd between slice pairs", "sd of a pair as it is compared"):
        assert all(re.fullmatch(r"\d\.\d %", cell) for cell in row(text, label)), label
    spreads = [length.known[name].variances.slice ** 0.5 for name in JUDGED]
    assert row(text, "sd between slice pairs") == [f"{spread:.1%}".replace("%", " %") for spread in spreads]
    assert row(text, "of it between requests")[0] == "n/a"


def test_both_plans_stand_side_by_side() -> None:
    text = report(found := advice())
    plan = found.recommended.plan
    assert "Present plan:      8 slices and 3 at concurrency 1 of 80 ms; " in text
    shown = f"Recommended plan:  {plan.slices} slices and {plan.single_slices} at concurrency 1 of 80 ms; "
    assert shown in text
    assert f"{found.recommended.pairs} pairs in 60 s" in text
    assert all(re.fullmatch(r"\d+\.\d %", cell) for cell in row(text, "MDE in 60 s, recommended plan"))
    assert "MDE in 60 s, present plan" in text


def test_every_length_has_a_table_and_a_missing_plan_says_why() -> None:
    found = advise([measured(Levels(0.02, 0.06), 0.04), measured(Levels(0.02, 0.04), 0.16)], PLAN, 60, RULE)
    text = report(found)
    assert [f"Slices of {one}" in text for one in ("40 ms", "160 ms")] == [True, True]
    assert "Present plan:      slices of its length were not measured" in text
    assert "MDE in 60 s, present plan" not in text
    assert "--lengths" not in text


def test_a_case_without_advice_says_why() -> None:
    assert report(Missing("it does not start")) == "psgi.Starlet(5.36, close)   not calibrated: it does not start"
    assert notes_of(CaseAdvice(material.CASE, Missing("it does not start")), RULE) == []


def notes(found: Advice, workload: Workload = material.CASE.workload) -> str:
    case = replace(material.CASE, workload=workload)
    return "\n".join(notes_of(CaseAdvice(case, found), RULE))


def changed(length: Length, **changes: object) -> Length:
    noises: dict[str, Noise | Missing] = dict(length.noises)
    noises["cpu_per_request"] = replace(length.known["cpu_per_request"], **changes)  # type: ignore[arg-type]
    return replace(length, noises=noises)


def test_an_effect_that_should_not_be_there_is_told() -> None:
    length = measured(Levels(0.02, 0.06))
    told = "cpu_per_request: the interval of the effect does not hold 0"
    assert told in notes(advice(changed(length, low=0.001, high=0.02)))
    assert told in notes(advice(changed(length, low=-0.02, high=-0.001)))
    assert told not in notes(advice(changed(length, low=-0.001, high=0.02)))


def test_a_variance_below_zero_is_told() -> None:
    length = measured(Levels(0.02, 0.06))
    told = "cpu_per_request: launches differ by no more than their slices account for"
    assert told in notes(advice(changed(length, negative=True)))
    assert told not in notes(advice(changed(length, negative=False)))


def test_what_was_not_measured_is_not_kept_quiet() -> None:
    assert "what another length of slices would do was not measured" in notes(advice())
    fixed = notes(advice(), Workload(requests=500))
    assert "another length" not in fixed
    assert "the workload says how many requests a slice has" in fixed
    length = measured(Levels(0.02, 0.06))
    blind = replace(length, noises={**length.noises, "cpu_per_request": Missing("the cgroup was not readable")})
    assert "cpu_per_request: the cgroup was not readable" in notes(advice(blind))
    assert row(report(advice(blind)), "sd between slice pairs")[0] == "n/a"


def test_a_budget_that_is_too_short_is_told() -> None:
    assert "give a case more time" in notes(advice(budget=10.0))
    assert "give a case more time" not in notes(advice(budget=60.0))
    assert row(report(advice(budget=10.0)), "MDE in 10 s, recommended plan") == ["n/a"] * 3


def test_few_pairs_are_said_to_be_few() -> None:
    assert "from 24 pairs a standard deviation is known to ±15% or so" in notes(advice())
    assert "from 4 pairs a standard deviation is known to ±41% or so" in notes(
        advice(measured(Levels(0.02, 0.06), count=4))
    )


def test_programs_get_the_same_figures() -> None:
    found = advice(measured(Levels(0.02, 0.06), count=5))
    (told,) = json.loads(json.dumps(advice_to_json([CaseAdvice(material.CASE, found)], RULE), allow_nan=False))
    assert told["case"] == material.CASE.id
    assert told["recommended"]["slices"] == found.recommended.plan.slices
    assert told["recommended"]["mde"]["cpu_per_request"] == found.recommended.mde["cpu_per_request"]
    (length,) = told["lengths"]
    cpu = length["metrics"]["cpu_per_request"]
    assert cpu["launch"] == found.best.known["cpu_per_request"].variances.launch
    assert cpu["request"] == {"missing": "CPU time is not known request by request"}
    assert cpu["low"] == {"missing": "too few pairs for an interval"}  # five pairs have none of 95 %
    assert told["notes"] == notes_of(CaseAdvice(material.CASE, found), RULE)


def test_programs_are_told_why_there_is_no_advice() -> None:
    (told,) = advice_to_json([CaseAdvice(material.CASE, Missing("it does not start"))], RULE)
    assert told == {"case": material.CASE.id, "advice": {"missing": "it does not start"}, "notes": []}
