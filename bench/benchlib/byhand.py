"""`bench/byhand`: windtunnel's requests per second against the same tools run by hand on the same container.

Like is compared with like. A request of a short load is dearer than one of a long load, since each load begins with
new connections and cold caches: Starlet's CPU time per request over 400 requests is 1.25 times that over 40,000. So
what is run by hand has as many requests and connections as windtunnel's slice, on the processor that windtunnel's
generator has; its output goes into a file, and h2load writes a log of its requests, as it does for windtunnel, both
in memory. What a long load by hand says is in rows of its own: that ratio is the price of short slices, and no fault
of the measuring. So are rows of two different tools (ab speaks HTTP/1.0 and has one thread).

Two loads that are set against each other are made in turn, one right after the other, and change places each time; so
a ratio is of figures that were seen within seconds of each other. "By hand" is a shell that stays open in a container
beside the target: `docker exec` itself keeps both processors busy for longer than a short load lasts, and so does a
pipe to the outside. A launch counts once, with the estimate of Hodges and Lehmann of its ratios.

What a busy machine leaves open, more launches tell: they are kept in a file (`--file`), and the table is of all that
it holds, whenever they were made. A launch during which their host gave the processors to others for more of the time
than `--stolen` is kept and not counted; that is decided without a look at its ratios.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchlib.noise import whole_lines
from benchlib.tables import place, table
from windtunnel.adapters.owner import new_id, owner_token
from windtunnel.adapters.project import open_project
from windtunnel.adapters.signals import graceful_signals
from windtunnel.compare.estimate import Sample, hodges_lehmann
from windtunnel.declare.cases import discover
from windtunnel.errors import EngineError, Interrupted, WindtunnelError
from windtunnel.launch.launch import SIDECAR_LIMITS, LaunchContext, Running, launched
from windtunnel.launch.slices import SliceRequest
from windtunnel.model import Case, LaunchPlan, ResolvedLaunch
from windtunnel.ports import ContainerSpec
from windtunnel.sample.sizing import measure_sizes
from windtunnel.units import Unit, format_value

__all__ = [
    "PAIRS",
    "Figures",
    "Launched",
    "Pair",
    "Shell",
    "Turns",
    "by_connection",
    "main",
    "printed_rate",
    "ratios_table",
    "report",
]

_ROOT = Path(__file__).resolve().parents[2]
_GENERATORS = ("h2load", "wrk", "ab")
_LONG = " long"
_SETTLED = 0.05
"""Seconds before any load: the output of the one before has been passed on by then."""

_LOG, _OUTPUT = "requests.log", "printed"
"""In a folder of the shell's own: h2load's log per request, and what a tool prints."""

_TARGET = 0.03
_CONFIDENCE = 0.95
_DEADLINE = 60.0

_RATES = {
    "ab": re.compile(r"^Requests per second: +([0-9.]+) \[#/sec\] \(mean\)$", re.MULTILINE),
    "h2load": re.compile(r"^finished in \S+, ([0-9.]+) req/s, ", re.MULTILINE),
    "wrk": re.compile(r"^Requests/sec: +([0-9.]+)$", re.MULTILINE),
}
"""What a person reads of each tool's report. windtunnel's own parsers have no part in it."""

Figures = tuple[float, float]
"""Requests per second by windtunnel and by hand, one right after the other."""


@dataclass(frozen=True)
class Pair:
    """What is set against what: a generator that windtunnel drives, a load by hand, and why."""

    ours: str
    hand: str
    kind: str

    @property
    def long(self) -> bool:
        """Whether one of the two is a load that takes a second or more, as each of wrk's does."""
        return _LONG in self.ours + self.hand or "wrk" in (self.ours, self.hand)

    def log_ratio(self, turns: Sequence[Figures]) -> float:
        """Of a launch, from all its turns."""
        return hodges_lehmann([math.log(ours / hand) for ours, hand in turns])


PAIRS = (
    *(Pair(tool, tool, "like with like") for tool in _GENERATORS),
    *(Pair(tool + _LONG, tool + _LONG, "like with like, long") for tool in ("h2load", "ab")),
    Pair("h2load" + _LONG, "ab" + _LONG, "another tool"),
    Pair("h2load" + _LONG, "wrk", "another tool"),
    Pair("wrk", "ab" + _LONG, "another tool"),
    Pair("h2load", "h2load" + _LONG, "a long load"),
    Pair("ab", "ab" + _LONG, "a long load"),
)

