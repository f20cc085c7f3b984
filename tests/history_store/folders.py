"""asv results folders made by program: small, and as asv writes them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COLUMNS = [
    "result",
    "params",
    "version",
    "started_at",
    "duration",
    "stats_ci_99_a",
    "stats_ci_99_b",
    "stats_q_25",
    "stats_q_75",
    "stats_number",
    "stats_repeat",
    "samples",
    "profile",
]
DAY = 86_400_000
START = 1_700_000_000_000


def commit(number: int) -> str:
    """A hash that is like no other."""
    return f"{number + 1:08x}" * 5


@dataclass
class Folder:
    """A results folder that is being written."""

    path: Path
    benchmarks: dict[str, dict[str, Any]] = field(default_factory=dict)

    def define(self, name: str, params: Sequence[Sequence[str]] = (), version: str = "1", **more: Any) -> Folder:
        """A benchmark, in benchmarks.json."""
        names = [f"param{number}" for number in range(1, len(params) + 1)]
        self.benchmarks[name] = {
            "name": name,
            "type": "time",
            "unit": "seconds",
            "version": version,
            "params": [list(axis) for axis in params],
            "param_names": names,
            "code": "",
            **more,
        }
        self.write("benchmarks.json", {**self.benchmarks, "version": 2})
        return self

    def machine(self, name: str = "box", **facts: str) -> Folder:
        """A machine's folder."""
        self.write(f"{name}/machine.json", {"machine": name, "cpu": "Z80", "version": 1, **facts})
        return self

    def result(self, number: int, rows: Mapping[str, list[Any]], **more: Any) -> Path:
        """A file of results of `commit(number)`, a day after the one before."""
        machine, environment = more.pop("machine", "box"), more.pop("environment", "py3.11")
        document = {
            "commit_hash": commit(number),
            "env_name": environment,
            "date": START + number * DAY,
            "params": {"machine": machine, "cpu": "Z80", "python": "3.11"},
            "python": "3.11",
            "requirements": {},
            "env_vars": {},
            "result_columns": COLUMNS,
            "results": dict(rows),
            "durations": {},
            "version": 2,
            **more,
        }
        return self.write(f"{machine}/{commit(number)[:8]}-{environment}.json", document)

    def write(self, name: str, document: Any) -> Path:
        """Anything, anywhere in the folder."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path


def row(
    result: list[Any] | None,
    params: Sequence[Sequence[str]] = (),
    version: str | None = "1",
    ends: tuple[list[Any], list[Any]] | None = None,
) -> list[Any]:
    """What asv writes for a benchmark: columns at the end that hold nothing are left out."""
    columns = [result, [list(axis) for axis in params], version]
    return columns if ends is None else [*columns, START, 1.0, *ends]


def plain(path: Path) -> Folder:
    """A folder with one machine and one benchmark without parameters, "m.time_it"."""
    return Folder(path).machine().define("m.time_it")


def same(found: Sequence[float], expected: Sequence[float]) -> bool:
    """Whether they are equal, a NaN to a NaN."""
    pairs = zip(found, expected, strict=True)
    return all(one == other or (math.isnan(one) and math.isnan(other)) for one, other in pairs)
