"""The nouns of a history, and the protocol by which pages ask for it. Pure.

All texts are from outside (another project's results may be shown): whoever prints them escapes them.
"""

from __future__ import annotations

import datetime
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from windtunnel.units import Direction

__all__ = [
    "Benchmark",
    "ChangePoint",
    "Commit",
    "Environment",
    "History",
    "Machine",
    "RunRef",
    "Series",
    "SeriesKey",
    "Unreadable",
]


@dataclass(frozen=True)
class Commit:
    """A commit that something is known of. `position` counts from 0 along the history, oldest first.

    `subject`, `author` and `tags` are "" and () where no repository has told them.
    """

    position: int
    hash: str
    date: datetime.datetime
    subject: str = ""
    author: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Machine:
    """A machine as asv knows it. `facts` are its fields (cpu, num_cpu, ram, os, arch), as texts."""

    name: str
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def cpu_model(self) -> str:
        """Absolute values are compared within one CPU model only; machines that tell none are models of their own."""
        return self.facts.get("cpu") or self.name


@dataclass(frozen=True)
class Environment:
    """An environment of asv: its name, and what it was made of (python, requirements, variables)."""

    name: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """One benchmark of asv: a method of a class, or a function.

    Attributes:
        name: as asv has it ("psgi.Starlet.time_request").
        kind: "time", "mem", "peakmem", "track", "timeraw" ...
        unit: asv's unit ("seconds", "bytes", "unit", ...).
        param_names: names of its parameters.
        params: for each parameter its values, as asv writes them (repr).
        version: asv's; results of another version are not comparable and are in no series.
        label: `pretty_name`, or "".
        text: the documentation string of its class or function, as far as asv has its code; or "".
        direction: which way is better; asv itself takes everything as lower is better.
    """

    name: str
    kind: str
    unit: str
    param_names: tuple[str, ...] = ()
    params: tuple[tuple[str, ...], ...] = ()
    version: str = ""
    label: str = ""
    text: str = ""
    direction: Direction = Direction.LOWER_IS_BETTER

    @property
    def group(self) -> str:
        """What has a page together: the class ("psgi.Starlet"), or the module of a function."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def metric(self) -> str:
        """Its name within the group ("time_request")."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, order=True)
class SeriesKey:
    """What a line in a chart stands for: one parameter combination on one machine in one environment."""

    benchmark: str
    params: tuple[str, ...]
    machine: str
    environment: str


@dataclass(frozen=True)
class Series:
    """The values of one key, by commit, oldest first; parallel columns.

    Attributes:
        key: whose.
        positions: `Commit.position` of each value, rising.
        values: in the benchmark's unit; NaN where it failed.
        low, high: the 99 % interval that asv has; NaN where there is none.
    """

    key: SeriesKey
    positions: array[int]
    values: array[float]
    low: array[float]
    high: array[float]

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True)
class ChangePoint:
    """The first commit of a new level in a series.

    Attributes:
        key: the series.
        position: of the first commit with the new level.
        previous: of the last commit that has a value before it.
        before, after: the two levels, in the benchmark's unit.
    """

    key: SeriesKey
    position: int
    previous: int
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """after / before."""
        return self.after / self.before if self.before else float("nan")


@dataclass(frozen=True)
class RunRef:
    """A run file that is kept beside the results: where it is, and the commit of its head."""

    path: Path
    commit: str
    suite: str = ""
    base: str = ""


@dataclass(frozen=True)
class Unreadable:
    """A file that was passed over, and why, in one line."""

    path: Path
    reason: str


class History(Protocol):
    """The index, as pages see it. Everything comes in a fixed order; nothing is computed twice in one process."""

    project: str
    """Its name, or ""."""

    def commits(self) -> tuple[Commit, ...]:
        """Every commit that has a result or a run file, oldest first; `commits()[i].position == i`."""

    def machines(self) -> tuple[Machine, ...]:
        """By name."""

    def environments(self) -> tuple[Environment, ...]:
        """By name."""

    def benchmarks(self) -> tuple[Benchmark, ...]:
        """By name; those without any result, too."""

    def series(self, benchmark: str) -> tuple[Series, ...]:
        """Every series of a benchmark that has at least one value or failure."""

    def change_points(self, benchmark: str) -> tuple[ChangePoint, ...]:
        """Of all series of a benchmark, in both directions, by position."""

    def runs(self) -> tuple[RunRef, ...]:
        """The run files, by the position of their commits."""

    def unreadable(self) -> tuple[Unreadable, ...]:
        """The files that were passed over."""
