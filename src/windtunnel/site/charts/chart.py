"""What a chart is: a specification, the words that stand for it, and its values as a table. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windtunnel.site.page import Resource

__all__ = ["Chart", "Spec", "Table"]

Spec = dict[str, Any]
"""A Vega-Lite specification, as JSON has it."""


@dataclass(frozen=True)
class Table:
    """The values of a chart as text: what is read where a picture is not.

    `links` has the addresses of cells, by (row, column); only http and https ones are printed as links.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    links: Mapping[tuple[int, int], str] = field(default_factory=dict)


@dataclass(frozen=True)
class Chart:
    """One chart. All texts may be from outside; `figure` escapes them.

    Attributes:
        title: what it shows, in a few words; the figure's caption begins with it.
        spec: Vega-Lite, with its data: what is drawn into the page.
        text: one or two sentences that say what is seen, for those who don't see it.
        table: the values.
        notes: sentences of the caption.
        setup: what the script has to know to draw other views, or None for a chart that has no controls.
        template: what the script draws; for a chart with controls, which has its data from files. Else `spec` itself.
        resources: files that the setup names; their paths are below the plug-in's folder.
    """

    title: str
    spec: Spec
    text: str
    table: Table
    notes: tuple[str, ...] = ()
    setup: Mapping[str, Any] | None = None
    template: Spec | None = None
    resources: Sequence[Resource] = ()