Turns = Mapping[Pair, Sequence[Figures]]
"""What a launch gave: for each pair its turns."""


def printed_rate(tool: str, text: str) -> float:
    """Requests per second as the tool printed them. Raises EngineError where it printed none, or 0."""
    match = _RATES[tool].search(text)
    if match is None or float(match[1]) <= 0:
        raise EngineError(f"{tool} printed no rate", detail=text)
    return float(match[1])


# ---------------- the table


def ratios_table(found: Mapping[str, Sequence[Turns]]) -> str:
    """A row for each pair of each kind of connection; `found` has the turns of each launch by connection.

    A pair that no launch has is left out.
    """
    heads = (
        "connection",
        "windtunnel",
        "by hand",
        "what it is",
        "by hand, requests/s",
        "launches",
        "ratio",
        "within 3 %",
    )
    rows = [
        _row(name, pair, having)
        for name, launches in found.items()
        for pair in PAIRS
        if (having := [turns for turns in launches if pair in turns])
    ]
    return table(heads, rows)


def _row(connection: str, pair: Pair, launches: Sequence[Turns]) -> list[str]:
    sample = Sample([pair.log_ratio(turns[pair]) for turns in launches])
    low, high = (math.exp(end) for end in sample.interval(_CONFIDENCE))
    middle = math.exp(sample.estimate)
    rate = statistics.median(hand for turns in launches for _, hand in turns[pair])
    known = math.isfinite(high)
    interval = f" [{low:.3f}, {high:.3f}]" if known else " (too few launches for an interval)"
    return [
        connection,
        pair.ours,
        pair.hand,
        pair.kind,
        format_value(rate, Unit.PER_SECOND),
        str(len(launches)),
        f"{middle:.3f}{interval}",
        _within(low, high) if known else "not known",
    ]


def _within(low: float, high: float) -> str:
    """Whether the ratio is within 3 % of 1, as far as its interval can tell."""
    if low >= 1 - _TARGET and high <= 1 + _TARGET:
        return "yes"
    return "no" if high < 1 - _TARGET or low > 1 + _TARGET else "not sure"


def report(launches: Sequence[Launched], stolen: float) -> str:
    """The table of the launches with no more than a share `stolen`, and how many those are."""
    counted = [one for one in launches if one.stolen <= stolen]
    return ratios_table(by_connection(counted)) + (
        f"\n{len(counted)} of {len(launches)} launches are counted: those during which the host gave no more than "
        f"{stolen:.0%} of the processors' time to others.\n"
    )


# ---------------- launches that are kept


@dataclass(frozen=True)
class Launched:
    """A launch as the file keeps it. `stolen` is the share of the processors' time that their host gave to others."""

    connection: str
    turns: Turns
    stolen: float

    def line(self) -> str:
        """As a line of the file."""
        pairs = [{"ours": pair.ours, "hand": pair.hand, "turns": turns} for pair, turns in self.turns.items()]
        return json.dumps({"connection": self.connection, "stolen": round(self.stolen, 4), "pairs": pairs}) + "\n"

    @classmethod
    def of(cls, line: str) -> Launched:
        """What `line` wrote. Of loads that are not set against each other any more nothing is read."""
        kept = json.loads(line)
        known = {(pair.ours, pair.hand): pair for pair in PAIRS}
        turns = {(one["ours"], one["hand"]): [(ours, hand) for ours, hand in one["turns"]] for one in kept["pairs"]}
        return cls(kept["connection"], {known[name]: turns[name] for name in turns if name in known}, kept["stolen"])


def by_connection(launches: Sequence[Launched]) -> Mapping[str, Sequence[Turns]]:
    """The turns of all launches, for `ratios_table`."""
    found: dict[str, list[Turns]] = {}
    for one in launches:
        found.setdefault(one.connection, []).append(one.turns)
    return {name: found[name] for name in sorted(found)}


