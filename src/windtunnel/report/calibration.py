"""What `windtunnel calibrate` found, for people and for programs. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.compare.recommend import Advice, Length, Outlook, pairs_to_tell
from windtunnel.compare.rule import JUDGED, Rule
from windtunnel.compare.variance import Noise
from windtunnel.model import Case, LaunchPlan
from windtunnel.units import Missing, Unit, Value, format_change, format_value

__all__ = ["CaseAdvice", "advice_to_json", "notes_of", "render_advice"]

_NO_LENGTHS = (
    "what another length of slices would do was not measured (--lengths 40ms,80ms does); of the noise of slices "
    "only the part that is between requests is bound to go down with length"
)

Cell = Callable[[Noise], str]


@dataclass(frozen=True)
class CaseAdvice:
    """A case, and what is recommended for it; Missing, with the reason, where nothing can be."""

    case: Case
    advice: Advice | Missing


# ---------------- for people


def render_advice(found: Sequence[CaseAdvice], rule: Rule) -> str:
    """The whole report: a block per case."""
    return "\n\n".join("\n".join(_block(one, rule)) for one in found)


def _block(one: CaseAdvice, rule: Rule) -> list[str]:
    if isinstance(one.advice, Missing):
        return [f"{one.case.id}   not calibrated: {one.advice.reason}"]
    advice = one.advice
    seconds = math.fsum(length.seconds for length in advice.lengths)
    pairs = sum(length.pairs for length in advice.lengths)
    lines = [f"{one.case.id}   the same image in both arms, {pairs} pairs in {seconds:.0f} s"]
    for length in advice.lengths:
        lines += ["", f"  Slices of {_length(length.plan.seconds)} ({_sizes(length)}):", *_noise_table(length)]
    lines += ["", *_outlook_table(advice), ""]
    return lines + [f"  note: {note}" for note in notes_of(one, rule)]


def _sizes(length: Length) -> str:
    return f"{length.sizes.load:,} requests, {length.sizes.single:,} at concurrency 1"


def _noise_table(length: Length) -> list[str]:
    rows: list[tuple[str, Cell]] = [
        ("sd between launch pairs", lambda noise: _sd(noise.variances.launch)),
        ("sd between slice pairs", lambda noise: _sd(noise.variances.slice)),
        ("  of it between requests", lambda noise: _sd(noise.variances.request)),
        ("sd of a pair as it is compared", lambda noise: _sd(noise.seen**2)),
        ("effect", lambda noise: format_change(math.exp(noise.estimate))),
        ("  from", lambda noise: _effect(noise.low)),
        ("  to", lambda noise: _effect(noise.high)),
    ]
    return [*_table([("", JUDGED), *((label, _cells(length, cell)) for label, cell in rows)]), *_cost_lines(length)]


def _cost_lines(length: Length) -> list[str]:
    costs = [
        ("starting, warming up and stopping", length.costs.launch),
        ("a slice under load", length.costs.slice),
        ("a slice at concurrency 1", length.costs.single),
    ]
    told = ", ".join(f"{what} {_duration(seconds)}" for what, seconds in costs if seconds)
    return [f"  Both arms together: {told}"]


def _cells(length: Length, cell: Cell) -> list[str]:
    return [cell(noise) if isinstance(noise := length.noises[name], Noise) else str(noise) for name in JUDGED]


def _sd(variance: Value) -> str:
    return format_value(variance if isinstance(variance, Missing) else math.sqrt(variance), Unit.RATIO)


def _effect(log_ratio: float) -> str:
    return format_change(math.exp(log_ratio)) if math.isfinite(log_ratio) else "n/a"


def _outlook_table(advice: Advice) -> list[str]:
    """What today's plan and the recommended one come to."""
    budget = f"{advice.budget:g} s"
    plans = {"present": advice.present, "recommended": advice.recommended}
    width = max(map(len, plans)) + len(" plan:")
    rows = [
        f"  {name.capitalize() + ' plan:':<{width}}  {_outlook_words(one, budget)}" for name, one in plans.items()
    ]
    known = {name: one for name, one in plans.items() if isinstance(one, Outlook)}
    mdes = [
        (f"MDE in {budget}, {name} plan", [format_value(one.mde[key], Unit.RATIO) for key in JUDGED])
        for name, one in known.items()
    ]
    return [*rows, *_table([("", JUDGED), *mdes])]


def _outlook_words(one: Outlook | Missing, budget: str) -> str:
    if isinstance(one, Missing):
        return one.reason
    return f"{_plan(one.plan)}; {_duration(one.pair)} a pair, {one.pairs} pairs in {budget}"


def _plan(plan: LaunchPlan) -> str:
    single = f" and {plan.single_slices} at concurrency 1" if plan.single_slices else ""
    return f"{plan.slices} slices{single} of {_length(plan.seconds)}"


