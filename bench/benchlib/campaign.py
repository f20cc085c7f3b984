"""`bench/campaign`: real comparisons by the dozen, of commits with a planted cost, and of commits that are alike."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchlib.bursts import bursts
from benchlib.plants import CASES, PLANTS, Calibration, branches, keep
from benchlib.runs import kept_run, pack, results, runs_table
from benchlib.scratch import DEFAULT, Branch, make_repository
from benchlib.tables import place
from windtunnel.adapters.signals import graceful_signals
from windtunnel.compare.verdict import CaseResult, compare
from windtunnel.errors import ConfigError, EngineError, Interrupted, WindtunnelError
from windtunnel.sample.runfile import read_run
from windtunnel.units import Missing

__all__ = ["KINDS", "Kind", "main"]

RUNS = Path(__file__).resolve().parent.parent / "runs"
_BOTH = tuple(CASES.values())
_FIRST_ROUNDS = 2500
"""Of the calibration: about a third of what a request costs, in either language."""

_PATIENCE = 3
"""So many comparisons may fail before the rest is not tried."""


@dataclass(frozen=True)
class Kind:
    """One kind of comparison, main against a branch.

    Attributes:
        runs: how many are made.
        branch: the head.
        cases: regular expressions, taken in turn.
        metric: what has to show the planted cost; "" where nothing is planted.
        loaded: other work runs on the machine.
    """

    runs: int
    branch: str
    cases: tuple[str, ...]
    metric: str = ""
    loaded: bool = False


KINDS = {
    "aa-starlet": Kind(30, "same", (r"servers\.Starlet\(keepalive\)", r"servers\.Starlet\(close\)")),
    "aa-waitress": Kind(30, "same", (CASES["waitress"],)),
    "cpu3": Kind(20, "cpu3", _BOTH, "cpu_per_request"),
    "wait": Kind(10, "wait", (CASES["starlet"],), "response_time"),
    "loaded-aa": Kind(10, "same", _BOTH, loaded=True),
    "loaded-cpu10": Kind(10, "cpu10", _BOTH, "cpu_per_request", loaded=True),
}
"""By the name that begins their run files'."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench/campaign",
        description="Compare main with planted commits of bench/suite, over and over, by `windtunnel compare`. Run "
        "files are kept in bench/runs; what is there is not measured again, and what was cut short is gone on with.",
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"[default: {' '.join(KINDS)}]")
    parser.add_argument("--runs", type=int, metavar="N", help="of each kind, instead of as many as it has")
    parser.add_argument(
        "--report", action="store_true", help="measure nothing: the table of what is kept, judged anew"
    )
    parser.add_argument("--page", type=Path, help="put the table into this page, too")
    parser.add_argument(
        "--calibrate",
        action="append",
        choices=CASES,
        help="instead: measure what a planted loop costs in this target, and keep it in bench/plants.json",
    )
    parser.add_argument("--budget", default="60s", help="of a comparison [default: %(default)s]")
    parser.add_argument("--scratch", type=Path, default=DEFAULT / "campaign", help="[default: %(default)s]")
    parser.add_argument("--folder", type=Path, default=RUNS, help="of the run files [default: bench/runs]")
    parser.add_argument("--plants", type=Path, default=PLANTS, help="[default: bench/plants.json]")
    return parser


def main() -> None:
    """Run the command line."""
    options = _parser().parse_args()
    try:
        with graceful_signals(_tell):
            _calibrate(options) if options.calibrate else _campaign(options)
    except (WindtunnelError, Interrupted) as error:
        _tell(f"bench/campaign: {error}")
        sys.exit(int(error.exit))


def _campaign(options: argparse.Namespace) -> None:
    if not options.report:
        _measure(options)
    _report(options)


def _report(options: argparse.Namespace) -> None:
    text = runs_table(results(options.folder), {name: kind.metric for name, kind in KINDS.items()})
    print(text, end="")
    if options.page:
        place(options.page, "campaign", text)


# ---------------- measuring


