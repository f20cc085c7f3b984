"""Levels and change points of series, found once and kept in the index.

asv's own step detection finds the levels (`asv.step_detect`, with the weights that asv gives: the inverse of an
interval's width). What counts as a change is ours, since asv looks for slower only.
"""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from windtunnel.history.changes import THRESHOLD, Level, changes
from windtunnel.history.database import Database, trusted
from windtunnel.history.nouns import ChangePoint, Series
from windtunnel.history.pool import each

__all__ = ["Levels", "detect"]

_Key = tuple[str, str, str]
"""benchmark, machine, environment"""

_Kept = dict[str, list[list[float]]]
"""Levels by what they were found from."""

_WORK_OF_A_VALUE = 2_000
"""Detection takes about as long for a value as reading so many bytes of a file does."""


class Levels:
    """What is kept of levels in an index."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def change_points(self, series: Mapping[str, Sequence[Series]]) -> dict[str, tuple[ChangePoint, ...]]:
        """Of all series of each benchmark, by position. Raises as `Database` does."""
        groups = {key: list(group) for one in series.values() for key, group in groupby(one, _group)}
        before = self._read()
        wanted = {key: [(_digest(one), one) for one in group] for key, group in groups.items()}
        found = _detected(wanted, before)
        after = {key: {digest: found[digest] for digest, _ in group} for key, group in wanted.items()}
        self._write(before, after)
        return {
            name: tuple(sorted(_points(ones, found), key=lambda point: (point.position, point.key)))
            for name, ones in series.items()
        }

    def _read(self) -> dict[_Key, _Kept]:
        with self.database.reading() as connection:
            rows = connection.execute("SELECT benchmark, machine, environment, document FROM level").fetchall()
        with trusted():
            return {
                (benchmark, machine, environment): json.loads(text) for benchmark, machine, environment, text in rows
            }

    def _write(self, before: Mapping[_Key, _Kept], after: Mapping[_Key, _Kept]) -> None:
        gone = [key for key in before if key not in after]
        new = [(*key, json.dumps(kept)) for key, kept in after.items() if before.get(key) != kept]
        if not gone and not new:
            return
        with self.database.writing() as connection:
            connection.executemany("DELETE FROM level WHERE benchmark = ? AND machine = ? AND environment = ?", gone)
            connection.executemany("INSERT OR REPLACE INTO level VALUES (?, ?, ?, ?)", new)


def _group(one: Series) -> _Key:
    return one.key.benchmark, one.key.machine, one.key.environment


def _digest(one: Series) -> str:
    """Of what detection sees: not of positions, which a commit in between moves."""
    state = hashlib.blake2b(one.values.tobytes(), digest_size=12)
    state.update(one.low.tobytes())
    state.update(one.high.tobytes())
    return state.hexdigest()


def _detected(wanted: Mapping[_Key, Sequence[tuple[str, Series]]], before: Mapping[_Key, _Kept]) -> _Kept:
    found: _Kept = {}
    jobs: list[tuple[str, Series]] = []
    for key, group in wanted.items():
        kept = before.get(key, {})
        for digest, one in group:
            if digest in kept:
                found[digest] = kept[digest]
            elif digest not in found:
                found[digest] = []
                jobs.append((digest, one))
    work = _WORK_OF_A_VALUE * sum(len(one) for _, one in jobs)
    arguments = [(one.values, one.low, one.high) for _, one in jobs]
    for (digest, _), levels in zip(jobs, each(detect, arguments, work), strict=True):
        found[digest] = levels
    return found


def detect(values: array[float], low: array[float], high: array[float]) -> list[list[float]]:
    """The levels of a series: index of the first value, index behind the last one, level, mean distance from it.

    None where no two values are so far from each other that a change could be between them: levels are medians.
    """
    from asv.step_detect import detect_steps

    measured = [value for value in values if math.isfinite(value)]
    if len(measured) < 2 or 0 < max(measured) <= (1 + THRESHOLD) * min(measured):
        return []
    weights = [_weight(*ends) for ends in zip(low, high, strict=True)]
    steps: Iterable[Any] = detect_steps(list(values), weights)
    return [[left, right, level, error] for left, right, level, _, error in steps]


def _weight(low: float, high: float) -> float | None:
    """As asv weighs a value; None where it has no interval, or one without width."""
    width = abs(high - low)
    return 2 / width if width > 0 and math.isfinite(width) else None


def _points(series: Sequence[Series], found: _Kept) -> Iterable[ChangePoint]:
    for one in series:
        levels = [Level(int(left), int(right), level, error) for left, right, level, error in found[_digest(one)]]
        for change in changes(levels):
            yield ChangePoint(
                one.key,
                one.positions[change.index],
                one.positions[change.previous],
                change.before,
                change.after,
            )
