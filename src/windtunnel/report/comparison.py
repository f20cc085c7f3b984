"""What a comparison found, as text for a terminal. Pure.

The outcome comes first, in words; then the cases, those that need someone first and what is unchanged last; then
what it comes from: commits, rule, machine, time, and how to measure a case again.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence

from windtunnel.compare.rule import JUDGED, Verdict
from windtunnel.compare.verdict import CaseResult, Comparison, MetricResult
from windtunnel.model import METRICS
from windtunnel.report.comparison_json import comparison_to_json
from windtunnel.report.comparison_origin import origin, reproduce
from windtunnel.report.comparison_words import (
    LABELS,
    SHOWN,
    advice,
    bad_words,
    between,
    by_reason,
    cases_words,
    control_words,
    effect_words,
    figures,
    grouped,
    headline,
    notes,
    shared_notes,
    verdict_words,
    why,
)
from windtunnel.report.run import load_words
from windtunnel.report.visible import tail, visible
from windtunnel.sample.runfile import Run
from windtunnel.units import Missing, format_value

__all__ = ["comparison_to_json", "render_case", "render_comparison"]

_TITLES = {"unmeasured": "Not measured", "first": "New in head"}

_MANY = 10
"""More unchanged cases than that are counted, not listed."""

_NAMES = 12
"""So many cases are named where many have one reason."""

_WIDTH = 110
_CASE = 60


def render_comparison(run: Run, comparison: Comparison) -> str:
    """The whole report as plain text without colours."""
    shared = shared_notes(comparison)
    sections = [
        f"{_TITLES.get(name, name.capitalize())}: {cases_words(len(cases))}\n" + _SECTIONS[name](run, cases, shared)
        for name, cases in grouped(comparison).items()
        if cases
    ]
    return "\n\n".join([_opening(run, comparison), *sections, _footer(run, comparison)])


def _opening(run: Run, comparison: Comparison) -> str:
    return "\n".join([f"{headline(run, comparison)}.", *textwrap.wrap(advice(run, comparison), _WIDTH)])


# ---------------- cases that are told one by one


def _detailed(run: Run, cases: Sequence[CaseResult], shared: Sequence[str]) -> str:
    return "\n\n".join("\n".join(f"  {line}" for line in render_case(run, one, shared)) for one in cases)


def render_case(run: Run, result: CaseResult, shared: Sequence[str] = ()) -> list[str]:
    """A case that was measured, as lines: its metrics, why, and what else a reader should know.

    `shared` are the notes that are told elsewhere.
    """
    changed = result.verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT}
    lines = [_title(result), *_metric_lines(result, changed)]
    lines += [f"  why: {why(result)}"] if result.reason else []
    lines += [f"  {words}" for words in bad_words(result)]
    lines += [f"  control (base once more): {words}"] if (words := control_words(result)) else []
    lines += [f"  note: {note}" for note in notes(result, shared)]
    return lines + ([f"  again: {reproduce(run, result.case.id)}"] if changed else [])


def _title(result: CaseResult) -> str:
    pairs = f"{result.pairs} {'pair' if result.pairs == 1 else 'pairs'}"
    return f"{visible(result.case.id)}   {visible(load_words(result.case.workload), 120)}   {pairs}"


def _metric_lines(result: CaseResult, changed: bool) -> list[str]:
    names = [name for name in (*JUDGED, *(SHOWN if changed else ())) if name in result.metrics]
    rows = [_metric_row(result.metrics[name], result.decided_by) for name in names]
    return _aligned([("", "base", "head", "effect [95 % interval]", ""), *rows], "<>><<") if rows else []


def _metric_row(one: MetricResult, decisive: str) -> tuple[str, ...]:
    judged = verdict_words(one) + (" (decides)" if one.metric == decisive else "")
    return (LABELS[one.metric], *figures(one), effect_words(one), judged if one.metric in JUDGED else _shown(one))


def _shown(one: MetricResult) -> str:
    """Of a metric that is not judged: why there is nothing to be seen of it, if that is so."""
    unknown = next((value for value in (one.base, one.head) if isinstance(value, Missing)), None)
    return visible(unknown.reason, 60) if unknown is not None else ""


def _aligned(rows: Sequence[Sequence[str]], sides: str) -> list[str]:
    """Rows as lines; `sides` has ``<`` or ``>`` for each column."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)).rstrip()
        for row in rows
    ]


# ---------------- cases that are told together


def _unchanged(_run: Run, cases: Sequence[CaseResult], shared: Sequence[str]) -> str:
    """One line for each; of many only those of which something else is to be told, and a count."""
    worth = [one for one in cases if len(cases) <= _MANY or _remarkable(one)][:_MANY]
    lines = _effect_table(worth) if worth else []
    if len(worth) < len(cases):
        lines.append(f"  {_folded([one for one in cases if one not in worth], bool(worth))}")
    return "\n".join([*lines, *_gathered_notes(cases, shared)])


