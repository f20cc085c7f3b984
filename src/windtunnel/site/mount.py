"""Pages into MkDocs: as generated files, past its Markdown, and into the navigation.

MkDocs gets an empty source for each page. The body is put in once everything else that looks at contents has run, so
a page of a thousand rows costs neither the Markdown parser nor the search index anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.utils import nest_paths

from windtunnel.errors import ConfigError
from windtunnel.report.visible import visible
from windtunnel.site import paths
from windtunnel.site.charts import foot, head
from windtunnel.site.page import Page, Resource

__all__ = ["Mounted", "framed", "mount", "plain"]

_MARKUP = str.maketrans({"<": "‹", ">": "›", "&": "＆", '"': "”", "'": "’", "`": "‘"})

SECTION = "Performance"
"""The navigation's section of pages that tell no other."""


@dataclass
class Mounted:
    """The pages of one build, by the path of their source."""

    pages: dict[str, Page] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.pages)


def plain(title: str) -> str:
    """A title that means nothing to HTML, however a theme treats it: material unescapes titles in one of its places.

    Names of benchmarks have none of these characters but with an intent; the page's own heading shows them.
    """
    return visible(title, 150).translate(_MARKUP)


def framed(page: Page) -> str:
    """The body of a page with what all pages of ours have around it."""
    root = paths.relative(page.path, ".")
    style = Markup('<link rel="stylesheet" href="{}/{}">').format(root, paths.STYLE)
    parts = [style, head(root), Markup('<div class="wt-page">'), Markup(page.body), Markup("</div>"), foot(root)]  # noqa: S704
    return "\n".join(parts if page.charts else [style, *parts[2:-1]])


def mount(items: Iterable[Page | Resource], files: Files, config: MkDocsConfig, folder: str) -> Mounted:
    """Add all pages and files to a build, below `folder` ("" for the top), and to its navigation.

    Raises ConfigError where the project has a page of its own in such a place.
    """
    mounted = Mounted()
    own = [file.src_uri for file in files.documentation_pages() if file.inclusion.is_in_nav()]
    for item in items:
        path = f"{folder}/{item.path}" if folder else item.path
        if isinstance(item, Page):
            mounted.pages[_add_page(item, path, files, config)] = item
        else:
            _refuse(files.get_file_from_path(path), folder)
            files.append(File.generated(config, path, content=item.content))
    if config.nav is None and own:
        config.nav = nest_paths(own)
    config.nav = _navigation(config.nav, mounted)
    return mounted


def _add_page(page: Page, path: str, files: Files, config: MkDocsConfig) -> str:
    source = re.sub(r"\.html$", ".md", path)
    _refuse(files.get_file_from_path(source), path)
    inclusion = InclusionLevel.INCLUDED if page.section else InclusionLevel.NOT_IN_NAV
    file = File.generated(config, source, content="", inclusion=inclusion)
    file.use_directory_urls = False  # links between pages are made for these paths, whatever the project's own are
    file.dest_uri = path
    files.append(file)
    return source


def _refuse(file: File | None, place: str) -> None:
    if file is not None and file.generated_by is None:
        raise ConfigError(
            f"the site has a page or file of its own there ({file.src_uri}, for {place or 'the top'}); "
            "put the pages of results elsewhere: folder: performance",
            file="mkdocs.yml",
            key="plugins: windtunnel: folder",
        )


def _navigation(nav: Any, mounted: Mounted) -> Any:
    """The project's navigation, and ours behind it; a site of results alone has ours at the top."""
    ours = _sections(mounted)
    if not ours:
        return nav
    if nav is None:
        return [*ours.pop(SECTION, []), *_as_items(ours)]
    known = [item for item in nav if not (isinstance(item, dict) and SECTION in item)]
    return [*known, {SECTION: [*ours.pop(SECTION, []), *_as_items(ours)]}]


def _sections(mounted: Mounted) -> dict[str, list[dict[str, Any]]]:
    sections: dict[str, list[dict[str, Any]]] = {}
    for source, page in mounted.pages.items():
        if page.section:
            sections.setdefault(plain(page.section), []).append({plain(page.title): source})
    return sections


def _as_items(sections: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [{name: items} for name, items in sections.items()]
