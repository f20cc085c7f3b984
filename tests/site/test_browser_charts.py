"""Charts in a real Chromium, on plain pages of a server that allows no eval: what is chosen is what is drawn."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browsing import Visit, drawn, served, visiting
from example_history import COMMITS, HOSTILE, STEP_AT, commits, example_history
from playwright.sync_api import Browser, Page, Response
from test_charts import grid

from windtunnel.site.charts import (
    Axis,
    Bar,
    Measure,
    assets,
    bars_chart,
    commits_file,
    figure,
    foot,
    head,
    history_chart,
)
from windtunnel.site.charts.columns import as_read, combination
from windtunnel.site.groups import groups
from windtunnel.site.page import Around, Resource
from windtunnel.site.paths import slug
from windtunnel.units import Unit, format_change

pytestmark = pytest.mark.slow

ADDRESS = "https://example.org/project/commit/"
AROUND = Around(ADDRESS, "example", 0.0)
STARLET = "psgi.Starlet.html"
GUNICORN = "flask.Gunicorn.html"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page for each class, and one of bars."""
    folder = tmp_path_factory.mktemp("charts")
    history = example_history()
    for resource in (*assets(), commits_file(history.commits())):
        _write(folder, resource)
    for one, name in ((history, ""), (grid(60, 27, commits_=COMMITS), "grid")):
        for group in groups(one):
            around = AROUND if not name else Around("", "example", 0.0)
            if chart := history_chart(one, group, around, f"data/{name or slug(group.name)}"):
                for resource in chart.resources:
                    _write(folder, resource)
                _page(folder, name or slug(group.name), str(figure(chart, id="history")))
    bars = [Bar("one", 0.002, 0.0019, 0.0021), Bar(HOSTILE, 0.003)]
    _page(folder, "bars", str(figure(bars_chart("Bars", bars, Axis("time", Measure(Unit.SECOND))), id="bars")))
    with served(folder, strict=True) as address:
        yield address


def _write(folder: Path, resource: Resource) -> None:
    path = folder / resource.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(resource.content)


def _page(folder: Path, name: str, body: str) -> None:
    icon = '<link rel="icon" href="../assets/charts.css">'
    top = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title>{icon}{head("..")}'
    text = f"{top}<body class='md-typeset'><main><h1>A page</h1>{body}</main>{foot('..')}</body></html>"
    _write(folder, Resource(f"pages/{name}.html", text.encode()))


@pytest.fixture
def visit(browser: Browser, pages: str) -> Iterator[Visit]:
    with visiting(browser, pages) as one:
        yield one
        one.check()


def _open(visit: Visit, name: str) -> Page:
    page = visit.open(f"pages/{name}")
    assert drawn(page) == 1
    return page


def _redrawn(page: Page, act: str, *arguments: str, **options: str) -> None:
    """Do something with the first control that it names, and wait for another drawing."""
    before = page.locator(".wt-chart").get_attribute("data-drawn")
    getattr(page, act)(*arguments, **options)
    page.wait_for_function("turn => document.querySelector('.wt-chart').dataset.drawn !== turn", arg=before)


def _lines(page: Page) -> list[str]:
    """The paths of the lines as they are drawn."""
    found: list[str] = page.locator("svg g.mark-line path[stroke]").evaluate_all(
        "all => all.map(one => one.getAttribute('d'))"
    )
    return found


def _texts(page: Page) -> list[str]:
    return page.locator("svg text").all_text_contents()


def test_what_is_live_at_first_is_what_was_drawn_without_a_script(visit: Visit, browser: Browser, pages: str) -> None:
    with visiting(browser, pages, java_script_enabled=False) as plain:
        page = plain.open(f"pages/{STARLET}")
        before = _told(page), len(_lines(page)), sorted(set(_texts(page)))
    page = _open(visit, STARLET)
    assert (_told(page), len(_lines(page))) == before[:2]
    assert {text for text in _texts(page) if not re.match(r"\d{4}-", text)} <= set(before[2])


