"""Which kinds of pages there are. A new kind of page is a line here."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

from windtunnel.history.nouns import History
from windtunnel.site import paths
from windtunnel.site.changelist import change_list
from windtunnel.site.charts import assets, commits_file
from windtunnel.site.classes import class_pages
from windtunnel.site.home import home_page
from windtunnel.site.listing import listing_page
from windtunnel.site.machines import machine_page
from windtunnel.site.page import Around, Page, PageKind, Resource
from windtunnel.site.runpages import run_pages
from windtunnel.site.versus import versus_pages

__all__ = ["KINDS", "all_pages"]


def common(history: History, around: Around) -> Iterator[Resource]:  # noqa: ARG001 - it is a kind of page
    """Files that all pages share."""
    yield Resource(paths.STYLE, (resources.files(__package__) / "static" / "pages.css").read_bytes())
    yield from assets()
    yield commits_file(history.commits())


KINDS: tuple[PageKind, ...] = (
    home_page,
    listing_page,
    versus_pages,
    change_list,
    run_pages,
    machine_page,
    class_pages,
    common,
)


def all_pages(history: History, around: Around) -> Iterator[Page | Resource]:
    """Everything that the site has of a history, kind by kind; the order is that of the navigation."""
    for kind in KINDS:
        yield from kind(history, around)
