"""The plug-in of MkDocs: `plugins: - windtunnel`. It adds the pages of a history to a site."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from markupsafe import Markup
from mkdocs.config import config_options as option
from mkdocs.config.base import Config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page as MkDocsPage

from windtunnel.errors import WindtunnelError
from windtunnel.report.visible import visible
from windtunnel.site import rundigests
from windtunnel.site.asvpages import copy_asv
from windtunnel.site.charts import cache_in, sweep
from windtunnel.site.kinds import all_pages
from windtunnel.site.mount import Mounted, framed, mount, plain
from windtunnel.site.progress import counted
from windtunnel.site.source import Source, beside, find_source, top_of

__all__ = ["Options", "WindtunnelPlugin"]

_LAST = -1000
"""Behind every other plug-in: what looks at contents, as the search does, has looked by then."""


_NAMELESS = '<div class="md-search" data-md-component="search" role="dialog">'


class Options(Config):
    """What mkdocs.yml may say below `windtunnel`.

    Attributes:
        results: folder or folders of asv results (or of a results branch's checkout), relative to mkdocs.yml; without
            it those of the suite that mkdocs.yml belongs to.
        index: where the index of the results is kept.
        repository: the project's git repository, for order, subjects and tags of commits.
        folder: where the pages are in the site.
        commit_url: address to which a commit's hash is added; without it `repo_url` and "/commit/".
        title: what the pages call the project.
        asv: a folder that `asv publish` has written, to be had at asv/ of the site.
    """

    results = option.Type((str, list), default="")
    index = option.Type(str, default="")
    repository = option.Type(str, default="")
    folder = option.Type(str, default="performance")
    commit_url = option.Type(str, default="")
    title = option.Type(str, default="")
    asv = option.Type(str, default="")


class WindtunnelPlugin(BasePlugin[Options]):
    """The pages of a history in a site of MkDocs."""

    def __init__(self) -> None:
        self._mounted = Mounted()
        self._source: Source | None = None
        self._log: logging.LoggerAdapter[Any] | logging.Logger = get_plugin_logger("windtunnel")

    def on_files(self, files: Files, /, *, config: MkDocsConfig) -> Files:
        """Add the pages."""
        with _as_plugin_error():
            self._source = find_source(self.config, config)
            self._log.info("reading results; those that are new take a while")
            history, around = self._source.open(self._log.info)
            cache_in(self._source.index.parent / "drawings")
            rundigests.cache_in(self._source.index.parent / "digests")
            pages = counted(all_pages(history, around), self._log.info)
            self._mounted = mount(pages, files, config, self._source.folder)
            history.close()
        sweep()
        rundigests.sweep()
        self._log.info(f"{len(self._mounted)} pages of results in {self._source.folder or 'the top folder'}")
        return files

    def on_page_markdown(self, markdown: str, /, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG002
        """Tell MkDocs the title of a page of ours."""
        if ours := self._mounted.pages.get(page.file.src_uri):
            page.title = plain(ours.title)
            page.meta["hide"] = ["toc"]  # tables and charts need the room
        return markdown

    def on_page_content(self, html: str, /, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG002
        """What the search finds of a page of ours: its title and its first words, not its figures."""
        if ours := self._mounted.pages.get(page.file.src_uri):
            words = (visible(ours.title), visible(ours.summary, 1000))
            return str(Markup('<h1 id="top">{}</h1>\n<p>{}</p>').format(*words))
        return html

    @event_priority(_LAST)
    def on_page_context(self, context: Any, /, *, page: MkDocsPage, config: MkDocsConfig, nav: Any) -> Any:  # noqa: ARG002
        """Put the body in."""
        if ours := self._mounted.pages.get(page.file.src_uri):
            page.content = framed(ours)
        return context

    def on_post_page(self, output: str, /, *, page: MkDocsPage, config: MkDocsConfig) -> str:  # noqa: ARG002
        """Give the theme's search dialog the name that it lacks: who hears a page hears what has opened."""
        return _named(output)

    def on_post_template(self, output_content: str, /, *, template_name: str, config: MkDocsConfig) -> str:  # noqa: ARG002
        """The same for what is no page: 404.html."""
        return _named(output_content)

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Put asv's own pages beside ours, where they are asked for."""
        if self.config.asv:
            with _as_plugin_error():
                copy_asv(beside(top_of(config), self.config.asv), Path(config.site_dir))

    def on_serve(self, server: LiveReloadServer, /, **_: Any) -> LiveReloadServer:
        """Build again when results come in."""
        for folder in self._source.results if self._source else ():
            if folder.is_dir():
                server.watch(str(folder))
        return server


def _named(output: str) -> str:
    return output.replace(_NAMELESS, f'{_NAMELESS[:-1]} aria-label="Search">', 1)


@contextmanager
def _as_plugin_error() -> Iterator[None]:
    """What a user can put right is told without a traceback."""
    try:
        yield
    except WindtunnelError as error:
        raise PluginError(visible(str(error), 1000)) from error
