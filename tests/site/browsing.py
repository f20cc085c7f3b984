"""A site on loopback in a real Chromium: what it asks for, what it says in its console, what axe finds."""

from __future__ import annotations

import functools
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, sync_playwright

from engines import TOOLS

__all__ = ["Visit", "chromium", "drawn", "faults_of", "served", "visiting"]

PATIENCE = 30_000
"""Milliseconds: the machine may be busy with other tests."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium without a window. Debian's, never one that the driver downloads."""
    found = subprocess.run([TOOLS / "chromium"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        pytest.fail(found.stderr.strip())
    with sync_playwright() as driver:
        # Tests run as root in containers, where Chromium's sandbox does not work; the pages are our own.
        browser = driver.chromium.launch(executable_path=found.stdout.strip(), args=["--no-sandbox"])
        yield browser
        browser.close()


class _Quiet(SimpleHTTPRequestHandler):
    policy = ""

    def log_message(self, *_: Any) -> None:
        pass

    def end_headers(self) -> None:
        if self.policy:
            self.send_header("Content-Security-Policy", self.policy)
        super().end_headers()


class _Strict(_Quiet):
    """A server that lets no page evaluate a text or run a script of the page itself."""

    policy = (
        "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self'"
    )


@contextmanager
def served(folder: Path, *, strict: bool = False) -> Iterator[str]:
    """The folder at an address of loopback, which ends with a slash."""
    handler = functools.partial(_Strict if strict else _Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    thread.join()


@dataclass
class Visit:
    """A page that is looked at, and what was noticed meanwhile.

    Attributes:
        complaints: what a script threw or the console had: errors and warnings.
        strays: requests to anywhere but the site; they are all refused.
    """

    page: Page
    site: str
    complaints: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        """Go to a page of the site."""
        self.page.goto(self.site + path, timeout=PATIENCE)
        return self.page

    def check(self) -> None:
        """Nothing was complained about, nobody else was asked."""
        assert self.complaints == []
        assert self.strays == []


@contextmanager
def visiting(browser: Browser, site: str, **options: Any) -> Iterator[Visit]:
    """A new page; `options` are those of a browser context (viewport, colour scheme, JavaScript or none)."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE)
    visit = Visit(context.new_page(), site)
    visit.page.on("console", lambda message: _note(visit, message))
    visit.page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    context.route("**/*", lambda route: _let_through(visit, route))
    yield visit
    context.close()


def _note(visit: Visit, message: ConsoleMessage) -> None:
    if message.type in {"error", "warning"}:
        visit.complaints.append(f"{message.type}: {message.text}")


def _let_through(visit: Visit, route: Route) -> None:
    if route.request.url.startswith((visit.site, "data:", "blob:")):
        route.continue_()
    else:
        visit.strays.append(route.request.url)
        route.abort()


def drawn(page: Page) -> int:
    """Unfold everything, scroll to every chart and wait until it lives; how many there are."""
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    charts = page.locator(".wt-chart")
    for number in range(charts.count()):
        charts.nth(number).scroll_into_view_if_needed()
        page.wait_for_function(
            "one => one.dataset.drawn || 'failed' in one.dataset", arg=charts.nth(number).element_handle()
        )
    assert page.locator(".wt-chart[data-failed]").count() == 0, page.locator(".wt-chart-status").all_inner_texts()
    return charts.count()


def faults_of(page: Page, *rules: str) -> list[str]:
    """What axe calls a serious or critical fault, with the elements it is in; of all its rules, or of some."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{one['id']}: {node['html'][:200]} ({node['failureSummary'][:300]})"
        for one in found
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]
