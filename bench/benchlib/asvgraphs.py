"""What `asv publish` makes of results, and whether a history says the same, value by value."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windtunnel.history.nouns import Benchmark, Environment, History, Series
from windtunnel.history.series import Grid

__all__ = ["Agreement", "agreement", "publish", "results_by_commit", "same_order"]

_Params = Mapping[str, str | None]
_Points = dict[str, float]
"""Values by the hash of their commit."""


def publish(results: Path, repository: Path, folder: Path, branch: str = "main") -> float:
    """Run `asv publish` on these results, into ``folder/html``; returns the seconds it took.

    Raises RuntimeError with asv's own words where it fails.
    """
    (folder / "benchmarks").mkdir(parents=True, exist_ok=True)
    paths = {"results_dir": results, "html_dir": folder / "html", "env_dir": folder / "env"}
    conf = {
        "version": 1,
        "project": "history",
        "repo": str(repository.resolve()),
        "branches": [branch],
        "benchmark_dir": "benchmarks",
        **{key: str(path.resolve()) for key, path in paths.items()},
    }
    (folder / "asv.conf.json").write_text(json.dumps(conf))
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "asv", "publish", "--no-pull"], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"asv publish: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - started


@dataclass
class Agreement:
    """How a history compares with asv's graphs.

    Attributes:
        series: how many were compared that have a value.
        values: how many values are the same in both.
        differences: the first few that are not, in words.
    """

    series: int = 0
    values: int = 0
    differences: list[str] = field(default_factory=list)

    def differ(self, text: str) -> None:
        """Keep it, unless there are enough."""
        if len(self.differences) < 20:
            self.differences.append(text)


def agreement(history: History, html: Path) -> Agreement:
    """Compare every graph that asv has made with the series that it should be.

    Compared are commits that asv has in any of its graphs: it leaves out those that are on none of its branches. A
    failed cell is no value to asv, and neither is it here.
    """
    index = _index(html)
    hashes = {int(revision): name for revision, name in index["revision_to_hash"].items()}
    graphs = {
        (benchmark.name, number): _graph(html, params, benchmark, hashes)
        for benchmark in history.benchmarks()
        for number, params in enumerate(index["graph_param_list"])
    }
    seen = {commit for columns in graphs.values() for points in columns.values() for commit in points}
    found = Agreement()
    for (name, number), columns in graphs.items():
        params = index["graph_param_list"][number]
        ours = {one.key.params: one for one in history.series(name) if _same_place(history, one, params)}
        for combination in columns.keys() | ours.keys():
            theirs = columns.get(combination, {})
            _compare(found, f"{name}{combination}", theirs, _points(history, ours.get(combination), seen))
    return found


def same_order(history: History, html: Path) -> bool:
    """Whether commits come in the order of asv's numbers; for a history that has the repository."""
    numbers = {name: int(number) for number, name in _index(html)["revision_to_hash"].items()}
    found = [numbers[one.hash] for one in history.commits() if one.hash in numbers]
    return found == sorted(found)


def _index(html: Path) -> Any:
    return json.loads((html / "index.json").read_text())


def _compare(found: Agreement, name: str, theirs: _Points, ours: _Points) -> None:
    found.series += bool(theirs)
    for commit in theirs.keys() | ours.keys():
        if theirs.get(commit) == ours.get(commit):
            found.values += 1
        else:
            found.differ(f"{name} at {commit[:8]}: asv has {theirs.get(commit)}, the history {ours.get(commit)}")


def _graph(html: Path, params: _Params, benchmark: Benchmark, hashes: Mapping[int, str]) -> dict[Any, _Points]:
    """A graph of asv's, by combinations of parameters; nothing where it has made none."""
    from asv.graph import Graph

    path = html / f"{Graph.get_file_path(params, benchmark.name)}.json"
    grid = Grid(benchmark.params)
    columns: dict[Any, _Points] = {}
    for revision, value in json.loads(path.read_text()) if path.exists() else ():
        for index, one in enumerate(_cells(value)):
            if one is not None:
                columns.setdefault(grid.at(index), {})[hashes[revision]] = one
    return columns


def _cells(value: Any) -> Sequence[float | None]:
    return value if isinstance(value, list) else [value]


def _points(history: History, series: Series | None, commits: set[str]) -> _Points:
    if series is None:
        return {}
    known = history.commits()
    pairs = zip(series.positions, series.values, strict=True)
    return {known[at].hash: value for at, value in pairs if not math.isnan(value) and known[at].hash in commits}


def _same_place(history: History, series: Series, params: _Params) -> bool:
    """Whether a graph's parameters are those of the series' machine and environment."""
    environment: Environment = next(one for one in history.environments() if one.name == series.key.environment)
    machine = next(one for one in history.machines() if one.name == series.key.machine)
    named = {params.get("machine"), f"{params.get('machine')} ({params.get('cpu')})"}
    facts = {**environment.facts, "cpu": machine.facts.get("cpu", "")}
    return machine.name in named and all((params.get(key) or "") == value for key, value in facts.items())


def results_by_commit(results: Path) -> Iterator[tuple[str, list[Path]]]:
    """The files of results, by the beginning of their commit's hash, which is how asv names them."""
    found: dict[str, list[Path]] = {}
    for path in sorted(results.glob("*/*.json")):
        if path.name != "machine.json":
            found.setdefault(path.name.partition("-")[0], []).append(path)
    yield from found.items()
