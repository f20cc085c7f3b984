"""Comparisons made by hand, one for each state a report has to show.

The launches are real objects, and the verdicts are those that `compare` comes to. The noise is a fixed series that
has a middle of nothing, so that the figures can be checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from itertools import cycle, product
from typing import Any

import material
from windtunnel.compare.rule import Rule
from windtunnel.compare.verdict import Comparison, compare
from windtunnel.load.histogram import build
from windtunnel.model import Case, Launch, Slice, Variant, Workload
from windtunnel.sample.merge import merge_runs
from windtunnel.sample.runfile import Arm, ComparePlan, Failure, Run
from windtunnel.units import Missing

BASE = Arm("base", "main", "5e6f7a8b90" * 4, "2026-11-28T10:00:00+01:00", "Keep connections open")
HEAD = Arm("head", "HEAD", "1a2b3c4d5e" * 4, "2026-11-29T09:30:00+01:00", "Log each request")
WORKTREE = Arm("head", "worktree", "worktree")
CONTROL = Arm("control", "main", BASE.commit, BASE.date, BASE.subject)

PLAN = ComparePlan(threshold=0.02, most=34, budget=600.0)
BUILD_SECONDS = 31.5
LOG = "Step 3/9\nStarting on port 5321\n\nCan't locate Plack.pm in @INC\n"
IDENTICAL = "image and launch are the same in base and head"

RULE = Rule(
    threshold=0.02,
    alpha=0.001,
    shares={"cpu_per_request": 0.8, "time_per_request": 0.1, "response_time": 0.1},
    equivalence=0.05,
    looks=((8, 0.0, 0.1), (12, 0.15, 0.25), (16, 0.5, 0.35), (20, 0.2, 0.15), (26, 0.1, 0.1), (34, 0.05, 0.05)),
    guard=0.005,
    flag=0.05,
    fresh=3,
    most=34,
    false_discoveries=0.05,
)
"""One rule for all examples: a default that is tuned is no change of a report."""

_NOISE = (0.004, -0.006, 0.002, -0.003, 0.007, -0.004, 0.001, 0.005, -0.002, -0.007, 0.003, -0.001, 0.006, -0.005)
_LATENCIES = [0.001 + 0.0001 * number for number in range(100)]


def case(perl: str = "5.40", mode: str = "keepalive", benchmark: str = "psgi.Starlet") -> Case:
    """A case of a usual name."""
    variant = Variant("starlet", (("perl", perl),))
    work = Workload(axes={"perl": perl}, concurrency=16, keepalive=mode == "keepalive")
    return Case(benchmark, (("perl", perl), ("connection", mode)), variant, work)


@dataclass(frozen=True)
class Sides:
    """How an arm's launches differ from base's: each a factor. `noise` is how much the pairs differ."""

    cpu: float = 1.0
    time: float = 1.0
    wait: float = 1.0
    noise: float = 1.0
    memory: float = 1.0


SAME = Sides()


@dataclass(frozen=True)
class Measured:
    """A case with its pairs."""

    case: Case
    head: Sides = SAME
    pairs: int = 16
    control: Sides | None = None
    warnings: tuple[str, ...] = field(default=())


def _slice(plain: Slice, cpu: float, time: float) -> Slice:
    latency = build([seconds * time for seconds in _LATENCIES])
    return replace(plain, wall=0.04 * time, cpu=0.03 * cpu, mean_latency=0.004 * time, latency=latency)


def launch(one: Case, arm: str, number: int, sides: Sides = SAME, luck: float = 0.0) -> Launch:
    """A good launch; `luck` is this pair's share of the noise."""
    factor = 1 + luck * sides.noise
    load = [_slice(material.LOAD, sides.cpu * factor * jitter, sides.time * factor) for jitter in (0.99, 1.0, 1.01)]
    single = _slice(material.SINGLE, sides.cpu * factor, sides.wait * factor)
    return replace(
        material.LAUNCH,
        case=one.id,
        arm=arm,
        number=number,
        slices=(material.WARMUP, *load, single),
        peak_memory=8e7 * sides.memory,
    )


def _lucks() -> Iterator[float]:
    return cycle(_NOISE)