def _kept(file: Path | None) -> list[Launched]:
    if file is None or not file.exists():
        return []
    text = file.read_text("utf-8")
    lines = whole_lines(text)
    if not text.endswith("\n"):  # the launch in flight is lost, and the next one begins a line
        file.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return [Launched.of(line) for line in lines]


# ---------------- measuring


@dataclass(frozen=True)
class _Asked:
    """How much of it; `requests` None for the size that windtunnel finds itself, `long` requests of a long load."""

    launches: int
    turns: int
    long_turns: int
    requests: int | None
    long: int
    kinds: Collection[str]
    file: Path | None

    @property
    def pairs(self) -> Sequence[Pair]:
        return [pair for pair in PAIRS if pair.kind in self.kinds]


def _processors() -> tuple[int, int]:
    """Ticks of all processors since they started: those that their host gave to others, and all."""
    with Path("/proc/stat").open(encoding="ascii") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return ticks[7], sum(ticks)


@dataclass(frozen=True)
class _Bench:
    """A launch, the same with each generator, the shell for what is done by hand, and the size of a slice."""

    running: Running
    shell: Shell
    size: int
    long: int

    def _requests(self, load: str) -> int:
        return self.long if load.endswith(_LONG) else self.size

    def ours(self, load: str) -> float:
        """A slice that windtunnel makes, as its reports tell it. Raises InvalidLoad."""
        case: Case = self.running.case
        tool: Any = load.removesuffix(_LONG)
        time.sleep(_SETTLED)
        other = replace(self.running, case=replace(case, workload=replace(case.workload, generator=tool)))
        seen = other.load(SliceRequest("load", self._requests(load), case.workload.concurrency, _DEADLINE))
        if seen.invalid or not isinstance(seen.wall, float):
            raise other.failure(seen)
        return seen.requests / seen.wall

    def by_hand(self, load: str) -> float:
        """The same by hand: the figure that the tool prints."""
        tool, requests = load.removesuffix(_LONG), self._requests(load)
        work, port = self.running.case.workload, self.running.resolved.port
        url = f"http://127.0.0.1:{port}{work.path}"
        many = ["-c", str(work.concurrency)]
        close = [] if work.keepalive else ["-H", "Connection: close"]
        commands = {
            "ab": ["ab", "-q", "-n", str(requests), *many, *(["-k"] if work.keepalive else []), url],
            "h2load": ["h2load", "--h1", "-t", "1", "-n", str(requests), f"--log-file={_LOG}", *many, *close, url],
            "wrk": ["wrk", "-t", "1", "-d", "1s", *many, *close, url],
        }
        time.sleep(_SETTLED)
        return printed_rate(tool, self.shell.run(commands[tool]))

    def turns(self, pair: Pair, count: int) -> Sequence[Figures]:
        """The two of a pair in turn, the first of them last the next time."""
        found: list[Figures] = []
        for number in range(count):
            if number % 2:
                hand = self.by_hand(pair.hand)
                found.append((self.ours(pair.ours), hand))
            else:
                found.append((self.ours(pair.ours), self.by_hand(pair.hand)))
        return found


class Shell:
    """A shell in a container, one command at a time, in an empty folder."""

    _END = "the command ended with "

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert process.stdin is not None
        process.stdin.write("""cd "$(mktemp -d -p /dev/shm)" || exit; trap 'rm -rf "$PWD"' EXIT\n""")

    def run(self, command: Sequence[str]) -> str:
        """What the command printed. Raises EngineError where it fails, takes too long, or the shell has ended."""
        given, printed = self._process.stdin, self._process.stdout
        assert given is not None and printed is not None
        told = f"code=$?; cat {_OUTPUT}; echo; echo {shlex.quote(self._END)}$code"
        given.write(f"rm -f {_LOG}; timeout {_DEADLINE:.0f} {shlex.join(command)} > {_OUTPUT} 2>&1; {told}\n")
        given.flush()
        lines: list[str] = []
        for line in printed:
            if line.startswith(self._END):
                if line != f"{self._END}0\n":
                    raise EngineError(f"{shlex.join(command)}: {line.strip()}", detail="".join(lines))
                return "".join(lines)
            lines.append(line)
        raise EngineError("the shell beside the target has ended", detail="".join(lines))


