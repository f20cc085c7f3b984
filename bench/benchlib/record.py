"""`bench/record`: records noise, for simulations to draw from."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from benchlib.bursts import bursts
from benchlib.noise import (
    NoisePair,
    Sitting,
    host_facts,
    joined,
    lines_of,
    noise_pair,
    pair_line,
    read_noise,
    write_noise,
)
from benchlib.scratch import DEFAULT, make_repository
from windtunnel.adapters.owner import new_id, owner_token
from windtunnel.adapters.project import Project, open_project
from windtunnel.adapters.signals import graceful_signals
from windtunnel.adapters.watchdog import watched
from windtunnel.compare.effects import pairs_of
from windtunnel.declare.cases import discover
from windtunnel.errors import ConfigError, Interrupted, LaunchFailed, WindtunnelError
from windtunnel.launch.launch import LaunchContext
from windtunnel.launch.setup import ensure_load_image
from windtunnel.model import Case, Launch, LaunchPlan
from windtunnel.sample.measure import Job, Measurement
from windtunnel.sample.schedule import Sizes

__all__ = ["main"]

NOISE = Path(__file__).resolve().parent.parent / "noise"
_PATIENCE = 5
"""So many launches may go wrong before the sitting is given up."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench/record",
        description="Record noise: pairs of one case with the very same image in both arms, without stopping early, "
        "into bench/noise/NAME.jsonl.xz. One file is one sitting. Called again with the same name it goes on until "
        "there are as many pairs as asked for.",
    )
    parser.add_argument("name", nargs="?", help="of the file: starlet-keepalive-quiet-1")
    parser.add_argument("--case", help="a regular expression that fits one case of bench/suite")
    parser.add_argument("--pairs", type=int, default=64, help="[default: %(default)s]")
    parser.add_argument("--batch", type=int, default=2, help="pairs that start together [default: %(default)s]")
    parser.add_argument(
        "--load", choices=["none", "bursts"], default="none", help="other work [default: %(default)s]"
    )
    parser.add_argument("--burners", type=int, default=1, help="processes of it [default: %(default)s]")
    plan = LaunchPlan()
    parser.add_argument("--slices", type=int, default=plan.slices, help="[default: %(default)s]")
    parser.add_argument("--single-slices", type=int, default=plan.single_slices, help="[default: %(default)s]")
    parser.add_argument("--seconds", type=float, default=plan.seconds, help="of a slice [default: %(default)s]")
    parser.add_argument("--scratch", type=Path, default=DEFAULT / "record", help="[default: %(default)s]")
    parser.add_argument("--folder", type=Path, default=NOISE, help="where the file goes [default: bench/noise]")
    parser.add_argument(
        "--convert",
        type=Path,
        nargs="+",
        metavar="RUNFILE",
        help="instead: make noise files of these run files; with a name, one of all, a sitting for each case",
    )
    parser.add_argument(
        "--conditions", choices=["quiet", "loaded"], default="quiet", help="that they were made under"
    )
    return parser


def main() -> None:
    """Run the command line."""
    parser = _parser()
    options = parser.parse_args()
    if not options.convert and not (options.name and options.case):
        parser.error("what is recorded needs a name and a --case")
    try:
        with graceful_signals(_tell):
            _convert(options) if options.convert else _record(options)
    except (WindtunnelError, Interrupted) as error:
        _tell(f"bench/record: {error}\n{error.detail}".strip())
        sys.exit(int(error.exit))


def _convert(options: argparse.Namespace) -> None:
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.name:
        every = [one for path in options.convert for one in read_noise(path, options.conditions)]
        _write(options.folder / f"{options.name}.jsonl.xz", joined(every, options.name))
        return
    for path in options.convert:
        _write(options.folder / f"{path.stem}.jsonl.xz", read_noise(path, options.conditions))


def _write(target: Path, sittings: Sequence[Sitting]) -> None:
    if target.exists():
        raise ConfigError("exists already; remove it, or convert into another --folder", file=target)
    write_noise(target, sittings)
    _tell(f"{target}: {target.stat().st_size} bytes, {sum(len(one.pairs) for one in sittings)} pairs")


def _record(options: argparse.Namespace) -> None:
    plan = replace(LaunchPlan(), slices=options.slices, single_slices=options.single_slices, seconds=options.seconds)
    conditions = "quiet" if options.load == "none" else "loaded"
    project = open_project(make_repository(options.scratch, {}), tell=_tell)
    case = _only_case(project, options.case)
    date = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    book = _Book.opened(
        options.folder, Sitting(options.name, case.id, date, conditions, plan, options.batch), options.pairs
    )
    if book.missing <= 0:
        _tell(f"{book.path} has {len(book.sitting.pairs)} pairs already")
        return
    group = new_id()
    with watched(project.engine, group):
        ensure_load_image(project.engine, _tell)
        job = Job(case, "base", project.resolve(case))
        with project.measuring(group, owner_token(), None, _tell) as context, _other_work(options):
            _pairs(context, job, book)
    book.close()