def pairs(one: Measured) -> Iterator[Launch]:
    """All launches of a case, pair by pair. The noise is in head (and control), so that it is that of the ratio."""
    lucks, others = _lucks(), cycle(_NOISE[5:] + _NOISE[:5])
    for number in range(1, one.pairs + 1):
        base = launch(one.case, "base", number)
        yield replace(base, warnings=one.warnings)
        yield launch(one.case, "head", number, one.head, next(lucks))
        if one.control is not None:
            yield launch(one.case, "control", number, one.control, next(others))


def run_of(
    measured: Sequence[Measured] = (),
    failures: Sequence[Failure] = (),
    *,
    cases: Sequence[Case] = (),
    extra: Sequence[Launch] = (),
    finished: bool = True,
) -> Run:
    """A comparison's run; `cases` are those that were not measured."""
    control = any(one.control is not None for one in measured)
    header = replace(
        material.HEADER,
        command=("windtunnel", "compare", "main", "HEAD"),
        arms=(BASE, HEAD, *((CONTROL,) if control else ())),
        cases=(*(one.case for one in measured), *cases),
        compare=replace(PLAN, control=control),
        launches=PLAN.most,
    )
    launches = (*(launch for one in measured for launch in pairs(one)), *extra)
    seconds = 1.1 * sum(sum(launch.spent.values()) for launch in launches) + BUILD_SECONDS
    end = {"exit": 0, "seconds": seconds, "build_seconds": BUILD_SECONDS}
    return Run(header, launches, tuple(failures), end=end if finished else {})


# ---------------- the states


CLOSE = case(mode="close")
KEEPALIVE = case()
NEIGHBOUR = "load and target share a core's hyper-threads"


def _regression() -> Run:
    slower = Measured(KEEPALIVE, Sides(cpu=1.05, time=1.04, wait=1.01, memory=1.25), warnings=(NEIGHBOUR,))
    return run_of([slower, Measured(CLOSE, warnings=(NEIGHBOUR,))])


def _waiting() -> Run:
    """Nothing but the response time got slower, and a launch or two that went wrong did not decide."""
    lost = launch(KEEPALIVE, "head", 17).failing("lost", "the load side-car ended", "Killed")
    return run_of([Measured(KEEPALIVE, Sides(wait=1.1), pairs=16)], extra=[launch(KEEPALIVE, "base", 17), lost])


def _improvement() -> Run:
    return run_of([Measured(KEEPALIVE, Sides(cpu=0.94, time=0.95, memory=0.9)), Measured(CLOSE, Sides(time=0.94))])


def _unchanged() -> Run:
    perls = ("5.32", "5.36", "5.40", "5.42")
    modes = ("close", "keepalive", "http2")
    sides = [Sides(cpu=1 + step / 1000) for step in range(-5, 6)]
    named = [case(perl, mode) for perl in perls for mode in modes]
    measured = [Measured(one, each) for one, each in zip(named, cycle(sides), strict=False)]
    return run_of([*measured[:-1], replace(measured[-1], head=Sides(time=0.93))])


def _one_unchanged() -> Run:
    return run_of([Measured(KEEPALIVE)])


def _inconclusive() -> Run:
    noisy = Sides(cpu=1.02, time=1.02, noise=8.0)
    return run_of([Measured(KEEPALIVE, noisy, pairs=20), Measured(CLOSE, pairs=4), Measured(case("5.36"), pairs=12)])


def _invalid() -> Run:
    reason = "500 bytes less than 160 x 128"
    wrong = [launch(CLOSE, "head", number).failing("invalid", reason) for number in (1, 2)]
    right = [launch(CLOSE, "base", number) for number in (1, 2)]
    return run_of([Measured(KEEPALIVE)], cases=[CLOSE], extra=[*wrong, *right])


def _does_not_start() -> Run:
    reason = "starlet did not answer 200 to GET / on port 5321 within 20 s (last: nothing listens): exit code 2"
    wrong = [launch(one, "head", number) for one in (CLOSE, KEEPALIVE) for number in (1, 2)]
    failed = [replace(one, slices=(), answer=None).failing("failed", reason, LOG) for one in wrong]
    return run_of(cases=[CLOSE, KEEPALIVE], extra=failed)


def _no_build(arm: str) -> Run:
    named = [case(perl, mode) for perl in ("5.32", "5.36", "5.40") for mode in ("close", "keepalive")]
    reason = "the image of starlet can't be built: step 7/9, RUN perl Makefile.PL && make install: exit code 2"
    return run_of(failures=[Failure(one.id, arm, "failed", reason, LOG) for one in named], cases=named)


