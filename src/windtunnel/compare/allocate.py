"""What to measure next: which cases get pairs, and how many, within the budget. Pure and reproducible."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windtunnel.compare.rule import Rule
from windtunnel.compare.standing import Need, Standing, standing

__all__ = ["CaseState", "next_pairs", "standing_of"]

_FIRST_COST = 4.0
"""Seconds a pair is taken to cost before the first one was made."""


@dataclass(frozen=True)
class CaseState:
    """A case as far as it is measured.

    Attributes:
        case: its id.
        series: log ratios by judged metric (`series_of`).
        tried: the highest number of a pair that was tried, good or not.
        seconds: what its pairs have cost so far.
        given_up: its launches go wrong; it gets no more.
    """

    case: str
    series: Mapping[str, Sequence[float]]
    tried: int = 0
    seconds: float = 0.0
    given_up: bool = False

    @property
    def pairs(self) -> int:
        """How many pairs it has."""
        return max((len(values) for values in self.series.values()), default=0)

    @property
    def cost(self) -> float:
        """Seconds that one more pair will take."""
        return self.seconds / self.tried if self.tried and self.seconds > 0 else _FIRST_COST


def next_pairs(
    states: Sequence[CaseState], rule: Rule, *, left: float | None, batch: int, seed: str
) -> tuple[tuple[str, int], ...]:
    """The pairs to start together now, as (case, number of the pair); none when there is nothing left to do.

    Flagged cases come first: what they show has to be confirmed while there is time. Then every case gets to its
    first look, and after that all those that are not clear get one pair each in turn, so that what the clear ones
    leave is theirs. Within a round the order is drawn from the seed: a drift of the machine falls on all alike. Where
    the budget brings some cases to their first look and not all, they get there one after the other: some told are
    more than none.

    Args:
        states: all cases of the run, in its order.
        rule: what decides.
        left: seconds left of the budget, or None where there is none.
        batch: how many pairs start together.
        seed: the run's.
    """
    open_ = [_Open(state, standing_of(state, rule, left)) for state in states if not state.given_up]
    chosen: list[tuple[str, int]] = []
    short = left is not None and _short([one.to_first(rule) for one in open_], left)
    spent = 0.0
    while len(chosen) < batch:
        waiting = [one for one in open_ if one.wants(rule) and (left is None or spent + one.state.cost <= left)]
        if not waiting:
            break
        one = min(waiting, key=lambda one: one.urgency(seed, short=short))
        one.planned += 1
        spent += one.state.cost
        chosen.append((one.state.case, one.state.tried + one.planned))
    return tuple(chosen)


def _short(seconds: Sequence[float], left: float) -> bool:
    """Whether some cases can get to their first look, and not all of them; `seconds` is what each of them needs."""
    needed = [one for one in seconds if one > 0]
    return bool(needed) and min(needed) <= left < sum(needed)


def standing_of(state: CaseState, rule: Rule, left: float | None) -> Standing:
    """Where a case stands, with as many pairs as it could still get, were all that is left of the budget its own."""
    if not state.pairs and state.tried >= rule.looks[0][0]:
        return Standing(Need.NOTHING, "nothing that is judged could be measured", {})
    most = None if left is None else state.pairs + int(left / state.cost)
    return standing(state.series, rule, most)


@dataclass
class _Open:
    """A case while a batch is put together: how many of its pairs are planned."""

    state: CaseState
    stand: Standing
    planned: int = 0

    def wants(self, rule: Rule) -> bool:
        """Whether it needs more than is planned before somebody has to look at it again."""
        return self.stand.need is not Need.NOTHING and self.planned < self._to_next(rule)

    def to_first(self, rule: Rule) -> float:
        """Seconds until its first look."""
        return max(0, rule.looks[0][0] - self.state.pairs) * self.state.cost

    def urgency(self, seed: str, *, short: bool) -> tuple[Need, int, float]:
        """The smallest goes first: what it needs it for, how many pairs it has, and a number drawn from the seed.

        Where time is `short`, those that have the most pairs are the first to get to their first look.
        """
        draw = random.Random(f"{seed}/{self.state.case}/{self.state.tried + self.planned}").random()  # noqa: S311
        pairs = self.state.pairs + self.planned
        return self.stand.need, -pairs if short and self.stand.need is Need.FIRST else pairs, draw

    def _to_next(self, rule: Rule) -> int:
        following = next((count for count, _, _ in rule.looks if count > self.state.pairs), rule.most)
        return min(following, rule.most) - self.state.pairs
