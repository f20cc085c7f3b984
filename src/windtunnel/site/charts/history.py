"""The chart of a class over its commits. Pure.

The specification has its values in named data sets, so that the script fills in those of another view. Absolute
values are drawn within one machine only: a view is of one place, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from windtunnel.history.nouns import Benchmark, ChangePoint, Commit, History
from windtunnel.report.visible import visible
from windtunnel.site.charts import theme
from windtunnel.site.charts.chart import Chart, Spec, Table
from windtunnel.site.charts.columns import COMMITS, data_files, index_path
from windtunnel.site.charts.layers import history_spec, logarithmic, ticks
from windtunnel.site.charts.machines import machine_changes
from windtunnel.site.charts.scale import Measure, Scale, measure_of, rounded
from windtunnel.site.charts.view import (
    Line,
    View,
    far_apart,
    first_shown,
    first_view,
    lines_of,
    point_rows,
    shown_values,
)
from windtunnel.site.groups import Group
from windtunnel.site.html import commit_address, web_address
from windtunnel.site.page import Around
from windtunnel.units import Direction, format_change

__all__ = ["history_chart"]

_HEIGHT = 300
_TICKS = 6
_SHORT = 8
_TABLE = 20
_VISIBLE_POINTS = 300
"""With more values than that, the points of a line would hide it."""


def history_chart(history: History, group: Group, around: Around, folder: str) -> Chart | None:
    """The chart of a class, with its data files; None where nothing was measured.

    `folder` is where its data files go, below the plug-in's folder ("data/psgi.Starlet"); no two classes have the
    same. `columns.commits_file` has to be written once for all classes.
    """
    view = first_view(group)
    if view is None:
        return None
    drawn = _Drawn(history, group, around, view)
    return Chart(
        title=f"{group.name}: {_name(view.benchmark)}",
        spec=drawn.spec(),
        template=drawn.template(),
        text=drawn.words(),
        table=drawn.table(),
        notes=tuple(drawn.notes()),
        setup=drawn.setup(folder),
        resources=tuple(data_files(group, folder)),
    )


class _Drawn:
    """One view of a class, with all that its parts have in common."""

    def __init__(self, history: History, group: Group, around: Around, view: View) -> None:
        self.group = group
        self.around = around
        self.view = view
        self.commits = history.commits()
        self.cpus = {one.name: one.cpu_model for one in history.machines()}
        self.lines = lines_of(view, group.series[view.benchmark.name])
        self.first = first_shown(self.lines, view.newest)
        self.measure = measure_of(view.benchmark)
        self.scale = self.measure.scale(value for line in self.lines for value in line.series.values)
        self.log = far_apart(self.lines)
        self.machine_changes = machine_changes(group.everything, self.cpus)

    def template(self) -> Spec:
        """The chart without its values."""
        return history_spec(_title(self.view.benchmark, self.scale), [line.label for line in self.lines])

    def spec(self) -> Spec:
        """The chart with its values. A layer without any would only say so in the console."""
        spec, sets = self.template(), self._sets()
        spec = logarithmic(spec) if self.log else spec
        spec["layer"] = [
            layer for layer in spec["layer"] if sets[layer["data"]["name"]] and self._is_shown(layer, sets)
        ]
        shown = sorted({row["x"] for name in ("points", "failed") for row in sets[name]})
        if not all(row["h"] for row in sets["changes"]):
            for layer in spec["layer"]:  # the converter makes a link of its own out of no address
                layer["encoding"].pop("href", None)
        spec["encoding"]["x"]["axis"] |= ticks(shown, self.commits)
        return {**spec, "datasets": sets}

    def _is_shown(self, layer: Spec, sets: Mapping[str, Sequence[Any]]) -> bool:
        return layer.get("name") != "values" or len(sets["points"]) <= _VISIBLE_POINTS

    def _sets(self) -> dict[str, list[dict[str, Any]]]:
        rows = [row for line in self.lines for row in point_rows(line, self.first, self.scale)]
        shown = {row["x"] for row in rows}
        return {
            "points": [row for row in rows if "v" in row],
            "failed": [row for row in rows if "v" not in row],
            "changes": [self._change_row(line, point) for line, point in self._changes()],
            "machines": [{"x": at, "t": text} for at, text in self.machine_changes if at in shown],
        }

    def _changes(self) -> Iterator[tuple[Line, ChangePoint]]:
        by_key = {line.series.key: line for line in self.lines}
        for point in self.group.change_points:
            if point.key in by_key and point.position >= self.first:
                yield by_key[point.key], point

    def _change_row(self, line: Line, point: ChangePoint) -> dict[str, Any]:
        commit = self.commits[point.position]
        row = {
            "x": point.position,
            "v": rounded(point.after / self.scale.size),
            "l": line.label,
            "u": point.after > point.before,
            "w": is_worse(point, self.view.benchmark),
            "t": self._change_words(line, point),
        }
        return {**row, "h": commit_address(commit, self.around) or None}

    def _change_words(self, line: Line, point: ChangePoint) -> str:
        commit = self.commits[point.position]
        better = "worse" if is_worse(point, self.view.benchmark) else "better"
        change = f"{self.measure.text(point.before)} to {self.measure.text(point.after)}"
        words = f"{line.label}: {format_change(point.ratio)} ({better}), {change}, since {commit.hash[:_SHORT]}"
        return visible(f"{words} of {_day(commit)} {commit.subject}")

    def words(self) -> str:
        """What is seen, in words: where each line begins and ends, and where it changed."""
        lines = "; ".join(self._line_words(line) for line in self.lines)
        changes = list(self._changes())
        found = f"{len(changes)} change points are marked." if changes else "No change point is marked."
        return f"{_name(self.view.benchmark)} by commit, a line for each of {len(self.lines)}: {lines}. {found}"

    def _line_words(self, line: Line) -> str:
        known = [
            value
            for at, value in zip(line.series.positions, line.series.values, strict=True)
            if at >= self.first and math.isfinite(value)
        ]
        if not known:
            return f"{line.label} has no value"
        ends = f"{self.measure.text(known[0])} to {self.measure.text(known[-1])}"
        return f"{line.label} from {ends}"

    def table(self) -> Table:
        """The newest commits, a column for each line."""
        known = set().union(*(line.series.positions for line in self.lines))
        newest = sorted((at for at in known if at >= self.first), reverse=True)[:_TABLE]
        columns = [_cells(line, newest, self.measure) for line in self.lines]
        rows = [(self._commit_cell(at), *(cells.get(at, "") for cells in columns)) for at in newest]
        links = {(row, 0): commit_address(self.commits[at], self.around) for row, at in enumerate(newest)}
        return Table(("commit", *(line.label for line in self.lines)), tuple(rows), links)

    def _commit_cell(self, position: int) -> str:
        commit = self.commits[position]
        return f"{_day(commit)} {commit.hash[:_SHORT]}"

    def notes(self) -> Iterator[str]:
        """What the picture can't say itself."""
        place = self.view.place
        cpu = self.cpus.get(place.machine, place.machine)
        where = place.machine if cpu == place.machine else f"{place.machine} ({cpu})"
        yield f"{_fixed(self.view)}Measured on {where}, {place.environment}."
        if self.machine_changes:
            yield "Other machines measured, too: values of different CPU models are not drawn together."

    def setup(self, folder: str) -> dict[str, Any]:
        """What the script needs to make every other view."""
        keys = [one.key for one in self.group.everything]
        machines = sorted({key.machine for key in keys})
        environments = sorted({key.environment for key in keys})
        return {
            "kind": "history",
            "group": visible(self.group.name),
            "index": index_path(folder),
            "folder": folder,
            "commits": COMMITS,
            "commitUrl": web_address(self.around.commit_url),
            "machines": [[visible(name), visible(self.cpus.get(name, name))] for name in machines],
            "environments": [visible(name) for name in environments],
            "machineChanges": [[at, text] for at, text in self.machine_changes],
            "metrics": [_metric_setup(one) for one in self.group.benchmarks],
            "look": {"color": list(theme.LINES), "strokeDash": [list(dash) for dash in theme.DASHES]},
            "view": self._view_setup(machines, environments),
        }

    def _view_setup(self, machines: Sequence[str], environments: Sequence[str]) -> dict[str, Any]:
        return {
            "metric": self.group.benchmarks.index(self.view.benchmark),
            "chosen": [list(values) for values in self.view.chosen],
            "machine": machines.index(self.view.place.machine),
            "environment": environments.index(self.view.place.environment),
            "newest": self.view.newest,
            "log": self.log,
        }