def _identical() -> Run:
    named = [case(perl) for perl in ("5.32", "5.36", "5.40")]
    return run_of(failures=[Failure(one.id, "head", "identical", IDENTICAL) for one in named], cases=named)


def _first() -> Run:
    reason = "first run: base has no such case, head was measured alone (commit 5e6f7a8b90 has no targets/starlet)"
    named = [KEEPALIVE, CLOSE]
    own = [launch(one, "head", number) for one in named for number in (1, 2, 3)]
    return run_of(failures=[Failure(one.id, "base", "first", reason) for one in named], cases=named, extra=own)


def _mixed() -> Run:
    """A big matrix that has a case in every state."""
    perls = ("5.32", "5.36", "5.40", "5.42")
    static = [Measured(case(perl, mode, "static.File")) for perl in perls for mode in ("close", "keepalive")]
    more = [Measured(case(perl, "close", "psgi.Streaming")) for perl in perls]
    changed = [Measured(KEEPALIVE, Sides(cpu=1.06, time=1.05)), Measured(CLOSE, Sides(wait=1.08, time=1.01))]
    faster = [Measured(case("5.36"), Sides(cpu=0.95, time=0.96))]
    open_ = [Measured(case("5.32"), Sides(cpu=1.02, noise=9.0), pairs=34)]
    bad = [launch(case("5.32", "close"), arm, number) for number in (1, 2) for arm in ("base", "head")]
    wrong = [one.failing("invalid", "status 60 x 500 instead of 200") if one.arm == "head" else one for one in bad]
    apache = [case(perl, "close", "apache.Prefork") for perl in perls]
    new = case("5.42", "close", "apache.Event")
    failures = [
        Failure(apache[0].id, "head", "failed", "the image of apache can't be built: step 2/4: exit code 1", LOG),
        *(Failure(one.id, "head", "identical", IDENTICAL) for one in apache[1:]),
        Failure(new.id, "base", "first", "base has no target apache-event, head was measured alone"),
        Failure("psgi.Starlet(5.8, close)", "head", "skipped", "this commit has no value '5.8' on the axis perl"),
    ]
    alone = [launch(new, "head", number) for number in (1, 2)]
    return run_of(
        [*changed, *static, *faster, *open_, *more],
        failures,
        cases=[case("5.32", "close"), *apache, new],
        extra=[*wrong, *alone],
    )


def _control() -> Run:
    return run_of([Measured(KEEPALIVE, Sides(cpu=1.05), control=SAME), Measured(CLOSE, control=SAME)])


def _control_alarm() -> Run:
    return run_of([Measured(KEEPALIVE, Sides(cpu=1.05), control=Sides(cpu=1.04))])


def _unfinished() -> Run:
    run = run_of([Measured(KEEPALIVE, pairs=6)], cases=[CLOSE, case("5.36")], finished=False)
    return replace(run, header=replace(run.header, arms=(BASE, WORKTREE), host=None))


def _no_cpu() -> Run:
    """An engine that keeps no CPU statistics: what decides is not known, and the rest does not stand in for it."""
    run = run_of([Measured(KEEPALIVE)])
    missing = Missing("the target's cgroup can't be read")
    blind = [replace(one, slices=tuple(replace(each, cpu=missing) for each in one.slices)) for one in run.launches]
    return replace(run, launches=tuple(replace(one, idle_cpu=missing, peak_memory=missing) for one in blind))


def _nothing() -> Run:
    reason = "this commit has no value '5.8' on the axis perl"
    return run_of(failures=[Failure("psgi.Starlet(5.8, close)", "head", "skipped", reason)])


def _shard(number: int, count: int, processor: str, *measured: Measured) -> Run:
    """A part of a comparison, from a machine of its own."""
    run = run_of(measured)
    host = replace(material.HOST, cpu_model=processor)
    plan = replace(PLAN, shard=f"{number}/{count}")
    return replace(run, header=replace(run.header, id=f"20261130-12000{number}-abcdef", host=host, compare=plan))


def _merged(count: int) -> Run:
    """Two shards of so many, from machines of different processors."""
    slower = Measured(KEEPALIVE, Sides(cpu=1.05, time=1.04))
    shards = [
        _shard(1, count, "A processor", slower, Measured(CLOSE)),
        _shard(2, count, "Another processor", Measured(case("5.36"))),
    ]
    return merge_runs({f"shard-{number}.jsonl": run for number, run in enumerate(shards, 1)})


