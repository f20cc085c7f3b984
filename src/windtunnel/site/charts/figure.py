"""A chart in a page: the drawing, its words, its values as a table, and what the script needs."""

from __future__ import annotations

from markupsafe import Markup

from windtunnel.report.visible import visible
from windtunnel.site.charts.chart import Chart, Table
from windtunnel.site.charts.draw import compact, static_svg
from windtunnel.site.html import fill, web_address

__all__ = ["figure"]

_MOST_ROWS = 400
_WORDS = 2000


def figure(chart: Chart, *, id: str) -> Markup:  # noqa: A002 - it is the element's `id`
    """The `<figure>` of a chart. `id` is unique in its page: letters, digits, `-` and `_`.

    The page has to have `Page.charts` set, and the chart's resources have to be handed on. Raises ConfigError where
    the converter is not installed.
    """
    rows = enumerate(chart.table.rows[:_MOST_ROWS])
    return fill(
        "chart.html",
        id=id,
        chart=chart,
        svg=_with_words(static_svg(chart.spec), chart.text),
        rows=[[(cell, _link(chart.table, row, column)) for column, cell in enumerate(cells)] for row, cells in rows],
        more=max(0, len(chart.table.rows) - _MOST_ROWS),
        json=_json(chart),
    )


def _with_words(svg: str, text: str) -> Markup:
    opening = Markup('<svg role="graphics-document document" aria-label="{}" ').format(visible(text, _WORDS))
    return opening + Markup(svg.removeprefix("<svg "))  # noqa: S704 - the converter escapes what it draws


def _json(chart: Chart) -> Markup:
    """Fit for a `<script>` element: nothing in it can end that, or begin a comment."""
    text = compact({"spec": chart.template or chart.spec, "setup": chart.setup})
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))  # noqa: S704


def _link(table: Table, row: int, column: int) -> str:
    return web_address(table.links.get((row, column), ""))
