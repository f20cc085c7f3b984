"""Comparisons put together by hand: pairs of launches of which head takes given factors of base's time."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import material
from windtunnel.compare.rule import JUDGED
from windtunnel.model import Case, Launch, Slice
from windtunnel.sample.runfile import Arm, ComparePlan, Failure, Header, Run

CASE = material.CASE
OTHERS = tuple(replace(CASE, benchmark=f"psgi.Other{number}") for number in range(120))

HEADER: Header = replace(
    material.HEADER,
    arms=(Arm("base", "main", "a" * 40), Arm("head", "HEAD", "b" * 40)),
    compare=ComparePlan(threshold=0.02, most=44),
)


def factors(effect: float, count: int, *, noise: float = 0.001, seed: int = 0) -> list[float]:
    """As many factors about `1 + effect`; the same for the same seed."""
    rng = random.Random(f"{effect}/{count}/{noise}/{seed}")
    return [(1 + effect) * math.exp(rng.gauss(0, noise)) for _ in range(count)]


def slice_of(role: str, cpu: float = 1.0, wall: float = 1.0, **changes: Any) -> Slice:
    """One slice whose CPU and wall seconds are such factors of the plain one's."""
    plain = material.SINGLE if role == "single" else material.LOAD
    assert isinstance(plain.cpu, float)
    assert isinstance(plain.wall, float)
    return replace(plain, cpu=plain.cpu * cpu, wall=plain.wall * wall, **changes)


def launch_of(case: Case, arm: str, number: int, by_metric: Sequence[float] = (1, 1, 1), **changes: Any) -> Launch:
    """A launch whose judged metrics, in their order, are such factors of the plain one's."""
    cpu, load, single = by_metric
    slices = (material.WARMUP, slice_of("load", cpu, load), slice_of("single", cpu, single))
    return replace(material.LAUNCH, **{"case": case.id, "arm": arm, "number": number, "slices": slices, **changes})


def pairs_by_metric(case: Case, *by_metric: Sequence[float], arm: str = "head") -> list[Launch]:
    """Pairs whose other launch takes these factors of base's, a series for each judged metric."""
    launches: list[Launch] = []
    for number, each in enumerate(zip(*by_metric, strict=True), 1):
        launches += [launch_of(case, "base", number), launch_of(case, arm, number, each)]
    return launches


def pairs_with(case: Case, series: Sequence[float], arm: str = "head") -> list[Launch]:
    """Pairs that differ in the metric that decides, and hardly in the others."""
    still = [factors(0, len(series), seed=seed) for seed in range(1, len(JUDGED))]
    return pairs_by_metric(case, series, *still, arm=arm)


def bad(case: Case, arm: str, number: int, outcome: str = "invalid", reason: str = "3 of 160 wrong") -> Launch:
    """A launch that went wrong."""
    return launch_of(case, arm, number, outcome=outcome, reason=reason, detail="the end of its log", slices=())


def run_of(launches: Sequence[Launch], failures: Sequence[Failure] = (), cases: Sequence[Case] = (CASE,)) -> Run:
    """A finished comparison of these."""
    header: Header = replace(HEADER, cases=tuple(cases))
    return Run(header, tuple(launches), tuple(failures), end={"exit": 0})
