"""What the index knows of files, put together: benchmarks, machines, commits, and which results count.

Results count as asv has it: their folder has a machine.json that names the same machine, and their version is the
one that benchmarks.json of the same place has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windtunnel.history.database import Database, trusted
from windtunnel.history.nouns import Benchmark, Environment, Machine, RunRef, Unreadable

__all__ = ["Result", "State", "load"]


@dataclass(frozen=True)
class Result:
    """A file of results that counts: where it is from, and whose it is."""

    place: int
    commit: str
    date: float
    machine: str
    environment: str


@dataclass
class State:
    """Everything but values.

    Attributes:
        benchmarks: by name; where several places define one, the first counts.
        versions: of a benchmark in a place: (place, name) -> version; None where benchmarks.json tells none.
        results: by the number of their file in the index.
        dates: of all commits, milliseconds since the epoch.
    """

    benchmarks: dict[str, Benchmark] = field(default_factory=dict)
    versions: dict[tuple[int, str], str | None] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    environments: dict[str, Environment] = field(default_factory=dict)
    results: dict[int, Result] = field(default_factory=dict)
    dates: dict[str, float] = field(default_factory=dict)
    runs: list[RunRef] = field(default_factory=list)
    unreadable: list[Unreadable] = field(default_factory=list)


def load(database: Database, places: Sequence[Path]) -> State:
    """The state of the index as it is now. Raises as `Database.reading` does."""
    with database.reading() as connection:
        rows = connection.execute(
            "SELECT id, place, name, kind, document, problem FROM file ORDER BY place, name"
        ).fetchall()
    with trusted():
        return _Loader(places).load([_File(*row) for row in rows if row[1] < len(places)])


@dataclass(frozen=True)
class _File:
    id: int
    place: int
    name: str
    kind: str
    text: str
    problem: str

    @property
    def document(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads(self.text)
        return found

    @property
    def folder(self) -> tuple[int, str]:
        return self.place, self.name.rpartition("/")[0]


class _Loader:
    """Goes through the files by kind: machines before results, since results need theirs."""

    def __init__(self, places: Sequence[Path]) -> None:
        self.places = places
        self.state = State()
        self.folders: dict[tuple[int, str], str] = {}
        self.defined: set[tuple[int, str]] = set()

    def load(self, files: Sequence[_File]) -> State:
        for kind, take in (
            ("benchmarks", self._benchmarks),
            ("machine", self._machine),
            ("result", self._result),
            ("run", self._run),
        ):
            for one in files:
                if one.kind == kind:
                    if one.problem:
                        self._pass_over(one, one.problem)
                    else:
                        take(one, one.document)
        self._undefined(files)
        return self.state

    def _path(self, one: _File) -> Path:
        return self.places[one.place] / one.name if one.name else self.places[one.place]

    def _pass_over(self, one: _File, reason: str) -> None:
        self.state.unreadable.append(Unreadable(self._path(one), reason))

    def _benchmarks(self, one: _File, document: Mapping[str, Any]) -> None:
        self.defined.add(one.folder)
        if document["dropped"]:
            self._pass_over(one, document["dropped"])
        for record in document["benchmarks"]:
            self.state.versions[(one.place, record["name"])] = record["version"]
            self.state.benchmarks.setdefault(record["name"], _benchmark(record))

    def _machine(self, one: _File, document: Mapping[str, Any]) -> None:
        self.folders[one.folder] = document["name"]
        self.state.machines.setdefault(document["name"], Machine(document["name"], document["facts"]))

    def _result(self, one: _File, document: Mapping[str, Any]) -> None:
        machine = self.folders.get(one.folder)
        if machine is None:
            self._pass_over(one, "its folder has no machine.json that can be read; asv passes it over as well")
            return
        if machine != document["machine"]:
            self._pass_over(one, "it names another machine than machine.json in its folder does")
            return
        if document["dropped"]:
            self._pass_over(one, document["dropped"])
        machine = self._of_model(machine, document["cpu"])
        result = Result(one.place, document["commit"], document["date"], machine, document["environment"])
        self.state.results[one.id] = result
        self.state.environments[result.environment] = Environment(result.environment, document["facts"])
        self.state.dates[result.commit] = result.date

    def _of_model(self, name: str, cpu: str) -> str:
        """A name that stands for machines of several CPU models (hosted runners) is a machine for each of them."""
        machine = self.state.machines[name]
        if not cpu or cpu == machine.facts.get("cpu", ""):
            return name
        own = f"{name} ({cpu})"
        self.state.machines.setdefault(own, Machine(own, {**machine.facts, "cpu": cpu}))
        return own

    def _run(self, one: _File, document: Mapping[str, Any]) -> None:
        commit, date = document["commit"], document["date"]
        self.state.runs.append(RunRef(self._path(one), commit, document["suite"], document["base"]))
        if commit and date is not None:
            self.state.dates.setdefault(commit, date)

    def _undefined(self, files: Sequence[_File]) -> None:
        """A folder of results without benchmarks.json shows nothing: that has to be said once."""
        for place, folder in sorted({_parent(one.folder) for one in files if one.kind == "result"} - self.defined):
            path = self.places[place] / folder / "benchmarks.json"
            if not any(one.path == path for one in self.state.unreadable):
                reason = "is missing, so nothing of this folder is shown; `asv run --bench just-discover` writes it"
                self.state.unreadable.append(Unreadable(path, reason))


def _parent(folder: tuple[int, str]) -> tuple[int, str]:
    place, name = folder
    return place, name.rpartition("/")[0]


def _benchmark(record: Mapping[str, Any]) -> Benchmark:
    return Benchmark(
        record["name"],
        record["kind"],
        record["unit"],
        tuple(record["param_names"]),
        tuple(tuple(axis) for axis in record["params"]),
        record["version"] or "",
        record["label"],
        record["text"],
    )
