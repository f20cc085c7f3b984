"""How metrics and verdicts are called in front of a reader, and which cases are told together. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import CaseResult, Comparison

__all__ = ["GROUPS", "LABELS", "SHOWN", "cases_words", "group_of", "grouped"]

LABELS: Mapping[str, str] = {
    "cpu_per_request": "CPU per request",
    "time_per_request": "Time per request",
    "response_time": "Response time",
    "throughput": "Requests per second",
    "latency_mean": "Latency mean",
    "latency_p50": "Latency p50",
    "latency_p90": "Latency p90",
    "latency_p99": "Latency p99",
    "transfer_rate": "Transfer rate",
    "body_rate": "Rate of bodies",
    "peak_memory": "Peak memory",
    "time_to_ready": "Time to ready",
    "idle_cpu": "Idle CPU",
    "image_size": "Image size",
}
"""How metrics are called in front of a reader."""

SHOWN = ("throughput", "latency_p50", "latency_p90", "latency_p99", "peak_memory", "time_to_ready", "idle_cpu")
"""The metrics that are told beside the judged ones, of cases that changed."""

GROUPS: Mapping[str, tuple[str, str]] = {
    "regression": ("got slower", "got slower"),
    "failed": ("failed", "failed"),
    "invalid": ("is invalid", "are invalid"),
    "improvement": ("got faster", "got faster"),
    "inconclusive": ("could not be told", "could not be told"),
    "unmeasured": ("was not measured", "were not measured"),
    "unchanged": ("is unchanged", "are unchanged"),
    "first": ("is new in head", "are new in head"),
    "skipped": ("was skipped", "were skipped"),
}
"""What cases are told together, in the order in which they are told, and what is said of one and of several."""


def grouped(comparison: Comparison) -> Mapping[str, tuple[CaseResult, ...]]:
    """The cases by group; a group without cases is there, and empty."""
    found: dict[str, list[CaseResult]] = {name: [] for name in GROUPS}
    for one in comparison.cases:
        found[group_of(one)].append(one)
    return {name: tuple(cases) for name, cases in found.items()}


def group_of(result: CaseResult) -> str:
    """The key of `GROUPS` that a case belongs to."""
    if result.verdict is Verdict.SKIPPED and result.kind == "first":
        return "first"
    unmeasured = result.verdict is Verdict.INCONCLUSIVE and not result.pairs
    return "unmeasured" if unmeasured else result.verdict.value


def cases_words(count: int) -> str:
    """``1 case``, ``6 cases``."""
    return f"{count:,} {'case' if count == 1 else 'cases'}"
