"""What pages need to know of a run: judged once, in texts and a few numbers. Pure.

The verdicts are those of `windtunnel.compare` over the launches; nothing that a run file says of itself is believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from windtunnel.compare.rule import JUDGED
from windtunnel.compare.verdict import CaseResult, Comparison, MetricResult, compare
from windtunnel.load.histogram import merge
from windtunnel.model import Case, Launch
from windtunnel.report.comparison_headline import advice, headline
from windtunnel.report.comparison_labels import SHOWN, group_of
from windtunnel.report.comparison_origin import full_commit, machine_of_case, origin, reproduce
from windtunnel.report.comparison_words import bad_words, control_words, figures, notes, verdict_words
from windtunnel.report.run import case_rows, host_words, load_words, time_words
from windtunnel.report.sweep import sweeps_of
from windtunnel.report.visible import tail, visible
from windtunnel.sample.merge import host_of_case
from windtunnel.sample.runfile import Arm, Run
from windtunnel.sample.summary import launch_metrics, summarise
from windtunnel.site.sweeps import SweepDigest, sweep_digest
from windtunnel.units import Missing, Unit, Value, format_value

__all__ = ["BUCKETS", "ArmDigest", "CaseDigest", "MetricDigest", "RunDigest", "digest"]

BUCKETS = 8
"""So many of a histogram's buckets are one bar of the chart: 8 % wide each."""

_KEPT = ("cpu_per_request", "time_per_request", "response_time", "latency_p50", "latency_p99", "peak_memory")
"""Metrics whose launches are kept: those that are judged, and those that asv's benchmarks have of them."""


@dataclass(frozen=True)
class MetricDigest:
    """One metric of a compared case. `ratio` is head / base with its 95 % interval; None where not known."""

    name: str
    base: str
    head: str
    ratio: float | None
    low: float | None
    high: float | None
    verdict: str = ""
    words: str = ""


@dataclass(frozen=True)
class ArmDigest:
    """One arm of a case: the rows of its report, and what is drawn of it.

    Attributes:
        name: of the arm.
        rows: label, figure, spread and remark of each row of the report.
        served: share of the requests and the time within which they were answered.
        latency: how many requests by place of `BUCKETS` buckets of the histogram.
        launches: by metric its value in each good launch, in the metric's unit.
        remarks: warnings, and why launches were left out.
        log: the end of the log of the last launch that went wrong.
    """

    name: str
    rows: tuple[tuple[str, str, str, str], ...] = ()
    served: tuple[tuple[str, str], ...] = ()
    latency: Mapping[int, int] = field(default_factory=dict)
    launches: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    log: tuple[str, ...] = ()


@dataclass(frozen=True)
class CaseDigest:
    """A case of a run. `group` is a key of `report.comparison_labels.GROUPS`, "" for a run that compares nothing."""

    id: str
    benchmark: str
    params: tuple[tuple[str, str], ...]
    load: str
    group: str = ""
    kind: str = ""
    reason: str = ""
    pairs: int = 0
    decided_by: str = ""
    cpu: str = ""
    machine: str = ""
    metrics: tuple[MetricDigest, ...] = ()
    arms: tuple[ArmDigest, ...] = ()
    remarks: tuple[str, ...] = ()
    again: str = ""
    log: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunDigest:
    """A run file, as pages show it. `base` and `head` are commits in full, or "".

    `origin` has what it comes from as name and words; `outcome` is the exit code that the launches ask for; `sweeps`
    are cases that differ in their concurrency or rate alone.
    """

    id: str
    created: str
    headline: str
    advice: str
    base: str
    head: str
    subject: str
    origin: tuple[tuple[str, str], ...]
    cases: tuple[CaseDigest, ...]
    compared: bool = False
    complete: bool = False
    outcome: int = 0
    sweeps: tuple[SweepDigest, ...] = ()


def digest(run: Run) -> RunDigest:
    """A run, judged by its own rule."""
    comparison = compare(run) if run.header.compare is not None else None
    arms = {arm.name: arm for arm in run.header.arms}
    head = arms.get("head") or (run.header.arms[0] if run.header.arms else None)
    return RunDigest(
        id=visible(run.header.id, 60),
        created=visible(run.header.created, 30),
        headline=headline(run, comparison) if comparison else f"measured {len(run.header.cases):,} cases",
        advice=advice(run, comparison) if comparison else "",
        base=full_commit(arms.get("base")),
        head=full_commit(head),
        subject=visible(head.subject, 200) if head else "",
        origin=tuple(origin(run, comparison) if comparison else _plain_origin(run)),
        cases=tuple(_cases(run, comparison)),
        compared=comparison is not None,
        complete=run.complete,
        outcome=int(comparison.outcome) if comparison else 0,
        sweeps=tuple(sweep_digest(one) for one in sweeps_of(run)),
    )


