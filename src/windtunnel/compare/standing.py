"""Where a case stands while it is measured: whether more pairs are wanted, and what for. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from statistics import NormalDist

from windtunnel.compare.rule import JUDGED, Finding, Rule, Verdict, judge

__all__ = ["Need", "Standing", "standing"]

_HOPELESS = 0.01
"""Below this chance of still getting a verdict a case is left alone: its time is worth more elsewhere."""


class Need(IntEnum):
    """What a case needs next, the most pressing first."""

    CONFIRM = 0
    FIRST = 1
    MORE = 2
    NOTHING = 3


@dataclass(frozen=True)
class Standing:
    """A case while it is measured: what it needs, why, and what its metrics say so far."""

    need: Need
    why: str
    findings: Mapping[str, Finding]


def standing(series: Mapping[str, Sequence[float]], rule: Rule, most: int | None = None) -> Standing:
    """Where a case stands.

    Args:
        series: log ratios head / base of its pairs, in their order, by judged metric; what was not measured is left
            out.
        rule: what decides.
        most: how many pairs it can still come to in all, where the budget leaves fewer than `rule.most`.
    """
    findings = {name: judge(name, series[name], rule, ended=False) for name in JUDGED if series.get(name)}
    count = max((len(values) for values in series.values()), default=0)
    most = rule.most if most is None else min(most, rule.most)
    if any(one.verdict is Verdict.REGRESSION for one in findings.values()):
        return Standing(Need.NOTHING, "a regression, confirmed", findings)
    if any(_new(one, rule) for one in findings.values()) and count < most:
        return Standing(Need.CONFIRM, "a change is flagged: fresh pairs have to confirm it", findings)
    if count >= most:
        why = "as many as a case gets" if count >= rule.most else "there is no time for more"
        return Standing(Need.NOTHING, why, findings)
    if count < rule.looks[0][0]:
        return Standing(Need.FIRST, f"the first look comes after {rule.looks[0][0]} pairs", findings)
    return replace(_at_last_look(series, count, rule, most), findings=findings)


def _at_last_look(series: Mapping[str, Sequence[float]], count: int, rule: Rule, most: int) -> Standing:
    """By what was there at the last look.

    Only there a case may stop of its own: where it stops must not hang on how pairs were batched, or on when the run
    was interrupted, and the levels of the looks are not made for a choice among all the places between them.
    """
    at = max(look[0] for look in rule.looks if look[0] <= count)
    findings = {name: judge(name, series[name][:at], rule, ended=False) for name in JUDGED if series.get(name)}
    return _further(findings, at, rule, most)


def _further(findings: Mapping[str, Finding], count: int, rule: Rule, most: int) -> Standing:
    """Between the first look and the last: what is open is only gone on with where it can still be told."""
    first = next(iter(findings.values()), None)
    if first is None:
        return Standing(Need.NOTHING, "nothing that is judged could be measured", findings)
    open_ = [
        one
        for one in findings.values()
        if one.suspect or one.pending > 0 or (one is first and one.verdict is Verdict.INCONCLUSIVE)
    ]
    if not open_:
        return Standing(Need.NOTHING, "clear", findings)
    if count >= rule.looks[1][0] and all(_chance(one, count, rule, most) < _HOPELESS for one in open_):
        return Standing(Need.NOTHING, f"even {most} pairs would hardly tell", findings)
    return Standing(Need.MORE, "not clear yet", findings)


def _new(finding: Finding, rule: Rule) -> bool:
    """Whether a flag is up since the last look: the next one decides on it, or it is one open case among others."""
    return bool(finding.pending) and not any(finding.since < at <= finding.count for at, _, _ in rule.looks)


def _chance(finding: Finding, count: int, rule: Rule, most: int) -> float:
    """The chance that the case has a verdict once it has `most` pairs, if the noise stays as it is.

    The estimate then is normal about today's, with what the pairs to come add to its variance.
    """
    if not math.isfinite(finding.error):
        return 1.0
    final = finding.error * math.sqrt(count / most)
    spread = math.sqrt(max(finding.error**2 - final**2, 1e-18))
    normal = NormalDist(finding.estimate, spread)
    changed = max(rule.border, -NormalDist().inv_cdf(rule.level(finding.metric) / 4) * final)
    unchanged = rule.border + NormalDist().inv_cdf(rule.equivalence / 5) * final
    chance = 1 - normal.cdf(changed) + normal.cdf(-changed)
    return chance + max(0.0, normal.cdf(unchanged) - normal.cdf(-unchanged)) if unchanged > 0 else chance
