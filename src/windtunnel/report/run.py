"""What `windtunnel run` found, for people and for programs: what ab reports, and more, with its spread. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from windtunnel.model import METRICS, Case, Host, Launch, Variant, Workload
from windtunnel.report.sweep import sweep_to_json, sweeps_of
from windtunnel.report.sweep_text import render_sweep
from windtunnel.sample.runfile import Failure, Run
from windtunnel.sample.summary import CaseSummary, MetricSummary, summarise
from windtunnel.units import Missing, Unit, Value, format_spread, format_value

__all__ = [
    "PHASES",
    "Row",
    "case_rows",
    "host_words",
    "load_words",
    "render_run",
    "run_to_json",
    "spent_by_phase",
    "time_words",
]

PHASES = ("build", "start", "warmup", "slices", "stop")
"""Where the wall time of a run goes, in the order it is told."""

_NAMES = {
    "build": "building images",
    "start": "starting",
    "warmup": "warm-up",
    "slices": "slices",
    "stop": "stopping",
    "other": "everything else",
}


_NOT_KNOWN = "n/a"
_LOG_LINES = 20


@dataclass(frozen=True)
class Row:
    """A row of a case's report: what it is, the figure, how far launches differ, and what else is to be known."""

    label: str
    value: str
    spread: str = ""
    note: str = ""


@dataclass(frozen=True)
class _Block:
    """A case of one arm, as far as it was measured."""

    case: Case
    arm: str
    launches: tuple[Launch, ...]
    failures: tuple[Failure, ...]


def render_run(run: Run, *, width: int = 100, brief: bool = False) -> str:
    """The whole report as plain text: a block per case (and arm), sweeps, where the time went, and on what machine.

    A case that was not measured has a block too, which says why. `width` is for the charts of sweeps; `brief` leaves
    the blocks out whose cases they show.
    """
    several = len(run.header.arms) > 1
    sweeps = sweeps_of(run)
    shown = {point.case for sweep in sweeps for point in sweep.points} if brief else set()
    blocks = [block for block in (*_declared(run), *_others(run)) if block.case.id not in shown]
    charts = [render_sweep(sweep, width=width, several=several) for sweep in sweeps]
    return "\n\n".join([*(_block(block, several) for block in blocks), *charts, _footer(run)])


def _declared(run: Run) -> list[_Block]:
    """Every case of every arm, in the order of declaration."""
    return [
        _Block(
            case,
            arm.name,
            tuple(one for one in run.launches if (one.case, one.arm) == (case.id, arm.name)),
            tuple(one for one in run.failures if (one.case, one.arm) == (case.id, arm.name)),
        )
        for case in run.header.cases
        for arm in run.header.arms
    ]


def _others(run: Run) -> list[_Block]:
    """What was skipped before it was a case."""
    declared = {(case.id, arm.name) for case in run.header.cases for arm in run.header.arms}
    return [
        _Block(_nameless(failure.case), failure.arm, (), (failure,))
        for failure in run.failures
        if (failure.case, failure.arm) not in declared
    ]


def _nameless(identifier: str) -> Case:
    """A case of which nothing but its name is known."""
    return Case(identifier, (), Variant(""), Workload())


def _block(block: _Block, several: bool) -> str:
    """The block's text; `several` arms in a run make each of them be named."""
    title = block.case.id + (f" [{block.arm}]" if several else "")
    if block.launches:
        return "\n".join([f"{title}   {load_words(block.case.workload)}", *_measured(block)])
    if not block.failures:
        return f"{title}   not measured"
    return "\n".join(line for failure in block.failures for line in _failure(title, failure))


def _measured(block: _Block) -> list[str]:
    summary = summarise(block.launches)
    lines = _table(_rows(block, summary))
    if summary.percentiles:
        lines += ["", *_percentile_lines(summary.percentiles)]
    lines += [f"  ! {reason}" for reason in summary.reasons]
    lines += _details(block.launches)
    return lines + [f"  note: {warning}" for warning in summary.warnings]


