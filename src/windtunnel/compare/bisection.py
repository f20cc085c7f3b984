"""Which commit changed a case: a search by halves, where every answer is only as good as its pairs. Pure.

All comparisons of a search have the same base, its good end. A commit in the middle is on the bad side when its
effect is surely nearer to the bad end's than to the good end's, so what is tested is half of the whole effect, and
pairs are made until that is clear: a commit that has all of the change, and one that has none of it, are both half
of the effect away from what is tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Protocol

from windtunnel.compare.estimate import Sample

__all__ = ["Answer", "Care", "Commits", "Found", "Level", "Placement", "Side", "Span", "Step", "classify", "search"]

_CONFIDENCE = 0.95


class Side(Enum):
    """Where a commit is: before the change, after it, or not to be told."""

    GOOD = "good"
    BAD = "bad"
    UNSURE = "unsure"


@dataclass(frozen=True)
class Level:
    """What a commit is against the search's base: a log ratio and its standard error."""

    effect: float
    error: float = 0.0


@dataclass(frozen=True)
class Span:
    """The two ends of what is still searched; the good one is the base itself (0) until a second change is met."""

    good: Level
    bad: Level

    @property
    def middle(self) -> float:
        """The border between the sides, a log ratio."""
        return (self.good.effect + self.bad.effect) / 2

    @property
    def gap(self) -> float:
        """The change that is searched for, a log ratio; below 0 where things got better."""
        return self.bad.effect - self.good.effect


@dataclass(frozen=True)
class Care:
    """How sure a step has to be.

    Attributes:
        wrong: the chance that a commit right on the border is put on one given side, at most, over all looks
            (where it is not seen that it has a part of the change: then either side has something to find). One that
            has all of the change, or none, is farther away: the chance is smaller still.
        looks: after how many pairs there is a look, and the share of `wrong` it may spend; the shares add up to 1.
        patience: after so many steps in a row that were not sure the search ends, since all others would be no
            surer.
    """

    wrong: float = 0.01
    looks: tuple[tuple[int, float], ...] = (
        (8, 0.40),
        (12, 0.15),
        (16, 0.11),
        (24, 0.11),
        (34, 0.08),
        (48, 0.06),
        (68, 0.05),
        (96, 0.04),
    )
    patience: int = 4

    @property
    def most(self) -> int:
        """How many pairs a step gets at most."""
        return self.looks[-1][0]

    def looks_at(self, count: int, *, ended: bool) -> tuple[tuple[int, float], ...]:
        """The looks taken with `count` pairs; a step that ended between two of them spends what the next one has."""
        taken = tuple(look for look in self.looks if look[0] <= count)
        following = next((look for look in self.looks if look[0] > count), None)
        if not ended or following is None or (taken and taken[-1][0] == count):
            return taken
        return (*taken, (count, following[1]))


@dataclass(frozen=True)
class Placement:
    """What the pairs of a commit say.

    Attributes:
        side: where it is.
        between: it has surely a part of the change and surely not all of it: there is more than one change.
        count: how many pairs.
        estimate: its effect against the search's base, a log ratio; `low`, `high`: its 95 % interval.
        error: the estimate's standard error.
    """

    side: Side
    between: bool
    count: int
    estimate: float
    low: float
    high: float
    error: float

    @property
    def level(self) -> Level:
        """Its effect as the end of what is searched further."""
        return Level(self.estimate, self.error if math.isfinite(self.error) else 0.0)


def classify(values: Sequence[float], span: Span, care: Care | None = None, *, ended: bool = True) -> Placement:
    """Where a commit is, by the log ratios of its pairs (commit / base) in the order they were made.

    The first look that is sure decides. `ended` says that no more pairs come: then there is a last look wherever the
    step ended. Raises ValueError where there are no values.
    """
    care = care or Care()
    whole = Sample(values)
    side, between = Side.UNSURE, False
    for count, share in care.looks_at(len(values), ended=ended):
        side, between = _look(Sample(values[:count]), span, care.wrong * share)
        if side is not Side.UNSURE:
            break
    return Placement(side, between, whole.count, whole.estimate, *whole.interval(_CONFIDENCE), whole.error)


def _look(sample: Sample, span: Span, level: float) -> tuple[Side, bool]:
    """The side, and whether there is more than one change. With two of a size either half has one to be found."""
    between = _between(sample, span, level)
    if _beyond(sample, span.middle, span, level):
        return Side.BAD, between
    if _short_of(sample, span.middle, span, level):
        return Side.GOOD, between
    if not between:
        return Side.UNSURE, False
    nearer_bad = (sample.estimate - span.middle) * span.gap > 0
    return (Side.BAD if nearer_bad else Side.GOOD), True