def _told(page: Page) -> list[list[str]]:
    """Caption, table and description, without the spaces between elements."""
    parts = [page.locator("figcaption *:not(:has(*))"), page.locator("th"), page.locator("td")]
    told = [[re.sub(r"\s+", " ", text).strip() for text in part.all_text_contents()] for part in parts]
    label = page.locator("[role^=graphics-document]").first.get_attribute("aria-label")
    return [*told, [label or ""]]


def test_another_metric_is_another_chart(visit: Visit) -> None:
    page = _open(visit, STARLET)
    before = _lines(page)
    _redrawn(page, "select_option", "select", label="track_memory")
    assert "track_memory (MiB)" in _texts(page)
    assert len(_lines(page)) == len(before) == 6
    assert _lines(page) != before
    assert page.locator("figcaption strong").inner_text() == "psgi.Starlet: track_memory"
    assert page.locator(".wt-chart-values td").nth(1).text_content().endswith("MiB]")


def test_values_of_a_parameter_are_chosen(visit: Visit) -> None:
    page = _open(visit, STARLET)
    page.get_by_text("perl: 3 of 3").click()
    _redrawn(page, "uncheck", "text=5.36")
    _redrawn(page, "uncheck", "text=5.32")
    assert len(_lines(page)) == 2
    assert page.locator("thead th").all_text_contents() == ["commit", "close", "keepalive"]
    assert "Of perl 5.40." in page.locator("figcaption").inner_text()
    page.locator("label", has_text="5.40").click()
    assert page.locator("label", has_text="5.40").locator("input").is_checked(), "one value stays"


def test_a_view_can_be_linked_to(visit: Visit, browser: Browser, pages: str) -> None:
    page = _open(visit, STARLET)
    page.get_by_text("perl: 3 of 3").click()
    _redrawn(page, "select_option", "select", label="track_cpu_per_request")
    _redrawn(page, "uncheck", "text=5.36")
    _redrawn(page, "check", "text=Log scale")
    address = page.url
    with visiting(browser, pages) as other:
        again = other.open(address.removeprefix(pages))
        drawn(again)
        assert _lines(again) == _lines(page)
        assert again.locator("select").first.evaluate("one => one.selectedOptions[0].text") == "track_cpu_per_request"
        assert again.get_by_label("Log scale").is_checked()


@pytest.mark.parametrize(
    "fragment", ["#view?metric=none&p.perl=9&machine=x&newest=-1", "#view?%%%", "#view?p.perl=", "#else"]
)
def test_an_address_that_makes_no_sense_shows_something(visit: Visit, fragment: str) -> None:
    page = _open(visit, STARLET + fragment)
    assert len(_lines(page)) >= 1


def test_scale_order_and_period(visit: Visit) -> None:
    page = _open(visit, STARLET)
    linear = _lines(page)
    _redrawn(page, "check", "text=Log scale")
    assert _lines(page) != linear
    by_commit = _lines(page)
    _redrawn(page, "select_option", "label:has-text('Along') select", "date")
    assert "date" in _texts(page)
    # The example has a commit every two days, so the lines are the same; what an axis shows is not.
    assert len(_lines(page)) == len(by_commit)


def test_another_machine_has_other_values_and_the_chart_says_so(visit: Visit) -> None:
    page = _open(visit, STARLET)
    assert "runner-new (EPYC 7763)" in page.locator("figcaption").inner_text()
    assert page.locator("svg g.mark-rule.role-mark line").count() == 1, "where the machine changed"
    _redrawn(page, "select_option", "label:has-text('Machine') select", label="runner-old (Xeon E5-2673 v4)")
    assert "runner-old (Xeon E5-2673 v4)" in page.locator(".wt-chart-note").first.inner_text()
    _redrawn(page, "select_option", "label:has-text('Machine') select", "-1")
    assert "12 lines are chosen, the first 8 are drawn" in page.locator(".wt-chart-status").inner_text()
    assert len(_lines(page)) == 8
    assert "5.32, close, runner-new" in " ".join(_texts(page))


