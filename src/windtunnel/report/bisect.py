"""What `windtunnel bisect` found, as `git bisect` would tell it, with the evidence. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.compare.bisection import Found, Placement, Side, Span, Step
from windtunnel.compare.verdict import MetricResult
from windtunnel.report.comparison_words import LABELS, effect_words
from windtunnel.report.visible import visible
from windtunnel.units import Missing, Unit, Value, format_change, format_effect, format_minutes, format_value

__all__ = ["Bisection", "Check", "Named", "bisect_to_json", "render_bisect", "step_words"]

_WORDS = {Side.GOOD: "good", Side.BAD: "bad", Side.UNSURE: "not sure"}
_SUBJECT = 60


@dataclass(frozen=True)
class Named:
    """A commit as it is told; `hash` is full, `date` in ISO 8601."""

    hash: str
    author: str
    date: str
    subject: str


@dataclass(frozen=True)
class Check:
    """The found commit compared with its parent directly, at the end.

    `result` is the metric's; None where there is none, and `reason` says why. `confirmed` tells whether the rule
    says of it what it said of the whole range.
    """

    parent: str
    result: MetricResult | None
    confirmed: bool
    reason: str = ""


@dataclass(frozen=True)
class Bisection:
    """Everything a bisection came to.

    Attributes:
        case: the case's id.
        metric: the metric that was followed, or "" where nothing changed.
        good, bad: the two ends.
        whole: what the metric did between them; None where nothing was measured.
        said: one sentence on the two ends: what changed, or that nothing did.
        found: how the search ended; None where there was nothing to search for.
        check: the direct comparison; None where there was none.
        commits: every commit that is named, by its full hash.
        seconds: machine time of all comparisons together.
        run_files: by commit, the run file of its step.
    """

    case: str
    metric: str
    good: Named
    bad: Named
    whole: MetricResult | None
    said: str
    found: Found | None
    check: Check | None
    commits: dict[str, Named]
    seconds: Value
    run_files: dict[str, str]


def step_words(step: Step) -> str:
    """What a step came to: the side, the effect against the good end with its interval, and how many pairs."""
    found = step.answer.placement
    if found is None:
        return f"skipped: {visible(step.answer.reason)}"
    if not found.count:
        return f"{_WORDS[found.side]}: {visible(step.answer.reason)}"
    part = "; it has a part of the change" if found.between else ""
    pairs = format_value(float(found.count), Unit.COUNT)
    return f"{_WORDS[found.side]}: {_effect(found)} in {pairs} pairs, the border is {_border(step.span)}{part}"


def _effect(found: Placement) -> str:
    return format_effect(math.exp(found.estimate), _ratio(found.low), _ratio(found.high))


def _ratio(value: float) -> Value:
    return math.exp(value) if math.isfinite(value) else Missing("too few pairs for an interval")


def _border(span: Span) -> str:
    return format_change(math.exp(span.middle))


# ---------------- text


def render_bisect(one: Bisection) -> str:
    """The report as plain text. The first line is the answer."""
    blocks = [_answer(one)]
    if one.found is not None:
        blocks.append(_evidence(one))
        blocks.append(_steps(one, one.found.steps))
    return "\n\n".join([*(block for block in blocks if block), f"machine time: {format_minutes(one.seconds)}"])


def _answer(one: Bisection) -> str:
    if one.found is None:
        return f"{one.case}: {one.said}"
    if one.found.sure:
        first = one.found.commits[0]
        return f"{first} is the first commit that changed {one.case}\n{_commit(one, first)}"
    why = "step after step could not be told" if one.found.gave_up else "the others could not be told or measured"
    head = f"The first commit that changed {one.case} could be any of ({why}):"
    return "\n".join([head, *(f"  {_line(one, name)}" for name in one.found.commits)])


def _commit(one: Bisection, name: str) -> str:
    known = one.commits[name]
    lines = [f"commit {known.hash}", f"Author: {visible(known.author)}", f"Date:   {known.date}"]
    return "\n".join([*lines, "", f"    {visible(known.subject)}"])


def _evidence(one: Bisection) -> str:
    lines = [f"{one.good.hash[:12]}..{one.bad.hash[:12]}: {one.said}"]
    if _several(one):
        lines.append("More than one commit between them changed the case; the larger part was followed.")
    if one.check is None:
        return "\n".join(lines)
    against = f"this commit against its parent {one.check.parent[:12]}, measured directly"
    if one.check.result is None:
        return "\n".join([*lines, f"{against}: {one.check.reason}"])
    result = one.check.result
    effect = effect_words(result)
    verdict = result.verdict.value if result.verdict else "not judged"
    lines.append(f"{against}: {_label(one)} {effect} in {result.pairs} pairs, {verdict}")
    if not one.check.confirmed:
        lines.append(f"The direct comparison does not say the same as the search: {_doubt(one)}")
    return "\n".join(lines)


def _several(one: Bisection) -> bool:
    """Whether a commit was met that has a part of the change."""
    placements = [step.answer.placement for step in one.found.steps] if one.found else []
    return any(found is not None and found.between for found in placements)


def _doubt(one: Bisection) -> str:
    if one.check is not None and one.check.reason:
        return one.check.reason
    return "the change may be spread over several commits, or too small for one comparison"


def _steps(one: Bisection, steps: Sequence[Step]) -> str:
    if not steps:
        return ""
    head = f"Steps ({_label(one)}, each commit against {one.good.hash[:12]}):"
    return "\n".join([head, *(f"  {_line(one, step.commit)}\n      {step_words(step)}" for step in steps)])


def _label(one: Bisection) -> str:
    return LABELS.get(one.metric, one.metric)


def _line(one: Bisection, name: str) -> str:
    return f"{name[:12]}  {visible(one.commits[name].subject, _SUBJECT)}"


# ---------------- JSON


def bisect_to_json(one: Bisection) -> dict[str, Any]:
    """The same for programs. Effects are ratios against the good end, times seconds; what is not known is null."""
    found = one.found
    return {
        "format": "windtunnel-bisect",
        "version": 1,
        "case": one.case,
        "metric": one.metric or None,
        "good": _named(one.good),
        "bad": _named(one.bad),
        "effect": _metric(one.whole),
        "said": one.said,
        "first": _named(one.commits[found.commits[0]]) if found and found.sure else None,
        "candidates": [_named(one.commits[name]) for name in found.commits] if found else [],
        "gave_up": bool(found and found.gave_up),
        "check": _check(one.check),
        "steps": [_step(one, step) for step in found.steps] if found else [],
        "seconds": _number(one.seconds),
    }


def _named(known: Named) -> dict[str, str]:
    return {"commit": known.hash, "author": known.author, "date": known.date, "subject": known.subject}


def _metric(result: MetricResult | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        "effect": _number(result.effect),
        "low": _number(result.low),
        "high": _number(result.high),
        "pairs": result.pairs,
        "verdict": result.verdict.value if result.verdict else None,
    }


def _check(check: Check | None) -> dict[str, Any] | None:
    if check is None:
        return None
    return {
        "parent": check.parent,
        "effect": _metric(check.result),
        "confirmed": check.confirmed,
        "reason": check.reason,
    }


def _step(one: Bisection, step: Step) -> dict[str, Any]:
    found = step.answer.placement
    return {
        **_named(one.commits[step.commit]),
        "side": step.answer.side.value if found else "skipped",
        "between": bool(found and found.between),
        "border": math.exp(step.span.middle),
        "effect": math.exp(found.estimate) if found else None,
        "low": _number(_ratio(found.low)) if found else None,
        "high": _number(_ratio(found.high)) if found else None,
        "pairs": found.count if found else 0,
        "reason": step.answer.reason,
        "run_file": one.run_files.get(step.commit),
    }


def _number(value: Value) -> float | None:
    return None if isinstance(value, Missing) else value
