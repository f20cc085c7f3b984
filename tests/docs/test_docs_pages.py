"""The pages themselves: links, navigation, titles, spelling, and the site that is built from them."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from pages import FENCE, PAGES, ROOT, SITE, prose, shown

_LINK = re.compile(r"(?<!!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^)\s]+)\)")
_HREF = re.compile(r'href="([^"]+)"')
_HEADING = re.compile(r"^#+ +(.*?)\s*(?:\{ *#([\w-]+) *\})?$", re.MULTILINE)


# ---------------- links


def anchors(page: Path) -> set[str]:
    """The ids of a page's headings, as MkDocs makes them."""
    found: set[str] = set()
    for title, given in _HEADING.findall(FENCE.sub("", page.read_text("utf-8"))):
        plain = re.sub(r"[^\w\s-]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)).strip().lower()
        found.add(given or re.sub(r"[\s-]+", "-", plain))
    return found


def links(page: Path) -> Iterator[str]:
    text = prose(page.read_text("utf-8"))
    yield from _LINK.findall(text)
    yield from (target.replace(".html", ".md") for target in _HREF.findall(text))


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_internal_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            wrong.append(link)
    assert not wrong


def test_every_page_is_in_the_navigation_and_no_other() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    named = re.findall(r": ([\w/-]+\.md)$", navigation, re.MULTILINE)
    assert sorted(named) == sorted(page.relative_to(SITE).as_posix() for page in SITE.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_a_page_has_one_title_and_no_rank_is_left_out(page: Path) -> None:
    ranks = [len(marks) for marks in re.findall(r"^(#+) ", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)]
    assert ranks[0] == 1
    assert ranks.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(ranks))


# ---------------- how it is written


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_the_house_words_and_spelling(page: Path) -> None:
    text = prose(page.read_text("utf-8"))
    assert "—" not in text
    assert not re.search(r"\b(color|behavior|analyze|optimize|container_runtime|simply|just works)\b", text)


# ---------------- the built site


class _Loads(HTMLParser):
    """What a page makes a browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.found += [given[name] for name in ("src", "srcset", "data", "poster") if name in given]
        if tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self.found.append(given.get("href", ""))


@pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None and shutil.which("mkdocs") is None, reason="mkdocs is not installed"
)
def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    mkdocs = [sys.executable, "-m", "mkdocs"] if importlib.util.find_spec("mkdocs") else ["mkdocs"]
    done = subprocess.run(
        [*mkdocs, "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(list(SITE.rglob("*.md"))) - 1
    for page in pages:
        loads = _Loads()
        loads.feed(page.read_text("utf-8"))
        assert not [one for one in loads.found if re.match(r"(?:https?:)?//", one)], page.name
    for sheet in tmp_path.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", sheet.read_text("utf-8")), sheet.name
