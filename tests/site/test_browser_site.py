"""Every kind of page in a real Chromium: it renders, says nothing in the console, asks nobody else, and can be used
in the dark, on a telephone, and without a script."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from browsing import drawn, faults_of, visiting
from playwright.sync_api import Browser, Page, Response

pytestmark = pytest.mark.slow

PHONE = {"width": 360, "height": 740}


@dataclass(frozen=True)
class Seen:
    """What was found on one page, visited once and then changed as a reader would.

    `weight`: the bytes of everything that it fetched, packed as servers do, but for the Vega bundle.
    """

    heading: str
    charts: int
    complaints: list[str]
    strays: list[str]
    faults: Mapping[str, list[str]]
    width: int
    weight: int


def kinds(folder: Path) -> list[str]:
    """A page of each kind, and of each one with a strange name."""
    found = {path for path in _pages(folder) if path.endswith("index.html") or "/" not in path}
    for kind in {path.rpartition("/")[0] for path in _pages(folder)}:
        others = [path for path in _pages(folder) if path.rpartition("/")[0] == kind and path not in found]
        for some in ("Starlet", "hostile"):
            found.update([path for path in others if some in path][:1] or others[:1])
    return sorted(found)


def _pages(folder: Path) -> list[str]:
    pages = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.html"))
    return [path for path in pages if path != "404.html"]


@pytest.fixture(scope="module", params=["a page of each kind", pytest.param("all others", marks=pytest.mark.nightly)])
def seen(browser: Browser, site: str, built: Path, request: pytest.FixtureRequest) -> dict[str, Seen]:
    """Some of them."""
    chosen = set(kinds(built))
    if request.param == "all others":
        chosen = {"index.html", *_pages(built)} - (chosen - {"index.html"})
    return {path: _look(browser, site, path) for path in sorted(chosen)}


def _look(browser: Browser, site: str, path: str) -> Seen:
    with visiting(browser, site, color_scheme="light") as visit:
        sizes: dict[str, int] = {}
        visit.page.on("response", lambda answer: sizes.update(_packed(answer)))
        page = visit.open(path)
        heading = page.locator("h1").first.inner_text().strip()
        charts = drawn(page)
        weight = sum(sizes.values())
        faults = {"light": faults_of(page)}
        page.emulate_media(color_scheme="dark")
        page.wait_for_selector("body[data-md-color-scheme=slate]")
        faults["dark"] = faults_of(page, "color-contrast")  # no other rule looks at colours
        page.set_viewport_size(PHONE)
        drawn(page)
        width = page.evaluate("document.documentElement.scrollWidth")
        return Seen(heading, charts, visit.complaints, visit.strays, faults, width, weight)


def _packed(answer: Response) -> Mapping[str, int]:
    return {} if answer.url.endswith("vega.js") else {answer.url: len(gzip.compress(answer.body()))}


def test_there_is_a_page_of_every_kind(built: Path) -> None:
    folders = {path.rpartition("/")[0] for path in kinds(built)}
    assert {"", "benchmarks", "versus", "relative", "runs"} <= folders
    assert {"index.html", "machines.html", "changes.html"} <= set(kinds(built))


def test_every_page_renders(seen: dict[str, Seen]) -> None:
    assert [path for path, one in seen.items() if not one.heading] == []
    assert sum(one.charts for one in seen.values()) >= 4


def test_no_page_complains_in_the_console(seen: dict[str, Seen]) -> None:
    assert {path: one.complaints for path, one in seen.items() if one.complaints} == {}


def test_no_page_asks_another_host(seen: dict[str, Seen]) -> None:
    assert {path: one.strays for path, one in seen.items() if one.strays} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(seen: dict[str, Seen], scheme: str) -> None:
    assert {path: one.faults[scheme] for path, one in seen.items() if one.faults[scheme]} == {}


def test_a_telephone_scrolls_no_page_sideways(seen: dict[str, Seen]) -> None:
    assert {path: one.width for path, one in seen.items() if one.width > PHONE["width"]} == {}


def test_no_page_is_heavy(seen: dict[str, Seen]) -> None:
    """The limits of the largest projects; a small one's pages are the theme and little else."""
    assert 20_000 < seen["index.html"].weight < 300_000
    assert {path: one.weight for path, one in seen.items() if one.weight > 600_000} == {}


def test_axe_would_find_something(browser: Browser, site: str) -> None:
    with visiting(browser, site) as visit:
        page = visit.open("index.html")
        page.evaluate("document.querySelector('h1').insertAdjacentHTML('afterend', '<button></button>')")
        assert any(fault.startswith("button-name") for fault in faults_of(page))


def test_without_a_script_the_figures_are_there(browser: Browser, site: str, built: Path) -> None:
    charts = 0
    for path in kinds(built):
        with visiting(browser, site, java_script_enabled=False) as visit:
            page = visit.open(path)
            visit.check()
            for chart in page.locator(".wt-chart").all():
                if chart.locator("xpath=ancestor::details[not(@open)]").count():
                    continue  # folded, as much of a large run is
                charts += 1
                assert chart.locator(".wt-chart-view > svg").is_visible()
                assert chart.locator("svg path, svg line").count() > 5
                assert chart.locator("table tbody tr").count() > 0
                assert not chart.locator(".wt-chart-controls").is_visible()
    assert charts >= 4


def test_the_switch_of_the_theme_changes_page_and_chart(browser: Browser, site: str, built: Path) -> None:
    path = next(path for path in kinds(built) if "Starlet" in path and path.startswith("benchmarks"))
    with visiting(browser, site, color_scheme="light") as visit:
        page = visit.open(path)
        drawn(page)
        before = _colours(page)
        for _ in range(2):  # from the system's choice to light, to dark
            page.locator("form[data-md-component=palette] label:visible").click()
        page.wait_for_selector("body[data-md-color-scheme=slate]")
        after = _colours(page)
        assert all(one != other for one, other in zip(before, after, strict=True)), (before, after)
        visit.check()


def _colours(page: Page) -> list[str]:
    """Of the page, of a line, of a letter on an axis."""
    return [
        page.locator("body").evaluate("one => getComputedStyle(one).backgroundColor"),
        page.locator(".wt-chart-view g.mark-line path").first.evaluate("one => getComputedStyle(one).stroke"),
        page.locator(".wt-chart-view text").first.evaluate("one => getComputedStyle(one).fill"),
    ]
