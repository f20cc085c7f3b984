"""Sections of a comparison as Markdown whose cases are told together: by their reason, or as a list. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from windtunnel.compare.rule import JUDGED
from windtunnel.compare.verdict import CaseResult
from windtunnel.model import METRICS
from windtunnel.report.comparison_origin import reproduce
from windtunnel.report.comparison_words import GROUPS, LABELS, by_reason, cases_words
from windtunnel.report.markdown_cases import (
    FEW,
    HEADER,
    NAME,
    RANKS,
    TITLES,
    Telling,
    gathered_remarks,
    names,
    short_row,
)
from windtunnel.report.pieces import Part, Section, code, fenced, folded, name_cell, tight
from windtunnel.report.visible import tail
from windtunnel.units import format_value

__all__ = ["broken", "first", "listed", "unchanged"]

_REASONS = 5
_END = "\n</details>"


# ---------------- what failed


def broken(telling: Telling, cases: Sequence[CaseResult], name: str) -> Section:
    """What failed or is invalid, by reason: those that most cases have first, each with one log."""
    reasons = sorted(by_reason(cases).items(), key=lambda item: len(item[1]), reverse=True)
    parts = [part for reason, results in reasons[:_REASONS] for part in _reason(telling, reason, results, name)]
    others = tuple(f"- {code(reason)}: {names(results)}" for reason, results in reasons[_REASONS:])
    if others:
        head = f"<details><summary>{len(others):,} more reasons</summary>\n"
        parts.append(Part(f"reasons of cases that {GROUPS[name][1]}", head, others, _END, RANKS[name]))
    return Section(f"### {TITLES[name]}", tuple(parts))


def _reason(telling: Telling, reason: str, results: Sequence[CaseResult], name: str) -> list[Part]:
    what, rank = f"cases that {GROUPS[name][1]}", RANKS[name]
    rows = tuple(f"- {code(one.case.id, most=NAME)}" for one in results)
    if len(rows) <= FEW:
        told = Part(what, f"{code(reason)}\n", rows, rank=rank)
    else:
        head = f"{code(reason)}\n\n<details><summary>{cases_words(len(rows))}</summary>\n"
        told = Part(what, head, rows, _END, rank)
    return [told, _again(telling, results)]


def _again(telling: Telling, results: Sequence[CaseResult]) -> Part:
    """The end of one log, and the command for the first case: the others failed for the same reason."""
    detail = next((one.detail for one in results if one.detail), "")
    log = fenced(tail(detail)) + "\n\n" if detail else ""
    which = "it" if len(results) == 1 else "the first of them"
    command = fenced([reproduce(telling.run, results[0].case.id)], "sh")
    summary = f"The end of the log, and how to measure {which} again" if detail else f"How to measure {which} again"
    return Part("ends of logs", folded(summary, f"{log}{command}"), rank=RANKS["logs"])


# ---------------- lists


def listed(_telling: Telling, cases: Sequence[CaseResult], name: str) -> Section:
    """Names by reason, closed."""
    rows = tuple(
        row
        for reason, results in by_reason(cases).items()
        for row in [f"- {code(reason)}", *(f"    - {code(one.case.id, most=NAME)}" for one in results)]
    )
    head = f"<details><summary>{TITLES[name]}: {cases_words(len(cases))}</summary>\n"
    return Section("", (Part(f"cases that {GROUPS[name][1]}", head, rows, _END, RANKS[name]),))


def unchanged(telling: Telling, cases: Sequence[CaseResult], name: str) -> Section:
    """A row for each case, closed."""
    head = f"<details><summary>{TITLES[name]}: {cases_words(len(cases))}</summary>\n\n{HEADER}"
    rows = tuple(map(short_row, cases))
    legend = ["`?`: of itself inconclusive"] if any(" ? |" in row for row in rows) else []
    remarks = "\n".join(gathered_remarks(cases, telling.shared)[:FEW])
    end = "".join(f"\n{text}\n" for text in (*legend, remarks) if text)
    return Section("", (Part(f"cases that {GROUPS[name][1]}", head, rows, end + _END, RANKS[name]),))


def first(telling: Telling, cases: Sequence[CaseResult], name: str) -> Section:
    """Head's own figures, of cases that base does not have."""
    metrics = (*JUDGED, "throughput")
    table = f"| case | {' | '.join(LABELS[one] for one in metrics)} |\n|:--|{'--:|' * len(metrics)}"
    rows = tuple(
        f"| {name_cell(one.case.id)} | {' | '.join(_own(one, metric) for metric in metrics)} |" for one in cases
    )
    remarks = [*(f"- {code(reason)}" for reason in by_reason(cases)), *gathered_remarks(cases, telling.shared)]
    closed = len(cases) > FEW
    head = f"<details><summary>{cases_words(len(cases))} with their figures</summary>\n\n{table}" if closed else table
    return Section(
        f"### {TITLES[name]}",
        (
            Part(f"cases that {GROUPS[name][1]}", head, rows, _END if closed else "", RANKS[name]),
            Part("remarks on new cases", "", tuple(remarks), rank=RANKS[name]),
        ),
    )


def _own(result: CaseResult, name: str) -> str:
    one = result.metrics.get(name)
    return "n/a" if one is None else tight(format_value(one.head, METRICS[name].unit))
