"""`bench/simulate`: how often the rule finds, misses and cries wolf, by simulation from recorded noise."""

from __future__ import annotations

import argparse
import ast
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from statistics import fmean

from benchlib.noise import Sitting, read_noise
from benchlib.planting import Draw, Plant, draws_of
from benchlib.rivals import RIVALS, WAYS, rival_trial
from benchlib.tables import place, share, table
from benchlib.trial import Setting, Trial, remember_samples, run_trial
from windtunnel.compare.rule import Rule, Verdict
from windtunnel.errors import ConfigError, WindtunnelError

__all__ = ["SCENARIOS", "Work", "main", "simulate"]

NOISE = Path(__file__).resolve().parent.parent / "noise"
OURS = "windtunnel"
_CHUNK = 250

SCENARIOS: Mapping[str, Plant] = {
    "A/A": Plant(),
    "+1 %": Plant(cpu=0.01),
    "+2 %": Plant(cpu=0.02),
    "+3 %": Plant(cpu=0.03),
    "+5 %": Plant(cpu=0.05),
    "+10 %": Plant(cpu=0.10),
    "-3 %": Plant(cpu=-0.03),
    "1 ms wait in 1 of 100": Plant(wait=0.001),
}
"""What is planted, by the name it has in the tables."""

_TOLD = (Verdict.REGRESSION, Verdict.IMPROVEMENT, Verdict.UNCHANGED, Verdict.INCONCLUSIVE)


@dataclass(frozen=True)
class Work:
    """What is simulated; the same work gives the same trials.

    Attributes:
        sittings: where pairs are drawn from, all of the same conditions.
        rule: windtunnel's.
        setting: what a case is given.
        seed: of every draw.
        metric: what the rivals look at.
        way: how they measure, see `WAYS`.
    """

    sittings: tuple[Sitting, ...]
    rule: Rule = field(default_factory=Rule)
    setting: Setting = field(default_factory=Setting)
    seed: int = 1
    metric: str = "cpu_per_request"
    way: str = "apart"


@dataclass(frozen=True)
class _Chunk:
    """A part of one row: which rule, which scenario, the cases from `first` on."""

    rule: str
    scenario: str
    first: int
    count: int


# ---------------- simulating

_work: Work


def _begin(work: Work) -> None:
    """In each process, once."""
    global _work  # noqa: PLW0603 - a process has one work, and it is large to be sent with every chunk
    _work = work
    _draws.cache_clear()
    remember_samples()


@lru_cache(maxsize=64)
def _draws(index: int, scenario: str) -> tuple[tuple[Draw, Draw], ...]:
    return draws_of(_work.sittings[index], SCENARIOS[scenario])


def _simulate(chunk: _Chunk) -> list[tuple[str, Trial]]:
    """(case, how it ended) for every case of a chunk.

    A case has draws of its own, and the same for every scenario and every rule: what differs is what is planted.
    """
    return [_one(chunk, number) for number in range(chunk.first, chunk.first + chunk.count)]


def _one(chunk: _Chunk, number: int) -> tuple[str, Trial]:
    work = _work
    generator = random.Random(f"{work.seed}/{number}")  # noqa: S311 - draws, not secrets
    index = generator.randrange(len(work.sittings))
    case, draws = work.sittings[index].case, _draws(index, chunk.scenario)
    if chunk.rule == OURS:
        return case, run_trial(draws, work.rule, generator, work.setting)
    others = [
        number
        for number, one in enumerate(work.sittings)
        if one.case == case and (number != index or _alone(work.sittings, case))
    ]
    earlier = _draws(generator.choice(others), "A/A")
    sample = WAYS[work.way](draws, earlier, generator, work.setting.budget)
    return case, rival_trial(RIVALS[chunk.rule], sample, work.metric)


def _alone(sittings: Sequence[Sitting], case: str) -> bool:
    """Whether a case has one sitting only, so that it has to be its own past."""
    return sum(one.case == case for one in sittings) == 1


def simulate(work: Work, rows: Sequence[tuple[str, str]], cases: int, jobs: int = 1) -> Iterator[_Row]:
    """By (rule, scenario) the trials of `cases` cases, in the order of the rows, each as soon as it is there."""
    with ProcessPoolExecutor(jobs, initializer=_begin, initargs=(work,)) as pool:
        parts = [
            (row, pool.map(_simulate, [_Chunk(*row, first, count) for first, count in _chunks(cases)]))
            for row in rows
        ]
        for (rule, scenario), found in parts:
            yield _Row(rule, scenario, tuple(one for chunk in found for one in chunk))


def _chunks(cases: int) -> list[tuple[int, int]]:
    return [(first, min(_CHUNK, cases - first)) for first in range(0, cases, _CHUNK)]


