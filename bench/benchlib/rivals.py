"""Rules that other tools decide by, on the same noise and with the same machine time.

Most tools measure one commit, then the other: base's launches come from one stretch of a sitting, head's from the
next one ("apart"). Or they get what none of them does, launches that were loaded in turn ("paired").
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from asv.commands.compare import _is_result_better
from asv_runner.statistics import compute_stats
from scipy.stats import ttest_ind  # type: ignore[import-untyped]

from benchlib.planting import Draw
from benchlib.trial import Draws, Trial, fill
from windtunnel.compare.rule import Verdict
from windtunnel.units import Missing

__all__ = ["RIVALS", "WAYS", "Arms", "Sample", "rival_trial"]


@dataclass(frozen=True)
class Arms:
    """Figures of both arms of a case, in seconds: of launches (their medians over slices), and of all slices.

    `earlier` are launches of base that were made in another sitting: what a tool has that measures head alone and
    compares it with the last run.
    """

    base: Sequence[float]
    head: Sequence[float]
    base_slices: Sequence[float]
    head_slices: Sequence[float]
    earlier: Sequence[float]


Rival = Callable[[Arms], int]
"""+1 for slower, -1 for faster, 0 for neither."""


def _asv(factor: float) -> Rival:
    """As `asv compare` does, by asv's own functions: Mann-Whitney at 0.002, and medians apart by a factor."""

    def decide(arms: Arms) -> int:
        base, head = (compute_stats(values, 1) for values in (arms.base, arms.head))
        first, second = (base[1], list(arms.base)), (head[1], list(arms.head))
        if _is_result_better(base[0], head[0], first, second, factor):
            return 1
        return -1 if _is_result_better(head[0], base[0], second, first, factor) else 0

    return decide


def _welch(least: float) -> Rival:
    """Welch's t-test over slices as if they were independent, at 0.05; and the means apart by a share."""

    def decide(arms: Arms) -> int:
        ratio = fmean(arms.head_slices) / fmean(arms.base_slices) - 1
        p = float(ttest_ind(arms.base_slices, arms.head_slices, equal_var=False).pvalue)
        return _sign(ratio) if p < 0.05 and abs(ratio) > least else 0

    return decide


def _mean(least: float) -> Rival:
    """The means are apart by a share, and nothing else is asked."""

    def decide(arms: Arms) -> int:
        ratio = fmean(arms.head) / fmean(arms.base) - 1
        return _sign(ratio) if abs(ratio) > least else 0

    return decide


def _last_run(factor: float) -> Rival:
    """Head is more than a factor above the last run, which was made at another time."""

    def decide(arms: Arms) -> int:
        ratio = median(arms.head) / median(arms.earlier)
        return int(ratio > factor) - int(ratio < 1 / factor)

    return decide


def _sign(value: float) -> int:
    return int(value > 0) - int(value < 0)


RIVALS: Mapping[str, Rival] = {
    "asv, factor 1.1": _asv(1.1),
    "asv, factor 1.05": _asv(1.05),
    "Welch over slices, p < 0.05": _welch(0.0),
    "Welch over slices, p < 0.05 and 2 %": _welch(0.02),
    "means differ by 5 %": _mean(0.05),
    "200 % of the last run": _last_run(2.0),
    "105 % of the last run": _last_run(1.05),
}
"""By the name they have in the tables."""

_VERDICTS = {1: Verdict.REGRESSION, -1: Verdict.IMPROVEMENT, 0: Verdict.UNCHANGED}


@dataclass(frozen=True)
class Sample:
    """What a rule gets to see: pairs to take base's launches from, pairs to take head's from, and the last run's.

    `seconds` is the machine time of both arms together.
    """

    base: Sequence[Draw]
    head: Sequence[Draw]
    earlier: Sequence[Draw]
    seconds: float


def paired(draws: Draws, earlier: Draws, generator: random.Random, budget: float) -> Sample:
    """Both arms from the same pairs, drawn at random until the budget is spent."""
    drawn = fill(draws, generator, budget)
    return Sample(drawn, drawn, fill(earlier, generator, budget), sum(one.cost for one in drawn))


def apart(draws: Draws, earlier: Draws, generator: random.Random, budget: float) -> Sample:
    """First all of base, then all of head, each for half of the budget: as the pairs were made, one after another.

    A launch is half of its pair, and costs half as much. Where a sitting ends it goes on with its beginning.
    """
    start = generator.randrange(len(draws))
    base = _stretch(draws, start, generator, budget)
    head = _stretch(draws, start + len(base), generator, budget)
    past = _stretch(earlier, generator.randrange(len(earlier)), generator, budget)
    return Sample(base, head, past, sum(one.cost for one in (*base, *head)) / 2)


def _stretch(draws: Draws, start: int, generator: random.Random, budget: float) -> tuple[Draw, ...]:
    """The pairs from `start` on, as many as half of the budget pays for one launch of; either way round."""
    drawn: list[Draw] = []
    spent = 0.0
    while spent + (spent / len(drawn) if drawn else 0.0) <= budget:
        drawn.append(draws[(start + len(drawn)) % len(draws)][generator.random() < 0.5])
        spent += drawn[-1].cost
    return tuple(drawn)


WAYS = {"apart": apart, "paired": paired}
"""How the rivals measure."""


def rival_trial(rival: Rival, sample: Sample, metric: str) -> Trial:
    """Decide, once all of the budget is spent."""
    verdict = _VERDICTS[rival(_arms(sample, metric))]
    return Trial(verdict, sample.seconds, len(sample.base), metric)


def _arms(sample: Sample, metric: str) -> Arms:
    return Arms(
        base=_launches(sample.base, 0, metric),
        head=_launches(sample.head, 1, metric),
        base_slices=[value for one in sample.base for value in one.slices[0][metric]],
        head_slices=[value for one in sample.head for value in one.slices[1][metric]],
        earlier=_launches(sample.earlier, 0, metric),
    )


def _launches(drawn: Sequence[Draw], arm: int, metric: str) -> list[float]:
    values = [one.launches[arm][metric] for one in drawn]
    return [value for value in values if not isinstance(value, Missing)]
