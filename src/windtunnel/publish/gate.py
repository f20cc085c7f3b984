"""What a check says: the conclusion of a comparison, by the gate. Pure."""

from __future__ import annotations

from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import CaseResult, Comparison
from windtunnel.declare.settings import Gate
from windtunnel.errors import Exit
from windtunnel.publish.forge import Conclusion
from windtunnel.report.around import Acceptance
from windtunnel.report.comparison_words import headline
from windtunnel.report.visible import visible
from windtunnel.sample.runfile import Run

__all__ = ["TITLE", "conclude", "short"]

TITLE = 120
"""The most characters of a check's title: GitHub shows no more of it in a list."""

_GRAVITY: tuple[Conclusion, ...] = ("failure", "neutral", "success")

_AT_FAULT = frozenset({"invalid", "failed"})
"""Launches that went wrong by the arm's own doing; a lost one is the machine's."""


def conclude(run: Run, comparison: Comparison, gate: Gate, acceptance: Acceptance | None) -> tuple[Conclusion, str]:
    """The conclusion of the check, and its title: one sentence of at most `TITLE` characters.

    With the gate on the gravest case decides. Regressions fail unless they were accepted; so do builds, launches and
    answers that only head is to blame for. What is not known, for whatever reason, neither fails nor passes.
    """
    accepted = acceptance is not None and bool(comparison.having(Verdict.REGRESSION))
    said = headline(run, comparison)
    title = short(f"Accepted: {said[:1].lower()}{said[1:]}" if accepted else said)
    if gate == "off":
        return "neutral", title
    found = [_of_case(run, one, accepted) for one in comparison.cases]
    found += [] if run.complete and _measured(comparison) else ["neutral"]
    return min(found, key=_GRAVITY.index), title


def short(text: str) -> str:
    """A text as the title of a check."""
    return visible(text, TITLE)


def _measured(comparison: Comparison) -> bool:
    """Whether anything is known at all: a check of nothing is no pass."""
    return any(one.pairs or one.kind in {"identical", "first"} for one in comparison.cases)


def _of_case(run: Run, result: CaseResult, accepted: bool) -> Conclusion:
    if result.verdict is Verdict.REGRESSION:
        return "neutral" if accepted else "failure"
    if result.verdict is Verdict.INCONCLUSIVE:
        return "neutral"
    if result.verdict is Verdict.FAILED:
        return "failure" if Exit.HEAD_BROKEN in result.codes and _head_alone(run, result) else "neutral"
    if result.verdict is Verdict.INVALID:
        return "failure" if _head_alone(run, result) else "neutral"
    return "success"


def _head_alone(run: Run, result: CaseResult) -> bool:
    """Whether nothing else than head went wrong: where base breaks too, it is what both have in common."""
    broken = {arm for arm, launches in result.bad.items() if any(one.outcome in _AT_FAULT for one in launches)}
    broken |= {one.arm for one in run.failures if one.case == result.case.id and one.kind == "failed"}
    return broken == {"head"}
