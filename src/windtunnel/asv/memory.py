"""What a benchmark process can know without an engine: which case it is, and the launches made of it already.

asv starts a process per metric, case and round; most of them only read. So nothing heavy is imported here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windtunnel.asv.call import Call
from windtunnel.declare.params import combinations
from windtunnel.model import Case, Launch, Variant

if TYPE_CHECKING:
    from windtunnel.asv.benchmark import HTTPBenchmark

__all__ = ["current_call", "declared_case", "remembered_launches"]

_own: Call | None = None


def current_call() -> Call:
    """The asv command this process belongs to; one of its own where the plug-in is not loaded."""
    global _own  # noqa: PLW0603 - one per process
    if _own is None:
        _own = Call.from_environment(os.environ) or Call.begin(Path.cwd(), quick=False)
    return _own


def declared_case(benchmark: HTTPBenchmark, params: Sequence[Any]) -> Case:
    """The case as the class declares it: its variant has the axes that the workload names."""
    plain = tuple((f"param{number}", str(value)) for number, value in enumerate(params, 1))
    known = combinations(benchmark.params, benchmark.param_names)
    named = next((one.named for one in known if list(one.values) == list(params)), plain)
    kind = type(benchmark)
    workload = benchmark.workload(*params)
    name = ".".join([*kind.__module__.split(".")[1:], kind.__qualname__])
    return Case(name, named, Variant(benchmark.target, tuple(workload.axes.items())), workload)


def remembered_launches(case: Case) -> tuple[Launch, ...]:
    """Every launch of the case at this commit in this asv command, whatever its outcome."""
    path = current_call().run_file(case)
    if not path.exists():
        return ()
    from windtunnel.sample.runfile import read_run

    return read_run(path).launches
