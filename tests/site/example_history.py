"""A history made by program: several classes, two axes, machines, failures, change points, and hostile names.

`example_history()` is the usual one; `ExampleHistory` takes columns of one's own. Nothing here is read from a file.
"""

from __future__ import annotations

import datetime
import itertools
import math
import random
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from windtunnel.history.nouns import (
    Benchmark,
    ChangePoint,
    Commit,
    Environment,
    Machine,
    RunRef,
    Series,
    SeriesKey,
    Unreadable,
)

START = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
COMMITS = 40
STEP_AT = 36
"""From this commit on, `psgi.Starlet.time_request` with perl 5.40 is slower, and `flask.Gunicorn` faster."""

HOSTILE = '<script>alert("x")</script>'
HOSTILE_SUBJECT = 'Fix <img src=x onerror=alert(1)> & [click](javascript:alert(1)) "quoted"'

STARLET = Benchmark(
    name="psgi.Starlet.time_request",
    kind="time",
    unit="seconds",
    param_names=("perl", "connection"),
    params=(("'5.32'", "'5.36'", "'5.40'"), ("'close'", "'keepalive'")),
    version="1",
    text="Starlet behind an access log: does a newer perl serve it faster?\n\nMore words about it.",
)
BENCHMARKS = (
    Benchmark(
        name="flask.Gunicorn.time_request",
        kind="time",
        unit="seconds",
        param_names=("workers",),
        params=(("2", "4"),),
        version="1",
        text="Flask on gunicorn: how many workers?",
    ),
    replace(STARLET, name="psgi.Starlet.track_cpu_per_request", kind="track"),
    STARLET,
    replace(STARLET, name="psgi.Starlet.track_memory", kind="track", unit="bytes"),
    Benchmark(name="psgi.starlet.time_import", kind="time", unit="seconds", version="1"),
    Benchmark(
        name=f"hostile.{HOSTILE}.time_it",
        kind="time",
        unit="<b>s</b>",
        param_names=("</td><script>",),
        params=(("'<img src=x>'", "'javascript:alert(1)'", "'../../etc/passwd'"),),
        version="1",
        text=f"{HOSTILE}\n\n# Not a heading",
    ),
    Benchmark(name="unmeasured.Nothing.time_nothing", kind="time", unit="seconds", version="1"),
)

_LINUX = {"ram": "7 GB", "os": "Linux", "arch": "x86_64"}
OLD_CPU = Machine("runner-old", {"cpu": "Xeon E5-2673 v4", "num_cpu": "2", **_LINUX})
NEW_CPU = Machine("runner-new", {"cpu": "EPYC 7763", "num_cpu": "4", **_LINUX})
MACHINES = (NEW_CPU, OLD_CPU)
ENVIRONMENTS = (Environment("container", {"python": "3.11"}),)


@dataclass(eq=False)
class ExampleHistory:
    """The protocol `History` over tuples. What is left out is empty."""

    commits_: tuple[Commit, ...] = ()
    machines_: tuple[Machine, ...] = ()
    environments_: tuple[Environment, ...] = ()
    benchmarks_: tuple[Benchmark, ...] = ()
    series_: tuple[Series, ...] = ()
    change_points_: tuple[ChangePoint, ...] = ()
    runs_: tuple[RunRef, ...] = ()
    unreadable_: tuple[Unreadable, ...] = ()
    project: str = "example"

    def commits(self) -> tuple[Commit, ...]:
        return self.commits_

    def machines(self) -> tuple[Machine, ...]:
        return self.machines_

    def environments(self) -> tuple[Environment, ...]:
        return self.environments_

    def benchmarks(self) -> tuple[Benchmark, ...]:
        return tuple(sorted(self.benchmarks_, key=lambda one: one.name))

    def series(self, benchmark: str) -> tuple[Series, ...]:
        return tuple(one for one in self.series_ if one.key.benchmark == benchmark)

    def change_points(self, benchmark: str) -> tuple[ChangePoint, ...]:
        points = (one for one in self.change_points_ if one.key.benchmark == benchmark)
        return tuple(sorted(points, key=lambda one: (one.position, one.key)))

    def runs(self) -> tuple[RunRef, ...]:
        return self.runs_

    def unreadable(self) -> tuple[Unreadable, ...]:
        return self.unreadable_


