"""What comparing a case will cost and show, from what it did the last time. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from windtunnel.compare.effects import pairs_of
from windtunnel.compare.rule import JUDGED
from windtunnel.compare.verdict import compare_case, rule_of
from windtunnel.model import Case
from windtunnel.sample.runfile import Run
from windtunnel.units import Missing

__all__ = ["Expectation", "expectations"]


@dataclass(frozen=True)
class Expectation:
    """A case as it was the last time: seconds of machine time for all launches of all arms, and the MDE that came of
    them as a share, by judged metric (those that have one)."""

    seconds: float
    mde: Mapping[str, float]


def expectations(runs: Iterable[Run], cases: Collection[str]) -> Mapping[str, Expectation]:
    """What is known of these cases, by id; each from the first of `runs` (so the newest comes first) that compared it
    and came to its end. A run that was cut short would make its cases look cheap."""
    found: dict[str, Expectation] = {}
    for run in runs:
        if run.header.compare is None or not run.complete:
            continue
        for case in run.header.cases:
            if case.id in cases and case.id not in found and pairs_of(run.launches, case.id):
                found[case.id] = _expectation(run, case)
    return found


def _expectation(run: Run, case: Case) -> Expectation:
    seconds = math.fsum(sum(launch.spent.values()) for launch in run.launches if launch.case == case.id)
    metrics = compare_case(run, case, rule_of(run)).metrics
    known = {name: metrics[name].mde for name in JUDGED if name in metrics}
    return Expectation(seconds, {name: mde for name, mde in known.items() if not isinstance(mde, Missing)})
