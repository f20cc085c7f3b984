"""Cases that differ in one number of their load, side by side, and what they say of the server's capacity. Pure.

A sweep is found in a run's cases, not declared: those of one benchmark that have the same parameters and workload but
for the concurrency, or the rate. So `windtunnel run --sweep` makes one, and so does a class with such a parameter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from windtunnel.compare.unpaired import Between, from_launches, least_launches
from windtunnel.load.openloop import BEHIND
from windtunnel.model import Case, Launch
from windtunnel.sample.runfile import Run
from windtunnel.sample.summary import MetricSummary, launch_metrics, summarise
from windtunnel.units import Missing, Unit, Value, format_value

__all__ = ["BY", "SHOWN", "By", "Point", "Sweep", "knee", "sweep_to_json", "sweeps_of", "swept_text", "verdict_words"]

By = Literal["concurrency", "rate"]
BY: tuple[By, ...] = ("concurrency", "rate")
"""What can be swept: a field of `Workload`, and the name of the parameter that has its value."""

SHOWN = ("throughput", "latency_p50", "latency_p99", "cpu_per_request")
"""The metrics of a sweep, in the order of its columns."""

_TOLERANCE = 1.1
"""Growth up to this factor is not worth a larger concurrency."""

_CONFIDENCE = 0.95
_FELL, _KEPT = 0.5, 0.1


@dataclass(frozen=True)
class Point:
    """One value of what is swept.

    Attributes:
        value: the concurrency, or requests per second.
        case: its id.
        metrics: those of `SHOWN`, over its good launches; nothing where there was none.
        throughputs: requests per second of each good launch.
        behind: share of its slices in which the server did not keep up with the rate.
        launches: how many were good.
        reasons: why others were not, or why there was none.
        warnings: what its launches warn of.
    """

    value: float
    case: str
    metrics: Mapping[str, MetricSummary]
    throughputs: tuple[float, ...] = ()
    behind: float = 0.0
    launches: int = 0
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sweep:
    """Points of rising value; `name` is what their cases have in common, `arm` whose launches they are."""

    by: By
    name: str
    arm: str
    points: tuple[Point, ...]


def swept_text(value: float) -> str:
    """A value as the parameter of a case has it: 40, 1000, 2.5."""
    return f"{value:.10g}"


# ---------------- finding them


def sweeps_of(run: Run) -> tuple[Sweep, ...]:
    """The sweeps of a run, for each of its arms, in the order of their first cases."""
    launches: dict[tuple[str, str], list[Launch]] = {}
    for launch in run.launches:
        launches.setdefault((launch.case, launch.arm), []).append(launch)
    failures = {(one.case, one.arm): one.reason for one in run.failures}
    return tuple(
        Sweep(
            by,
            name,
            arm.name,
            tuple(
                _point(by, case, launches.get((case.id, arm.name), []), failures.get((case.id, arm.name), ""))
                for case in cases
            ),
        )
        for by, name, cases in _groups(run.header.cases)
        for arm in run.header.arms
    )


def _groups(cases: Sequence[Case]) -> Iterator[tuple[By, str, list[Case]]]:
    """Two cases at least, by rising value."""
    for by in BY:
        found: dict[tuple[str, ...], list[Case]] = {}
        for case in cases:
            if (key := _key(by, case)) is not None:
                found.setdefault(key, []).append(case)
        for (name, *_), members in found.items():
            if len({_value(by, case) for case in members}) == len(members) > 1:
                yield by, name, sorted(members, key=lambda case, by=by: _value(by, case))  # type: ignore[misc]


def _key(by: By, case: Case) -> tuple[str, ...] | None:
    """What all cases of a sweep have in common; first how it is called. None for a case that is of none."""
    value = getattr(case.workload, by)
    if value is None or (by, swept_text(value)) not in case.params:
        return None
    others = tuple((name, text) for name, text in case.params if name != by)
    work = {name: field for name, field in case.workload.declared().items() if name not in {by, "requests"}}
    name = Case(case.benchmark, others, case.variant, case.workload).id
    return name, json.dumps([case.benchmark, others, str(case.variant), work], sort_keys=True)


def _value(by: By, case: Case) -> float:
    return float(getattr(case.workload, by))


def _point(by: By, case: Case, launches: Sequence[Launch], failure: str) -> Point:
    value = _value(by, case)
    if not launches:
        return Point(value, case.id, {}, reasons=(failure or "not measured",))
    summary = summarise(launches)
    good = [launch for launch in launches if launch.outcome == "ok"]
    each = [launch_metrics(launch)["throughput"] for launch in good]
    return Point(
        value,
        case.id,
        {name: summary.metrics[name] for name in SHOWN} if good else {},
        tuple(one for one in each if not isinstance(one, Missing)),
        _behind(good),
        summary.launches,
        summary.reasons,
        summary.warnings,
    )


def _behind(launches: Sequence[Launch]) -> float:
    loads = [one for launch in launches for one in launch.slices if one.role == "load"]
    return sum(BEHIND in one.warnings for one in loads) / len(loads) if loads else 0.0


# ---------------- where it ends


def verdict_words(sweep: Sweep) -> str:
    """Where throughput stops growing, or up to which rate the server keeps up, as far as the launches tell it."""
    return _knee_words(sweep.points) if sweep.by == "concurrency" else _rate_words(sweep.points)


def knee(points: Sequence[Point]) -> Point | None:
    """The first point that grew clearly over the one before it, and over which none of the later ones grows clearly.

    Clearly: by 95 % intervals over launches. None where they do not tell such a point.
    """
    for at, one in enumerate(points[:-1]):
        later = [_between(other, one) for other in points[at + 1 :]]
        if all(between is not None and between.high < _TOLERANCE for between in later):
            before = _between(one, points[at - 1]) if at else Between(math.inf, math.inf)
            return one if before is not None and before.low > 1.0 else None
    return None


def _between(one: Point, other: Point) -> Between | None:
    """Throughput of one against the other, or None where their launches are too few to tell."""
    if not one.throughputs or not other.throughputs:
        return None
    found = from_launches(one.throughputs, other.throughputs, _CONFIDENCE)
    return found if math.isfinite(found.low) and math.isfinite(found.high) else None


def _knee_words(points: Sequence[Point]) -> str:
    least = least_launches(_CONFIDENCE)
    if min(point.launches for point in points) < least:
        return f"Where throughput stops growing is not told from fewer than {least} launches of each."
    if (found := knee(points)) is not None:
        beyond = f"no higher one gives {(_TOLERANCE - 1) * 100:.0f} % more"
        return f"Throughput stops growing at concurrency {swept_text(found.value)}: {beyond} (95 % intervals)."
    last = _between(points[-1], points[-2])
    if last is not None and last.low > 1.0:
        return f"Throughput still grows at concurrency {swept_text(points[-1].value)}, the highest that was tried."
    return "Where throughput stops growing can't be told from these launches."


def _rate_words(points: Sequence[Point]) -> str:
    """The rates are in order, so the server keeps up with the first ones and not with the last ones."""
    known = [point for point in points if point.launches]
    kept = [point for point in known if point.behind < _KEPT]
    fell = [point for point in known if point.behind > _FELL]
    if not (kept or fell) or (kept and fell and kept[-1].value > fell[0].value) or (not fell and kept != known):
        return "Up to which rate the server keeps up can't be told from these launches."
    if not fell:
        return f"The server keeps up with all of them, up to {_rate(kept[-1].value)}."
    if not kept:
        return f"The server does not keep up with {_rate(fell[0].value)}, the lowest that was tried."
    return f"The server keeps up with {_rate(kept[-1].value)}, and no longer with {_rate(fell[0].value)}."


def _rate(value: float) -> str:
    return format_value(value, Unit.PER_SECOND)


# ---------------- for programs


def sweep_to_json(sweep: Sweep) -> dict[str, Any]:
    """As JSON values, in base SI units; `knee` is the point where throughput stops growing, null where not known."""
    found = knee(sweep.points) if sweep.by == "concurrency" else None
    return {
        "by": sweep.by,
        "name": sweep.name,
        "arm": sweep.arm,
        "points": [_point_json(point) for point in sweep.points],
        "knee": found.value if found else None,
        "words": verdict_words(sweep),
    }


def _point_json(point: Point) -> dict[str, Any]:
    return {
        "value": point.value,
        "case": point.case,
        "launches": point.launches,
        **{name: _metric_json(point.metrics[name]) for name in SHOWN if name in point.metrics},
    }


def _metric_json(metric: MetricSummary) -> dict[str, Any]:
    ends = {"median": metric.median, "low": metric.low, "high": metric.high}
    return {name: _plain(value) for name, value in ends.items()} | {"spread": metric.spread}


def _plain(value: Value) -> Any:
    return {"missing": value.reason} if isinstance(value, Missing) else value
