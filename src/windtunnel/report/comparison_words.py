"""What every report of a comparison says in the same words, whatever its format. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import CaseResult, Comparison, MetricResult
from windtunnel.model import METRICS
from windtunnel.report.comparison_headline import advice, headline
from windtunnel.report.comparison_labels import GROUPS, LABELS, SHOWN, cases_words, group_of, grouped
from windtunnel.report.visible import visible
from windtunnel.units import Direction, Missing, Unit, format_change, format_effect, format_value

__all__ = [
    "CHANGED",
    "GROUPS",
    "LABELS",
    "SHOWN",
    "advice",
    "bad_words",
    "between",
    "by_reason",
    "cases_words",
    "control_words",
    "direction_word",
    "effect_parts",
    "effect_words",
    "figures",
    "group_of",
    "grouped",
    "headline",
    "notes",
    "seen_words",
    "shared_notes",
    "verdict_words",
    "why",
]

_T = TypeVar("_T")
CHANGED = frozenset({Verdict.REGRESSION, Verdict.IMPROVEMENT})
"""The verdicts that tell of a change."""

# ---------------- metrics


def direction_word(metric: str, ratio: float) -> str:
    """What a change of a metric is, so that nobody has to know which way is good."""
    kind = METRICS[metric]
    worse = (ratio > 1) is (kind.direction is Direction.LOWER_IS_BETTER)
    if metric == "cpu_per_request":
        return "more CPU" if worse else "less CPU"
    if kind.unit in {Unit.SECOND, Unit.PER_SECOND, Unit.BYTE_PER_SECOND}:
        return "slower" if worse else "faster"
    return "worse" if worse else "better"


def effect_words(one: MetricResult) -> str:
    """The effect with its interval, and which way it goes where that is beyond chance.

    Of a judged metric that its verdict says; of the others, which nothing is decided by, the 95 % interval does.
    """
    return " ".join(part for part in effect_parts(one) if part)


def effect_parts(one: MetricResult) -> tuple[str, str, str]:
    """What `effect_words` is made of: the change, its interval in brackets, the word. The last two may be empty."""
    change, bracket, ends = format_effect(one.effect, one.low, one.high).partition(" [")
    return change, bracket.strip() + ends, _told(one)


def _told(one: MetricResult) -> str:
    if isinstance(one.effect, Missing):
        return ""
    if one.verdict is not None:
        changed = one.verdict in CHANGED
    else:
        known = not isinstance(one.low, Missing) and not isinstance(one.high, Missing)
        changed = known and not one.low <= 1 <= one.high  # type: ignore[operator]
    return direction_word(one.metric, one.effect) if changed else ""


def figures(one: MetricResult) -> tuple[str, str]:
    """What base and head came to, in a unit that suits them."""
    unit = METRICS[one.metric].unit
    return format_value(one.base, unit), format_value(one.head, unit)


def verdict_words(one: MetricResult) -> str:
    """The verdict of a judged metric; with the MDE where it is inconclusive; why, where there is none."""
    if one.verdict is None:
        return f"not measured: {visible(one.effect.reason)}" if isinstance(one.effect, Missing) else ""
    return ", ".join(part for part in (one.verdict.value, seen_words(one)) if part)


def seen_words(one: MetricResult) -> str:
    """The smallest slowdown that would have been told, of a metric that is inconclusive; else ""."""
    if one.verdict is not Verdict.INCONCLUSIVE or isinstance(one.mde, Missing):
        return ""
    return f"could have seen {format_change(1 + one.mde)}"


def why(result: CaseResult) -> str:
    """Why a case has its verdict, where the figures don't say it; safe to show, one line."""
    return visible(result.reason)


def bad_words(result: CaseResult) -> list[str]:
    """The launches that went wrong and did not decide the case: how many, whose, and why."""
    if result.verdict in {Verdict.INVALID, Verdict.FAILED}:
        return []
    return [
        f"{len(launches)} {visible(arm, 40)} {'launch' if len(launches) == 1 else 'launches'} left out: "
        + "; ".join(dict.fromkeys(f"{one.outcome}: {visible(one.reason)}" for one in launches))
        for arm, launches in result.bad.items()
    ]


def control_words(result: CaseResult) -> str:
    """What base against base once more shows, or ""."""
    if not result.control:
        return ""
    told = [LABELS[name] for name, one in result.control.items() if one.verdict in CHANGED]
    effects = ", ".join(f"{LABELS[name]} {_change(one)}" for name, one in result.control.items())
    return f"{effects}: {'a change seen in ' + ', '.join(told) if told else 'no change seen'}"


def _change(one: MetricResult) -> str:
    return "n/a" if isinstance(one.effect, Missing) else format_change(one.effect)


def between(results: Iterable[MetricResult]) -> str:
    """From the smallest effect to the largest: ``-0.5 % to +0.3 %``."""
    known = [one.effect for one in results if not isinstance(one.effect, Missing)]
    ends = list(dict.fromkeys(format_change(end) for end in (min(known), max(known)))) if known else ["n/a"]
    return " to ".join(ends)


# ---------------- many cases


def by_reason(results: Sequence[CaseResult]) -> Mapping[str, list[CaseResult]]:
    """Cases with one reason are told together: when an image can't be built, all its cases fail for that."""
    return _gathered(results, lambda one: why(one) or "no reason is known")


def _gathered(items: Iterable[_T], key: Callable[[_T], str]) -> Mapping[str, list[_T]]:
    found: dict[str, list[_T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def notes(result: CaseResult, shared: Sequence[str] = ()) -> list[str]:
    """What else is to be known of a case; not what its reason says already, nor the `shared` ones told elsewhere."""
    return [visible(note) for note in result.notes if note not in shared and note != result.reason]


def shared_notes(comparison: Comparison) -> tuple[str, ...]:
    """Notes that every measured case has: they are the machine's, and are told once."""
    measured = [one for one in comparison.cases if one.pairs]
    if len(measured) < 2:
        return ()
    return tuple(note for note in measured[0].notes if all(note in other.notes for other in measured[1:]))
