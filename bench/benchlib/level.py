"""`bench/level`: how often the rule calls a change where there is none, when nothing but chance is left to it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from windtunnel.compare.rule import JUDGED, Rule, Verdict, judge

__all__ = ["main"]

Draw = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]

NOISE: dict[str, Draw] = {
    "normal": lambda chance, shape: chance.normal(size=shape),
    "Laplace": lambda chance, shape: chance.laplace(size=shape),
    "Student, 4 degrees": lambda chance, shape: chance.standard_t(4, size=shape),
    "one in seven four times as wide": lambda chance, shape: (
        chance.normal(size=shape) * np.where(chance.random(shape) < 1 / 7, 4, 1)
    ),
}
"""Log ratios of pairs of the same thing; so wide that the threshold never saves anybody."""

_FAR = 0.02
"""Series that Student's plain test finds nothing in at this level, at any look, are not handed to the rule."""

_BLOCK = 20_000


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="bench/level",
        description="Draw pairs of arms that are alike, with noise much wider than the threshold, let all looks be "
        "taken, and count what the rule calls slower. Prints a Markdown table.",
    )
    parser.add_argument("--cases", type=int, default=200_000, help="of each kind of noise [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="of all draws [default: %(default)s]")
    options = parser.parse_args()
    began = time.monotonic()
    print(
        "| noise | cases | false regressions by CPU per request, in 1,000 | by all judged metrics, in 1,000 at most |"
    )
    print("| --- | ---: | ---: | ---: |")
    for name, draw in NOISE.items():
        chance = np.random.default_rng(options.seed)
        blocks = max(1, options.cases // _BLOCK)
        found = sum(_false(draw(chance, (_BLOCK, Rule().looks[-1][0])), Rule()) for _ in range(blocks))
        cases = blocks * _BLOCK
        low, high = stats.binomtest(found, cases).proportion_ci(method="exact")
        share = Rule().shares[JUDGED[0]]
        rate = 1000 * found / cases
        print(
            f"| {name} | {cases:,} | {rate:.2f} ({1000 * low:.2f}–{1000 * high:.2f}) | {rate / share:.2f} |",
            flush=True,
        )
    print(f"\n{time.monotonic() - began:.0f} s")


def _false(series: NDArray[np.float64], rule: Rule) -> int:
    """How many of these series, one a row, are called slower."""
    close = np.zeros(len(series), dtype=bool)
    for count, spent, _ in rule.looks:
        if spent:
            close |= stats.ttest_1samp(series[:, :count], 0, axis=1, alternative="greater").pvalue <= _FAR
    return sum(_told(row, rule) for row in series[close].tolist())


def _told(values: list[float], rule: Rule) -> bool:
    """Whether a run ends with a false regression; it ends at the look where one is told."""
    counts = [count for count, spent, _ in rule.looks if spent]
    return any(judge(JUDGED[0], values[:count], rule).verdict is Verdict.REGRESSION for count in counts)


if __name__ == "__main__":
    main()
