"""The index: a history that is read from files of results once, and from then on by what has changed."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from windtunnel.history.database import Damaged, Database, trusted
from windtunnel.history.levels import Levels
from windtunnel.history.nouns import (
    Benchmark,
    ChangePoint,
    Commit,
    Environment,
    Machine,
    RunRef,
    Series,
    Unreadable,
)
from windtunnel.history.order import in_order, told
from windtunnel.history.series import Cells, Grid, series_of
from windtunnel.history.state import State, load
from windtunnel.history.update import Changes, update

__all__ = ["Index", "open_history"]

_T = TypeVar("_T")
_Grids = dict[int, Grid | None]


def open_history(
    results: Sequence[Path],
    index: Path,
    repository: Path | None = None,
    project: str = "",
    tell: Callable[[str], None] = lambda _: None,
) -> Index:
    """A history of what is in `results`, as the index has it; `Index.update` brings that up to date.

    Args:
        results: folders of results (asv's, the results branch, run files) or single run files; see
            `windtunnel.history.places`.
        index: the file of the index, made if need be.
        repository: the project's git repository, which tells the order of commits, subjects, authors and tags.
        project: its name.
        tell: hears what is worth a word: an index that is made anew, a repository that can't be asked.

    Raises:
        ConfigError: the file is a database of something else.
        StorageError: the index can't be opened or made.
    """
    return Index(results, index, repository, project, tell)


class Index:
    """A `History` (which see). Made by `open_history`; updates itself once before it is asked for the first time."""

    def __init__(
        self,
        results: Sequence[Path],
        index: Path,
        repository: Path | None,
        project: str,
        tell: Callable[[str], None],
    ) -> None:
        self.project = project
        self._results = tuple(results)
        self._repository = repository
        self._tell = tell
        self._database = Database(index, tell)
        self._facts: _Facts | None = None
        self._guarded(lambda: None)

    def update(self, tell: Callable[[str], None] | None = None) -> Changes:
        """Read what has changed since the index was brought up to date the last time; all of it, or nothing.

        `tell` hears of it in one line, and of every file that is passed over. Raises as `open_history` does.
        """
        changes = self._guarded(lambda: update(self._database, self._results))
        if changes or self._facts is None:
            self._facts = self._guarded(self._load)
        if tell is not None:
            for line in _told(changes, self._facts.state.unreadable):
                tell(line)
        return changes

    def close(self) -> None:
        """Let go of the file; what is asked for later opens it again."""
        self._database.close()

    # ---------------- the history

    def commits(self) -> tuple[Commit, ...]:
        """See `History`."""
        return self._known.commits

    def machines(self) -> tuple[Machine, ...]:
        """See `History`."""
        return self._known.machines

    def environments(self) -> tuple[Environment, ...]:
        """See `History`."""
        return self._known.environments

    def benchmarks(self) -> tuple[Benchmark, ...]:
        """See `History`."""
        return self._known.benchmarks

    def series(self, benchmark: str) -> tuple[Series, ...]:
        """See `History`."""
        known = self._known
        if benchmark not in known.series:
            known.series[benchmark] = self._guarded(lambda: self._read(benchmark))
        return known.series[benchmark]

    def change_points(self, benchmark: str) -> tuple[ChangePoint, ...]:
        """See `History`. The first call finds those of all benchmarks whose series have changed."""
        known = self._known
        if known.points is None:
            names = [one.name for one in known.benchmarks]
            levels = Levels(self._database)
            known.points = self._guarded(lambda: levels.change_points({name: self.series(name) for name in names}))
        return known.points.get(benchmark, ())

    def runs(self) -> tuple[RunRef, ...]:
        """See `History`."""
        return self._known.runs

    def unreadable(self) -> tuple[Unreadable, ...]:
        """See `History`."""
        return tuple(self._known.state.unreadable)

    # ---------------- reading

    @property
    def _known(self) -> _Facts:
        if self._facts is None:
            self.update()
        assert self._facts is not None
        return self._facts

    def _guarded(self, action: Callable[[], _T]) -> _T:
        """Do it; where the index turns out to be damaged, make it anew and do it once more."""
        try:
            with self._database.reading():
                pass
            return action()
        except Damaged as damage:
            self._database.renew(damage)
            update(self._database, self._results)
            self._facts = self._load()
            return action()

    def _load(self) -> _Facts:
        state = load(self._database, self._results)
        if self._repository is None:
            return _Facts(state, in_order(state.dates, {}, {}))
        known, tags = told(self._database, self._repository, state.dates, self._tell)
        return _Facts(state, in_order(state.dates, known, tags))

    def _read(self, name: str) -> tuple[Series, ...]:
        known = self._known
        benchmark = known.state.benchmarks.get(name)
        if benchmark is None:
            return ()
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT file, version, grid, vals, low, high FROM result "
                "WHERE benchmark = (SELECT id FROM name WHERE text = ?)",
                (name,),
            ).fetchall()
            grids = self._grids(connection.execute("SELECT id, text FROM grid").fetchall) if rows else {}
        with trusted():
            return tuple(self._series(benchmark, rows, grids))

    def _series(self, benchmark: Benchmark, rows: Sequence[tuple[Any, ...]], grids: _Grids) -> Iterator[Series]:
        known = self._known
        groups: dict[tuple[str, str], list[Cells]] = {}
        for file, version, grid, *columns in rows:
            result = known.state.results.get(file)
            if result is None or not known.counts(result.place, benchmark.name, version):
                continue
            cells = Cells(known.positions[result.commit], grids.get(grid), *map(_column, columns))
            groups.setdefault((result.machine, result.environment), []).append(cells)
        current = Grid(benchmark.params)
        for group in sorted(groups):
            yield from series_of(benchmark.name, current, *group, groups[group])

    def _grids(self, fetch: Callable[[], list[tuple[int, str]]]) -> _Grids:
        known = self._known
        if known.grids is None:
            rows = fetch()
            with trusted():
                known.grids = {number: _grid(text) for number, text in rows}
        return known.grids


class _Facts:
    """What is known after an update, and what has been asked for since."""

    def __init__(self, state: State, commits: tuple[Commit, ...]) -> None:
        self.state = state
        self.commits = commits
        self.positions = {one.hash: one.position for one in commits}
        self.series: dict[str, tuple[Series, ...]] = {}
        self.points: dict[str, tuple[ChangePoint, ...]] | None = None
        self.grids: _Grids | None = None

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        return tuple(one for _, one in sorted(self.state.machines.items()))

    @cached_property
    def environments(self) -> tuple[Environment, ...]:
        return tuple(one for _, one in sorted(self.state.environments.items()))

    @cached_property
    def benchmarks(self) -> tuple[Benchmark, ...]:
        return tuple(one for _, one in sorted(self.state.benchmarks.items()))

    @cached_property
    def runs(self) -> tuple[RunRef, ...]:
        last = len(self.commits)
        return tuple(sorted(self.state.runs, key=lambda one: (self.positions.get(one.commit, last), one.path)))

    def counts(self, place: int, name: str, version: str | None) -> bool:
        """Whether results of that version are shown, as asv decides it."""
        key = (place, name)
        return key in self.state.versions and (version is None or version == self.state.versions[key])


def _column(blob: bytes | None) -> array[float] | None:
    return None if blob is None else array("d", blob)


def _grid(text: str) -> Grid | None:
    return Grid(tuple(tuple(axis) for axis in json.loads(text))) if text else None


def _told(changes: Changes, unreadable: Sequence[Unreadable]) -> list[str]:
    counts = [
        f"{len(files)} {what}"
        for what, files in (("new", changes.added), ("changed", changes.changed), ("gone", changes.removed))
        if files
    ]
    lines = [f"files of results: {', '.join(counts)}"] if counts else []
    return [*lines, *(f"{one.path}: {one.reason}" for one in unreadable)]
