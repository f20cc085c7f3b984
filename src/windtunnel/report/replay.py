"""What windtunnel would have told of commits that are in already, had each been a pull request. Pure."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import CaseResult, Comparison
from windtunnel.errors import Exit, worst
from windtunnel.report.comparison_words import LABELS, by_reason, effect_words
from windtunnel.report.visible import visible
from windtunnel.sample.runfile import Run
from windtunnel.units import Missing, Value, format_minutes

__all__ = ["Row", "Subject", "Told", "broken_row", "checked", "outcome", "render_replay", "replay_to_json", "row"]

_SUBJECT = 66
_MANY = 8
"""So many told changes of one commit are listed."""

_TOLD = {Verdict.REGRESSION, Verdict.IMPROVEMENT}

_HOW = (
    "every commit of which a change was told was compared with its parent once more, in fresh launches; a told "
    "change that this did not tell again is counted as a false alarm (it may also be a change so small that it is "
    "not always seen)"
)
_UNCHECKED = "not checked: --check compares each commit of which a change was told once more"


class Told(Enum):
    """What a pull request would have been told, in one word; of several the first of this list."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    UNMEASURED = "unmeasured"
    NOTHING = "nothing"
    FIRST = "first"
    IDENTICAL = "identical"


_WORDS = {
    Told.REGRESSION: "a regression",
    Told.IMPROVEMENT: "an improvement",
    Told.NOTHING: "no change that is known",
    Told.IDENTICAL: "nothing to measure: identical",
    Told.FIRST: "first run: head only",
    Told.UNMEASURED: "it could not be measured",
}
_CODES = {"invalid": Exit.INVALID, "failed": Exit.HEAD_BROKEN, "lost": Exit.INFRASTRUCTURE}
_HEADING = "would have been told"


@dataclass(frozen=True)
class Subject:
    """The commit of a row. Hashes are full; `parent` is what it was compared with."""

    commit: str
    parent: str
    date: str
    subject: str


@dataclass(frozen=True)
class Change:
    """A told change of one case.

    Attributes:
        case: its id.
        verdict: REGRESSION or IMPROVEMENT.
        metric: what decided.
        words: the effect, as every report of a comparison has it.
        check: the second comparison's verdict; None before there is one.
    """

    case: str
    verdict: Verdict
    metric: str = ""
    words: str = ""
    check: Verdict | None = None

    @property
    def came_back(self) -> bool:
        """Whether the second comparison told the same."""
        return self.check is self.verdict


@dataclass(frozen=True)
class Row:
    """One commit, compared with its parent.

    Attributes:
        subject: which one.
        told: in one word.
        words: the first line of the comparison's report, or why there is none.
        seconds: machine time of the comparison; Missing where it did not come to its end.
        cases: how many cases there were.
        changes: the cases of which a change was told.
        inconclusive: how many cases could not be told.
        codes: the exit codes of what went wrong, whatever else was told: HEAD_BROKEN for a side that does not build
            or start, which is history's own fault, INVALID, and INFRASTRUCTURE for what was lost.
        reasons: why cases failed or are invalid, each once.
        check_seconds: machine time of the second comparison; None where there is none.
        check_words: why the second comparison could not be made, or "".
        run_file: where everything measured is, or "".
    """

    subject: Subject
    told: Told
    words: str
    seconds: Value
    cases: int = 0
    changes: tuple[Change, ...] = ()
    inconclusive: int = 0
    codes: tuple[Exit, ...] = ()
    reasons: tuple[str, ...] = ()
    check_seconds: Value | None = None
    check_words: str = ""
    run_file: str = ""
    detail: str = field(default="", repr=False)

    @property
    def false_alarm(self) -> bool | None:
        """Whether not one told change came back; None where nothing was told, or it was not checked."""
        known = [one for one in self.changes if one.check is not None]
        return not any(one.came_back for one in known) if known else None


def row(subject: Subject, run: Run, comparison: Comparison, words: str, run_file: str = "") -> Row:
    """The row of a comparison. `words` is the first line of its report."""
    return Row(
        subject,
        _told(comparison),
        words,
        seconds_of(run),
        cases=len(comparison.cases),
        changes=tuple(_change(one) for one in comparison.having(*_TOLD)),
        inconclusive=len(comparison.having(Verdict.INCONCLUSIVE)),
        codes=tuple(dict.fromkeys(code for one in _gone_wrong(comparison) for code in _codes(one))),
        reasons=tuple(by_reason(_gone_wrong(comparison))),
        run_file=run_file,
    )


