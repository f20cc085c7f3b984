"""A comparison for programs: JSON that its schema describes, and JUnit XML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_comparison_text import _golden

from example_comparisons import KEEPALIVE, RUNS, foreign, judged
from windtunnel.compare.rule import JUDGED, Verdict
from windtunnel.model import METRICS
from windtunnel.report.comparison import comparison_to_json
from windtunnel.report.junit import comparison_junit

SCHEMA = json.loads((Path(__file__).parents[2] / "site/schema/comparison-1.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def _json(name: str) -> str:
    return json.dumps(comparison_to_json(RUNS[name], judged(name)), indent=2, allow_nan=False)


def _near(value: Any) -> Any:
    """`value` as something to compare with whose floats may differ in the last digits, as libraries' do."""
    if isinstance(value, dict):
        return {key: _near(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_near(item) for item in value]
    return pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value


# ---------------- JSON


@pytest.mark.parametrize("name", RUNS)
def test_the_json_is_as_it_should_be(name: str) -> None:
    text = _json(name) + "\n"
    assert json.loads(text) == _near(json.loads(_golden(f"comparison-{name}.json", text)))


def test_the_schema_is_one() -> None:
    VALIDATOR.check_schema(SCHEMA)


@pytest.mark.parametrize("name", RUNS)
def test_the_json_is_what_the_schema_says(name: str) -> None:
    VALIDATOR.validate(json.loads(_json(name)))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("version",), 2),
        (("outcome", "exit"), "10"),
        (("cases", 0, "verdict"), "slower"),
        (("cases", 0, "metrics", "cpu_per_request", "base"), None),
        (("cases", 0, "metrics", "cpu_per_request", "low"), {"reason": "x"}),
        (("arms", 0, "commit"), 1),
    ],
)
def test_the_schema_refuses_what_is_something_else(path: tuple[str | int, ...], value: object) -> None:
    report = json.loads(_json("regression"))
    here = report
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    assert not VALIDATOR.is_valid(report)


def _undescribed(value: Any, schema: dict[str, Any], where: str = "") -> Iterator[str]:
    """Keys that the schema does not name with a description."""
    if "$ref" in schema:
        schema = {**SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], **schema}
    if where and not schema.get("description"):
        yield where
    if isinstance(value, list):
        for item in value:
            yield from _undescribed(item, schema.get("items", {}) | {"description": "an item"}, f"{where}[]")
    if isinstance(value, dict) and ("properties" in schema or "additionalProperties" in schema):
        named = schema.get("properties", {})
        for key, item in value.items():
            inner = named.get(key, schema.get("additionalProperties"))
            if inner is None:
                yield f"{where}.{key}"
            else:
                yield from _undescribed(
                    item, inner | ({} if key in named else {"description": "a value"}), f"{where}.{key}"
                )


@pytest.mark.parametrize("name", RUNS)
def test_every_key_is_described_in_the_schema(name: str) -> None:
    assert not list(_undescribed(json.loads(_json(name)), SCHEMA))


@pytest.mark.parametrize("name", RUNS)
def test_json_has_every_number_in_its_base_unit_or_a_reason(name: str) -> None:
    for case in json.loads(_json(name))["cases"]:
        for metric, seen in case["metrics"].items():
            assert seen["unit"] == METRICS[metric].unit.value
            assert seen["judged"] == (metric in JUDGED)
            for key in ("base", "head", "effect", "low", "high", "mde"):
                assert isinstance(seen[key], float) or set(seen[key]) == {"missing"}


def test_a_way_that_is_better_is_one_way_up_and_the_other_down() -> None:
    (case, _) = json.loads(_json("regression"))["cases"]
    time, rate = case["metrics"]["time_per_request"], case["metrics"]["throughput"]
    assert time["effect"] > 1 > rate["effect"]
    assert [time["better"], rate["better"]] == [False, False]
    assert case["metrics"]["time_to_ready"]["better"] is None


@given(st.text(min_size=1, max_size=20))
@settings(max_examples=30)
def test_strings_from_outside_are_as_they_were_found(text: str) -> None:
    found = json.loads(json.dumps(comparison_to_json(*foreign(text)), allow_nan=False))
    VALIDATOR.validate(found)
    assert found["arms"][0]["subject"] == text
    assert any(case["reason"] == text for case in found["cases"])


# ---------------- JUnit


def _suite(name: str, *, strict: bool = False) -> ET.Element:
    root = ET.fromstring(comparison_junit(RUNS[name], judged(name), strict=strict).encode())
    (suite,) = root
    assert root.attrib.items() <= suite.attrib.items()
    return suite


@pytest.mark.parametrize("name", RUNS)
def test_the_xml_is_as_it_should_be(name: str) -> None:
    text = comparison_junit(RUNS[name], judged(name))
    assert text == _golden(f"comparison-{name}.xml", text)


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("strict", [False, True])
def test_every_case_is_a_test_case_and_the_counts_are_theirs(name: str, strict: bool) -> None:
    suite = _suite(name, strict=strict)
    cases = suite.findall("testcase")
    assert [one.get("name") for one in cases] == [one.case.id for one in judged(name).cases]
    assert suite.get("tests") == str(len(cases))
    for count, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert suite.get(count) == str(len(suite.findall(f"testcase/{tag}")))


def _ends(suite: ET.Element) -> list[str]:
    """How each test case ended: "" passed."""
    return [next((one.tag for one in case if one.tag != "system-out"), "") for case in suite.findall("testcase")]


_ENDS = {
    Verdict.REGRESSION: "failure",
    Verdict.IMPROVEMENT: "",
    Verdict.UNCHANGED: "",
    Verdict.INVALID: "error",
    Verdict.FAILED: "error",
    Verdict.SKIPPED: "skipped",
}


@pytest.mark.parametrize("name", RUNS)
def test_a_verdict_is_the_end_of_its_test_case(name: str) -> None:
    comparison = judged(name)
    for strict, open_ in ((False, ""), (True, "failure")):
        ends = _ends(_suite(name, strict=strict))
        for result, end in zip(comparison.cases, ends, strict=True):
            if result.verdict is Verdict.INCONCLUSIVE:
                assert end == (open_ if result.pairs or strict else "skipped")
            else:
                assert end == _ENDS[result.verdict]


def test_what_is_inconclusive_passes_and_says_so() -> None:
    first = _suite("inconclusive").findall("testcase")[0]
    assert first.get("name") == KEEPALIVE.id
    out = first.findtext("system-out")
    assert out is not None
    assert out.startswith("inconclusive\n")
    assert "could have seen" in out


def test_a_failure_says_what_got_slower() -> None:
    (failure,) = _suite("waiting").iter("failure")
    assert failure.get("message") == "regression: Response time +10.0 % [+9.7, +10.3] slower"


@given(
    st.text(min_size=1, max_size=20) | st.sampled_from(["]]>", "\x00", "\x1b[1m", "\ufffe", "\ud800", "<a>&", "\r\n"])
)
def test_nothing_from_outside_breaks_the_xml(text: str) -> None:
    run, comparison = foreign(text)
    (suite,) = ET.fromstring(comparison_junit(run, comparison).encode())
    assert len(suite.findall("testcase")) == len(comparison.cases)


def test_the_page_about_reports_names_every_key_of_the_top() -> None:
    page = (Path(__file__).parents[2] / "site/reports.md").read_text("utf-8").partition("\n## JSON\n")[2]
    assert set(json.loads(_json("regression"))) <= set(re.findall(r"`(\w+)`", page))
    assert "Format `windtunnel-comparison`, version 1." in page
