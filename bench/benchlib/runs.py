"""Run files of real comparisons: kept small, read again, and what became of them told in a table."""

from __future__ import annotations

import json
import lzma
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchlib.tables import share, table
from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import CaseResult, compare
from windtunnel.sample.runfile import Run, read_run
from windtunnel.units import Missing

__all__ = ["Result", "kept_run", "pack", "results", "runs_table"]


def pack(source: Path, target: Path, *, whole: bool = False) -> None:
    """Keep a run file, compressed: without paths and, unless it is to be kept `whole`, without what no verdict comes
    from, the histograms of latency.
    """
    lines = [_lean(json.loads(line), whole=whole) for line in source.read_text("utf-8").splitlines()]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    fresh = target.with_name(f"{target.name}.new")
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    fresh.replace(target)


def _lean(record: dict[str, Any], *, whole: bool) -> dict[str, Any]:
    if record.get("type") == "header":
        return {**record, "command": [Path(part).name if "/" in part else part for part in record["command"]]}
    if record.get("type") == "launch" and not whole:
        return {**record, "slices": [{**one, "latency": {}} for one in record["slices"]]}
    return record


def kept_run(path: Path) -> Run:
    """A packed run file, read."""
    with tempfile.TemporaryDirectory(prefix="windtunnel-bench-") as folder:
        plain = Path(folder) / path.name.removesuffix(".xz")
        plain.write_bytes(lzma.decompress(path.read_bytes()))
        return read_run(plain)


@dataclass(frozen=True)
class Result:
    """One comparison of one case, judged anew.

    Attributes:
        kind: what was compared, the first part of the file's name.
        case: its result.
        seconds: of machine time, for its pairs.
    """

    kind: str
    case: CaseResult
    seconds: float

    def effect(self, metric: str) -> float | None:
        """Of a metric, as a share: 0.03 is 3 % more."""
        found = self.case.metrics.get(metric)
        return None if found is None or isinstance(found.effect, Missing) else found.effect - 1


def results(folder: Path) -> tuple[Result, ...]:
    """All kept comparisons, by the rule as it is now."""
    return tuple(
        Result(path.name.removesuffix(".jsonl.xz").rpartition("-")[0], one, _seconds(run, one.case.id))
        for path in sorted(folder.glob("*.jsonl.xz"))
        for run in [kept_run(path)]
        for one in compare(run).cases
    )


def _seconds(run: Run, case: str) -> float:
    return sum(sum(launch.spent.values()) for launch in run.launches if launch.case == case)


_HEADS = (
    "kind",
    "case",
    "runs",
    "regression",
    "improvement",
    "unchanged",
    "inconclusive",
    "other",
    "found or false, %",
    "estimate, %",
    "sd, %",
    "s a case",
    "pairs",
)
_TOLD = (Verdict.REGRESSION, Verdict.IMPROVEMENT, Verdict.UNCHANGED, Verdict.INCONCLUSIVE)


def runs_table(found: Sequence[Result], planted: Mapping[str, str]) -> str:
    """A row for each kind and case. `planted`: by kind the metric that has to show what was planted; "" for nothing.

    Found are those where that metric has got slower; where nothing was planted, false are those told a change.
    """
    groups: dict[tuple[str, str], list[Result]] = {}
    for kind in planted:
        for one in found:
            if one.kind == kind:
                groups.setdefault((kind, one.case.case.id), []).append(one)
    return table(_HEADS, [_row(*key, own, planted[key[0]]) for key, own in groups.items()])


def _row(kind: str, case: str, own: Sequence[Result], metric: str) -> list[str]:
    seen = Counter(one.case.verdict for one in own)
    counts = [str(seen[verdict]) for verdict in _TOLD]
    other = len(own) - sum(seen[verdict] for verdict in _TOLD)
    hits = sum(_hit(one, metric) for one in own)
    effects = [value for one in own if (value := one.effect(metric or "cpu_per_request")) is not None]
    return [
        kind,
        case,
        str(len(own)),
        *counts,
        str(other),
        f"{'found' if metric else 'false'} {share(hits, len(own))}",
        f"{100 * fmean(effects):+.2f}" if effects else "n/a",
        f"{100 * stdev(effects):.2f}" if len(effects) > 1 else "n/a",
        f"{fmean(one.seconds for one in own):.1f}",
        f"{fmean(one.case.pairs for one in own):.1f}",
    ]


def _hit(one: Result, metric: str) -> bool:
    if not metric:
        return one.case.verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT}
    shown = one.case.metrics.get(metric)
    return shown is not None and shown.verdict is Verdict.REGRESSION
