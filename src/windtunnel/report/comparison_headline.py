"""The first lines of every report of a comparison: what came of it, and what to do. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from windtunnel.compare.rule import JUDGED, Verdict
from windtunnel.compare.verdict import CaseResult, Comparison
from windtunnel.errors import Exit
from windtunnel.report.comparison_labels import GROUPS, LABELS, cases_words, grouped
from windtunnel.sample.merge import missing_shards
from windtunnel.sample.runfile import Run
from windtunnel.units import Missing, format_change, format_share

__all__ = ["advice", "headline"]


def headline(run: Run, comparison: Comparison) -> str:
    """The outcome in one sentence without a full stop."""
    said = _outcome(comparison)
    return said[:1].upper() + said[1:] if run.complete else f"Unfinished; so far: {said}"


def _outcome(comparison: Comparison) -> str:
    groups = {name: cases for name, cases in grouped(comparison).items() if cases}
    if not groups:
        return "nothing was measured"
    compared = {name: cases for name, cases in groups.items() if name not in {"first", "skipped"}}
    if not compared:
        return _nothing_compared(groups)
    total = sum(map(len, compared.values()))
    if _mostly_unchanged(compared, total):
        return _unchanged(comparison, compared, total)
    first, *others = compared.items()
    return ", ".join([_of(total, *first), *(f"{len(cases):,} {_does(name, cases)}" for name, cases in others)])


def _mostly_unchanged(compared: Mapping[str, Sequence[CaseResult]], total: int) -> bool:
    """Nothing changed or broke, and what could not be told does not outweigh what could."""
    quiet = set(compared) <= {"unchanged", "inconclusive", "unmeasured"}
    return quiet and 2 * len(compared.get("unchanged", ())) > total


def _unchanged(comparison: Comparison, compared: Mapping[str, Sequence[CaseResult]], total: int) -> str:
    """CPU decided; no more is said of the times than what was seen."""
    cases = compared["unchanged"]
    seen = [{one.verdict for one in result.metrics.values() if one.verdict is not None} for result in cases]
    faster = sum(Verdict.IMPROVEMENT in verdicts for verdicts in seen)
    open_ = sum(Verdict.INCONCLUSIVE in verdicts for verdicts in seen)
    what = f" of {LABELS[JUDGED[0]]}" if faster or open_ else ""
    of = cases_words(total) if len(cases) == total else f"{len(cases):,} of {cases_words(total)}"
    said = [f"no change{what} larger than {format_share(comparison.rule.threshold)} in {of}"]
    said += [f"in {faster:,} a time got shorter"] if faster else []
    said += [f"in {open_:,} a time could not be told"] if open_ else []
    others = [(name, cases) for name, cases in compared.items() if name != "unchanged"]
    return "; ".join([*said, *(f"{len(cases):,} {_does(name, cases)}" for name, cases in others)])


def _does(name: str, cases: Sequence[CaseResult]) -> str:
    return GROUPS[name][len(cases) > 1]


def _of(total: int, name: str, cases: Sequence[CaseResult]) -> str:
    if total == 1:
        return f"the only case {_does(name, cases)}"
    if total == len(cases) and name == "unmeasured":
        return f"none of the {total:,} cases was measured"
    if total == len(cases) and name == "inconclusive":
        return "neither case could be told" if total == 2 else f"none of the {total:,} cases could be told"
    if total == len(cases):
        return f"{'both' if total == 2 else f'all {total:,}'} cases {_does(name, cases)}"
    return f"{len(cases):,} of {total:,} cases {_does(name, cases)}"


def _nothing_compared(groups: Mapping[str, Sequence[CaseResult]]) -> str:
    first = groups.get("first", ())
    identical = [one for one in groups.get("skipped", ()) if one.kind == "identical"]
    absent = len(groups.get("skipped", ())) - len(identical)
    if first:
        rest = len(identical) + absent
        other = f"; {cases_words(rest)} skipped" if rest else ""
        return f"first run: head only, base has none of the {cases_words(len(first))} that were measured{other}"
    if identical and not absent:
        which = (
            "the only case is"
            if len(identical) == 1
            else f"{'both' if len(identical) == 2 else f'all {len(identical):,}'} cases are"
        )
        return f"nothing to measure: {which} identical in base and head"
    parts = [f"{cases_words(len(identical))} identical in base and head"] if identical else []
    return f"nothing was measured: {', '.join([*parts, f'{cases_words(absent)} skipped'])}"


# ---------------- what to do


_TO_DO = {
    Exit.HEAD_BROKEN: "make head build, start and answer (reason and log are below)",
    Exit.INFRASTRUCTURE: "see what failed and measure again (nothing is known of those cases, "
    "and head need not be at fault)",
    Exit.REGRESSION: "find what made head slower, or decide that it is worth it",
    Exit.INVALID: "see which answers were wrong (their speed means nothing)",
    Exit.NOTHING_MEASURED: "see why nothing was measured (nothing is known of head's speed)",
}
"""By outcome, the gravest first."""

_ACCEPTED = "the slowdown was accepted"


def advice(run: Run, comparison: Comparison, *, accepted: bool = False) -> str:
    """What whoever reads this is to do, in a sentence or two; `accepted`: nothing about what got slower."""
    if not run.complete:
        return _missing_parts(run) or "The comparison was cut short or still goes on; what follows may change."
    if comparison.outcome is not Exit.OK:
        return _to_do(comparison, accepted=accepted)
    groups = grouped(comparison)
    if groups["inconclusive"] or groups["unmeasured"]:
        return _open(groups)
    return "Nothing to do: the next comparison has a base for them." if groups["first"] else "Nothing to do."


def _to_do(comparison: Comparison, *, accepted: bool) -> str:
    codes = {comparison.outcome, *(code for one in comparison.cases for code in one.codes)}
    if accepted:
        codes.discard(Exit.REGRESSION)
    parts = [words for code, words in _TO_DO.items() if code in codes]
    if not parts:
        return f"Nothing to do: {_ACCEPTED}."
    return f"To do: {'; '.join(parts)}." + (f" {_ACCEPTED.capitalize()}." if accepted else "")


def _open(groups: Mapping[str, Sequence[CaseResult]]) -> str:
    seen = [value for value in map(_detectable, groups["inconclusive"]) if not isinstance(value, Missing)]
    if not seen:
        return "Nothing is known to be slower; why not more can be said is below."
    missed = format_change(1 + max(seen))
    return (
        f"Nothing is known to be slower. A slowdown below {missed} may have been missed; a larger budget tells more."
    )


def _detectable(result: CaseResult) -> float | Missing:
    metric = result.metrics.get(result.decided_by)
    told = metric is not None and metric.verdict is Verdict.INCONCLUSIVE
    return metric.mde if metric is not None and told else Missing("not for want of pairs")


_PART = re.compile(r"[1-9][0-9]{0,2}/[1-9][0-9]{0,2}")
_PARTS = 8


def _missing_parts(run: Run) -> str:
    """Which shards of a merged run are not there, as far as that can be known."""
    cut = [shard for shard in run.header.shards if shard.shard]
    if not all(_PART.fullmatch(shard.shard) for shard in cut):
        return ""
    missing = missing_shards(cut)
    if not missing:
        return ""
    more = f" and {len(missing) - _PARTS} more" if len(missing) > _PARTS else ""
    shards, it, its = ("shard", "it", "its") if len(missing) == 1 else ("shards", "them", "their")
    named = ", ".join(missing[:_PARTS]) + more
    return f"Nothing has come of {shards} {named}: run {it} again; {its} cases are not among these."
