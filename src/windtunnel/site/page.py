"""What a kind of page hands to the plug-in. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from windtunnel.history.nouns import History

__all__ = ["Around", "Page", "PageKind", "Resource"]


@dataclass(frozen=True)
class Around:
    """What pages have to know besides the history.

    Attributes:
        commit_url: where a commit is shown; its hash is put behind it. "" for no links.
        title: of the site.
        today: seconds since the epoch, for "30 days ago": of the newest commit, so that a site is the same whenever
            it is built.
    """

    commit_url: str
    title: str
    today: float


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        path: below the plug-in's folder, with ".html" ("benchmarks/psgi.Starlet.html"); made by `paths`, never from
            a raw name.
        title: plain text.
        body: HTML, everything from outside escaped.
        section: the navigation's section it belongs to, or "" for a page that is only linked to.
        charts: whether the page needs the charts' script.
        summary: plain text that the site's search finds the page by, besides its title.
    """

    path: str
    title: str
    body: str
    section: str = ""
    charts: bool = False
    summary: str = ""


@dataclass(frozen=True)
class Resource:
    """A file beside the pages: a feed, data of a chart."""

    path: str
    content: bytes


PageKind = Callable[[History, Around], Iterable[Page | Resource]]
"""A kind of page: yields all of its pages."""
