"""An `ExampleHistory` as a folder of asv's results, format 2: what asv would have written for it."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from pathlib import Path
from typing import Any

from example_history import ExampleHistory, combinations

from windtunnel.history.nouns import Benchmark, Series

COLUMNS = ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b"]


def write_results(history: ExampleHistory, folder: Path) -> Path:
    """Write benchmarks.json, and a file per machine, environment and commit."""
    folder.mkdir(parents=True, exist_ok=True)
    known = {one.name: _declared(one) for one in history.benchmarks()}
    (folder / "benchmarks.json").write_text(json.dumps({**known, "version": 2}))
    for machine in history.machines():
        (folder / machine.name).mkdir()
        facts = {"machine": machine.name, **machine.facts, "version": 1}
        (folder / machine.name / "machine.json").write_text(json.dumps(facts))
    for (machine, environment, position), rows in _rows(history).items():
        _write(folder, history, (machine, environment, position), rows)
    return folder


def _declared(one: Benchmark) -> dict[str, Any]:
    code = f'class {one.group.rpartition(".")[2]}:\n    """{one.text}"""\n' if one.text else ""
    return {
        "name": one.name,
        "type": one.kind,
        "unit": one.unit,
        "param_names": list(one.param_names),
        "params": [list(values) for values in one.params],
        "version": one.version,
        "code": code,
    }


def _rows(history: ExampleHistory) -> dict[tuple[str, str, int], dict[str, list[Series]]]:
    rows: dict[tuple[str, str, int], dict[str, list[Series]]] = defaultdict(lambda: defaultdict(list))
    for series in history.series_:
        for position in series.positions:
            rows[series.key.machine, series.key.environment, position][series.key.benchmark].append(series)
    return rows


def _write(folder: Path, history: ExampleHistory, where: tuple[str, str, int], rows: dict[str, list[Series]]) -> None:
    machine, environment, position = where
    commit = history.commits()[position]
    declared = {one.name: one for one in history.benchmarks()}
    results = {name: _columns(declared[name], several, position) for name, several in rows.items()}
    content = {
        "commit_hash": commit.hash,
        "env_name": environment,
        "date": int(commit.date.timestamp() * 1000),
        "params": {"machine": machine, "python": "3.11"},
        "python": "3.11",
        "requirements": {},
        "env_vars": {},
        "result_columns": COLUMNS,
        "results": results,
        "durations": {},
        "version": 2,
    }
    (folder / machine / f"{commit.hash[:8]}-{environment}.json").write_text(json.dumps(content))


def _columns(benchmark: Benchmark, several: list[Series], position: int) -> list[Any]:
    known = {one.key.params: one for one in several}
    cells = [_cell(known.get(params), position) for params in combinations(benchmark)]
    values, low, high = ([cell[number] for cell in cells] for number in range(3))
    return [values, [list(one) for one in benchmark.params], benchmark.version, 0, 1.0, low, high]


def _cell(series: Series | None, position: int) -> tuple[float | None, float | None, float | None]:
    """asv writes null for what failed, and NaN for what was skipped."""
    if series is None or position not in series.positions:
        return math.nan, None, None
    at = series.positions.index(position)
    value = series.values[at]
    return (None, None, None) if math.isnan(value) else (value, series.low[at], series.high[at])