def commits(count: int = COMMITS) -> tuple[Commit, ...]:
    """One commit every two days; the last but three has a hostile subject."""
    return tuple(
        Commit(
            position=number,
            hash=f"{number + 1:02x}" * 20,
            date=START + datetime.timedelta(days=2 * number),
            subject=HOSTILE_SUBJECT if number == STEP_AT else f"Change number {number}",
            author="A. U. Thor",
            tags=(f"v1.{number // 10}",) if number % 10 == 0 else (),
        )
        for number in range(count)
    )


def series_of(key: SeriesKey, values: Iterable[tuple[int, float]], spread: float = 0.02) -> Series:
    """A series of (position, value); its intervals are `spread` to both sides."""
    known = sorted(values)
    return Series(
        key,
        positions=array("l", [position for position, _ in known]),
        values=array("d", [value for _, value in known]),
        low=array("d", [value * (1 - spread) for _, value in known]),
        high=array("d", [value * (1 + spread) for _, value in known]),
    )


def example_history() -> ExampleHistory:
    """Seven benchmarks of five groups, forty commits, two machines one after the other."""
    all_series = tuple(one for benchmark in BENCHMARKS for one in _series(benchmark))
    return ExampleHistory(
        commits_=commits(),
        machines_=MACHINES,
        environments_=ENVIRONMENTS,
        benchmarks_=BENCHMARKS,
        series_=all_series,
        change_points_=tuple(_points(all_series)),
    )


def small_history() -> ExampleHistory:
    """One benchmark on one machine, with its change: enough for a site, and quickly built."""
    known = tuple(one for one in _series(STARLET) if one.key.machine == NEW_CPU.name)
    return ExampleHistory(
        commits_=commits(),
        machines_=(NEW_CPU,),
        environments_=ENVIRONMENTS,
        benchmarks_=(STARLET,),
        series_=known,
        change_points_=tuple(_points(known)),
    )


def combinations(benchmark: Benchmark) -> Iterable[tuple[str, ...]]:
    """Every parameter combination."""
    return itertools.product(*benchmark.params)


def _series(benchmark: Benchmark) -> Iterable[Series]:
    if benchmark.group.startswith("unmeasured"):
        return
    noise = random.Random(benchmark.name)
    for number, params in enumerate(combinations(benchmark)):
        for machine, known in ((OLD_CPU, range(14)), (NEW_CPU, range(14, COMMITS))):
            key = SeriesKey(benchmark.name, params, machine.name, ENVIRONMENTS[0].name)
            level = (0.002 if benchmark.unit != "bytes" else 3.0e7) * (1 + number / 5)
            level *= 1.4 if machine is OLD_CPU else 1.0
            yield series_of(key, list(_values(benchmark, params, level, known, noise)))


def _values(
    benchmark: Benchmark, params: Sequence[str], level: float, known: range, noise: random.Random
) -> Iterable[tuple[int, float]]:
    for position in known:
        value = level * _step(benchmark, params, position) * noise.uniform(0.99, 1.01)
        failed = benchmark.group == "flask.Gunicorn" and params == ("4",) and position == COMMITS - 1
        yield position, math.nan if failed else value


def _step(benchmark: Benchmark, params: Sequence[str], position: int) -> float:
    if position < STEP_AT:
        return 1.0
    if benchmark is STARLET and params[0] == "'5.40'":
        return 1.06
    return 0.8 if benchmark.group == "flask.Gunicorn" else 1.0


def _points(all_series: Iterable[Series]) -> Iterable[ChangePoint]:
    """Where the steps are, as a detector would have it."""
    by_name = {one.name: one for one in BENCHMARKS}
    for one in all_series:
        ratio = _step(by_name[one.key.benchmark], one.key.params, STEP_AT)
        if ratio != 1.0 and STEP_AT in one.positions:
            at = one.positions.index(STEP_AT)
            yield ChangePoint(one.key, STEP_AT, STEP_AT - 1, one.values[at] / ratio, one.values[at])