def load_words(work: Workload) -> str:
    """A workload in a few words."""
    if work.generator == "program":
        what = " ".join(part for part in (work.op, work.payload) if part)
        at_once = "one call" if work.concurrency == 1 else f"{work.concurrency} calls"
        return f"{what}, {at_once} at a time"
    mode = "HTTP/2" if work.h2 else "keepalive" if work.keepalive else "close"
    if work.rate is not None:
        rate = format_value(work.rate, Unit.PER_SECOND)
        return f"{work.method} {work.path}, {rate} over up to {work.concurrency} connections, {mode}, open loop"
    return f"{work.method} {work.path}, concurrency {work.concurrency}, {mode}, {work.generator}"


def case_rows(case: Case, launches: Sequence[Launch], summary: CaseSummary) -> list[Row]:
    """The rows of one arm of a case, whose launches `summary` is of: what ab reports, and more."""
    return _rows(_Block(case, summary.arm, tuple(launches), ()), summary)


def _rows(block: _Block, summary: CaseSummary) -> list[Row]:
    work = block.case.workload
    counts = [_launches_row(summary), *_slices_row(block), *_requests_row(work, summary)]
    if not summary.launches:
        return counts
    latency = [_row(f"Latency p{p}", summary, f"latency_p{p}", "under load") for p in (50, 90, 99)]
    ready = _row("Time to ready", summary, "time_to_ready")
    size = replace(_row("Image size", summary, "image_size"), spread="")
    about = [_row("Peak memory", summary, "peak_memory"), ready, _idle_row(summary), size]
    if work.generator == "program":  # of what a program does not tell, there is nothing to be missed
        known = [row for row in [*latency, *about] if row.value != _NOT_KNOWN]
        return [*_time_rows(work, summary), *known, *_client_rows(block.launches), *counts]
    return [
        *_time_rows(work, summary),
        _transfer_row(summary),
        *latency,
        *about,
        _body_row(block.launches),
        *counts,
    ]


def _one(work: Workload) -> str:
    """What one request of it is."""
    return "call" if work.generator == "program" else "request"


def _time_rows(work: Workload, summary: CaseSummary) -> list[Row]:
    """Where more than one client asks at a time there are two times per request, as in ab's report."""
    concurrency, one = work.concurrency, _one(work)
    capacity = _row(f"Time per {one}", summary, "time_per_request", "across all clients")
    each = replace(
        capacity,
        value=format_value(_times(summary.metrics["time_per_request"].median, concurrency), Unit.SECOND),
        note=f"for each of {concurrency} clients",
    )
    several = concurrency > 1 and capacity.value != _NOT_KNOWN
    return [
        _row(f"{one.capitalize()}s per second", summary, "throughput"),
        *([each] if several else []),
        capacity if several else _row(f"Time per {one}", summary, "time_per_request"),
        _row(f"CPU per {one}", summary, "cpu_per_request", "of the target"),
        _row("Response time", summary, "response_time", "mean at concurrency 1"),
    ]


def _times(value: Value, factor: int) -> Value:
    return value if isinstance(value, Missing) else value * factor


def _row(label: str, summary: CaseSummary, name: str, note: str = "") -> Row:
    metric = summary.metrics[name]
    if isinstance(metric.median, Missing):
        return Row(label, _NOT_KNOWN, note=metric.median.reason)
    if metric.launches < summary.launches:
        note = "; ".join(part for part in (note, f"from {metric.launches} of {summary.launches} launches") if part)
    return Row(label, format_value(metric.median, METRICS[name].unit), format_spread(metric.spread), note)


def _transfer_row(summary: CaseSummary) -> Row:
    """With headers where the generator counts them; else that of the bodies, and labelled so."""
    if isinstance(summary.metrics["transfer_rate"].median, Missing):
        bodies = _row("Transfer rate", summary, "body_rate", "of bodies, without headers")
        if bodies.value != _NOT_KNOWN:
            return bodies
    return _row("Transfer rate", summary, "transfer_rate", "received, with headers")


def _idle_row(summary: CaseSummary) -> Row:
    """A share near 0 has no relative spread worth the name, so its extremes are told."""
    row = _row("Idle CPU", summary, "idle_cpu")
    low, high = (format_value(value, Unit.RATIO) for value in _extremes(summary.metrics["idle_cpu"]))
    between = f"{low} to {high}" if low != high else ""
    return replace(row, spread="", note="; ".join(part for part in (between, row.note) if part))