@contextmanager
def _other_work(options: argparse.Namespace) -> Iterator[None]:
    with bursts(options.burners if options.load == "bursts" else 0):
        yield


def _only_case(project: Project, pattern: str) -> Case:
    cases, _ = project.select(discover(project.suite, [pattern]))
    if len(cases) != 1:
        names = ", ".join(case.id for case in cases) or "none"
        raise ConfigError(f"--case {pattern} has to fit one case; it fits {names}")
    return cases[0]


def _pairs(context: LaunchContext, job: Job, book: _Book) -> None:
    """Pair after pair, until all are there."""
    sizes = {} if book.sitting.sizes is None else {job.case.id: book.sitting.sizes}
    book.at(context)
    work = Measurement(context, book.sitting.plan, lambda _: None, _Quiet(), book.sitting.name, sizes)
    number, bad = max((one.pair.number for one in book.sitting.pairs), default=0), 0
    while book.missing > 0:
        numbers = range(number + 1, number + 1 + min(book.sitting.batch, book.missing))
        launches = work.groups([[(replace(job, arm=arm), one) for arm in ("base", "head")] for one in numbers])
        number = numbers[-1]
        bad += _told(launches)
        if bad >= _PATIENCE:
            raise LaunchFailed(f"{bad} launches went wrong; what was recorded before is in {book.path}")
        found = [noise_pair(pair) for pair in pairs_of(launches, job.case.id)]
        book.add(found, work.sizes.get(job.case.id))
    _tell("")


def _told(launches: Sequence[Launch]) -> int:
    wrong = [one for one in launches if one.outcome != "ok"]
    for one in wrong:
        _tell(f"{one.arm} {one.number}: {one.outcome}: {one.reason}")
    return len(wrong)


class _Quiet:
    """Progress that nobody needs."""

    def starting(self, jobs: Sequence[Job]) -> None:
        """Say nothing."""

    def loading(self, job: Job, number: int) -> None:
        """Say nothing."""

    def done(self, launch: Launch) -> None:
        """Say nothing."""


@dataclass
class _Book:
    """A noise file while it is written: plain and appended to, compressed at the end."""

    path: Path
    sitting: Sitting
    wanted: int

    @classmethod
    def opened(cls, folder: Path, sitting: Sitting, wanted: int) -> _Book:
        """Begun anew, or gone on with. Raises ConfigError where the file is about something else."""
        plain, packed = folder / f"{sitting.name}.jsonl", folder / f"{sitting.name}.jsonl.xz"
        existing = next((path for path in (plain, packed) if path.exists()), None)
        if existing is None:
            return cls(plain, sitting, wanted)
        (found,) = read_noise(existing)
        for key in ("case", "conditions", "plan", "batch"):
            if getattr(found, key) != getattr(sitting, key):
                was, now = getattr(found, key), getattr(sitting, key)
                raise ConfigError(f"was recorded with {was}, not {now}; take another name", file=existing, key=key)
        return cls(plain, found, wanted)

    @property
    def missing(self) -> int:
        """How many pairs are still to be made."""
        return self.wanted - len(self.sitting.pairs)

    def at(self, context: LaunchContext) -> None:
        """Write what is there so far; of a sitting that begins, the machine too."""
        if not self.sitting.host:
            self.sitting = replace(self.sitting, host=host_facts(context.host))
        self._write()

    def add(self, pairs: Sequence[NoisePair], sizes: Sizes | None) -> None:
        """Append pairs, each as soon as it is there."""
        begun = self.sitting.sizes is not None
        self.sitting = replace(self.sitting, sizes=sizes, pairs=(*self.sitting.pairs, *pairs))
        if begun:
            with self.path.open("a", encoding="utf-8") as file:
                file.writelines(pair_line(one) for one in pairs)
        else:
            self._write()
        print(f"\r{len(self.sitting.pairs)} of {self.wanted} pairs", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Compress it."""
        packed = self.path.with_name(f"{self.path.name}.xz")
        write_noise(packed, [self.sitting])
        self.path.unlink()
        _tell(f"{packed}: {len(self.sitting.pairs)} pairs, {packed.stat().st_size} bytes")

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(lines_of(self.sitting)), encoding="utf-8")


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
