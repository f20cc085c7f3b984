"""From a run to its verdicts: every case, every judged metric, and the outcome of the whole. Pure.

Verdicts are computed from the slices each time, never stored: whoever reads a run file decides by their own rule.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from windtunnel.compare.effects import Pair, pair_effect, pairs_of
from windtunnel.compare.estimate import Sample
from windtunnel.compare.rule import CONFIDENCE, JUDGED, Finding, Rule, Verdict, judge, minimum_detectable
from windtunnel.errors import Exit, worst
from windtunnel.model import METRICS, Case, Launch, Variant, Workload
from windtunnel.sample.runfile import Failure, Run
from windtunnel.sample.summary import launch_metrics, warnings_of
from windtunnel.units import Missing, Value

__all__ = ["ENOUGH_BAD", "CaseResult", "Comparison", "MetricResult", "compare", "compare_case", "rule_of"]

ENOUGH_BAD = 2
"""So many launches of an arm that go wrong decide the case: it gets no more, whatever the others show."""

_ARMS = ("head", "base", "control")
"""The arms that a comparison knows, the one whose fault is told first at the front."""

_LARGEST = 700.0
"""Log ratios beyond it have no ratio that a float can hold. Nobody measures them, but a file may have them."""

_BAD = {"invalid": Verdict.INVALID, "failed": Verdict.FAILED, "lost": Verdict.FAILED}


@dataclass(frozen=True)
class MetricResult:
    """One metric of a case, base against head (or base against control).

    Attributes:
        metric: its name in `METRICS`.
        base, head: the median over the launches, in the metric's unit.
        effect: head / base as a ratio, or Missing.
        low, high: the effect's 95 % interval as ratios, or Missing with fewer than six pairs.
        pairs: how many pairs the effect comes from.
        mde: the smallest slowdown, as a share, that would have been told from noise; Missing for what is not judged.
        finding: what the rule says; None for a metric that is shown and not judged, or was not measured.
        verdict: `finding`'s, once false discoveries over the matrix are controlled; None like `finding`.
        reason: why it is inconclusive, or "".
    """

    metric: str
    base: Value
    head: Value
    effect: Value
    low: Value
    high: Value
    pairs: int
    mde: Value = field(default_factory=lambda: Missing("not judged"))
    finding: Finding | None = None
    verdict: Verdict | None = None
    reason: str = ""


@dataclass(frozen=True)
class CaseResult:
    """A case with its verdict.

    Attributes:
        case: what was measured.
        verdict: of the case.
        reason: why, in words: for what is not plain from the figures ("identical", the error of a build).
        metrics: by name, the judged ones first; empty where nothing was measured.
        decided_by: the metric that the verdict comes from, or "".
        control: what base against base once more shows, by judged metric; empty without a control arm.
        pairs: how many good pairs there are.
        bad: by arm, the launches that went wrong.
        codes: the exit codes that this case asks for.
        notes: what a reader should know: warnings, metrics that could not be told.
        detail: longer material (the end of a log), or "".
        kind: "" for what was compared; for SKIPPED "identical", "first" (head only) or "absent".
    """

    case: Case
    verdict: Verdict
    reason: str = ""
    metrics: Mapping[str, MetricResult] = field(default_factory=dict)
    decided_by: str = ""
    control: Mapping[str, MetricResult] = field(default_factory=dict)
    pairs: int = 0
    bad: Mapping[str, tuple[Launch, ...]] = field(default_factory=dict)
    codes: tuple[Exit, ...] = ()
    notes: tuple[str, ...] = ()
    detail: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Comparison:
    """All cases of a run, judged.

    `outcome` is the exit code without `--strict`; `strict` the one with it.
    """

    cases: tuple[CaseResult, ...]
    rule: Rule
    outcome: Exit
    strict: Exit

    def having(self, *verdicts: Verdict) -> tuple[CaseResult, ...]:
        """The cases with one of these verdicts."""
        return tuple(one for one in self.cases if one.verdict in verdicts)


def rule_of(run: Run) -> Rule:
    """The rule that a run was measured by, as its header has it; the default where it has none."""
    plan = run.header.compare
    return Rule() if plan is None else Rule(threshold=plan.threshold, most=plan.most)


def compare(run: Run, rule: Rule | None = None) -> Comparison:
    """Judge a run by a rule (its own, if none is given)."""
    rule = rule or rule_of(run)
    cases = _controlled([compare_case(part, case, rule) for case, part in _by_case(run)], rule)
    cases += _strangers(run)
    codes = [code for case in cases for code in case.codes]
    if not any(case.pairs or case.kind in {"identical", "first"} for case in cases):
        codes.append(Exit.NOTHING_MEASURED)
    told: list[Exit] = [code for code in codes if code is not Exit.INCONCLUSIVE]
    return Comparison(tuple(cases), rule, worst(told), worst(codes))


def _by_case(run: Run) -> Iterator[tuple[Case, Run]]:
    """Each case with its part of the run: hundreds of cases need not all look through the launches of all others."""
    launches: dict[str, list[Launch]] = {}
    failures: dict[str, list[Failure]] = {}
    for launch in run.launches:
        launches.setdefault(launch.case, []).append(launch)
    for failure in run.failures:
        failures.setdefault(failure.case, []).append(failure)
    for case in run.header.cases:
        own = tuple(launches.get(case.id, ())), tuple(failures.get(case.id, ()))
        yield case, replace(run, launches=own[0], failures=own[1])


def _strangers(run: Run) -> list[CaseResult]:
    """What went wrong before it was a case of the run."""
    known = {case.id for case in run.header.cases}
    found: dict[str, dict[str, Failure]] = {}
    for failure in run.failures:
        if failure.case not in known:
            found.setdefault(failure.case, {})[failure.arm] = failure
    return [_failed(Case(name, (), Variant(""), Workload()), run, own) for name, own in found.items()]


# ---------------- one case


def compare_case(run: Run, case: Case, rule: Rule) -> CaseResult:
    """Judge one case by itself: false discoveries over the matrix are not controlled yet."""
    failures = {failure.arm: failure for failure in run.failures if failure.case == case.id}
    if failures:
        return _failed(case, run, failures)
    identifier = case.id
    launches = [launch for launch in run.launches if launch.case == identifier and launch.arm in _ARMS]
    bad = _bad_launches(launches)
    pairs = pairs_of(launches, case.id)
    result = CaseResult(
        case,
        Verdict.INCONCLUSIVE,
        metrics=_metrics(pairs, rule),
        control=_control(launches, case.id, rule),
        pairs=len(pairs),
        bad=bad,
        notes=warnings_of(launches),
    )
    broken = {arm: wrong for arm, wrong in bad.items() if len(wrong) >= ENOUGH_BAD}
    return _broken(result, broken) if broken else _decided(result)


def _metrics(pairs: Sequence[Pair], rule: Rule) -> dict[str, MetricResult]:
    """Every metric, judged or shown."""
    if not pairs:
        return {}
    return {
        name: _metric(
            name,
            (_middle([pair.figures[0][name] for pair in pairs]), _middle([pair.figures[1][name] for pair in pairs])),
            [pair_effect(name, pair) for pair in pairs],
            rule,
        )
        for name in (*JUDGED, *(name for name in METRICS if name not in JUDGED))
    }


def _metric(name: str, middles: tuple[Value, Value], effects: Sequence[Value], rule: Rule) -> MetricResult:
    values = [one for one in effects if not isinstance(one, Missing)]
    if not values:
        why = next((one for one in effects if isinstance(one, Missing)), Missing("not measured"))
        return MetricResult(name, *middles, why, why, why, 0)
    sample = Sample(values)
    low, high = sample.interval(CONFIDENCE)
    plain = MetricResult(name, *middles, _ratio(sample.estimate), _ratio(low), _ratio(high), len(values))
    if name not in JUDGED:
        return plain
    finding = judge(name, values, rule)
    mde = minimum_detectable(finding, rule)
    return replace(
        plain,
        mde=mde if math.isfinite(mde) else Missing("too few pairs to say"),
        finding=finding,
        verdict=finding.verdict,
        reason=finding.reason,
    )


def _ratio(value: float) -> Value:
    if not math.isfinite(value):
        return Missing("too few pairs for an interval")
    return math.exp(value) if abs(value) < _LARGEST else Missing("no number can hold the ratio")


def _middle(values: Sequence[Value]) -> Value:
    known = [one for one in values if not isinstance(one, Missing)]
    return statistics.median(known) if known else values[0]


def _control(launches: Sequence[Launch], case: str, rule: Rule) -> dict[str, MetricResult]:
    pairs = pairs_of(launches, case, "control")
    found = _metrics(pairs, rule)
    return {name: found[name] for name in JUDGED if name in found}


def _decided(result: CaseResult) -> CaseResult:
    """CPU decides; the others may make it worse, and what they could not tell is a note."""
    judged = [result.metrics[name] for name in JUDGED if name in result.metrics]
    measured = [one for one in judged if one.verdict is not None]
    if not measured:
        return _unmeasured(result, judged)
    worse = next((one for one in measured if one.verdict is Verdict.REGRESSION), None)
    first = judged[0]
    leading = worse or (first if first.verdict is not None else measured[0])
    notes = [*result.notes, *(_note(one) for one in judged if one is not leading)]
    verdict = leading.verdict or Verdict.INCONCLUSIVE
    reason = leading.reason
    if leading is not first and worse is None and verdict is not Verdict.INCONCLUSIVE:
        why = first.effect.reason if isinstance(first.effect, Missing) else "not measured"
        verdict, reason = Verdict.INCONCLUSIVE, f"{first.metric} was not measured: {why}"
    alarm = _false_control(result)
    if alarm and verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT}:
        verdict, reason = Verdict.INCONCLUSIVE, alarm
    result = replace(result, verdict=verdict, reason=reason, decided_by=leading.metric)
    return replace(result, notes=tuple(dict.fromkeys(note for note in notes if note)), codes=_codes(verdict))


def _codes(verdict: Verdict) -> tuple[Exit, ...]:
    known = {Verdict.REGRESSION: Exit.REGRESSION, Verdict.INCONCLUSIVE: Exit.INCONCLUSIVE}
    return (known[verdict],) if verdict in known else ()


def _note(one: MetricResult) -> str:
    if one.verdict is None and isinstance(one.effect, Missing):
        return f"{one.metric} was not measured: {one.effect.reason}"
    return ""


def _unmeasured(result: CaseResult, judged: Sequence[MetricResult]) -> CaseResult:
    """Not one good pair, or none with a figure that is judged."""
    wrong = [launch for launches in result.bad.values() for launch in launches]
    if wrong:
        return _broken(result, {arm: launches for arm, launches in result.bad.items() if launches})
    why = next((one.effect.reason for one in judged if isinstance(one.effect, Missing)), "no pair was measured")
    return replace(result, verdict=Verdict.INCONCLUSIVE, reason=why, codes=(Exit.INCONCLUSIVE,))


def _false_control(result: CaseResult) -> str:
    """Base against base is the same thing twice: a change seen there is the machine's."""
    seen = [one.metric for one in result.control.values() if one.verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT}]
    return f"the control arm, base once more, shows a change in {', '.join(seen)} too" if seen else ""


