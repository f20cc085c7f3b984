"""What a benchmark process can know without an engine: which case it is, and what happened to it already.

asv starts a process per metric, case and round; most of them only read. So nothing heavy is imported here, and next
to the run file, which has the launches whole, there is a short file with their metrics alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.asv.call import Call, read_json, write_json
from windtunnel.declare.params import combinations
from windtunnel.errors import BuildFailed, VariantMissing, WindtunnelError
from windtunnel.model import Case, Launch, Variant
from windtunnel.units import Missing, Value

if TYPE_CHECKING:
    from windtunnel.asv.benchmark import LoadBenchmark

__all__ = ["Seen", "check_refused", "current_call", "declared_case", "not_told_yet", "refuse", "remember", "seen"]

_own: Call | None = None


def current_call() -> Call:
    """The asv command this process belongs to; one of its own where the plug-in is not loaded."""
    global _own  # noqa: PLW0603 - one per process
    if _own is None:
        _own = Call.from_environment(os.environ) or Call.begin(Path.cwd())
    return _own


def declared_case(benchmark: LoadBenchmark, params: Sequence[Any]) -> Case:
    """The case as the class declares it: its variant has the axes that the workload names."""
    plain = tuple((f"param{number}", str(value)) for number, value in enumerate(params, 1))
    known = combinations(benchmark.params, benchmark.param_names)
    named = next((one.named for one in known if list(one.values) == list(params)), plain)
    kind = type(benchmark)
    workload = benchmark.workload(*params)
    name = ".".join([*kind.__module__.split(".")[1:], kind.__qualname__])
    return Case(name, named, Variant(benchmark.target, tuple(workload.axes.items())), workload)


# ---------------- launches


@dataclass(frozen=True)
class Seen:
    """A launch as the metrics need it: its outcome ("ok", "invalid", "failed", "lost"), why, and its figures.

    `detail` is longer material (the end of the container's log), or "".
    """

    number: int
    outcome: str
    reason: str
    detail: str
    metrics: Mapping[str, Value]


def remember(case: Case, launch: Launch, metrics: Mapping[str, Value], call: Call | None = None) -> None:
    """Keep the figures of a launch for the other processes of the call (this process's own, if none is given)."""
    figures = {
        name: {"missing": value.reason} if isinstance(value, Missing) else value for name, value in metrics.items()
    }
    line = [launch.number, launch.outcome, launch.reason, launch.detail, figures]
    path = (call or current_call()).case_file(case, "seen")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def seen(case: Case) -> tuple[Seen, ...]:
    """Every launch of the case at this commit in this asv command, whatever its outcome."""
    try:
        lines = current_call().case_file(case, "seen").read_text("utf-8").split("\n")
    except FileNotFoundError:
        return ()
    # What follows the last newline was cut short by a kill.
    return tuple(_revived(*json.loads(line)) for line in lines[:-1])


def _revived(number: int, outcome: str, reason: str, detail: str, figures: Mapping[str, Any]) -> Seen:
    metrics = {
        name: Missing(value["missing"]) if isinstance(value, dict) else value for name, value in figures.items()
    }
    return Seen(number, outcome, reason, detail, metrics)


def not_told_yet(case: Case, metric: str) -> tuple[Seen, ...]:
    """Those launches that asv has not been given for a metric; from now on they count as given.

    With `-a rounds=3` asv calls a metric in each round and puts the samples together: each launch must come once.
    """
    path = current_call().case_file(case, f"{metric}.told")
    told = int((read_json(path) or {}).get("launches", 0))
    known = seen(case)
    write_json(path, {"launches": len(known)})
    return known[told:]


# ---------------- cases that can't be launched


def refuse(call: Call, case: Case, error: WindtunnelError) -> None:
    """Keep why a case can't be launched, so that no benchmark process tries it again; the log has been shown."""
    skipped = isinstance(error, VariantMissing)
    write_json(call.case_file(case, "refused.json"), {"skipped": skipped, "reason": str(error)})


def check_refused(case: Case) -> None:
    """Raises VariantMissing or BuildFailed where `refuse` has kept something of this case at this commit.

    While a comparison is replayed nothing is ever launched: then VariantMissing is raised in any case.
    """
    call = current_call()
    kept = read_json(call.case_file(case, "refused.json"))
    if kept is not None:
        kind = VariantMissing if kept["skipped"] else BuildFailed
        raise kind(str(kept["reason"]))
    if call.replay:
        raise VariantMissing(f"{case.id}: {call.replay} has no more launches of it, and none is made")
