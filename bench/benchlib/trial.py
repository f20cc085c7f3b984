"""One simulated case: pairs are drawn until the rule has enough or the time is up, then it is judged.

All that decides is windtunnel's own: `next_pairs` says what to measure, `judge` and its companions what it means.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from benchlib.planting import Draw
from windtunnel.compare import rule as rule_module
from windtunnel.compare import verdict as deciding
from windtunnel.compare.allocate import CaseState, next_pairs
from windtunnel.compare.estimate import Sample
from windtunnel.compare.rule import JUDGED, Rule, Verdict
from windtunnel.model import Case, Variant, Workload
from windtunnel.units import Missing

__all__ = ["Trial", "decide", "fill", "remember_samples", "run_trial"]

Draws = Sequence[tuple[Draw, Draw]]
_CASE = Case("simulated", (), Variant(""), Workload())


@dataclass(frozen=True)
class Trial:
    """How one case ended.

    Attributes:
        verdict: of the case.
        seconds: of machine time.
        pairs: how many were made.
        decided_by: the metric that the verdict comes from, or "".
    """

    verdict: Verdict
    seconds: float
    pairs: int
    decided_by: str = ""


@dataclass(frozen=True)
class Setting:
    """What a case is given: seconds of machine time, and how many pairs start together."""

    budget: float = 60.0
    batch: int = 2


def run_trial(draws: Draws, rule: Rule, generator: random.Random, setting: Setting) -> Trial:
    """Measure one case as `compare` does, with pairs drawn instead of made."""
    drawn: list[Draw] = []
    state = CaseState(_CASE.id, {})
    while wanted := next_pairs(
        [state], rule, left=setting.budget - state.seconds, batch=setting.batch, seed=str(generator.random())
    ):
        drawn += [draw(draws, generator) for _ in wanted]
        state = CaseState(_CASE.id, _series(drawn), len(drawn), sum(one.cost for one in drawn))
    verdict, metric = decide(_series(drawn), rule, len(drawn))
    return Trial(verdict, state.seconds, len(drawn), metric)


def fill(draws: Draws, generator: random.Random, budget: float) -> tuple[Draw, ...]:
    """As many drawn pairs as the budget pays for: for rules that do not say when they have enough."""
    drawn: list[Draw] = []
    spent = 0.0
    while spent + (spent / len(drawn) if drawn else 0.0) <= budget:
        drawn.append(draw(draws, generator))
        spent += drawn[-1].cost
    return tuple(drawn)


def draw(draws: Draws, generator: random.Random) -> Draw:
    """Any of the pairs, either way round."""
    return generator.choice(draws)[generator.random() < 0.5]


def _series(drawn: Sequence[Draw]) -> Mapping[str, tuple[float, ...]]:
    return {name: tuple(one.effects[name] for one in drawn if name in one.effects) for name in JUDGED}


def decide(series: Mapping[str, Sequence[float]], rule: Rule, pairs: int) -> tuple[Verdict, str]:
    """The verdict of a case that was compared alone, and the metric it comes from.

    These are the steps of `windtunnel.compare.verdict.compare` for one case, without the figures that are only
    shown.
    """
    missing = Missing("not kept")
    metrics = {
        name: deciding._metric(name, (missing, missing), list(series.get(name, ())) or [missing], rule)
        for name in JUDGED
    }
    result = deciding.CaseResult(_CASE, Verdict.INCONCLUSIVE, metrics=metrics, pairs=pairs)
    decided = deciding._controlled([deciding._decided(result)], rule)[0]
    return decided.verdict, decided.decided_by


@lru_cache(maxsize=512)
def _sample(values: tuple[float, ...]) -> Sample:
    return Sample(values)


def remember_samples() -> None:
    """Let this process make the sample of the same values once: the looks of a case are gone through again and again.

    Nothing else changes. Simulating takes a fraction of the time.
    """

    def remembered(values: Sequence[float]) -> Sample:
        return _sample(tuple(values))

    for module in (rule_module, deciding):
        module.Sample = remembered  # type: ignore[attr-defined]
