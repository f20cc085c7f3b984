"""A comparison as JSON values, for programs: `site/schema/comparison-1.json` describes it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from windtunnel.compare.rule import Rule
from windtunnel.compare.verdict import CaseResult, Comparison, MetricResult
from windtunnel.model import METRICS
from windtunnel.report.comparison_origin import reproduce
from windtunnel.report.comparison_words import advice, headline
from windtunnel.report.run import spent_by_phase
from windtunnel.sample.runfile import Run
from windtunnel.units import Direction, Missing, Value

__all__ = ["FORMAT", "VERSION", "comparison_to_json"]

FORMAT = "windtunnel-comparison"
VERSION = 1


def comparison_to_json(run: Run, comparison: Comparison) -> dict[str, Any]:
    """Everything that is known, in base SI units; what was not measured is {"missing": reason}.

    Strings from outside (names of cases, reasons, logs) are as they were found: whoever shows them escapes them.
    """
    header = run.header
    return {
        "format": FORMAT,
        "version": VERSION,
        "id": header.id,
        "created": header.created,
        "windtunnel": header.windtunnel,
        "project": header.project,
        "complete": run.complete,
        "headline": headline(run, comparison),
        "advice": advice(run, comparison),
        "outcome": {"exit": int(comparison.outcome), "strict": int(comparison.strict)},
        "rule": _rule(comparison.rule),
        "plan": None if header.compare is None else _plain(asdict(header.compare)),
        "seed": header.seed,
        "arms": [asdict(arm) for arm in header.arms],
        "host": None if header.host is None else _plain(asdict(header.host)),
        "spent": dict(spent_by_phase(run)),
        "cases": [_case(run, one) for one in comparison.cases],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "threshold": rule.threshold,
        "alpha": rule.alpha,
        "shares": dict(rule.shares),
        "equivalence": rule.equivalence,
        "looks": [look[0] for look in rule.looks],
        "guard": rule.guard,
        "flag": rule.flag,
        "fresh": rule.fresh,
        "most": rule.most,
        "false_discoveries": rule.false_discoveries,
    }


def _case(run: Run, result: CaseResult) -> dict[str, Any]:
    case = result.case
    return {
        "case": case.id,
        "benchmark": case.benchmark,
        "params": dict(case.params),
        "variant": str(case.variant),
        "verdict": result.verdict.value,
        "kind": result.kind,
        "reason": result.reason,
        "decided_by": result.decided_by or None,
        "pairs": result.pairs,
        "metrics": _metrics(result.metrics),
        "control": _metrics(result.control),
        "bad": {arm: [_bad(one) for one in launches] for arm, launches in result.bad.items()},
        "codes": [int(code) for code in result.codes],
        "notes": list(result.notes),
        "detail": result.detail,
        "reproduce": reproduce(run, case.id),
    }


def _bad(launch: Any) -> dict[str, Any]:
    return {key: getattr(launch, key) for key in ("number", "outcome", "reason", "detail")}


def _metrics(metrics: Mapping[str, MetricResult]) -> dict[str, Any]:
    return {name: _metric(one) for name, one in metrics.items()}


def _metric(one: MetricResult) -> dict[str, Any]:
    kind = METRICS[one.metric]
    return {
        "unit": kind.unit.value,
        "direction": kind.direction.value,
        "judged": kind.judged,
        "base": _value(one.base),
        "head": _value(one.head),
        "effect": _value(one.effect),
        "low": _value(one.low),
        "high": _value(one.high),
        "better": _better(one.effect, kind.direction),
        "pairs": one.pairs,
        "mde": _value(one.mde),
        "p": None if one.finding is None else one.finding.p,
        "verdict": None if one.verdict is None else one.verdict.value,
        "reason": one.reason,
    }


def _better(effect: Value, direction: Direction) -> bool | None:
    """Whether the estimate moved the good way, be it by chance; None where it did not move or is not known."""
    if isinstance(effect, Missing) or effect == 1:
        return None
    return (effect < 1) is (direction is Direction.LOWER_IS_BETTER)


def _value(value: Value) -> Any:
    return {"missing": value.reason} if isinstance(value, Missing) else value


def _plain(value: Any) -> Any:
    """Tuples as lists: what `json.loads` would give back."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
