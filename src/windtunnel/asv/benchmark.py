"""`HTTPBenchmark` and `CacheBenchmark`: what a file in `benchmarks/` derives from.

asv measures functions; here a "function call" is a launch: a fresh start of the case's containers, loaded for a few
slices. `time_request` advances a virtual clock by the launch's seconds per request, so asv sees a time per request
with one sample per launch, and its own statistics hold. The other metrics are `track_*` methods over the very same
launches. asv takes every number as "lower is better", so nothing here is a rate.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import itertools
import json
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from windtunnel.errors import LaunchFailed, VariantMissing, WindtunnelError
from windtunnel.model import Case, Workload
from windtunnel.units import Missing

if TYPE_CHECKING:
    from windtunnel.asv.memory import Seen

__all__ = ["CacheBenchmark", "HTTPBenchmark", "LoadBenchmark"]

_METHOD = "2"
"""The version of the way of measuring. Raise it when figures before and after can't be compared any more."""

_HOPELESS = 2
"""After this many launches of a case that all failed to serve, it is not launched again: each waits to its limit."""

_SHOWN = 15
"""Lines at the end of a container's log that are shown with a failure."""

_Method = TypeVar("_Method", bound=Callable[..., Any])


def _metric(name: str, unit: str) -> Callable[[_Method], _Method]:
    def mark(method: _Method) -> _Method:
        method.unit = unit  # type: ignore[attr-defined]
        method.pretty_name = name  # type: ignore[attr-defined]
        return method

    return mark


class LoadBenchmark(ABC):
    """A question about a target: which one, under which workloads. Derive from `HTTPBenchmark` or `CacheBenchmark`.

    A subclass sets `target` (a folder below `targets/`), `params` and `param_names` as asv has them, and `workload`.
    Each parameter combination is one case. `rounds` x `repeat` is the number of launches per commit; asv interleaves
    the rounds of the commits it compares, so one launch a round keeps a drifting machine from looking like a change.

    A class with `nightly = True` is measured only where somebody asks for it: by name, by a suite, or with --all.
    """

    target: ClassVar[str]
    params: ClassVar[Any] = []
    param_names: ClassVar[Any] = []
    nightly: ClassVar[bool] = False

    # asv's own settings, see its documentation of benchmark attributes.
    number = 1
    rounds = 8
    repeat = 1
    warmup_time = 0
    min_run_count = 1
    timeout = 1800.0

    def __init_subclass__(cls) -> None:
        """Have asv keep the question that the class asks, where it would keep the code of our methods.

        asv looks for `pretty_source` on each function, so every class gets functions of its own.
        """
        super().__init_subclass__()
        if cls.__module__ == __name__ or not cls.__dict__.get("__doc__"):
            return
        source = f"class {cls.__name__}:\n    {_quoted(inspect.cleandoc(cls.__doc__ or ''))}\n"
        for name in dir(cls):
            method = inspect.getattr_static(cls, name)
            if name.startswith(("time_", "track_")) and isinstance(method, FunctionType) and name not in vars(cls):
                setattr(cls, name, _with_source(method, source))

    def __init__(self) -> None:
        self._clock = 0.0
        self._replayed = 0

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
                workload = dict(self.workload(*combination).declared())
            except NotImplementedError:
                continue
            del workload["axes"]
            found.add(json.dumps(workload, sort_keys=True))
        return found

    def timer(self) -> float:
        """asv's clock for `time_request`: seconds per request of all launches since the last `setup`, added up."""
        return self._clock

    def setup(self, *params: Any) -> None:
        """Skips the case where this commit does not have its target or its variant."""
        from windtunnel.asv.memory import check_refused, current_call, declared_case, seen

        # asv sets up before every sample: from 0 on, a sample is a launch's figure to the last digit.
        self._clock = 0.0
        with _failing_briefly():
            case = declared_case(self, params)
            launches = seen(case)
            if launches and current_call().replay:
                self.repeat = len(_telling(launches, "time_per_request"))  # asv looks at it after this
            if launches:
                return
            if self.nightly and not current_call().named:
                raise NotImplementedError(f"{case.id} is nightly; name it with --bench")
            try:
                check_refused(case)
                from windtunnel.asv.measuring import resolve

                resolve(case)
            except VariantMissing as error:
                raise NotImplementedError(str(error)) from error

    def time_request(self, *params: Any) -> None:
        """Wall time per request at the workload's concurrency: one launch, one sample."""
        from windtunnel.asv.memory import current_call, declared_case, seen

        with _failing_briefly():
            case = declared_case(self, params)
            if current_call().replay:
                self._clock += _figures(case, [self._next_replayed(seen(case))], "time_per_request")[0]
                return
            _check_hope(case, seen(case))
            from windtunnel.asv.measuring import launch_case

            launch_case(case, 1)
            self._clock += _figures(case, seen(case)[-1:], "time_per_request")[0]

    time_request.pretty_name = "time per request"  # type: ignore[attr-defined]

    @_metric("CPU time per request", "seconds")
    def track_cpu_per_request(self, *params: Any) -> dict[str, Any]:
        """CPU time of the target per request."""
        return self._tracked("cpu_per_request", params)

    @_metric("response time at concurrency 1", "seconds")
    def track_response_time(self, *params: Any) -> dict[str, Any]:
        """Mean time of a request that has the server for itself: it sees waits that load hides."""
        return self._tracked("response_time", params)

    @_metric("peak memory", "bytes")
    def track_peak_memory(self, *params: Any) -> dict[str, Any]:
        """Peak memory of the target's container, page cache included."""
        return self._tracked("peak_memory", params)

    def _tracked(self, metric: str, params: tuple[Any, ...]) -> dict[str, Any]:
        """A metric of every launch that `time_request` made; launches of its own only where there was none."""
        from windtunnel.asv.memory import declared_case, not_told_yet

        with _failing_briefly():
            case = declared_case(self, params)
            launches = [replace(launch, detail="") for launch in not_told_yet(case, metric)]  # told with their launch
            if not launches:
                from windtunnel.asv.measuring import launch_case

                launch_case(case, self._launches())
                launches = list(not_told_yet(case, metric))
            return {"samples": _figures(case, launches, metric), "number": 1}

    def _next_replayed(self, launches: Sequence[Seen]) -> Seen:
        """The next launch of a replayed comparison: one a sample."""
        self._replayed += 1
        return _telling(launches, "time_per_request")[self._replayed - 1]

    def _launches(self) -> int:
        """How many a metric makes for itself: all of them at once, unless asv was told to call it in every round."""
        from windtunnel.asv.memory import current_call

        call = current_call()
        if call.quick:
            return 1
        return self.repeat if call.rounds else self.rounds * self.repeat