def _beyond(sample: Sample, border: float, span: Span, level: float) -> bool:
    """Whether it is surely on the bad side of a border."""
    return (sample.p_above(border) if span.gap > 0 else sample.p_below(border)) <= level


def _short_of(sample: Sample, border: float, span: Span, level: float) -> bool:
    """Whether it is surely on the good side of a border."""
    return (sample.p_below(border) if span.gap > 0 else sample.p_above(border)) <= level


def _between(sample: Sample, span: Span, level: float) -> bool:
    """Surely neither end: away from both by more than what is not known about them, and by enough to matter."""
    direction = math.copysign(1.0, span.gap)
    least = abs(span.gap) / 6
    lower = span.good.effect + direction * max(least, 2 * span.good.error)
    upper = span.bad.effect - direction * max(least, 2 * span.bad.error)
    return _beyond(sample, lower, span, level) and _short_of(sample, upper, span, level)


# ---------------- the search


class Commits(Protocol):
    """The commits of a range, as far as the search needs to know them."""

    def candidates(self, good: Sequence[str], bad: str) -> Sequence[str]:
        """Those of which one is the first bad one: `bad`, and what leads to it and not to any of `good`.

        The one that halves them best comes first.
        """


@dataclass(frozen=True)
class Answer:
    """What came of measuring one commit; without a placement it could not be measured, and `reason` says why."""

    placement: Placement | None
    reason: str = ""

    @property
    def side(self) -> Side:
        """Where it is."""
        return self.placement.side if self.placement else Side.UNSURE


@dataclass(frozen=True)
class Step:
    """One commit that was asked about: what was searched then, and the answer."""

    commit: str
    span: Span
    answer: Answer


@dataclass(frozen=True)
class Found:
    """How a search ended.

    Attributes:
        commits: the first commit of the change; several where those that were skipped, or not sure, hide which one.
        good: the last commit that is known to be good, against which the first bad one stands.
        span: the ends of what was searched last.
        steps: all of them, in their order.
        gave_up: the search ended early, since step after step was not sure.
    """

    commits: tuple[str, ...]
    good: tuple[str, ...]
    span: Span
    steps: tuple[Step, ...] = ()
    gave_up: bool = False

    @property
    def sure(self) -> bool:
        """Whether it is one commit."""
        return len(self.commits) == 1


@dataclass
class _State:
    good: list[str]
    bad: str
    span: Span
    passed: set[str] = field(default_factory=set)
    steps: list[Step] = field(default_factory=list)
    unsure: int = 0

    def take(self, commit: str, answer: Answer) -> None:
        """Go on from an answer."""
        self.steps.append(Step(commit, self.span, answer))
        if answer.placement is None or answer.side is Side.UNSURE:
            self.passed.add(commit)
            self.unsure += answer.placement is not None
            return
        self.unsure = 0
        found = answer.placement
        if answer.side is Side.GOOD:
            self.good.append(commit)
            self.span = replace(self.span, good=found.level) if found.between else self.span
        else:
            self.bad = commit
            self.span = replace(self.span, bad=found.level) if found.between else self.span

    def found(self, candidates: Sequence[str], *, gave_up: bool = False) -> Found:
        return Found(tuple(candidates), tuple(self.good), self.span, tuple(self.steps), gave_up)


def search(
    commits: Commits,
    ends: tuple[str, str],
    span: Span,
    ask: Callable[[str, Span, int], Answer],
    care: Care | None = None,
) -> Found:
    """Halve a range until one commit is left, or only such as can't be told apart.

    Args:
        commits: the range.
        ends: its good and its bad end.
        span: what the two ends are against the good one.
        ask: measures a commit against the good end; it is given what is searched, and how many commits are left.
        care: how sure a step has to be.
    """
    care = care or Care()
    state = _State([ends[0]], ends[1], span)
    while True:
        candidates = list(commits.candidates(state.good, state.bad))
        chosen = _next(candidates, state.bad, state.passed)
        if chosen is None:
            return state.found(candidates)
        if state.unsure >= care.patience:
            return state.found(candidates, gave_up=True)
        state.take(chosen, ask(chosen, state.span, len(candidates)))


def _next(candidates: Sequence[str], bad: str, passed: set[str]) -> str | None:
    """The best midpoint; where that one was passed over, one away from it: its neighbours often fail as it did."""
    inner = [one for one in candidates if one != bad]
    untried = [one for one in inner if one not in passed]
    if not untried:
        return None
    if untried[0] == inner[0]:
        return untried[0]
    return untried[int(len(untried) * _spread(len(inner) - len(untried)) ** 1.5)]


def _spread(number: int) -> float:
    """The `number`-th of the shares 1/2, 1/4, 3/4, 1/8, 5/8, ... (van der Corput): it gets everywhere, and evenly."""
    share, part = 0.0, 0.5
    while number:
        share += part * (number % 2)
        number, part = number // 2, part / 2
    return share