def test_a_failure_is_a_cross_and_a_gap(visit: Visit) -> None:
    page = _open(visit, GUNICORN)
    assert page.locator("svg .failed_marks path").count() == 1
    last = [line for line in page.locator("tbody tr").first.locator("td").all_text_contents() if line == "failed"]
    assert last == ["failed"]


def test_a_change_point_goes_to_its_commit(visit: Visit) -> None:
    page = _open(visit, STARLET)
    wanted = ADDRESS + commits()[STEP_AT].hash
    marks = page.locator("svg .changes_marks path")
    assert marks.count() == 2
    assert "+6.0 % (worse)" in str(marks.first.get_attribute("aria-label"))
    with page.expect_request(wanted, timeout=10_000):
        marks.first.click()
    assert visit.strays.pop() == wanted  # the only request that may leave the site: the reader's own
    visit.complaints.clear()


def test_a_change_point_is_a_link_without_a_script(browser: Browser, pages: str) -> None:
    with visiting(browser, pages, java_script_enabled=False) as visit:
        page = visit.open(f"pages/{STARLET}")
        links = page.locator("svg a")
        assert [link.get_attribute("xlink:href") for link in links.all()] == [ADDRESS + commits()[STEP_AT].hash] * 2


def test_the_keyboard_is_enough(visit: Visit) -> None:
    page = _open(visit, STARLET)
    before = _lines(page)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.tagName") == "SELECT"
    page.keyboard.press("ArrowDown")
    _wait_for(page, "track_cpu_per_request")
    assert _lines(page) != before
    page.keyboard.press("ArrowUp")
    _wait_for(page, "time_request")
    for key in ("Tab", "Enter", "Tab", "Space"):  # to the perls, unfold, to the first, choose it no more
        page.keyboard.press(key)
    page.wait_for_function("() => document.querySelectorAll('.wt-chart thead th').length === 5")
    wanted = ADDRESS + commits()[STEP_AT].hash
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.matches('.changes_marks path')"):
            break
    with page.expect_request(wanted, timeout=10_000):
        page.keyboard.press("Enter")
    visit.strays.clear()
    visit.complaints.clear()


def _wait_for(page: Page, metric: str) -> None:
    page.wait_for_function("one => document.querySelector('.wt-chart-title').textContent.includes(one)", arg=metric)


def test_a_pointer_over_a_value_tells_commit_date_and_interval(visit: Visit) -> None:
    page = _open(visit, STARLET)
    page.locator(".wt-chart-view svg").hover(position={"x": 300, "y": 120})
    tip = page.locator(".wt-chart-tip")
    tip.wait_for()
    assert re.match(
        r"5\.\d\d, \w+: [\d.]+ ms \[[\d.]+ ms, [\d.]+ ms\]\n[0-9a-f]{8} of 2026-\d\d-\d\d Change number",
        tip.inner_text(),
    )
    page.keyboard.press("Escape")
    assert not tip.is_visible()


def test_names_are_text_and_nothing_else(visit: Visit) -> None:
    page = _open(visit, f"{slug('hostile.' + HOSTILE)}.html")
    assert page.locator("figcaption strong").inner_text() == f"hostile.{HOSTILE}: time_it"
    assert "<img src=x>" in _texts(page)
    assert page.locator("main img, main script:not([type='application/json'])").count() == 0
    page = _open(visit, "bars.html")
    assert HOSTILE in " ".join(_texts(page))


def test_the_data_files_hold_every_value(visit: Visit) -> None:
    page = _open(visit, STARLET)
    history = example_history()
    group = next(one for one in groups(history) if one.name == "psgi.Starlet")
    for metric, benchmark in enumerate(group.benchmarks):
        told = _read(page, metric)
        wanted = {}
        for one in history.series(benchmark.name):
            plain = as_read(one)
            key = f"{combination(benchmark, one.key.params)},{one.key.machine}"
            wanted[key] = [list(plain.positions), list(plain.values), list(plain.low), list(plain.high)]
            for exact, rough in zip(one.values, plain.values, strict=True):
                assert rough == pytest.approx(exact, rel=1e-5)
        assert told == wanted


