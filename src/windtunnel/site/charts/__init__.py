"""Charts: a specification made by program, drawn without a browser, and drawn again by the reader's browser."""

from __future__ import annotations

from windtunnel.site.charts.assets import assets, foot, head
from windtunnel.site.charts.chart import Chart, Table
from windtunnel.site.charts.columns import commits_file
from windtunnel.site.charts.draw import cache_in, sweep
from windtunnel.site.charts.figure import figure
from windtunnel.site.charts.history import history_chart
from windtunnel.site.charts.plots import Axis, Bar, Curve, Dot, bars_chart, distribution_chart, dots_chart
from windtunnel.site.charts.scale import Measure, measure_of

__all__ = [
    "Axis",
    "Bar",
    "Chart",
    "Curve",
    "Dot",
    "Measure",
    "Table",
    "assets",
    "bars_chart",
    "cache_in",
    "commits_file",
    "distribution_chart",
    "dots_chart",
    "figure",
    "foot",
    "head",
    "history_chart",
    "measure_of",
    "sweep",
]
