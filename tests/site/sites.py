"""Real sites for tests: a project with results, built by MkDocs, and what a browser would find in it."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml
from example_history import ExampleHistory, example_history
from example_results import write_results

__all__ = ["Built", "SiteRefused", "build", "elements", "project"]


class SiteRefused(Exception):
    """MkDocs did not build it."""


@dataclass
class Built:
    """A site on the disk, and what MkDocs said meanwhile."""

    folder: Path
    said: list[tuple[str, str]] = field(default_factory=list)

    def text(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")

    def pages(self) -> list[Path]:
        return sorted(self.folder.rglob("*.html"))

    @property
    def warnings(self) -> list[str]:
        return [text for level, text in self.said if level in {"WARNING", "ERROR"}]

    def broken_links(self) -> list[tuple[str, str]]:
        """Links and files within the site that lead to nothing."""
        return [
            (str(page.relative_to(self.folder)), link)
            for page in self.pages()
            if page.name != "404.html"  # its links begin with a slash: it is shown for any address
            for link in _links(page)
            if not _target(page, link).exists()
        ]

    def foreign_files(self) -> list[str]:
        """What a browser would ask another host for by itself."""
        found = []
        for page in self.pages():
            for tag, attributes in elements(page.read_text(encoding="utf-8")):
                address = attributes.get("src" if tag in {"script", "img", "iframe", "source"} else "href") or ""
                loads = tag in {"script", "img", "iframe", "source"} or tag == "link"
                if loads and urlsplit(address).netloc and attributes.get("rel") != "canonical":
                    found.append(address)
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def elements(text: str) -> list[tuple[str, dict[str, str | None]]]:
    """All elements of a page, with their attributes."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.found


def _links(page: Path) -> list[str]:
    found = [
        attributes.get("href") or attributes.get("src") or "" for _, attributes in elements(page.read_text("utf-8"))
    ]
    return [link for link in found if link and not urlsplit(link).scheme and not urlsplit(link).netloc]


def _target(page: Path, link: str) -> Path:
    path = unquote(urlsplit(link).path)
    target = page.parent / path if path else page
    return target / "index.html" if target.is_dir() else target


def project(folder: Path, history: ExampleHistory | None = None, **settings: Any) -> Path:
    """A project with two pages of its own, results, and a mkdocs.yml; returns the latter."""
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "index.md").write_text("# Our project\n\n[More](more.md)\n")
    (folder / "docs" / "more.md").write_text("# More\n\nWords.\n")
    write_results(history or example_history(), folder / "results")
    content = {
        "site_name": "Ours",
        "theme": {"name": "material", "font": False},
        "repo_url": "https://example.org/o/r",
        "plugins": ["search", {"windtunnel": {"results": "results"}}],
        "nav": [{"Home": "index.md"}, {"More": "more.md"}],
        **settings,
    }
    path = folder / "mkdocs.yml"
    path.write_text(yaml.safe_dump({key: value for key, value in content.items() if value is not None}))
    return path


@cache
def _builder() -> subprocess.Popen[str]:
    """One process for all sites: what it imports takes longer than a site does."""
    script = Path(__file__).with_name("site_builder.py")
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    atexit.register(process.kill)
    return process


def build(path: Path) -> Built:
    """Let MkDocs build the site of a mkdocs.yml. Raises SiteRefused with the words that its user reads."""
    built, process = Built(path.parent / "site"), _builder()
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps({"path": str(path), "out": str(built.folder)}) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    built.said = [(level, text) for level, text in answer["said"]]
    if answer["error"]:
        raise SiteRefused("\n".join([*answer["error"], *built.warnings]))
    return built
