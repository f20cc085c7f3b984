"""`HTTPBenchmark`: what a file in `benchmarks/` derives from.

asv measures functions; here a "function call" is a launch: a fresh start of the case's containers, loaded for a few
slices. `time_request` advances a virtual clock by the launch's seconds per request, so asv sees a time per request
with one sample per launch, and its own statistics hold. The other metrics are `track_*` methods over the very same
launches. asv takes every number as "lower is better", so nothing here is a rate.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, TypeVar

from windtunnel.errors import LaunchFailed, VariantMissing
from windtunnel.model import Launch, Workload
from windtunnel.units import Missing, Value

__all__ = ["HTTPBenchmark"]

_METHOD = "1"
"""The version of the way of measuring. Raise it when figures before and after can't be compared any more."""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def _metric(name: str, unit: str) -> Callable[[_Method], _Method]:
    def mark(method: _Method) -> _Method:
        method.unit = unit  # type: ignore[attr-defined]
        method.pretty_name = name  # type: ignore[attr-defined]
        return method

    return mark


class HTTPBenchmark(ABC):
    """A question about an HTTP server: which target, under which workloads.

    A subclass sets `target` (a folder below `targets/`), `params` and `param_names` as asv has them, and `workload`.
    Each parameter combination is one case. `rounds` x `repeat` is the number of launches per commit; asv interleaves
    the rounds of the commits it compares, so one launch a round keeps a drifting machine from looking like a change.
    """

    target: ClassVar[str]
    params: ClassVar[Any] = []
    param_names: ClassVar[Any] = []

    # asv's own settings, see its documentation of benchmark attributes.
    number = 1
    rounds = 8
    repeat = 1
    warmup_time = 0
    min_run_count = 1
    timeout = 1800.0

    def __init__(self) -> None:
        self._clock = 0.0

    @abstractmethod
    def workload(self, *params: Any) -> Workload:
        """The workload of one parameter combination. Raise NotImplementedError where there is none."""

    @property
    def version(self) -> str:
        """Changes with what is asked for, not with how this class is written.

        asv drops results of another version. The variant's axes are left out, so that adding an interpreter version
        keeps the history of the others.
        """
        declared = [_METHOD, self.target, sorted(self._declared())]
        return hashlib.sha256(json.dumps(declared).encode()).hexdigest()

    def _declared(self) -> set[str]:
        found: set[str] = set()
        for combination in itertools.product(*_columns(self.params)):
            try:
                workload = asdict(self.workload(*combination))
            except NotImplementedError:
                continue
            del workload["axes"]
            found.add(json.dumps(workload, sort_keys=True))
        return found

    def timer(self) -> float:
        """asv's clock for `time_request`: seconds per request of all launches so far, added up."""
        return self._clock

    def setup(self, *params: Any) -> None:
        """Skips the case where this commit does not have its target or its variant."""
        from windtunnel.asv.memory import declared_case, remembered_launches

        case = declared_case(self, params)
        if remembered_launches(case):
            return
        from windtunnel.asv.measuring import resolve

        try:
            resolve(case)
        except VariantMissing as error:
            raise NotImplementedError(str(error)) from error

    def time_request(self, *params: Any) -> None:
        """Wall time per request at the workload's concurrency: one launch, one sample."""
        from windtunnel.asv.measuring import launch_case
        from windtunnel.asv.memory import declared_case

        self._clock += _number(_metrics(launch_case(declared_case(self, params), 1))[0].get("time_per_request"))

    time_request.pretty_name = "time per request"  # type: ignore[attr-defined]

    @_metric("CPU time per request", "seconds")
    def track_cpu_per_request(self, *params: Any) -> dict[str, Any]:
        """CPU time of the server per request."""
        return self._tracked("cpu_per_request", params)

    @_metric("response time at concurrency 1", "seconds")
    def track_response_time(self, *params: Any) -> dict[str, Any]:
        """Mean time of a request that has the server for itself: it sees waits that load hides."""
        return self._tracked("response_time", params)

    @_metric("median latency under load", "seconds")
    def track_latency_p50(self, *params: Any) -> dict[str, Any]:
        """Half of the requests under load were faster."""
        return self._tracked("latency_p50", params)

    @_metric("99th percentile of latency under load", "seconds")
    def track_latency_p99(self, *params: Any) -> dict[str, Any]:
        """One request in a hundred under load was slower."""
        return self._tracked("latency_p99", params)

    @_metric("peak memory", "bytes")
    def track_peak_memory(self, *params: Any) -> dict[str, Any]:
        """Peak memory of the server's container, page cache included."""
        return self._tracked("peak_memory", params)

    @_metric("time to ready", "seconds")
    def track_time_to_ready(self, *params: Any) -> dict[str, Any]:
        """From the start of the container to its first good answer."""
        return self._tracked("time_to_ready", params)

    def _tracked(self, metric: str, params: tuple[Any, ...]) -> dict[str, Any]:
        """A metric of every launch that `time_request` made; launches of its own only where there was none."""
        from windtunnel.asv.memory import current_call, declared_case, remembered_launches

        case = declared_case(self, params)
        launches = remembered_launches(case)
        if not launches:
            from windtunnel.asv.measuring import launch_case

            launches = launch_case(case, 1 if current_call().quick else self.rounds * self.repeat)
        return {"samples": [_number(one.get(metric)) for one in _metrics(launches)], "number": 1}


def _metrics(launches: Sequence[Launch]) -> list[Mapping[str, Value]]:
    """The metrics of the launches that are good; an error with the last one's reason when none is."""
    from windtunnel.sample.summary import launch_metrics

    good = [launch for launch in launches if launch.outcome == "ok"]
    if not good:
        last = launches[-1]
        raise LaunchFailed("\n".join(part for part in (f"{last.case}: {last.reason}", last.detail) if part))
    return [launch_metrics(launch) for launch in good]


def _columns(params: Any) -> list[list[Any]]:
    """asv's `params`: a list of lists, or one flat list."""
    if params and not isinstance(params[0], list | tuple):
        return [list(params)]
    return [list(column) for column in params]


def _number(value: Value | None) -> float:
    """The figure, or an error that says why there is none: asv must not get a 0 for it."""
    if value is None or isinstance(value, Missing):
        raise RuntimeError(value.reason if isinstance(value, Missing) else "not measured")
    return value