def is_worse(point: ChangePoint, benchmark: Benchmark) -> bool:
    """Whether a change point is in the direction that nobody wants."""
    return (point.after > point.before) == (benchmark.direction is Direction.LOWER_IS_BETTER)


def _cells(line: Line, wanted: Sequence[int], measure: Measure) -> Mapping[int, str]:
    one = line.series
    columns = zip(one.positions, one.values, one.low, one.high, strict=True)
    oldest = wanted[-1] if wanted else 0
    return {at: _cell(value, low, high, measure) for at, value, low, high in columns if at >= oldest}


def _cell(value: float, low: float, high: float, measure: Measure) -> str:
    if not math.isfinite(value):
        return "failed"
    ends = f" [{measure.text(low)}, {measure.text(high)}]" if math.isfinite(low) and math.isfinite(high) else ""
    return measure.text(value) + ends


def _fixed(view: View) -> str:
    """The parameters that are the same for all lines."""
    texts = shown_values(view.benchmark)
    parts = [
        f"{visible(name, 40)} {texts[axis][chosen[0]]}"
        for axis, (name, chosen) in enumerate(zip(view.benchmark.param_names, view.chosen, strict=False))
        if len(chosen) == 1
    ]
    return f"Of {', '.join(parts)}. " if parts else ""


def _metric_setup(benchmark: Benchmark) -> dict[str, Any]:
    names = [visible(name, 40) for name in benchmark.param_names]
    return {
        "name": visible(benchmark.metric, 60),
        "label": _name(benchmark),
        "measure": measure_of(benchmark).setup(),
        "better": benchmark.direction.value,
        "axes": [[name, values] for name, values in zip(names, shown_values(benchmark), strict=False)],
    }


def _title(benchmark: Benchmark, scale: Scale) -> str:
    name = _name(benchmark)
    return f"{name} ({scale.name})" if scale.name else name


def _name(benchmark: Benchmark) -> str:
    return visible(benchmark.label or benchmark.metric, 60)


def _day(commit: Commit) -> str:
    return commit.date.date().isoformat()
