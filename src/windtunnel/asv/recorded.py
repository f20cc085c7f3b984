"""What asv has to have of a comparison once it is recorded, how it is asked for that, and whether it has it."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from asv.results import Results
from asv.util import UserError

from windtunnel.asv.benchmark import LoadBenchmark
from windtunnel.asv.memory import declared_case
from windtunnel.asv.prepare import METHODS
from windtunnel.asv.replay import Recorded, Recording
from windtunnel.declare.modules import import_package
from windtunnel.declare.params import combinations
from windtunnel.declare.suite import Suite
from windtunnel.errors import ConfigError, WindtunnelError
from windtunnel.sample.summary import launch_metrics
from windtunnel.units import Missing

__all__ = ["Entry", "check_recorded", "entries_of"]

_METRICS = {"time_request": "time_per_request"}
"""The metric of a method; the others are called track_METRIC."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True)
class Entry:
    """One metric of one case, in asv's words.

    Attributes:
        case: its id.
        benchmark: asv's name, such as "psgi.Starlet.time_request".
        params: the values of its parameters as asv writes them, such as "'close'".
        samples: one figure a launch, in order; () where no launch tells the metric.
        failed: asv is to say "failed" instead.
    """

    case: str
    benchmark: str
    params: tuple[str, ...]
    samples: tuple[float, ...]
    failed: bool

    @property
    def pattern(self) -> str:
        """A regular expression for asv's --bench that finds this entry and no other."""
        params = f"({', '.join(self.params)})" if self.params else ""
        return f"^{re.escape(self.benchmark + params)}$"


def entries_of(suite: Suite, recording: Recording) -> tuple[Entry, ...]:
    """All metrics of all cases that asv is to record.

    asv files figures under what the benchmark classes ask for now. Raises ConfigError where that is not what was
    measured, or a class can't be imported.
    """
    classes = _classes(suite)
    return tuple(entry for one in recording.cases for entry in _entries(one, classes))


def _classes(suite: Suite) -> Mapping[str, type[LoadBenchmark]]:
    """The benchmark classes by the name that asv gives them."""
    found: dict[str, type[LoadBenchmark]] = {}
    for module in import_package(suite.benchmark_dir):
        for value in vars(module).values():
            if inspect.isclass(value) and issubclass(value, LoadBenchmark):
                found[".".join([*module.__name__.split(".")[1:], value.__name__])] = value
    return found


def _entries(recorded: Recorded, classes: Mapping[str, type[LoadBenchmark]]) -> Iterator[Entry]:
    case = recorded.case
    kind = classes.get(case.benchmark)
    values = _values(recorded, kind) if kind else None
    if kind is None or values is None:
        raise ConfigError(f"{case.id}: is not declared any more, so asv has no place for it; compare again")
    declared = declared_case(kind(), values)
    if (declared.workload, declared.variant.target) != (case.workload, case.variant.target):
        raise ConfigError(f"{case.id}: was measured with another workload than it declares now; compare again")
    params = tuple(_ADDRESS.sub("", repr(value)) for value in values)
    for method in METHODS:
        if _called(kind, method):
            samples = () if recorded.failed else _samples(recorded, method)
            yield Entry(case.id, f"{case.benchmark}.{method}", params, samples, recorded.failed)


def _values(recorded: Recorded, kind: type[LoadBenchmark]) -> tuple[object, ...] | None:
    known = combinations(kind.params, kind.param_names)
    return next((one.values for one in known if one.named == recorded.case.params), None)


def _called(kind: type[LoadBenchmark], method: str) -> bool:
    """Whether asv calls it; a class may have taken it back."""
    function = getattr(kind, method, None)
    return callable(function) and not getattr(function, "skip_benchmark", False)


def _samples(recorded: Recorded, method: str) -> tuple[float, ...]:
    metric = _METRICS.get(method, method.removeprefix("track_"))
    values = [launch_metrics(launch)[metric] for launch in recorded.launches]
    return tuple(value for value in values if not isinstance(value, Missing))


# ---------------- asv's results


def check_recorded(suite: Suite, commit: str, entries: tuple[Entry, ...]) -> Path:
    """The file in which asv has every one of these figures, and no others in their place.

    Raises WindtunnelError where there is none.
    """
    wrong: list[Entry] = list(entries[:1])
    for path in sorted(suite.results_dir.glob(f"*/{commit[:8]}-*.json")):
        try:
            results = Results.load(str(path))
        except UserError:
            continue
        if results.commit_hash != commit:
            continue
        wrong = [entry for entry in entries if not _holds(results, entry)]
        if not wrong:
            return path
    first = wrong[0]
    raise WindtunnelError(
        f"{first.case}: asv did not record what was measured as {first.benchmark}; "
        "where the class has a `setup` of its own, it must call super().setup(*params)"
    )


def _holds(results: Results, entry: Entry) -> bool:
    if entry.benchmark not in results.get_all_result_keys():
        return False
    if entry.params not in itertools.product(*(results.get_result_params(entry.benchmark) or ())):
        return False
    wanted = [[value] for value in entry.params]
    (value,) = results.get_result_value(entry.benchmark, wanted)
    (samples,) = results.get_result_samples(entry.benchmark, wanted)
    return (value is None) == entry.failed and tuple(samples or ()) == entry.samples