# ---------------- what went wrong


def _bad_launches(launches: Sequence[Launch]) -> dict[str, tuple[Launch, ...]]:
    arms = dict.fromkeys(launch.arm for launch in launches)
    bad = {arm: tuple(one for one in launches if one.arm == arm and one.outcome != "ok") for arm in arms}
    return {arm: wrong for arm, wrong in bad.items() if wrong}


def _broken(result: CaseResult, broken: Mapping[str, Sequence[Launch]]) -> CaseResult:
    """An arm that does not serve, or serves wrong answers, has no speed. Head's fault is told before base's."""
    arm = min(broken, key=_ARMS.index)
    last = broken[arm][-1]
    codes = tuple(dict.fromkeys(_code(launch, name) for name, wrong in broken.items() for launch in wrong))
    return replace(
        result, verdict=_BAD[last.outcome], reason=f"{arm}: {last.reason}", codes=codes, detail=last.detail
    )


def _code(launch: Launch, arm: str) -> Exit:
    if launch.outcome == "invalid":
        return Exit.INVALID
    return Exit.HEAD_BROKEN if launch.outcome == "failed" and arm == "head" else Exit.INFRASTRUCTURE


def _failed(case: Case, run: Run, failures: Mapping[str, Failure]) -> CaseResult:
    """A case that was not launched on both arms."""
    failure = failures.get("head") or next(iter(failures.values()))
    if failure.kind == "first":
        own = [launch for launch in run.launches if launch.case == case.id and launch.arm == "head"]
        return _first(case, failure, own)
    if failure.kind in {"skipped", "identical"}:
        kind = "identical" if failure.kind == "identical" else "absent"
        return CaseResult(case, Verdict.SKIPPED, failure.reason, kind=kind)
    code = Exit.HEAD_BROKEN if failure.arm == "head" else Exit.INFRASTRUCTURE
    return CaseResult(case, Verdict.FAILED, f"{failure.arm}: {failure.reason}", codes=(code,), detail=failure.detail)