def _measure(options: argparse.Namespace) -> None:
    """What is missing, one comparison after the other; the kinds take turns, so that no kind has all bad hours."""
    for name in options.kinds:
        if name not in KINDS:
            raise ConfigError(f"{name} is no kind of comparison; there are {', '.join(KINDS)}")
    names = options.kinds or list(KINDS)
    wanted = [(number, name) for name in names for number in range(1, (options.runs or KINDS[name].runs) + 1)]
    missing = [(number, name) for number, name in sorted(wanted) if not _kept(options, name, number).exists()]
    if not missing:
        return
    repository = make_repository(options.scratch, branches(options.plants))
    failures: list[WindtunnelError] = []
    for count, (number, name) in enumerate(missing, 1):
        _tell(f"{name} {number}: {count} of {len(missing)} that are missing")
        try:
            _one(options, repository, name, number)
        except EngineError as error:  # one bad moment must not cost the night; many are no moment any more
            failures.append(error)
            _tell(f"  {error}")
            if len(failures) >= _PATIENCE:
                raise
    if failures:
        raise EngineError(
            f"comparisons that did not come to their end: {len(failures)}; call this again to go on with them"
        )


def _kept(options: argparse.Namespace, name: str, number: int) -> Path:
    path: Path = options.folder / f"{name}-{number:02}.jsonl.xz"
    return path


def _one(options: argparse.Namespace, repository: Path, name: str, number: int) -> None:
    """One comparison, kept; or the rest of one that was cut short."""
    kind = KINDS[name]
    plain = options.scratch.with_name(f"{options.scratch.name}-runs") / f"{name}-{number:02}.jsonl"
    case = kind.cases[(number - 1) % len(kind.cases)]
    with bursts(1 if kind.loaded else 0):
        _compare(repository, plain, kind.branch, case, options.budget)
    target = _kept(options, name, number)
    pack(plain, target)
    plain.unlink()
    (result,) = compare(kept_run(target)).cases
    _tell(f"  {result.case.id}: {result.verdict.value}, {result.pairs} pairs, {target.stat().st_size} bytes")


def _compare(repository: Path, plain: Path, branch: str, case: str, budget: str) -> None:
    """Call the command. Raises EngineError where it does not come to its end."""
    asked = ["--resume", str(plain)]
    if not plain.exists():
        plain.parent.mkdir(parents=True, exist_ok=True)
        asked = ["main", branch, "--bench", case, "--budget", budget, "--output", str(plain)]
    command = [str(Path(sys.executable).with_name("windtunnel")), "compare", *asked]
    own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(command, cwd=repository, env=own, capture_output=True, text=True, check=False)
    if not plain.exists() or not read_run(plain).complete:
        raise EngineError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr.strip()}")


# ---------------- calibrating


def _calibrate(options: argparse.Namespace) -> None:
    """A large cost first, since it is measured to a small part of itself; then the cost it says makes 10 %."""
    for target in options.calibrate:
        found = _cost(options, target, _FIRST_ROUNDS)
        keep(target, found, options.plants)
        _tell(f"{target}: {found.rounds} rounds {_shown(found)}; 3 % are {found.rounds_for(0.03)} rounds")
        check = _cost(options, target, found.rounds_for(0.10))
        _tell(f"{target}: {check.rounds} rounds, meant to be +10 %: {_shown(check)}")


def _shown(found: Calibration) -> str:
    effect, low, high = (100 * (value - 1) for value in (found.effect, found.low, found.high))
    return f"{effect:+.2f} % ({low:+.2f} to {high:+.2f}) of {found.base * 1e6:.1f} µs, {found.pairs} pairs"


def _cost(options: argparse.Namespace, target: str, rounds: int) -> Calibration:
    """Measure what so many rounds cost. Raises EngineError where that could not be told."""
    repository = make_repository(options.scratch, {"planted": Branch({target: rounds}, {})})
    plain = options.scratch.with_name(f"{options.scratch.name}-runs") / f"calibrate-{target}-{rounds}.jsonl"
    plain.unlink(missing_ok=True)
    _compare(repository, plain, "planted", CASES[target], options.budget)
    run = read_run(plain)
    (result,) = compare(run).cases
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return Calibration(
        rounds, *_figures(result), result.pairs, date, run.header.host.cpu_model if run.header.host else ""
    )


def _figures(result: CaseResult) -> tuple[float, float, float, float]:
    found = result.metrics.get("cpu_per_request")
    figures = [] if found is None else [found.effect, found.low, found.high, found.base]
    known = [one for one in figures if not isinstance(one, Missing)]
    if len(known) < 4:
        raise EngineError(
            f"{result.case.id}: {result.verdict.value}: {result.reason}; nothing can be calibrated by it"
        )
    return known[0], known[1], known[2], known[3]


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
