"""Noise that is made up: of launches, of slices, and a machine that drifts."""

from __future__ import annotations

import random
from typing import Literal

from benchlib.noise import NoisePair, Sitting

from windtunnel.compare.effects import Pair
from windtunnel.model import Case, Launch, LaunchPlan, Slice, Variant, Workload
from windtunnel.sample.runfile import Arm, Header, Run
from windtunnel.sample.schedule import Sizes
from windtunnel.units import Missing

__all__ = ["CASE", "made_launch", "made_run", "made_sitting"]

CASE = Case("servers.Made", (), Variant("made"), Workload(concurrency=4))


def made_slice(role: Literal["load", "single"], cpu: float) -> Slice:
    """800 requests; a sixth of the time the target waits."""
    nothing = Missing("made up")
    wall = round(1.2 * cpu, 6)
    return Slice(role, 4, 800, wall, cpu, nothing, nothing, {"200": 800}, {}, {}, nothing, nothing, nothing, 0.0)


def made_launch(arm: str, number: int, cpu: float, generator: random.Random) -> Launch:
    """Eight slices and three at concurrency 1, with noise of 2 %."""
    roles: list[Literal["load", "single"]] = ["load"] * 8 + ["single"] * 3
    slices = tuple(made_slice(role, round(cpu * generator.gauss(1, 0.02), 6)) for role in roles)
    return Launch(CASE.id, arm, number, arm, "image", 0.0, slices=slices, spent={"slices": 1.25})


def made_pair(number: int, effect: float, generator: random.Random) -> Pair:
    """What the machine does falls on both; each launch has luck of 1 % of its own."""
    cpu = 0.07 * generator.gauss(1, 0.05)
    base, other = (
        made_launch(arm, number, cpu * grown * generator.gauss(1, 0.01), generator)
        for arm, grown in (("base", 1.0), ("head", 1 + effect))
    )
    return Pair(number, base, other)


def made_sitting(pairs: int = 24, name: str = "made", effect: float = 0.0) -> Sitting:
    """Of 2.5 seconds a pair."""
    generator = random.Random(f"{name}{effect}")
    found = tuple(NoisePair(made_pair(number, effect, generator), 2.5) for number in range(1, pairs + 1))
    plan = LaunchPlan(slices=8, single_slices=3)
    return Sitting(
        name, CASE.id, "2026-01-01T00:00:00Z", "quiet", plan, 2, {"cores": 2}, Sizes(800, 800, 0.1, 0.1), found
    )


def made_run(sitting: Sitting) -> Run:
    """The same, as a comparison's run."""
    arms = (Arm("base", "main", "a" * 40), Arm("head", "topic", "b" * 40))
    command = ("windtunnel", "compare", "--output", "/somewhere/run.jsonl")
    header = Header("made", sitting.date, "0", command, "made", "seed", sitting.plan, 8, arms, (CASE,))
    launches = [launch for one in sitting.pairs for launch in (one.pair.base, one.pair.other)]
    return Run(header, tuple(launches), sizes={CASE.id: Sizes(800, 800, 0.1, 0.1)}, end={"exit": 0})