def _first(case: Case, failure: Failure, launches: Sequence[Launch]) -> CaseResult:
    """Base has no such case: head's own figures, and nothing to compare them with."""
    good = [launch_metrics(launch) for launch in launches if launch.outcome == "ok"]
    bad = _bad_launches(launches)
    why = Missing(failure.reason)
    metrics = {
        name: MetricResult(name, why, _middle([one[name] for one in good]), why, why, why, 0)
        for name in (METRICS if good else ())
    }
    result = CaseResult(case, Verdict.SKIPPED, failure.reason, metrics, bad=bad, kind="first")
    wrong = bad.get("head", ())
    return _broken(result, {"head": wrong}) if len(wrong) >= ENOUGH_BAD or (wrong and not good) else result


# ---------------- the matrix


def _controlled(results: Sequence[CaseResult], rule: Rule) -> list[CaseResult]:
    """Of what is told at most a share may be false (Benjamini-Hochberg over all judged metrics of all cases)."""
    findings = [
        metric.finding
        for one in results
        if one.verdict not in {Verdict.INVALID, Verdict.FAILED}  # of those nothing is told
        for metric in one.metrics.values()
        if metric.finding
    ]
    ordered = sorted(finding.p for finding in findings)
    passing = [p for rank, p in enumerate(ordered, 1) if p <= rule.false_discoveries * rank / len(ordered)]
    limit = max(passing, default=0.0)
    return [_tempered(result, limit, len(results)) for result in results]


def _tempered(result: CaseResult, limit: float, cases: int) -> CaseResult:
    metrics = {
        name: replace(one, verdict=Verdict.INCONCLUSIVE, reason=f"not clear enough among {cases} cases")
        if one.finding and one.verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT} and one.finding.p > limit
        else one
        for name, one in result.metrics.items()
    }
    if metrics == result.metrics or result.verdict not in {Verdict.REGRESSION, Verdict.IMPROVEMENT}:
        return replace(result, metrics=metrics)
    return _decided(replace(result, metrics=metrics))
