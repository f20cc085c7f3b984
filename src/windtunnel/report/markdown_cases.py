"""Sections of a comparison as Markdown whose cases are told one by one, with their figures. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.compare.rule import JUDGED, Verdict
from windtunnel.compare.verdict import CaseResult, MetricResult
from windtunnel.report.around import ACCEPT_COMMAND, ACCEPT_LABEL
from windtunnel.report.comparison_origin import machine_of_case, reproduce
from windtunnel.report.comparison_words import (
    CHANGED,
    GROUPS,
    LABELS,
    SHOWN,
    bad_words,
    by_reason,
    cases_words,
    control_words,
    effect_parts,
    figures,
    notes,
    seen_words,
    verdict_words,
    why,
)
from windtunnel.report.pieces import Part, Section, cell, code, fenced, name_cell, tight
from windtunnel.report.run import load_words
from windtunnel.sample.runfile import Run
from windtunnel.units import Missing, format_change

__all__ = [
    "FEW",
    "HEADER",
    "NAME",
    "RANKS",
    "TITLES",
    "Telling",
    "changed",
    "gathered_remarks",
    "inconclusive",
    "names",
    "short_row",
]

FEW = 10
"""So many cases are open to the eye; more of what is less important are closed at first."""

NAME = 160
"""Characters of a case's name that are shown."""

TITLES = {
    "regression": "Slower",
    "failed": "Failed",
    "invalid": "Invalid",
    "improvement": "Faster",
    "inconclusive": "Could not be told",
    "unmeasured": "Not measured",
    "unchanged": "Unchanged",
    "first": "New in head",
    "skipped": "Skipped",
}

_BY_RANK = (
    *("regression", "failed", "invalid", "matrix", "more", "logs", "improvement", "inconclusive", "origin"),
    *("first", "unmeasured", "further", "unchanged", "folded matrix", "skipped"),
)
RANKS = {name: rank for rank, name in enumerate(_BY_RANK)}
"""What gets room first when there is little of it."""

HEADER = f"| case | {' | '.join(LABELS[name] for name in JUDGED)} | pairs |\n|:--|:--|:--|:--|--:|"
"""Of tables with a column for each judged metric."""


@dataclass(frozen=True)
class Telling:
    """What a section needs besides its cases.

    Attributes:
        run: where the cases come from.
        shared: the notes that are told once, for all.
        triage: whether a reader is to be told how a slowdown is accepted.
        explained: the group at whose table it stands what the figures in it are.
    """

    run: Run
    shared: Sequence[str] = ()
    triage: bool = False
    explained: str = ""


# ---------------- a row for each case


def _row(result: CaseResult) -> str:
    cells = [_metric(result, name) for name in JUDGED]
    return f"| {name_cell(result.case.id)}{_other_decides(result)} | {' | '.join(cells)} | {result.pairs} |"


def _other_decides(result: CaseResult) -> str:
    """What changed, beside the case, where it is not CPU: a narrow screen shows no more than two columns."""
    one = result.metrics.get(result.decided_by)
    if one is None or one.metric == JUDGED[0] or one.verdict not in CHANGED:
        return ""
    return f"<br>{LABELS[one.metric]} **{tight(effect_parts(one)[0])}**"


def _metric(result: CaseResult, name: str) -> str:
    """The effect, set off where it decides; its interval; what base and head came to."""
    one = result.metrics.get(name)
    if one is None:
        return "n/a"
    if one.verdict is None:
        return cell(verdict_words(one))
    change, interval, word = effect_parts(one)
    bold = "**" if name == result.decided_by and one.verdict in CHANGED else ""
    told = f"{bold}{tight(' '.join(part for part in (change, word) if part))}{bold}"
    return "<br>".join(part for part in (told, *map(tight, (interval, seen_words(one), _ends(one)))) if part)


def _ends(one: MetricResult) -> str:
    base, head = figures(one)
    return f"{base} → {head}"


def short_row(result: CaseResult) -> str:
    """A row of one line; `?` marks what is inconclusive of itself."""
    effects = [_short(result.metrics[name]) if name in result.metrics else "n/a" for name in JUDGED]
    return "| " + " | ".join([name_cell(result.case.id), *effects, str(result.pairs)]) + " |"


def _short(one: MetricResult) -> str:
    return _effect(one) + (" ?" if one.verdict is Verdict.INCONCLUSIVE else "")


def _effect(one: MetricResult) -> str:
    """The effect in one line; between it and its word the line may break."""
    change, interval, word = effect_parts(one)
    shown = " ".join(part for part in (change, interval) if part)
    return tight(shown) + (f" {tight(word)}" if word else "")


def _size(result: CaseResult) -> float:
    """How much changed, whichever way."""
    one = result.metrics.get(result.decided_by)
    known = one is not None and not isinstance(one.effect, Missing) and one.effect > 0
    return abs(math.log(one.effect)) if known else 0.0  # type: ignore[union-attr,arg-type]


def _explanation(telling: Telling, name: str) -> list[Part]:
    return [Part("what the figures are", _EXPLANATION, rank=RANKS[name])] if telling.explained == name else []


_EXPLANATION = "<sub>The change from base to head, its 95 % interval in brackets, and the medians of both.</sub>"


# ---------------- what changed


