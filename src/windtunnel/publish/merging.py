"""Files of the results branch that two recordings have changed at the same time, put together. Pure.

A merge knows three versions: what the branch had when ours was made (None: nothing), ours, and what the branch has by
now. It gives what asv would have written had it recorded both, one after the other.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["Merge", "merged_benchmarks", "merged_calibration", "merged_results", "ours", "theirs"]

Merge = Callable[[bytes | None, bytes, bytes], bytes]

_NAMED = "result_columns"
_WHOLE = {"params", "version", "started_at", "duration", "profile"}
"""The columns of asv's results that say one thing of all parameters together; the others have a list."""

_NOTHING = object()


def ours(_before: bytes | None, own: bytes, _there: bytes) -> bytes:
    """Ours takes the place of what is there."""
    return own


def theirs(_before: bytes | None, _own: bytes, there: bytes) -> bytes:
    """What is there stays."""
    return there


def merged_benchmarks(before: bytes | None, own: bytes, there: bytes) -> bytes:
    """asv's benchmarks.json: what we added, changed or took away is so, all else is theirs."""
    known, mine, found = _object(before), _object(own), _object(there)
    if not mine or not found:
        return own
    changed = {name: one for name, one in mine.items() if one != known.get(name, _NOTHING)}
    gone = known.keys() - mine.keys()
    kept = {name: one for name, one in found.items() if name not in gone}
    return json.dumps({**kept, **changed}, indent=4, sort_keys=True).encode()


def merged_results(before: bytes | None, own: bytes, there: bytes) -> bytes:
    """asv's results of a commit: for each benchmark and each combination of its parameters what we measured, else
    theirs.
    """
    known, mine, found = _object(before), _object(own), _object(there)
    if not mine or not found or mine.get("commit_hash") != found.get("commit_hash"):
        return own
    tables = [_table(one) for one in (known, mine, found)]
    rows = {name: _row(name, *tables) for name in {**tables[2], **tables[1]}}
    columns = mine[_NAMED] if isinstance(mine.get(_NAMED), list) else []
    durations = {**_sub(found, "durations"), **_sub(mine, "durations")}
    results = {name: _trimmed([row.get(column) for column in columns]) for name, row in rows.items()}
    return json.dumps({**found, **mine, "results": results, "durations": durations}).encode()


def merged_calibration(_before: bytes | None, own: bytes, there: bytes) -> bytes:
    """The plans of every machine; of a case that both have on one kind of machine, ours."""
    mine, found = _object(own), _object(there)
    if not found or mine.get("version") != found.get("version"):
        return own
    machines: dict[tuple[str, str], dict[str, Any]] = {}
    for one in (*_list(found, "machines"), *_list(mine, "machines")):
        key = (str(one.get("cpu_model")), str(one.get("cores")))
        cases = {**_sub(machines.get(key, {}), "cases"), **_sub(one, "cases")}
        machines[key] = {**one, "cases": cases}
    return (json.dumps({**mine, "machines": list(machines.values())}, indent=2) + "\n").encode()


# ---------------- asv's tables


def _table(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The results by benchmark, each by column. (asv leaves out what is null at the end of a row.)"""
    columns = document.get(_NAMED)
    if not isinstance(columns, list):
        return {}
    rows = _sub(document, "results")
    return {name: dict(zip(columns, row, strict=False)) for name, row in rows.items() if isinstance(row, list)}


Table = Mapping[str, Mapping[str, Any]]


def _row(name: str, known: Table, mine: Table, found: Table) -> Mapping[str, Any]:
    before, own, there = known.get(name, {}), mine.get(name), found.get(name)
    if own is None or there is None or _same(own, before):
        return there if there is not None else own or {}
    if _same(there, before) or any(own.get(key) != there.get(key) for key in ("version", "params")):
        return own
    return _cells(before if before.get("params") == own.get("params") else {}, own, there)


def _cells(before: Mapping[str, Any], own: Mapping[str, Any], there: Mapping[str, Any]) -> Mapping[str, Any]:
    """Both have measured it with the same parameters: for each combination, ours where we have something new."""
    count = math.prod(len(values) for values in own.get("params") or [])
    columns = [*dict.fromkeys([*before, *there, *own])]
    mine = [_is_new(*(_cell(one, columns, at) for one in (before, own))) for at in range(count)]
    row: dict[str, Any] = {}
    for column in columns:
        if column in _WHOLE:
            row[column] = own.get(column)
            continue
        values = [_at(own if new else there, column, at) for at, new in enumerate(mine)]
        row[column] = None if all(value is None for value in values) else values
    return row


def _cell(row: Mapping[str, Any], columns: Sequence[str], at: int) -> dict[str, Any]:
    return {column: _at(row, column, at) for column in columns if column not in _WHOLE} if row else {}


def _at(row: Mapping[str, Any], column: str, at: int) -> Any:
    values = row.get(column)
    return values[at] if isinstance(values, list) and at < len(values) else None


def _is_new(before: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Whether it is something that was measured, or failed; NaN is neither."""
    result = own.get("result")
    untried = isinstance(result, float) and math.isnan(result)
    return not untried and not (before and _same(own, before))


def _same(one: Any, other: Any) -> bool:
    """Equal, where NaN equals NaN."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _trimmed(row: Sequence[Any]) -> list[Any]:
    kept = list(row)
    while kept and kept[-1] is None:
        kept.pop()
    return kept


# ---------------- JSON


def _object(content: bytes | None) -> dict[str, Any]:
    """What a file holds; {} where it is no JSON object."""
    try:
        found = json.loads(content or b"null")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _sub(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def _list(document: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = document.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
