"""Effects planted into recorded pairs, and the pairs made ready to be drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from benchlib.noise import NoisePair, Sitting
from windtunnel.compare.effects import Pair, pair_effect
from windtunnel.compare.rule import JUDGED
from windtunnel.model import Launch, Slice
from windtunnel.sample.summary import launch_metrics
from windtunnel.units import Missing, Value

__all__ = ["Draw", "Plant", "draws_of"]

_ONE_OF = 100
"""A planted wait befalls one request of so many."""


@dataclass(frozen=True)
class Plant:
    """What is planted in head.

    CPU time is multiplied in every slice, and what it grows by passes as wall time too: a target has one core, so
    that time per request grows by the share of a slice in which the target computes, as it does in earnest.

    Attributes:
        cpu: by how much CPU per request grows, as a share (0.03 is 3 %; below 0 it shrinks).
        wait: seconds that one request of a hundred waits. Seen at concurrency 1 alone: under load others run then.
    """

    cpu: float = 0.0
    wait: float = 0.0

    def into(self, launch: Launch) -> Launch:
        """The launch, had it run with the planted code."""
        return replace(launch, slices=tuple(self._slice(one) for one in launch.slices))

    def _slice(self, one: Slice) -> Slice:
        more = self._more(one)
        return replace(one, wall=_add(one.wall, more), cpu=_add(one.cpu, self._computed(one)))

    def _computed(self, one: Slice) -> float:
        return 0.0 if isinstance(one.cpu, Missing) else one.cpu * self.cpu

    def _more(self, one: Slice) -> float:
        """Seconds of wall time."""
        return self._computed(one) + (self.wait * one.requests / _ONE_OF if one.role == "single" else 0.0)


def _add(value: Value, more: float) -> Value:
    return value if isinstance(value, Missing) else value + more


@dataclass(frozen=True)
class Draw:
    """A pair ready to be drawn: both launches, what it says, what it costs."""

    pair: Pair
    cost: float

    @cached_property
    def effects(self) -> Mapping[str, float]:
        """Log ratios by judged metric, as a comparison has them; without those that were not measured."""
        found = {name: pair_effect(name, self.pair) for name in JUDGED}
        return {name: value for name, value in found.items() if not isinstance(value, Missing)}

    @cached_property
    def launches(self) -> tuple[Mapping[str, Value], Mapping[str, Value]]:
        """All metrics of base's launch and of head's, each by itself."""
        return launch_metrics(self.pair.base), launch_metrics(self.pair.other)

    @cached_property
    def slices(self) -> tuple[Mapping[str, tuple[float, ...]], Mapping[str, tuple[float, ...]]]:
        """CPU and time per request of base's slices under load and of head's, in seconds."""
        return _slices(self.pair.base), _slices(self.pair.other)


def _slices(launch: Launch) -> Mapping[str, tuple[float, ...]]:
    load = [one for one in launch.slices if one.role == "load"]
    return {
        "cpu_per_request": tuple(one.cpu / one.requests for one in load if not isinstance(one.cpu, Missing)),
        "time_per_request": tuple(one.wall / one.requests for one in load if not isinstance(one.wall, Missing)),
    }


def draws_of(sitting: Sitting, plant: Plant) -> tuple[tuple[Draw, Draw], ...]:
    """Every pair of a sitting as it was made and with its arms exchanged; then head gets what is planted."""
    return tuple((_draw(one, plant, swap=False), _draw(one, plant, swap=True)) for one in sitting.pairs)


def _draw(one: NoisePair, plant: Plant, *, swap: bool) -> Draw:
    base, head = (one.pair.other, one.pair.base) if swap else (one.pair.base, one.pair.other)
    planted = plant.into(head)
    return Draw(Pair(one.pair.number, base, planted), one.cost + _wall(planted.slices) - _wall(head.slices))


def _wall(slices: Sequence[Slice]) -> float:
    return sum(one.wall for one in slices if not isinstance(one.wall, Missing))