def changed(telling: Telling, cases: Sequence[CaseResult], name: str) -> Section:
    """Cases that got slower or faster, the largest change first."""
    ordered = sorted(cases, key=_size, reverse=True)
    told = f"cases that {GROUPS[name][1]}"
    summary = f"<details><summary>{TITLES[name]}: more figures, and how to measure again</summary>\n"
    further = tuple(_further(telling, one) for one in ordered)
    triage = [Part("how to accept it", _TRIAGE, rank=RANKS[name])] if telling.triage and name == "regression" else []
    return Section(
        f"### {TITLES[name]}",
        (
            Part(told, HEADER, tuple(map(_row, ordered[:FEW])), rank=RANKS[name]),
            *_more(ordered[FEW:], name),
            *_explanation(telling, name),
            *triage,
            Part(f"further figures of {told}", summary, further, "</details>", RANKS["further"]),
        ),
    )


def _more(cases: Sequence[CaseResult], name: str) -> list[Part]:
    """What does not belong to the largest changes, in a line each and closed."""
    if not cases:
        return []
    rank = RANKS["more" if name == "regression" else name]
    head = f"<details><summary>{len(cases):,} more, none of them larger</summary>\n\n{HEADER}"
    return [Part(f"cases that {GROUPS[name][1]}", head, tuple(map(short_row, cases)), "\n</details>", rank)]


_TRIAGE = (
    f"Worth it? Somebody with write permission comments `{ACCEPT_COMMAND} REASON` here, "
    f"or puts the label `{ACCEPT_LABEL}` on; nothing is measured again for that."
)


def _further(telling: Telling, result: CaseResult) -> str:
    """What is not judged, what else is to be known, and the command that measures the case again."""
    rows = [_shown_row(result.metrics[name]) for name in SHOWN if name in result.metrics]
    table = ["| shown, not judged | base | head | effect, 95 % interval |\n|:--|--:|--:|:--|", *rows] if rows else []
    pieces = [
        f"#### {code(result.case.id, most=NAME)}",
        "\n".join(_remarks(telling, result)),
        "\n".join(table),
        fenced([reproduce(telling.run, result.case.id)], "sh"),
    ]
    return "\n\n".join(piece for piece in pieces if piece) + "\n"


def _shown_row(one: MetricResult) -> str:
    return "| " + " | ".join([LABELS[one.metric], *map(tight, figures(one)), _effect(one)]) + " |"


def _remarks(telling: Telling, result: CaseResult) -> list[str]:
    lines = [f"- load: {code(load_words(result.case.workload))}"]
    lines += [f"- machine: {code(words)}"] if (words := machine_of_case(telling.run, result.case.id)) else []
    lines += [f"- why: {code(why(result))}"] if result.reason else []
    lines += [f"- {code(words)}" for words in bad_words(result)]
    lines += [f"- control (base once more): {words}"] if (words := control_words(result)) else []
    return lines + [f"- note: {code(note)}" for note in notes(result, telling.shared)]


# ---------------- what could not be told


def inconclusive(telling: Telling, cases: Sequence[CaseResult], name: str) -> Section:
    """What could not be told, with the smallest slowdown that could have been; a long table is closed."""
    rank, what = RANKS[name], f"cases that {GROUPS[name][1]}"
    reasons = [f"- {code(reason)}: {names(results)}" for reason, results in by_reason(cases).items()]
    remarks = gathered_remarks(cases, telling.shared)
    closed = len(cases) > FEW
    head = f"<details><summary>{cases_words(len(cases))} with their figures</summary>\n\n{HEADER}"
    table = Part(what, head if closed else HEADER, tuple(map(_row, cases)), "\n</details>" if closed else "", rank)
    seen = [Part("what could have been seen", words, rank=rank)] if closed and (words := _range(cases)) else []
    because = Part("reasons why they could not be told", "Why:\n", (*reasons, *remarks), rank=rank)
    explained = [] if closed else _explanation(telling, name)
    return Section(f"### {TITLES[name]}", (*seen, table, *explained, because))


def _range(cases: Sequence[CaseResult]) -> str:
    """From the best to the worst of what could have been seen."""
    metrics = [one.metrics[one.decided_by] for one in cases if one.decided_by in one.metrics]
    seen = [one.mde for one in metrics if one.verdict is Verdict.INCONCLUSIVE and not isinstance(one.mde, Missing)]
    if not seen:
        return ""
    ends = " to ".join(dict.fromkeys(format_change(1 + share) for share in (min(seen), max(seen))))
    return f"The smallest slowdown that could have been seen, from case to case: {tight(ends)}."


def names(results: Sequence[CaseResult]) -> str:
    """Some cases by name, the rest by number."""
    shown = [code(one.case.id, most=NAME) for one in results[:FEW]]
    more = [f"{cases_words(len(results) - FEW)} more"] if len(results) > FEW else []
    return ", ".join([*shown, *more])


def gathered_remarks(cases: Sequence[CaseResult], shared: Sequence[str]) -> list[str]:
    """What is to be known of these cases, each thing once."""
    told: dict[str, int] = {}
    for result in cases:
        control = control_words(result) if result.verdict is Verdict.INCONCLUSIVE else ""
        remarks = [*bad_words(result), *notes(result, shared)]
        for words in [*remarks, *([f"control (base once more): {control}"] if control else [])]:
            told[words] = told.get(words, 0) + 1
    return [
        f"- {code(words)}" + (f" ({cases_words(count)})" if len(cases) > 1 else "") for words, count in told.items()
    ]
