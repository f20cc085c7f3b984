"""A comparison as JUnit XML, as test reports of continuous integration read it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import CaseResult, Comparison
from windtunnel.report.comparison import render_case
from windtunnel.report.comparison_origin import arm_words, plan_words
from windtunnel.report.comparison_words import LABELS, effect_words, headline, why
from windtunnel.report.run import host_words
from windtunnel.report.visible import tail, visible
from windtunnel.sample.runfile import Run
from windtunnel.units import format_share

__all__ = ["comparison_junit"]

_TAGS = {
    Verdict.REGRESSION: "failure",
    Verdict.INVALID: "error",
    Verdict.FAILED: "error",
    Verdict.SKIPPED: "skipped",
}


def comparison_junit(run: Run, comparison: Comparison, *, strict: bool = False) -> str:
    """One test case per case.

    A regression is a failure, what is invalid or failed an error, what was skipped is skipped. An inconclusive case
    passes and says so in its output, or is a failure with `strict`; one of which not a single pair was measured did
    not pass, and is skipped.
    """
    tags = [_tag(one, strict) for one in comparison.cases]
    counts = Counter(tags)
    attributes = {
        "name": "windtunnel",
        "tests": str(len(tags)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
    }
    root = ET.Element("testsuites", attributes)
    suite = ET.SubElement(root, "testsuite", {**attributes, "timestamp": visible(run.header.created)})
    _properties(suite, run, comparison)
    spent = _seconds(run)
    for result, tag in zip(comparison.cases, tags, strict=True):
        _testcase(suite, run, result, tag, spent.get(result.case.id, 0.0))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _tag(result: CaseResult, strict: bool) -> str:
    if result.verdict is Verdict.INCONCLUSIVE:
        return "failure" if strict else "" if result.pairs else "skipped"
    return _TAGS.get(result.verdict, "")


def _properties(suite: ET.Element, run: Run, comparison: Comparison) -> None:
    facts = {arm.name: arm_words(arm) for arm in run.header.arms if arm.name in {"base", "head"}}
    facts |= {"outcome": headline(run, comparison), "exit": str(int(comparison.outcome))}
    facts |= {"threshold": format_share(comparison.rule.threshold), "rule": plan_words(run, comparison)}
    facts |= {"machine": visible(host_words(run.header.host))} if run.header.host is not None else {}
    properties = ET.SubElement(suite, "properties")
    for name, value in facts.items():
        ET.SubElement(properties, "property", {"name": name, "value": value})


def _seconds(run: Run) -> Mapping[str, float]:
    """Wall seconds of all launches, by case."""
    spent: Counter[str] = Counter()
    for launch in run.launches:
        spent[launch.case] += sum(launch.spent.values())  # type: ignore[assignment]
    return {case: float(seconds) for case, seconds in spent.items()}


def _testcase(suite: ET.Element, run: Run, result: CaseResult, tag: str, seconds: float) -> None:
    names = {"classname": visible(result.case.benchmark), "name": visible(result.case.id)}
    element = ET.SubElement(suite, "testcase", {**names, "time": f"{seconds:.3f}"})
    text = "\n".join(_told(run, result))
    if tag:
        message = " ".join(part for part in (f"{result.verdict.value}:", _message(result)) if part)
        ET.SubElement(element, tag, {"message": message, "type": result.verdict.value}).text = text
    elif text:
        ET.SubElement(element, "system-out").text = text


def _message(result: CaseResult) -> str:
    one = result.metrics.get(result.decided_by)
    return why(result) or ("" if one is None else f"{LABELS[one.metric]} {effect_words(one)}")


def _told(run: Run, result: CaseResult) -> Sequence[str]:
    """What the report for a terminal says of the case, its verdict first."""
    measured = render_case(run, result) if result.pairs else [why(result)]
    return [result.verdict.value, *measured, *(f"| {line}" for line in tail(result.detail))]