def _extremes(metric: MetricSummary) -> tuple[Value, Value]:
    return metric.low, metric.high


def _body_row(launches: Sequence[Launch]) -> Row:
    answers = [launch.answer for launch in launches if launch.answer is not None]
    if not answers:
        return Row("Document length", _NOT_KNOWN, note="no answer was checked")
    server = answers[0].headers.get("server", "")
    lengths = sorted({answer.length for answer in answers})
    shown = f"{lengths[0]:,}" if len(lengths) == 1 else f"{lengths[0]:,} to {lengths[-1]:,}"
    return Row("Document length", f"{shown} B", note=f"Server: {server}" if server else "")


def _client_rows(launches: Sequence[Launch]) -> list[Row]:
    """What the program that made the load calls itself; launches of one commit hardly differ in that."""
    named = dict.fromkeys(launch.program for launch in launches if launch.program)
    return [Row("Client", "", note=", ".join([*named][:3]))] if named else []


def _launches_row(summary: CaseSummary) -> Row:
    bad = {kind: count for kind, count in sorted(summary.outcomes.items()) if kind != "ok"}
    note = ", ".join(f"{count} {kind}" for kind, count in bad.items())
    total = sum(summary.outcomes.values())
    shown = f"{summary.launches} of {total}" if bad else str(total)
    return Row("Launches", shown, note=f"left out of the figures: {note}" if note and summary.launches else note)


def _slices(launches: Sequence[Launch], role: str) -> tuple[int, int]:
    """How many slices of a role the good launches have, and the most usual number of requests in one."""
    sizes = [
        one.requests for launch in launches if launch.outcome == "ok" for one in launch.slices if one.role == role
    ]
    return len(sizes), statistics.mode(sizes) if sizes else 0


def _slices_row(block: _Block) -> list[Row]:
    """How the load was dosed: a connection that sees few requests costs more per request than one that sees many."""
    count, requests = _slices(block.launches, "load")
    if not count:
        return []
    work = block.case.workload
    kept = work.keepalive and work.generator != "program"
    share = f", {requests / work.concurrency:,.0f} per connection" if kept else ""
    singles, small = _slices(block.launches, "single")
    beside = f"; {singles} of {small:,} at concurrency 1" if singles else ""
    return [Row("Slices", f"{count:,}", note=f"of {requests:,} {_one(work)}s{share}{beside}")]


def _requests_row(work: Workload, summary: CaseSummary) -> list[Row]:
    """What came back, bad launches included; nothing where nothing was asked, for that is not "none failed"."""
    if not summary.requests:
        return []
    kinds = ", ".join(f"{kind}: {count:,}" for kind, count in sorted(summary.failed.items()) if count)
    status = ", ".join(f"{count:,} x {code}" for code, count in sorted(summary.status.items()) if count)
    note = "; ".join(part for part in (kinds, status) if part)
    return [Row(f"Failed {_one(work)}s", f"{sum(summary.failed.values()):,}", note=note)]


def _percentile_lines(percentiles: Mapping[float, float]) -> list[str]:
    """Two lines, a column per percentile: they would make every other row of the table wide."""
    label = "  Served within"
    cells = [
        (f"{percent:g} %", format_value(seconds, Unit.SECOND)) for percent, seconds in sorted(percentiles.items())
    ]
    widths = [max(map(len, cell)) for cell in cells]
    lines = [
        "".join(f"  {cell[line]:>{width}}" for cell, width in zip(cells, widths, strict=True)) for line in (0, 1)
    ]
    return [label + lines[0], " " * len(label) + lines[1]]


def _table(rows: Sequence[Row]) -> list[str]:
    widths = [max(len(getattr(row, name)) for row in rows) for name in ("label", "value", "spread")]
    return [
        f"  {row.label:<{widths[0]}}  {row.value:>{widths[1]}}  {row.spread:<{widths[2]}}  {row.note}".rstrip()
        for row in rows
    ]


def _details(launches: Sequence[Launch]) -> list[str]:
    """The log of the last launch that went wrong."""
    wrong = [launch for launch in launches if launch.outcome != "ok" and launch.detail]
    return _quoted(wrong[-1].detail) if wrong else []


