"""The launches behind a value that asv has, where the run file of the same commit and machine is kept."""

from __future__ import annotations

from collections.abc import Mapping

from windtunnel.errors import WindtunnelError
from windtunnel.history.nouns import History, RunRef, Series
from windtunnel.site.rundigest import CaseDigest
from windtunnel.site.rundigests import digest_of
from windtunnel.site.values import parameters_text

__all__ = ["METRIC_OF", "Finder"]

METRIC_OF: Mapping[str, str] = {
    "time_request": "time_per_request",
    "track_cpu_per_request": "cpu_per_request",
    "track_response_time": "response_time",
    "track_latency_p50": "latency_p50",
    "track_latency_p99": "latency_p99",
    "track_peak_memory": "peak_memory",
}
"""Which metric of a run a method of a benchmark class is."""


class Finder:
    """Finds launches for series of a history. What can't be read has none; the list of runs says so."""

    def __init__(self, history: History) -> None:
        self._commits = history.commits()
        self._models = {machine.name: machine.facts.get("cpu", "") for machine in history.machines()}
        self._runs: dict[str, list[RunRef]] = {}
        for ref in history.runs():
            self._runs.setdefault(ref.commit, []).append(ref)

    def __call__(self, series: Series, position: int) -> tuple[float, ...]:
        """The metric of each good launch of head, in base units."""
        group, _, method = series.key.benchmark.rpartition(".")
        metric = METRIC_OF.get(method)
        if metric is None:
            return ()
        for ref in self._runs.get(self._commits[position].hash, ()):
            case = self._case(ref, f"{group}({parameters_text(series.key.params)})", group)
            if case is not None and self._same_machine(series, case):
                return next((arm.launches.get(metric, ()) for arm in case.arms if arm.name == "head"), ())
        return ()

    def _case(self, ref: RunRef, name: str, group: str) -> CaseDigest | None:
        try:
            cases = digest_of(ref.path).cases
        except WindtunnelError:
            return None
        return next((case for case in cases if case.id == name or (case.id == group and name == f"{group}()")), None)

    def _same_machine(self, series: Series, case: CaseDigest) -> bool:
        """A commit may have been measured on several machines; a run is one of them."""
        model = self._models.get(series.key.machine, "")
        return not model or not case.cpu or model == case.cpu