def _change(result: CaseResult) -> Change:
    metric = result.metrics.get(result.decided_by)
    words = f"{LABELS[metric.metric]} {effect_words(metric)}" if metric else ""
    return Change(result.case.id, result.verdict, result.decided_by, words)


def broken_row(subject: Subject, reason: str, code: Exit, detail: str = "") -> Row:
    """The row of a commit for which there is no comparison at all."""
    return Row(subject, Told.UNMEASURED, reason, Missing(reason), codes=(code,), detail=detail)


def checked(before: Row, run: Run, comparison: Comparison) -> Row:
    """The same row with what a second comparison of the same commits said of the told changes.

    A case that the second one does not have (its launches failed, say) did not come back.
    """
    verdicts = {one.case.id: one.verdict for one in comparison.cases}
    changes = tuple(replace(one, check=verdicts.get(one.case, Verdict.FAILED)) for one in before.changes)
    return replace(before, changes=changes, check_seconds=seconds_of(run))


def seconds_of(run: Run) -> Value:
    """The machine time of a run, as its last line has it."""
    found = run.end.get("seconds")
    return float(found) if isinstance(found, int | float) else Missing("the comparison did not come to its end")


def _gone_wrong(comparison: Comparison) -> tuple[CaseResult, ...]:
    return comparison.having(Verdict.FAILED, Verdict.INVALID)


def _codes(result: CaseResult) -> list[Exit]:
    """Of a case that failed or is invalid; one without a launch is one that could not be built."""
    outcomes = [launch.outcome for launches in result.bad.values() for launch in launches]
    return [_CODES[outcome] for outcome in outcomes] or [Exit.HEAD_BROKEN]


def _told(comparison: Comparison) -> Told:
    found = {one.verdict for one in comparison.cases}
    kinds = {one.kind for one in comparison.cases if one.verdict is Verdict.SKIPPED}
    answers = {
        Told.REGRESSION: Verdict.REGRESSION in found,
        Told.IMPROVEMENT: Verdict.IMPROVEMENT in found,
        Told.UNMEASURED: bool(_gone_wrong(comparison)),
        Told.NOTHING: bool(found & {Verdict.UNCHANGED, Verdict.INCONCLUSIVE}),
        Told.FIRST: "first" in kinds,
        Told.IDENTICAL: "identical" in kinds,
    }
    return next((told for told, holds in answers.items() if holds), Told.UNMEASURED)


def outcome(rows: Sequence[Row]) -> Exit:
    """The exit code: what would have been told is a result, not a failure, and so is a commit that does not build."""
    if rows and all(one.told is Told.UNMEASURED for one in rows):
        return Exit.NOTHING_MEASURED
    grave = {Exit.INFRASTRUCTURE, Exit.INVALID}
    return worst([code for one in rows for code in one.codes if code in grave])


# ---------------- text


def render_replay(rows: Sequence[Row], *, title: str, notes: Sequence[str] = (), check: bool = False) -> str:
    """The report as plain text: two lines or more per commit, newest first, then the totals.

    Args:
        rows: in the order they are to be shown in.
        title: which commits these are.
        notes: how they were chosen.
        check: whether told changes were to be checked.
    """
    head = [title, *(f"note: {note}" for note in notes)]
    blocks = ["\n".join(_lines(one)) for one in rows]
    return "\n\n".join(["\n".join(head), *blocks, "\n".join(_totals(rows, check=check))])


def _lines(one: Row) -> list[str]:
    lines = [
        f"{one.subject.commit[:12]}  {one.subject.date[:10]}  {visible(one.subject.subject, _SUBJECT)}",
        f"  {format_minutes(one.seconds):>9}  {visible(one.words)}",
    ]
    lines += [f"             {reason}" for reason in one.reasons[:_MANY]]
    lines += [f"             {_change_words(change)}" for change in one.changes[:_MANY]]
    more = len(one.changes) - _MANY
    lines += [f"             and {more} more cases"] if more > 0 else []
    return lines + ([f"             check: {visible(one.check_words)}"] if one.check_words else [])


def _change_words(change: Change) -> str:
    said = f"{visible(change.case, 60)}: {change.words or change.verdict.value}"
    if change.check is None:
        return said
    return f"{said}; checked: {'came back' if change.came_back else f'did not come back ({change.check.value})'}"