RUNS: Mapping[str, Run] = {
    "regression": _regression(),
    "waiting": _waiting(),
    "improvement": _improvement(),
    "unchanged": _unchanged(),
    "one-unchanged": _one_unchanged(),
    "inconclusive": _inconclusive(),
    "invalid": _invalid(),
    "head-does-not-start": _does_not_start(),
    "head-build": _no_build("head"),
    "base-build": _no_build("base"),
    "identical": _identical(),
    "first": _first(),
    "mixed": _mixed(),
    "control": _control(),
    "control-alarm": _control_alarm(),
    "unfinished": _unfinished(),
    "no-cpu": _no_cpu(),
    "nothing": _nothing(),
    "merged": _merged(2),
    "missing-shard": _merged(3),
}


_OUTSIDE = "outside text"


@cache
def judged(name: str) -> Comparison:
    """What `compare` says of an example."""
    return compare(RUNS[name], RULE)


def foreign(text: str) -> tuple[Run, Comparison]:
    """A run in every state at once in which whatever can come from outside is `text`, and what `compare` says of it.

    The launches themselves are left out of the run, since no report looks further into them than the comparison does.
    """
    run, comparison = _every_state()
    return _filled(run, text), _filled(comparison, text)


def _filled(value: Any, text: str) -> Any:
    """`value` with every text from outside in it replaced by `text`."""
    if isinstance(value, str):
        return value.replace(_OUTSIDE, text) if type(value) is str else value
    if is_dataclass(value) and not isinstance(value, type):
        changed = {one.name: _filled(getattr(value, one.name), text) for one in fields(value)}
        return replace(value, **changed)
    if isinstance(value, tuple | list):
        return type(value)(_filled(item, text) for item in value)
    if isinstance(value, Mapping):
        return {_filled(key, text): _filled(item, text) for key, item in value.items()}
    return value


@cache
def _every_state() -> tuple[Run, Comparison]:
    run = _everything(_OUTSIDE)
    comparison = compare(run, RULE)
    lean = [
        replace(one, bad={arm: tuple(replace(bad, slices=()) for bad in wrong) for arm, wrong in one.bad.items()})
        for one in comparison.cases
    ]
    return replace(run, launches=()), replace(comparison, cases=tuple(lean))


def _everything(text: str) -> Run:
    states = {
        "slower": Sides(cpu=1.06, time=1.05),
        "faster": Sides(cpu=0.95),
        "open": Sides(cpu=1.02, noise=9.0),
        "same": SAME,
    }
    named = {state: _foreign(text, state) for state in (*states, "broken", "wrong", "new", "twin", "waiting")}
    measured = [Measured(named[state], sides, warnings=(text, f"{text}{state}")) for state, sides in states.items()]
    grid = [_foreign(text, "grid", place) for place in product("12", "ab")]
    measured.append(Measured(grid[0], states["slower"], warnings=(text,)))
    wrong = [launch(named["wrong"], "head", number).failing("invalid", text, text) for number in (1, 2)]
    lost = launch(named["slower"], "head", 99).failing("lost", text, text)
    failures = [
        *(Failure(one.id, "head", "identical", text) for one in grid[1:]),
        Failure(named["broken"].id, "head", "failed", text, f"{text}\n{text}"),
        Failure(named["new"].id, "base", "first", text, text),
        Failure(named["twin"].id, "head", "identical", text),
        Failure(f"{text}absent", "head", "skipped", text),
    ]
    others = [named[state] for state in ("broken", "wrong", "new", "twin", "waiting")] + grid[1:]
    extra = [*wrong, lost, launch(named["new"], "head", 1)]
    run = run_of(measured, failures, cases=others, extra=extra)
    arms = (Arm("base", text, text, text, text), Arm("head", text, f"{text}2", text, text))
    host = replace(material.HOST, cpu_model=text, kernel=text, governor=text, engine_version=text, cgroup=text)
    plan = replace(PLAN, suite=text, shard=text, select=(text,))
    names = {"id": text, "created": text, "windtunnel": text, "project": text, "seed": text, "command": (text,)}
    return replace(run, header=replace(run.header, arms=arms, host=host, compare=plan, **names))


def _foreign(text: str, state: str, place: Sequence[str] = ()) -> Case:
    work = Workload(path=text, method=text, concurrency=16)
    params = tuple((f"{text}{name}", f"{text}{value}") for name, value in zip("xy", place, strict=False))
    return Case(f"{text}{state}", params or ((text, text),), Variant(text), work)