@dataclass(frozen=True)
class _Row:
    """What became of a scenario under a rule."""

    rule: str
    scenario: str
    trials: tuple[tuple[str, Trial], ...]

    def of(self, case: str) -> _Row:
        """Those of one case alone; "" are all."""
        return replace(self, trials=tuple(one for one in self.trials if case in {"", one[0]}))

    def cells(self, conditions: str) -> list[str]:
        """As a row of the table."""
        trials = [trial for _, trial in self.trials]
        name = f"{self.scenario}, {conditions}"
        if not trials:
            return [name, "0", *["n/a"] * 6]
        seen = Counter(one.verdict for one in trials)
        shares = [share(seen[verdict], len(trials)) for verdict in _TOLD]
        spent = [f"{fmean(one.seconds for one in trials):.1f}", f"{fmean(one.pairs for one in trials):.1f}"]
        return [name, str(len(trials)), *shares, *spent]


_HEADS = (
    "scenario",
    "cases",
    "regression, %",
    "improvement, %",
    "unchanged, %",
    "inconclusive, %",
    "s a case",
    "pairs",
)


def _tables(rows: Mapping[str, Sequence[_Row]]) -> str:
    """A table for all, then one for each case; `rows` by conditions."""
    every = [row for found in rows.values() for row in found]
    rules = tuple(dict.fromkeys(row.rule for row in every))
    cases = sorted({case for row in every for case, _ in row.trials})
    parts = []
    for rule in rules:
        for case in ["", *(cases if rule == OURS and len(cases) > 1 else ())]:
            lines = [
                row.of(case).cells(name)
                for name, found in rows.items()
                for row in found
                if row.rule == rule and row.of(case).trials
            ]
            parts.append(f"**{rule}**: {case or 'all cases'}\n\n{table(_HEADS, lines)}")
    return "\n".join(parts)


# ---------------- the command line


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench/simulate",
        description="Draw comparisons from recorded noise (bench/noise, or the files that are named), plant effects, "
        "judge them with windtunnel's own rule, and print how often each verdict was given. Shares are in percent, "
        "with exact 95 % bounds.",
    )
    parser.add_argument("noise", nargs="*", type=Path, help="noise files, or run files with one image in both arms")
    parser.add_argument("--cases", type=int, default=3000, help="per scenario [default: %(default)s]")
    parser.add_argument("--seed", type=int, default=1, help="of all draws [default: %(default)s]")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds a case gets [default: %(default)s]")
    parser.add_argument("--batch", type=int, default=2, help="pairs that start together [default: %(default)s]")
    parser.add_argument("--jobs", type=int, default=1, help="processes [default: %(default)s]")
    parser.add_argument("--only", action="append", choices=SCENARIOS, help="this scenario; may be repeated")
    parser.add_argument("--conditions", choices=["quiet", "loaded"], help="these sittings only")
    parser.add_argument(
        "--rivals",
        choices=WAYS,
        help="instead: rules of other tools, which measure first base and then head (apart), or are given our pairs",
    )
    parser.add_argument(
        "--metric",
        choices=["cpu_per_request", "time_per_request"],
        default="cpu_per_request",
        help="what they look at [default: %(default)s]",
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a field of the rule: --set fresh=6"
    )
    parser.add_argument("--page", type=Path, help="put the tables into this page, too")
    return parser


def _rule(changes: Sequence[str]) -> Rule:
    known = {one.name for one in fields(Rule)}
    found = {}
    for change in changes:
        name, _, value = change.partition("=")
        if name not in known:
            raise ConfigError(f"--set {name}: the rule has no such field; it has {', '.join(sorted(known))}")
        found[name] = ast.literal_eval(value)
    return replace(Rule(), **found)


def _sittings(paths: Sequence[Path], conditions: str | None) -> dict[str, tuple[Sitting, ...]]:
    """By conditions."""
    paths = paths or sorted([*NOISE.glob("*.jsonl.xz"), *NOISE.glob("*.jsonl")])
    found = [one for path in paths for one in read_noise(path) if one.pairs and conditions in {None, one.conditions}]
    if not found:
        raise ConfigError("there is no recorded noise; make some with bench/record, or name files")
    return {
        name: tuple(one for one in found if one.conditions == name)
        for name in sorted({s.conditions for s in found}, reverse=True)
    }


def main() -> None:
    """Run the command line."""
    options = _parser().parse_args()
    try:
        _main(options)
    except WindtunnelError as error:
        sys.exit(f"bench/simulate: {error}")


def _main(options: argparse.Namespace) -> None:
    began = time.monotonic()
    rule = _rule(options.set)
    rules = list(RIVALS) if options.rivals else [OURS]
    wanted = [(one, scenario) for one in rules for scenario in options.only or SCENARIOS]
    rows = {}
    for conditions, sittings in _sittings(options.noise, options.conditions).items():
        setting = Setting(options.budget, options.batch)
        work = Work(sittings, rule, setting, options.seed, options.metric, options.rivals or "paired")
        rows[conditions] = list(_told(simulate(work, wanted, options.cases, options.jobs), conditions))
    text = _tables(rows)
    print(text)
    if options.page:
        place(options.page, f"rivals, {options.rivals}" if options.rivals else "simulation", text)
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)


def _told(rows: Iterator[_Row], conditions: str) -> Iterator[_Row]:
    """Said on standard error as they come."""
    for row in rows:
        print(row.rule, *row.cells(conditions), sep="  ", file=sys.stderr, flush=True)
        yield row


if __name__ == "__main__":
    main()