def _length(seconds: float) -> str:
    """A slice's length as it was asked for: it is no measured figure, so it has no more digits than it needs."""
    return f"{seconds * 1e3:g} ms"


def _duration(seconds: float) -> str:
    return format_value(seconds, Unit.SECOND)


def _table(rows: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    rows = list(rows)
    first = max(len(label) for label, _ in rows)
    widths = [max(len(cells[column]) for _, cells in rows) for column in range(len(JUDGED))]
    return [
        f"  {label:<{first}}" + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for label, cells in rows
    ]


def notes_of(one: CaseAdvice, rule: Rule) -> list[str]:
    """What a reader should know before going by the figures."""
    if isinstance(one.advice, Missing):
        return []
    best = one.advice.best
    notes = [_certainty(best), *_of_metrics(best), *_of_length(one.case, one.advice)]
    return [*notes, *_of_pairs(one.advice, rule)]


def _of_pairs(advice: Advice, rule: Rule) -> list[str]:
    fit, least = advice.recommended.pairs, pairs_to_tell(rule, *advice.best.known)
    if fit >= least:
        return []
    return [f"{fit} pairs fit into {advice.budget:g} s, and it takes {least} to tell a change: give a case more time"]


def _certainty(length: Length) -> str:
    """The relative error of a standard deviation from n normal values is 1 / sqrt(2 (n - 1)), nearly."""
    share = 1 / math.sqrt(2 * (length.pairs - 1))
    return f"from {length.pairs} pairs a standard deviation is known to ±{share:.0%} or so"


def _of_metrics(length: Length) -> list[str]:
    notes: list[str] = []
    for name, noise in length.noises.items():
        if isinstance(noise, Missing):
            notes.append(f"{name}: {noise.reason}")
            continue
        if noise.negative:
            notes.append(
                f"{name}: launches differ by no more than their slices account for; the variance between them came "
                "out below 0 and is taken as 0"
            )
        if not noise.holds_nothing:
            notes.append(
                f"{name}: the interval of the effect does not hold 0, though both arms are the same. By chance that "
                "happens once in 20; if it happens again, this machine does not treat the arms alike"
            )
    return notes


def _of_length(case: Case, advice: Advice) -> list[str]:
    if case.workload.requests is not None:
        return ["the workload says how many requests a slice has, so the length of slices is not a choice"]
    if len(advice.lengths) > 1:
        return []
    return [_NO_LENGTHS]


# ---------------- for programs


def advice_to_json(found: Sequence[CaseAdvice], rule: Rule) -> list[dict[str, Any]]:
    """The cases as JSON values: variances of log ratios, seconds, shares; what is not known has a "missing"."""
    return [{"case": one.case.id, **_advice_json(one), "notes": notes_of(one, rule)} for one in found]


def _advice_json(one: CaseAdvice) -> dict[str, Any]:
    advice = one.advice
    if isinstance(advice, Missing):
        return {"advice": _value_json(advice)}
    return {
        "budget": advice.budget,
        "lengths": [_length_json(length) for length in advice.lengths],
        "present": _value_json(advice.present) if isinstance(advice.present, Missing) else _outlook(advice.present),
        "recommended": _outlook(advice.recommended),
    }


def _length_json(length: Length) -> dict[str, Any]:
    return {
        "seconds": length.plan.seconds,
        "pairs": length.pairs,
        "spent": length.seconds,
        "requests": {"load": length.sizes.load, "single": length.sizes.single},
        "costs": vars(length.costs),
        "metrics": {name: _noise_json(noise) for name, noise in length.noises.items()},
    }


def _noise_json(noise: Noise | Missing) -> Any:
    if isinstance(noise, Missing):
        return _value_json(noise)
    variances = noise.variances
    return {
        "launch": variances.launch,
        "slice": variances.slice,
        "request": _value_json(variances.request),
        "negative": noise.negative,
        "pair": noise.seen**2,
        "estimate": noise.estimate,
        "low": _bound(noise.low),
        "high": _bound(noise.high),
    }


def _bound(value: float) -> Any:
    return value if math.isfinite(value) else _value_json(Missing("too few pairs for an interval"))


def _outlook(one: Outlook) -> dict[str, Any]:
    plan = one.plan
    return {
        "slices": plan.slices,
        "single_slices": plan.single_slices,
        "seconds": plan.seconds,
        "pair_seconds": one.pair,
        "pairs": one.pairs,
        "mde": _values(one.mde),
    }


def _values(values: Mapping[str, Value]) -> dict[str, Any]:
    return {name: _value_json(value) for name, value in values.items()}


def _value_json(value: Value) -> Any:
    return {"missing": value.reason} if isinstance(value, Missing) else value
