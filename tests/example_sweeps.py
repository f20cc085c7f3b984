"""Runs of sweeps made by hand: throughput and latency by value, eight launches of each that differ by a per cent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import material
from windtunnel.load.histogram import build
from windtunnel.model import Case, Launch, Slice
from windtunnel.sample.runfile import Run

__all__ = ["SATURATING", "launches_of", "sweep_run", "swept_case"]

JITTER = (0.99, 1.0, 1.01, 1.005, 0.995, 1.002, 0.998, 1.0)


def swept_case(by: str, value: float, **changes: object) -> Case:
    text = f"{value:g}"
    work = replace(material.CASE.workload, **{by: value if by == "rate" else int(value)}, **changes)  # type: ignore[arg-type]
    return replace(material.CASE, params=(*material.CASE.params, (by, text)), workload=work)


def _slice(throughput: float, latency: float, **changes: object) -> Slice:
    times = build([latency * (1 + 0.05 * number) for number in range(100)])
    return replace(material.LOAD, wall=160 / throughput, latency=times, **changes)  # type: ignore[arg-type]


def launches_of(case: Case, throughput: float, latency: float, count: int = 8, **changes: object) -> list[Launch]:
    return [
        replace(
            material.LAUNCH,
            case=case.id,
            number=number + 1,
            slices=(_slice(throughput * JITTER[number % 8], latency, **changes), material.SINGLE),
        )
        for number in range(count)
    ]


def sweep_run(by: str, seen: Mapping[float, tuple[float, float]], count: int = 8, **changes: object) -> Run:
    cases = tuple(swept_case(by, value) for value in seen)
    launches = [
        launch
        for case, (throughput, latency) in zip(cases, seen.values(), strict=True)
        for launch in launches_of(case, throughput, latency, count, **changes)
    ]
    header = replace(material.HEADER, cases=cases)
    return Run(header, tuple(launches), end={"exit": 0, "seconds": 9.0})


SATURATING = {1: (1000, 0.001), 2: (2000, 0.001), 5: (5000, 0.001), 10: (9000, 0.0011), 20: (9100, 0.0022)}