def _totals(rows: Sequence[Row], *, check: bool) -> list[str]:
    lines = [f"Of {_pull_requests(len(rows))}, so many {_HEADING}:"]
    lines += [f"  {_WORDS[told]:<30} {_count(rows, told):>4}{_aside(rows, told)}" for told in _WORDS]
    return [*lines, f"false alarms: {_false_alarms(rows, check=check)}", f"minutes: {_minutes(rows)}"]


def _count(rows: Sequence[Row], told: Told) -> int:
    return sum(one.told is told for one in rows)


def _aside(rows: Sequence[Row], told: Told) -> str:
    """What the one word of a row hides."""
    own = [one for one in rows if one.told is told]
    open_ = sum(one.inconclusive > 0 for one in own)
    wrong = sum(bool(one.codes) for one in own) if told in {Told.REGRESSION, Told.IMPROVEMENT} else 0
    parts = [f"in {open_} of them a case was inconclusive"] * bool(open_)
    parts += [f"in {wrong} of them a case could not be measured"] * bool(wrong)
    return f"   ({'; '.join(parts)})" if parts else ""


def _false_alarms(rows: Sequence[Row], *, check: bool) -> str:
    told = [one for one in rows if one.changes]
    if not told:
        return "none, since no change was told"
    if not check:
        return _UNCHECKED
    known = [one for one in told if one.false_alarm is not None]
    if not known:
        return f"not known, since no check could be made of {_pull_requests(len(told))} with a told change"
    changes = [change for one in known for change in one.changes]
    lost = sum(not change.came_back for change in changes)
    open_ = f"; {len(told) - len(known)} could not be checked" if len(known) < len(told) else ""
    said = (
        f"{sum(one.false_alarm is True for one in known)} of {_pull_requests(len(known))} with a told change "
        f"(told changes that did not come back: {lost} of {len(changes)}){open_}."
    )
    how = textwrap.wrap(f"How this was determined: {_HOW}.", 100, initial_indent="  ", subsequent_indent="  ")
    return "\n".join([said, *how])


def _pull_requests(count: int) -> str:
    return "1 pull request" if count == 1 else f"{count} pull requests"


def _minutes(rows: Sequence[Row]) -> str:
    whole, middle, checks = _seconds(rows)
    second = f"; the checks took {format_minutes(checks)} more" if checks else ""
    return f"{format_minutes(whole)} in all, {format_minutes(middle)} for a pull request (median){second}"


def _seconds(rows: Sequence[Row]) -> tuple[float, Value, float]:
    """In all, the median, and what the checks took."""
    known = [one.seconds for one in rows if not isinstance(one.seconds, Missing)]
    middle: Value = statistics.median(known) if known else Missing("no comparison came to its end")
    checks = [one.check_seconds for one in rows if isinstance(one.check_seconds, float)]
    return sum(known), middle, sum(checks)


# ---------------- JSON


def replay_to_json(
    rows: Sequence[Row], *, title: str, notes: Sequence[str] = (), check: bool = False
) -> dict[str, Any]:
    """The same for programs. Times are in seconds; what was not measured is null."""
    whole, middle, checks = _seconds(rows)
    alarms = [one.false_alarm for one in rows if one.false_alarm is not None]
    return {
        "format": "windtunnel-replay",
        "version": 1,
        "title": title,
        "notes": list(notes),
        "commits": [_row_json(one) for one in rows],
        "told": {told.value: _count(rows, told) for told in Told},
        "false_alarms": {
            "checked": len(alarms) if check else None,
            "false": sum(alarms) if check else None,
            "how": _HOW if check else _UNCHECKED,
        },
        "seconds": {"total": whole, "median": _number(middle), "checks": checks},
    }


def _row_json(one: Row) -> dict[str, Any]:
    return {
        "commit": one.subject.commit,
        "parent": one.subject.parent,
        "date": one.subject.date,
        "subject": one.subject.subject,
        "told": one.told.value,
        "words": one.words,
        "detail": one.detail,
        "reasons": list(one.reasons),
        "seconds": _number(one.seconds),
        "cases": one.cases,
        "inconclusive": one.inconclusive,
        "changes": [
            {
                "case": change.case,
                "verdict": change.verdict.value,
                "metric": change.metric,
                "words": change.words,
                "check": change.check.value if change.check else None,
            }
            for change in one.changes
        ],
        "false_alarm": one.false_alarm,
        "check_seconds": None if one.check_seconds is None else _number(one.check_seconds),
        "check_words": one.check_words,
        "codes": [int(code) for code in one.codes],
        "run_file": one.run_file,
    }


def _number(value: Value) -> float | None:
    return None if isinstance(value, Missing) else value
