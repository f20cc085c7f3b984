"""The rows of asv's result files -> columns of doubles, for both formats that asv has written. Pure."""

from __future__ import annotations

import json
import math
import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from windtunnel.history.texts import BadFile, grid_of, shown, size_of, text

__all__ = ["ABSENT", "Row", "read_rows"]

ABSENT = math.inf
"""Among values: nothing was measured there (a skipped cell, or one that the file does not have). A failure is NaN."""

_COLUMNS = ("result", "params", "version", "stats_ci_99_a", "stats_ci_99_b")


@dataclass(frozen=True)
class Row:
    """The results of one benchmark in a file, one value for each combination of its own parameters, in their order.

    Attributes:
        name: the benchmark.
        version: the benchmark's at that time; None where the file tells none.
        grid: its parameters then, as JSON (``[["1","2"],["'a'"]]``); "" where the file does not tell them.
        values: doubles as bytes, `ABSENT` and NaN as said there; None where all of it failed. What is missing at the
            end is absent.
        low, high: ends of the 99 % intervals, as many as there are values, NaN where there is none; None where no
            value has one.
    """

    name: str
    version: str | None
    grid: str
    values: bytes | None
    low: bytes | None
    high: bytes | None


def read_rows(document: Mapping[str, Any], dropped: list[str]) -> list[Row]:
    """The results in a file; reasons for what is left out are put into `dropped`. Raises BadFile."""
    results = document.get("results")
    if not isinstance(results, dict):
        raise BadFile("results is not an object")
    pick = _picker(document)
    rows = []
    for name, record in results.items():
        try:
            rows.append(_row(text(name, "a name"), pick(name, record)))
        except BadFile as error:
            dropped.append(f"{shown(name)}: {error}")
    return rows


_Fields = tuple[Any, Any, Any, Any, Any]
"""result, params, version, stats_ci_99_a, stats_ci_99_b"""


def _picker(document: Mapping[str, Any]) -> Callable[[str, Any], _Fields]:
    if document["version"] == 1:
        versions = document.get("benchmark_version")
        known = versions if isinstance(versions, dict) else {}
        return lambda name, record: _of_format_1(record, known.get(name))
    columns = document.get("result_columns")
    if not isinstance(columns, list) or "result" not in columns:
        raise BadFile("result_columns names no column of results")
    where = [columns.index(name) if name in columns else -1 for name in _COLUMNS]
    return lambda _name, record: _of_format_2(record, where)


def _of_format_2(record: Any, where: Sequence[int]) -> _Fields:
    if not isinstance(record, list):
        raise BadFile("its results are no list")
    size = len(record)
    result, params, version, low, high = (record[at] if 0 <= at < size else None for at in where)
    return result, params, version, low, high


def _of_format_1(record: Any, version: Any) -> _Fields:
    if not isinstance(record, dict):
        return [record], [], version, None, None
    result = record.get("result")
    result = result if isinstance(result, list) else [result]
    stats = record.get("stats")
    stats = stats if isinstance(stats, list) else [stats]
    ends = [_ends_of_format_1(one) for one in stats]
    return result, record.get("params", []), version, [one[0] for one in ends], [one[1] for one in ends]


def _ends_of_format_1(stats: Any) -> tuple[Any, Any]:
    ends = stats.get("ci_99") if isinstance(stats, dict) else None
    return (ends[0], ends[1]) if isinstance(ends, list) and len(ends) == 2 else (None, None)


def _row(name: str, fields: _Fields) -> Row:
    result, params, version, low, high = fields
    version = None if version is None else text(version, "version")
    written, size = _grid(json.dumps(params, separators=(",", ":"))) if params is not None else ("", None)
    if result is None:
        return Row(name, version, written, None, None, None)
    if size is None:
        raise BadFile("it has results, but not the parameters they are of")
    if not isinstance(result, list):
        raise BadFile("its results are no list")
    most = min(size, len(result))
    return Row(name, version, written, _values(result[:most]).tobytes(), _interval(low, most), _interval(high, most))


@lru_cache(maxsize=1024)
def _grid(written: str) -> tuple[str, int]:
    """A grid within bounds, and its size. The files of a project have the same few hundreds, over and over."""
    grid = grid_of(json.loads(written))
    return json.dumps(grid, separators=(",", ":")), size_of(grid)


def _values(found: list[Any]) -> array[float]:
    """null is a failure, NaN a skipped cell; what is no number at all is a failure as well."""
    plain = _plain(found)
    if plain is not None:
        return plain
    return array("d", [ABSENT if value != value else _number(value) for value in found])  # noqa: PLR0124 - NaN


def _interval(found: Any, size: int) -> bytes | None:
    """Ends that are infinite, which asv has where values are too few, are none."""
    if not isinstance(found, list):
        return None
    ends = _plain(found[:size]) or array("d", map(_number, found[:size]))
    ends.extend([math.nan] * (size - len(ends)))
    return None if all(map(math.isnan, ends)) else ends.tobytes()


def _plain(found: list[Any]) -> array[float] | None:
    """The numbers, if they are all finite: most lists are, and this is what is fast."""
    try:
        values = array("d", found)
    except (TypeError, OverflowError, struct.error):
        return None
    return values if math.isfinite(sum(values)) else None


def _number(value: Any) -> float:
    """A finite number, or NaN."""
    if type(value) is float:
        return value if -math.inf < value < math.inf else math.nan
    if not isinstance(value, int):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.nan
