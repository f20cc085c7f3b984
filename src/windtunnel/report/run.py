"""What `windtunnel run` found, for people and for programs: what ab reports, and more, with its spread. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.model import METRICS, Case, Launch
from windtunnel.sample.runfile import Failure, Header, Run
from windtunnel.sample.summary import CaseSummary, MetricSummary, summarise
from windtunnel.units import Missing, Unit, Value, format_spread, format_value

__all__ = ["PHASES", "render_run", "run_to_json", "spent_by_phase"]

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


@dataclass(frozen=True)
class _Row:
    label: str
    value: str
    spread: str = ""
    note: str = ""


def render_run(run: Run) -> str:
    """The whole report as plain text: a block per case, then what was not measured, then where the time went."""
    blocks = [_case_block(case, run) for case in run.header.cases]
    failures = [_failure_block(failure) for failure in run.failures]
    return "\n\n".join([block for block in (*blocks, *failures) if block] + [_footer(run)])


def _case_block(case: Case, run: Run) -> str:
    launches = [launch for launch in run.launches if launch.case == case.id]
    if not launches:
        return ""
    summary = summarise(launches)
    lines = [f"{case.id}   {_load_words(case)}", *_table(_rows(case, summary, launches))]
    lines += [f"  ! {reason}" for reason in summary.reasons]
    lines += _details(launches)
    lines += [f"  note: {warning}" for warning in summary.warnings]
    return "\n".join(lines)


def _load_words(case: Case) -> str:
    work = case.workload
    mode = "HTTP/2" if work.h2 else "keepalive" if work.keepalive else "close"
    return f"{work.method} {work.path}, concurrency {work.concurrency}, {mode}, {work.generator}"


def _rows(case: Case, summary: CaseSummary, launches: Sequence[Launch]) -> list[_Row]:
    if not summary.launches:
        return [_counts_row(summary)]
    metrics = summary.metrics
    return [
        _row("Requests per second", metrics["throughput"], "throughput"),
        _scaled_row("Time per request", metrics["time_per_request"], case.workload.concurrency),
        _row("Time per request", metrics["time_per_request"], "time_per_request", "across all concurrent requests"),
        _row("CPU per request", metrics["cpu_per_request"], "cpu_per_request", "of the server"),
        _row("Response time", metrics["response_time"], "response_time", "at concurrency 1"),
        _row("Transfer rate", metrics["transfer_rate"], "transfer_rate", "received"),
        *(_row(f"Latency p{p}", metrics[f"latency_p{p}"], f"latency_p{p}", "under load") for p in (50, 90, 99)),
        _row("Peak memory", metrics["peak_memory"], "peak_memory"),
        _row("Time to ready", metrics["time_to_ready"], "time_to_ready"),
        _row("Idle CPU", metrics["idle_cpu"], "idle_cpu"),
        _row("Image size", metrics["image_size"], "image_size"),
        _body_row(launches),
        _counts_row(summary),
        _percentiles_row(summary),
    ]


def _row(label: str, metric: MetricSummary, name: str, note: str = "") -> _Row:
    unit = METRICS[name].unit
    if isinstance(metric.median, Missing):
        return _Row(label, "n/a", note=metric.median.reason)
    return _Row(label, format_value(metric.median, unit), format_spread(metric.spread), note)


def _scaled_row(label: str, metric: MetricSummary, concurrency: int) -> _Row:
    """ab's first "Time per request": what one of the concurrent clients waits."""
    value: Value = metric.median
    shown = value if isinstance(value, Missing) else value * concurrency
    return _Row(label, format_value(shown, Unit.SECOND), format_spread(metric.spread), "mean")


def _body_row(launches: Sequence[Launch]) -> _Row:
    answers = [launch.answer for launch in launches if launch.answer is not None]
    if not answers:
        return _Row("Document length", "n/a")
    server = answers[0].headers.get("server", "")
    return _Row("Document length", f"{answers[0].length:,} B", note=f"Server: {server}" if server else "")


def _counts_row(summary: CaseSummary) -> _Row:
    failed = sum(summary.failed.values())
    kinds = ", ".join(f"{kind}: {count:,}" for kind, count in sorted(summary.failed.items()))
    status = ", ".join(f"{count:,} x {code}" for code, count in sorted(summary.status.items()))
    return _Row("Failed requests", f"{failed:,}", note="; ".join(part for part in (kinds, status) if part))


def _percentiles_row(summary: CaseSummary) -> _Row:
    shown = [f"{percent:g}% {format_value(value, Unit.SECOND)}" for percent, value in summary.percentiles.items()]
    return _Row("Served within", "" if shown else "n/a", note="  ".join(shown))


def _table(rows: Sequence[_Row]) -> list[str]:
    widths = [max(len(getattr(row, name)) for row in rows) for name in ("label", "value", "spread")]
    return [
        f"  {row.label:<{widths[0]}}  {row.value:>{widths[1]}}  {row.spread:<{widths[2]}}  {row.note}".rstrip()
        for row in rows
    ]


def _details(launches: Sequence[Launch]) -> list[str]:
    """The log of the last launch that went wrong."""
    wrong = [launch for launch in launches if launch.outcome != "ok" and launch.detail]
    return [f"  | {line}" for line in wrong[-1].detail.splitlines()[-20:]] if wrong else []


def _failure_block(failure: Failure) -> str:
    lines = [f"{failure.case}   {failure.kind}: {failure.reason}"]
    return "\n".join(lines + [f"  | {line}" for line in failure.detail.splitlines()])


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
    spent = spent_by_phase(run)
    total = sum(spent.values())
    parts = [f"{_NAMES[phase]} {seconds:.1f} s" for phase, seconds in spent.items() if seconds >= 0.05]
    lines = [f"Wall time {total:.1f} s: {', '.join(parts)}"]
    if run.header.host is not None:
        lines.append(_host_words(run.header))
    return "\n".join(lines)


def _host_words(header: Header) -> str:
    host = header.host
    if host is None:
        return ""
    return (
        f"{host.cpu_model}, {host.cores} cores, load {host.load:.2f}, kernel {host.kernel}, "
        f"engine {host.engine_version}, cgroup {host.cgroup}, governor {host.governor}"
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
        "cases": [_case_json(case, run) for case in run.header.cases],
        "failures": [vars(failure) for failure in run.failures],
    }


def _case_json(case: Case, run: Run) -> dict[str, Any]:
    launches = [launch for launch in run.launches if launch.case == case.id]
    basic = {"case": case.id, "benchmark": case.benchmark, "params": dict(case.params), "variant": str(case.variant)}
    if not launches:
        return {**basic, "launches": 0}
    summary = summarise(launches)
    return {
        **basic,
        "launches": summary.launches,
        "outcomes": dict(summary.outcomes),
        "reasons": list(summary.reasons),
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
