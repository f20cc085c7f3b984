"""`bench/pages`: a history of real measurements for the site, of commits in which now and then a cost is planted."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchlib.plants import PLANTS, Calibration, known
from benchlib.runs import pack
from benchlib.scratch import DEFAULT, Branch, make_history
from windtunnel.adapters.signals import graceful_signals
from windtunnel.errors import ConfigError, EngineError, Interrupted, WindtunnelError
from windtunnel.sample.runfile import read_run

__all__ = ["STEPS", "Step", "commits_of", "main"]


@dataclass(frozen=True)
class Step:
    """One commit: its subject, and what each target costs from there on, as a share of what it cost at first.

    `wait` is seconds that one request of a hundred waits.
    """

    subject: str
    starlet: float = 0.0
    waitress: float = 0.0
    wait: float = 0.0


def _stretch(count: int, what: str, **costs: float) -> list[Step]:
    return [Step(f"{what}, {number} of {count}", **costs) for number in range(1, count + 1)]


STEPS: tuple[Step, ...] = (
    *_stretch(5, "Words in a comment"),
    Step("Keep a list of all requests (starlet: 5 % more CPU)", starlet=0.05),
    *_stretch(3, "More words", starlet=0.05),
    Step("Look every header up twice (waitress: 8 % more CPU)", starlet=0.05, waitress=0.08),
    *_stretch(4, "Other words", starlet=0.05, waitress=0.08),
    Step("Flush the log now and then (one request of a hundred waits 1 ms)", starlet=0.05, waitress=0.08, wait=0.001),
    *_stretch(3, "Fewer words", starlet=0.05, waitress=0.08, wait=0.001),
    Step("Look headers up once (waitress as before)", starlet=0.05, wait=0.001),
    *_stretch(2, "Words again", starlet=0.05, wait=0.001),
    Step("Leave the list and the flushing alone (all as before)"),
    *_stretch(2, "Last words"),
)
"""What happens, oldest first."""


def commits_of(steps: Sequence[Step], plants: Mapping[str, Calibration]) -> list[tuple[str, Branch]]:
    """The commits of a history: each has an image of its own, whatever it costs."""
    return [
        (
            step.subject,
            Branch(
                {target: one.rounds_for(getattr(step, target)) for target, one in plants.items()},
                dict.fromkeys(plants, step.wait),
                comment=f"Commit {number}.",
            ),
        )
        for number, step in enumerate(steps, 1)
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench/pages",
        description=f"Make a repository of {len(STEPS)} commits from bench/suite, compare each with the one before "
        "it by `windtunnel compare --record`, and build a site of that. Two minutes a commit with the usual budget. "
        "What is there is not measured again, and what was cut short is gone on with.",
    )
    parser.add_argument("--budget", default="100s", help="of a comparison [default: %(default)s]")
    parser.add_argument("--last", type=int, metavar="N", help="only the newest N commits")
    parser.add_argument("--folder", type=Path, default=DEFAULT / "pages", help="[default: %(default)s]")
    parser.add_argument("--plants", type=Path, default=PLANTS, help="[default: bench/plants.json]")
    parser.add_argument("--out", type=Path, help="of the site [default: site beside the repository]")
    return parser


def main() -> None:
    """Run the command line."""
    options = _parser().parse_args()
    try:
        with graceful_signals(_tell):
            _pages(options)
    except (WindtunnelError, Interrupted) as error:
        _tell(f"bench/pages: {error}")
        sys.exit(int(error.exit))


def _pages(options: argparse.Namespace) -> None:
    plants = known(options.plants)
    if not plants:
        raise ConfigError("does not say what a planted loop costs; bench/campaign --calibrate", file=options.plants)
    repository, commits = options.folder / "repository", commits_of(STEPS, plants)
    hashes = make_history(repository, commits)
    first = max(1, len(hashes) - options.last) if options.last else 1
    for number in range(first, len(hashes)):
        _tell(f"{number} of {len(hashes) - 1}: {commits[number - 1][0]}")
        _measure(options, repository, hashes[number - 1], hashes[number])
    out = options.out or options.folder / "site"
    results = ["--results", str(repository / "results"), "--results", str(options.folder / "kept")]
    _call(repository, "site", *results, "--repository", str(repository), "--out", str(out))


def _measure(options: argparse.Namespace, repository: Path, base: str, head: str) -> None:
    """One comparison, recorded for asv and kept as a run file. Raises EngineError where it was cut short."""
    kept = options.folder / "kept" / "runs" / "2026" / f"{head}.jsonl.xz"
    if kept.exists():
        return
    plain = options.folder / "unfinished" / f"{head}.jsonl"
    plain.parent.mkdir(parents=True, exist_ok=True)
    asked = [base, head, "--budget", options.budget, "--output", str(plain)]
    asked = ["--resume", str(plain)] if plain.exists() else asked
    code = _call(repository, "compare", *asked, "--record")
    if not plain.exists() or not read_run(plain).complete:
        raise EngineError(f"windtunnel compare {' '.join(asked)} ended with {code}; call this again to go on")
    kept.parent.mkdir(parents=True, exist_ok=True)
    pack(plain, kept, whole=True)  # the page of a run shows latencies
    plain.unlink()


def _call(repository: Path, *arguments: str) -> int:
    command = [str(Path(sys.executable).with_name("windtunnel")), *arguments]
    own = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(command, cwd=repository, env=own, check=False).returncode


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