def _plain_origin(run: Run) -> list[tuple[str, str]]:
    facts = [(arm.name, visible(f"{arm.commit[:10]} {arm.subject}")) for arm in run.header.arms]
    facts += [("machine", visible(host_words(run.header.host)))] if run.header.host else []
    return [*facts, ("time", visible(time_words(run))), ("run", visible(f"{run.header.id} {run.header.windtunnel}"))]


def _cases(run: Run, comparison: Comparison | None) -> Iterator[CaseDigest]:
    launches: dict[str, list[Launch]] = {}
    for launch in run.launches:
        launches.setdefault(launch.case, []).append(launch)
    if comparison is None:
        for case in run.header.cases:
            yield _measured_case(run, case, launches.get(case.id, []))
        return
    for result in comparison.cases:
        yield _compared_case(run, result, launches.get(result.case.id, []))


def _measured_case(run: Run, case: Case, launches: Sequence[Launch]) -> CaseDigest:
    why = next((one.reason for one in run.failures if one.case == case.id), "" if launches else "not measured")
    return replace(_named(run, case, launches), reason=visible(why))


def _compared_case(run: Run, result: CaseResult, launches: Sequence[Launch]) -> CaseDigest:
    control = control_words(result)
    return replace(
        _named(run, result.case, launches),
        group=group_of(result),
        kind=result.kind,
        reason=visible(result.reason),
        pairs=result.pairs,
        decided_by=result.decided_by,
        metrics=tuple(_metric(result.metrics[name]) for name in (*JUDGED, *SHOWN) if name in result.metrics),
        remarks=(*bad_words(result), *([f"control: {control}"] if control else []), *notes(result)),
        again=reproduce(run, result.case.id),
        log=tuple(tail(result.detail)),
    )


def _named(run: Run, case: Case, launches: Sequence[Launch]) -> CaseDigest:
    host = host_of_case(run.header, case.id)
    return CaseDigest(
        id=case.id,
        benchmark=case.benchmark,
        params=case.params,
        load=load_words(case.workload),
        cpu=host.cpu_model if host else "",
        machine=machine_of_case(run, case.id),
        arms=tuple(_arms(run.header.arms, case, launches)),
    )


def _metric(one: MetricResult) -> MetricDigest:
    ratio, low, high = (_known(value) for value in (one.effect, one.low, one.high))
    verdict = one.verdict.value if one.verdict else ""
    return MetricDigest(one.metric, *figures(one), ratio, low, high, verdict, verdict_words(one))


def _known(value: Value) -> float | None:
    return None if isinstance(value, Missing) else value


def _arms(arms: Sequence[Arm], case: Case, launches: Sequence[Launch]) -> Iterator[ArmDigest]:
    for arm in arms:
        own = [one for one in launches if one.arm == arm.name]
        if own:
            yield _arm(case, own)


def _arm(case: Case, launches: Sequence[Launch]) -> ArmDigest:
    summary = summarise(launches)
    good = [one for one in launches if one.outcome == "ok"]
    figures_ = [launch_metrics(one) for one in good]
    wrong = [one for one in launches if one.outcome != "ok" and one.detail]
    return ArmDigest(
        name=summary.arm,
        rows=tuple((row.label, row.value, row.spread, row.note) for row in case_rows(case, launches, summary)),
        served=tuple(
            (f"{percent:g} %", format_value(seconds, Unit.SECOND))
            for percent, seconds in sorted(summary.percentiles.items())
        ),
        latency=_coarse(good),
        launches={name: _values([one[name] for one in figures_]) for name in _KEPT},
        remarks=(*(visible(reason) for reason in summary.reasons), *(visible(one) for one in summary.warnings)),
        log=tuple(tail(wrong[-1].detail)) if wrong else (),
    )


def _values(values: Sequence[Value]) -> tuple[float, ...]:
    return tuple(value for value in values if not isinstance(value, Missing))


def _coarse(launches: Sequence[Launch]) -> Mapping[int, int]:
    found: Counter[int] = Counter()
    for index, count in merge(
        *(one.latency for launch in launches for one in launch.slices if one.role == "load")
    ).items():
        found[index // BUCKETS] += count
    return dict(sorted(found.items()))