class HTTPBenchmark(LoadBenchmark):
    """A question about an HTTP server."""

    @_metric("median latency under load", "seconds")
    def track_latency_p50(self, *params: Any) -> dict[str, Any]:
        """Half of the requests under load were faster."""
        return self._tracked("latency_p50", params)

    @_metric("99th percentile of latency under load", "seconds")
    def track_latency_p99(self, *params: Any) -> dict[str, Any]:
        """One request in a hundred under load was slower."""
        return self._tracked("latency_p99", params)

    @_metric("time to ready", "seconds")
    def track_time_to_ready(self, *params: Any) -> dict[str, Any]:
        """From the start of the container to its first good answer."""
        return self._tracked("time_to_ready", params)


class CacheBenchmark(LoadBenchmark):
    """A question about a client: what one call of it costs.

    The target is of kind "client"; its worker makes the calls (`site/cache.md`). A workload names the operation and
    what it is done with: ``Workload(axes={"client": client}, generator="program", op="get", payload="scalar")``. A
    request is one call then, and all CPU time is the client's.
    """


def _quoted(text: str) -> str:
    """A documentation string as code: in several lines where it has several."""
    safe = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    more = "\n    " * ("\n" in safe or safe.endswith('"'))
    return f'"""{textwrap.indent(safe, "    ").strip()}{more}"""'


def _with_source(method: FunctionType, source: str) -> FunctionType:
    """The same function once more, which asv shows as `source`."""
    parts = (method.__code__, method.__globals__, method.__name__, method.__defaults__, method.__closure__)
    copy = FunctionType(*parts)
    copy.__dict__.update(method.__dict__, pretty_source=source)
    copy.__doc__, copy.__qualname__, copy.__module__ = method.__doc__, method.__qualname__, method.__module__
    return copy


@contextlib.contextmanager
def _failing_briefly() -> Iterator[None]:
    """A failure of ours ends the benchmark process with its message, not with a traceback through asv and us."""
    try:
        yield
    except WindtunnelError as error:
        detail = "".join(f"\n  | {line}" for line in error.detail.strip().splitlines()[-_SHOWN:])
        print(f"{error}{detail}", file=sys.stderr, flush=True)
        raise SystemExit(1) from None


def _check_hope(case: Case, launches: Sequence[Seen]) -> None:
    """Raises LaunchFailed where it is clear that the case does not serve at this commit."""
    if len(launches) >= _HOPELESS and all(launch.outcome == "failed" for launch in launches):
        last = launches[-1]
        raise LaunchFailed(f"{case.id}: given up after {len(launches)} launches: {last.reason}")


def _telling(launches: Sequence[Seen], metric: str) -> Sequence[Seen]:
    """The launches that have a metric; where none has, all of them, which say why."""
    known = [one for one in launches if not isinstance(one.metrics.get(metric, Missing("not measured")), Missing)]
    return known or launches


def _figures(case: Case, launches: Sequence[Seen], metric: str) -> list[float]:
    """A metric of the good launches: asv must never get a 0 for a figure that is not there.

    Raises LaunchFailed when no launch is good, and asv's sign for "not applicable" when none tells the metric.
    """
    good = [launch for launch in launches if launch.outcome == "ok"]
    for launch in launches:
        if good and launch.outcome != "ok":
            print(f"{case.id}: launch {launch.number} {launch.outcome}: {launch.reason}", file=sys.stderr)
    if not good:
        last = launches[-1]
        raise LaunchFailed(f"{case.id}: {last.outcome}: {last.reason}", detail=last.detail)
    values = [launch.metrics.get(metric, Missing("not measured")) for launch in good]
    known = [value for value in values if not isinstance(value, Missing)]
    if not known:
        _skip(f"{case.id}: {metric}: {next(value.reason for value in values if isinstance(value, Missing))}")
    return known


def _skip(reason: str) -> None:
    from asv_runner.benchmarks.mark import SkipNotImplemented

    print(reason, file=sys.stderr)
    raise SkipNotImplemented(reason)


def _columns(params: Any) -> list[list[Any]]:
    """asv's `params`: a list of lists, or one flat list."""
    if params and not isinstance(params[0], list | tuple):
        return [list(params)]
    return [list(column) for column in params]