def _failure(title: str, failure: Failure) -> list[str]:
    return [f"{title}   {failure.kind}: {failure.reason}", *_quoted(failure.detail)]


def _quoted(log: str) -> list[str]:
    """The end of a log."""
    return [f"  | {line}".rstrip() for line in log.splitlines()[-_LOG_LINES:]]


def spent_by_phase(run: Run) -> Mapping[str, float]:
    """Wall seconds by phase: those of the launches, the build, and what is left of the total ("other")."""
    phases = dict.fromkeys(PHASES, 0.0)
    for launch in run.launches:
        for phase, seconds in launch.spent.items():
            phases[phase] = phases.get(phase, 0.0) + seconds
    phases["build"] = float(run.end.get("build_seconds", 0.0))
    total = float(run.end.get("seconds", 0.0))
    return {**phases, "other": max(0.0, total - sum(phases.values()))} if total else phases


def _footer(run: Run) -> str:
    lines = [] if run.complete else ["The run was cut short or still goes on: this is what there is of it."]
    lines.append(f"Wall time {time_words(run)}")
    if run.header.host is not None:
        lines.append(host_words(run.header.host))
    return "\n".join(lines)


def time_words(run: Run) -> str:
    """The wall time of a run, and where it went: ``20.0 s: building images 3.5 s, starting 4.0 s``."""
    spent = spent_by_phase(run)
    parts = [f"{_NAMES.get(phase, phase)} {seconds:.1f} s" for phase, seconds in spent.items() if seconds >= 0.05]
    return ": ".join(part for part in (f"{sum(spent.values()):.1f} s", ", ".join(parts)) if part)


def host_words(host: Host) -> str:
    """The machine in a line."""
    return (
        f"{host.cpu_model}, {host.cores} {'core' if host.cores == 1 else 'cores'}, load {host.load:.2f}, "
        f"kernel {host.kernel}, engine {host.engine_version}, cgroup {host.cgroup}, governor {host.governor}"
    )


# ---------------- for programs


def run_to_json(run: Run) -> dict[str, Any]:
    """The report as JSON values, in base SI units; what was not measured is {"missing": reason}."""
    return {
        "format": "windtunnel-run-report",
        "version": 1,
        "id": run.header.id,
        "outcome": run.end.get("exit"),
        "arms": [vars(arm) for arm in run.header.arms],
        "host": None if run.header.host is None else vars(run.header.host),
        "spent": dict(spent_by_phase(run)),
        "cases": [_case_json(block) for block in _declared(run)],
        **({"sweeps": [sweep_to_json(sweep) for sweep in sweeps]} if (sweeps := sweeps_of(run)) else {}),
        "failures": [vars(failure) for failure in run.failures],
    }


def _case_json(block: _Block) -> dict[str, Any]:
    case = block.case
    basic = {
        "case": case.id,
        "arm": block.arm,
        "benchmark": case.benchmark,
        "params": dict(case.params),
        "variant": str(case.variant),
    }
    if not block.launches:
        return {**basic, "launches": 0}
    summary = summarise(block.launches)
    return {
        **basic,
        "launches": summary.launches,
        "slices": {
            role: dict(zip(("count", "requests"), _slices(block.launches, role), strict=True))
            for role in ("load", "single")
        },
        "outcomes": dict(summary.outcomes),
        "reasons": list(summary.reasons),
        **({"client": client[0].note} if (client := _client_rows(block.launches)) else {}),
        "warnings": list(summary.warnings),
        "requests": summary.requests,
        "status": dict(summary.status),
        "failed": dict(summary.failed),
        "metrics": {name: _metric_json(metric, METRICS[name].unit) for name, metric in summary.metrics.items()},
        "percentiles": {f"{percent:g}": value for percent, value in summary.percentiles.items()},
    }


def _metric_json(metric: MetricSummary, unit: Unit) -> dict[str, Any]:
    return {
        "unit": unit.value,
        "median": _value_json(metric.median),
        "spread": metric.spread,
        "low": _value_json(metric.low),
        "high": _value_json(metric.high),
        "launches": metric.launches,
    }


def _value_json(value: Value) -> Any:
    return {"missing": value.reason} if isinstance(value, Missing) else value