@contextmanager
def _shell(running: Running) -> Iterator[Shell]:
    """A shell beside the target in which tools are run by hand, where windtunnel's generator runs."""
    context = running.context
    spec = ContainerSpec(
        image=context.load_image,
        name=f"windtunnel-byhand-{new_id()}",
        labels={**context.labels, "windtunnel.role": "by hand"},
        command=("sleep", "3600"),
        limits=SIDECAR_LIMITS,
        cpuset=running.pinning.generator,
        network=f"container:{running.holder}",
    )
    identifier, _ = context.engine.create(spec)
    try:
        context.engine.start(identifier)
        command = ["docker", "exec", "-i", identifier, "sh"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            yield Shell(process)
    finally:
        context.engine.remove(identifier)


def _launch(context: LaunchContext, case: Case, resolved: ResolvedLaunch, asked: _Asked, name: str) -> Turns:
    """The turns of one launch, fewer where a load takes seconds; with each tool one before that does not count."""
    with launched(context, case, resolved) as running, _shell(running) as shell:
        size = asked.requests or measure_sizes(running, LaunchPlan()).load
        bench = _Bench(running, shell, size, asked.long)
        _tell(f"{case.id} {name}: slices of {size:,} requests")
        for pair in PAIRS[: len(_GENERATORS)]:
            bench.turns(pair, 1)
        return {pair: bench.turns(pair, asked.long_turns if pair.long else asked.turns) for pair in asked.pairs}


def _measure(perl: str, asked: _Asked, found: list[Launched]) -> None:
    """Both kinds of connection take turns, launch by launch, and each launch is kept as it ends."""
    project = open_project(_ROOT, tell=_tell)
    cases, _ = project.select(discover(project.suite, [rf"^psgi\.Starlet\({re.escape(perl)}, (close|keepalive)\)\Z"]))
    resolved = {case.id: project.resolve(case) for case in cases}
    with project.measuring(new_id(), owner_token(), None, _tell) as context:
        for number in range(1, asked.launches + 1):
            for case in cases:
                stolen, ticks = _processors()
                turns = _launch(context, case, resolved[case.id], asked, f"launch {number}")
                after, ticks_after = _processors()
                one = Launched(dict(case.params)["connection"], turns, (after - stolen) / max(1, ticks_after - ticks))
                found.append(one)
                if asked.file:
                    with asked.file.open("a", encoding="utf-8") as file:
                        file.write(one.line())


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="bench/byhand", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--perl", default="5.40", help="which Starlet [default: %(default)s]")
    parser.add_argument("--launches", type=int, default=8, help="of each kind of connection [default: %(default)s]")
    parser.add_argument(
        "--turns", type=int, default=16, help="of a pair of short loads in a launch [default: %(default)s]"
    )
    parser.add_argument("--long-turns", type=int, default=8, help="of one that takes seconds [default: %(default)s]")
    parser.add_argument("--requests", type=int, help="of a slice [default: as many as windtunnel finds]")
    parser.add_argument("--long", type=int, default=5_000, help="requests of a long load [default: %(default)s]")
    kinds = tuple(dict.fromkeys(pair.kind for pair in PAIRS))
    parser.add_argument("--kind", choices=kinds, action="append", help="what is set against what [default: all]")
    parser.add_argument("--file", type=Path, help="add the launches to this file; the table is of all that it holds")
    parser.add_argument(
        "--stolen", type=float, default=0.02, help="more of it, and a launch is not counted [default: %(default)s]"
    )
    parser.add_argument("--page", type=Path, help="put the table into this page, too")
    options = parser.parse_args()
    asked = _Asked(
        options.launches,
        options.turns,
        options.long_turns,
        options.requests,
        options.long,
        options.kind or kinds,
        options.file,
    )
    found = _kept(options.file)
    try:
        if asked.launches:
            with graceful_signals(_tell):
                _measure(options.perl, asked, found)
    except (WindtunnelError, Interrupted) as error:
        _tell(f"bench/byhand: {error}\n{error.detail}".rstrip())
        if found:  # half an hour of the machine is not thrown away
            print(report(found, options.stolen), end="")
        sys.exit(int(error.exit))
    text = report(found, options.stolen)
    print(text, end="")
    if options.page:
        place(options.page, "byhand", text)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