def _remarkable(result: CaseResult) -> bool:
    return bool(result.bad) or any(one.verdict is Verdict.IMPROVEMENT for one in result.metrics.values())


def _effect_table(cases: Sequence[CaseResult]) -> list[str]:
    rows = [
        (visible(one.case.id, _CASE), *(_short(one, name) for name in JUDGED), f"{one.pairs} pairs") for one in cases
    ]
    lines = _aligned([("", *(LABELS[name] for name in JUDGED), ""), *rows], "<<<<>")
    if any("?" in cell for row in rows for cell in row[1:]):
        lines.append("  ?: of itself inconclusive")
    return lines


def _short(result: CaseResult, name: str) -> str:
    one = result.metrics.get(name)
    if one is None:
        return "n/a"
    return effect_words(one) + (" ?" if one.verdict is Verdict.INCONCLUSIVE else "")


def _folded(cases: Sequence[CaseResult], further: bool) -> str:
    seen = between(result.metrics[JUDGED[0]] for result in cases if JUDGED[0] in result.metrics)
    counted = f"and {len(cases)} more: " if further else ""
    return f"{counted}{LABELS[JUDGED[0]]} {seen}"


def _gathered_notes(cases: Sequence[CaseResult], shared: Sequence[str]) -> list[str]:
    """What is to be known of these cases, each thing once."""
    told: dict[str, int] = {}
    for result in cases:
        for note in [*bad_words(result), *(f"note: {note}" for note in notes(result, shared))]:
            told[note] = told.get(note, 0) + 1
    return [f"  {note}" + (f" ({cases_words(count)})" if len(cases) > 1 else "") for note, count in told.items()]


def _by_reason(_run: Run, cases: Sequence[CaseResult], shared: Sequence[str]) -> str:
    return "\n".join(
        line
        for reason, results in by_reason(cases).items()
        for line in [
            f"  {reason}",
            *_names(results),
            *_log(results),
            *(f"  {note}" for note in _gathered_notes(results, shared)),
        ]
    )


def _names(results: Sequence[CaseResult]) -> list[str]:
    """Names of cases, as many in a line as fit."""
    names = [visible(one.case.id, _CASE) for one in results[:_NAMES]]
    names += [f"and {len(results) - _NAMES} more"] if len(results) > _NAMES else []
    lines = [""]
    for name in names:
        if lines[-1] and len(lines[-1]) + len(name) > _WIDTH:
            lines.append("")
        lines[-1] += ("; " if lines[-1] else "") + name
    return [f"    {line}" for line in lines]


def _log(results: Sequence[CaseResult]) -> list[str]:
    """The end of the log; where several cases have one, that of the first: the reason is the same."""
    detail = next((one.detail for one in results if one.detail), "")
    return [f"    | {line}".rstrip() for line in tail(detail)]


def _first(_run: Run, cases: Sequence[CaseResult], shared: Sequence[str]) -> str:
    """Head's own figures."""
    names = (*JUDGED, "throughput")
    rows = [(visible(one.case.id, _CASE), *(_own(one, name) for name in names)) for one in cases]
    table = _aligned([("", *(LABELS[name] for name in names)), *rows], "<>>>>")
    reasons = [f"  {reason}" for reason in by_reason(cases)]
    return "\n".join([*table, *reasons, *_gathered_notes(cases, shared)])


def _own(result: CaseResult, name: str) -> str:
    one = result.metrics.get(name)
    return "n/a" if one is None else format_value(one.head, METRICS[name].unit)


_SECTIONS: Mapping[str, Callable[[Run, Sequence[CaseResult], Sequence[str]], str]] = {
    "regression": _detailed,
    "failed": _by_reason,
    "invalid": _by_reason,
    "improvement": _detailed,
    "inconclusive": _detailed,
    "unmeasured": _by_reason,
    "unchanged": _unchanged,
    "first": _first,
    "skipped": _by_reason,
}


# ---------------- what it comes from


def _footer(run: Run, comparison: Comparison) -> str:
    facts = origin(run, comparison)
    again = _worth_repeating(comparison)
    facts += [("again", reproduce(run, again.case.id))] if again is not None else []
    return "\n".join(f"{name:<9}{words}" for name, words in facts)


def _worth_repeating(comparison: Comparison) -> CaseResult | None:
    """The first case that somebody may want to measure again; a changed one has its own line already."""
    return next((one for name in ("failed", "invalid", "inconclusive") for one in grouped(comparison)[name]), None)