def _read(page: Page, metric: int) -> dict[str, list[list[float]]]:
    """What the script makes of the files of a metric."""
    found: dict[str, list[list[float]]] = page.evaluate(
        """async (metric) => {
          const setup = JSON.parse(document.querySelector(".wt-chart-data").textContent).setup;
          const index = await windtunnel.data.index(setup);
          const found = {};
          for (const [number, key] of index.metrics[metric].series.entries()) {
            const one = await windtunnel.data.series(setup, metric, number);
            found[`${key[0]},${index.machines[key[1]]}`] = [one.positions, one.values, one.low, one.high];
          }
          return found;
        }""",
        metric,
    )
    return found


@pytest.mark.parametrize("unit", list(Unit))
def test_script_and_pages_write_numbers_alike(visit: Visit, unit: Unit) -> None:
    page = _open(visit, "bars.html")
    noise = random.Random(unit.value)
    numbers = [noise.choice([-1, 1, 1]) * 10 ** noise.uniform(-12, 9) for _ in range(2000)]
    numbers += [0.0, 1.0, 12.0, 999.96, 0.99996, 1e3, 123456.0, 1024.0, 1048576.0, 0.001, 0.00099999]
    for measure in (Measure(unit), Measure(Unit.COUNT, "apples")):
        told = page.evaluate(
            "([numbers, measure]) => numbers.map(one => windtunnel.format.value(one, measure))",
            [numbers, measure.setup()],
        )
        different = {
            one: (here, there)
            for one, here, there in zip(numbers, map(measure.text, numbers), told, strict=True)
            if here != there
        }
        assert different == {}
    ratios = [10 ** noise.uniform(-2, 2) for _ in range(500)] + [1.0, 1.0004, 0.9996]
    told = page.evaluate("all => all.map(windtunnel.format.change)", ratios)
    assert told == [format_change(one) for one in ratios]


def _watched(page: Page) -> tuple[list[str], dict[str, int]]:
    """The paths that a page asks for from now on; and what their answers weigh, packed, by path."""
    asked: list[str] = []
    sizes: dict[str, int] = {}

    def weigh(answer: Response) -> None:
        sizes[urlsplit(answer.url).path] = len(gzip.compress(answer.body()))

    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.on("response", weigh)
    return asked, sizes


def _data(asked: list[str]) -> list[str]:
    return [path for path in asked if "/data/grid/" in path and "index" not in path]


def test_a_large_grid_costs_what_is_looked_at(visit: Visit) -> None:
    asked, sizes = _watched(visit.page)
    page = _open(visit, "grid.html")
    while set(asked) - set(sizes):  # an answer is told before it has come to its end
        page.wait_for_timeout(50)
    assert len(_data(asked)) == 1
    assert sum(size for path, size in sizes.items() if not path.endswith("vega.js")) < 300_000
    before = _lines(page)
    page.get_by_text("axis0: 0").click()
    _redrawn(page, "check", "text=59")
    assert page.locator(".wt-chart-status").inner_text().startswith("16 lines are chosen, the first 8 are drawn")
    _redrawn(page, "uncheck", ".wt-values >> nth=0 >> label:first-of-type")
    assert len(_data(asked)) == 2
    assert _lines(page) != before


def test_without_an_address_of_commits_there_is_no_link(visit: Visit) -> None:
    page = _open(visit, "grid.html")
    assert page.locator("figure a, figure [role=link]").count() == 0


def test_data_that_cannot_be_had_leave_the_drawing(browser: Browser, pages: str) -> None:
    with visiting(browser, pages) as visit:
        visit.page.route("**/data/**", lambda route: route.abort())
        page = visit.open(f"pages/{STARLET}")
        page.wait_for_selector(".wt-chart[data-failed]")
        assert page.locator(".wt-chart-view > svg").is_visible()
        assert "could not be made live" in page.locator(".wt-chart-status").inner_text()
