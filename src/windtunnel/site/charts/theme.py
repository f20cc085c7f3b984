"""Colours, shapes and letters of all charts. Pure.

Colours are variables of the style sheet: one drawing serves a light and a dark page, also where no script runs, and
follows the reader's toggle at once. The eight hues are those of Okabe and Ito, each lightened or darkened until it
stands out from its ground (charts.css has them; the tests compute their contrast). Lines differ by dash as well.
"""

from __future__ import annotations

from typing import Any

__all__ = ["AXIS", "BETTER", "DASHES", "FOREGROUND", "GROUND", "LINES", "MOST_LINES", "MUTED", "WORSE", "config"]

MOST_LINES = 8
"""How many lines a chart takes: as many as there are colours that can be told apart."""

LINES = tuple(f"var(--wt-line-{number})" for number in range(1, MOST_LINES + 1))
DASHES = ([1, 0], [6, 2], [2, 2], [8, 2, 2, 2], [4, 4], [10, 3], [1, 3], [6, 2, 1, 2, 1, 2])
FOREGROUND = "var(--wt-ink)"
MUTED = "var(--wt-muted)"
AXIS = "var(--wt-rule)"
GROUND = "var(--wt-ground)"
WORSE = "var(--wt-worse)"
BETTER = "var(--wt-better)"

_LETTERS = 12


_STROKES = {"symbolType": "stroke", "symbolStrokeWidth": 2.5, "symbolSize": 300, "symbolOpacity": 1}


def config() -> dict[str, Any]:
    """The `config` of every specification."""
    letters = {
        "labelColor": FOREGROUND,
        "titleColor": FOREGROUND,
        "labelFontSize": _LETTERS,
        "titleFontSize": _LETTERS,
    }
    return {
        "background": "transparent",
        "font": "sans-serif",
        "view": {"stroke": None},
        "mark": {"aria": False},
        "axis": {
            **letters,
            "aria": False,
            "titleFontWeight": "normal",
            "gridColor": AXIS,
            "domainColor": MUTED,
            "tickColor": MUTED,
        },
        "axisY": {"domain": False, "ticks": False, "titleAngle": 0, "titleAlign": "left", "titleX": 0, "titleY": -10},
        "legend": {**letters, "columnPadding": 18, "aria": False, "title": None, "orient": "bottom", **_STROKES},
        "header": {**letters, "title": None},
        "line": {"strokeWidth": 1.6},
    }
