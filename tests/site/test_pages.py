"""Home, class pages, machines and the list: what they say of a history, also of a hostile one."""

from __future__ import annotations

import csv
import io
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from example_history import (
    BENCHMARKS,
    COMMITS,
    ENVIRONMENTS,
    HOSTILE,
    NEW_CPU,
    OLD_CPU,
    STARLET,
    ExampleHistory,
    combinations,
    commits,
    example_history,
    series_of,
)

from windtunnel.history.nouns import Benchmark, ChangePoint, History, Machine, RunRef, SeriesKey, Unreadable
from windtunnel.site.cards import card_of, failures_of
from windtunnel.site.changes import all_changes
from windtunnel.site.classes import class_pages
from windtunnel.site.groups import groups
from windtunnel.site.home import home_page
from windtunnel.site.html import breakable
from windtunnel.site.kinds import all_pages
from windtunnel.site.levels import Place, level_of, main_place, months_start, places
from windtunnel.site.machines import fact, machine_page, uses
from windtunnel.site.page import Around, Page, PageKind, Resource
from windtunnel.site.sparkline import sparkline
from windtunnel.site.tables import tables
from windtunnel.site.values import value_text

AROUND = Around("https://example.org/o/r/commit/", "example", commits()[-1].date.timestamp())
START = months_start(example_history(), AROUND.today)
BAD_TAGS = {"img", "iframe", "object", "embed", "form", "base", "meta", "b"}


class _Tags(HTMLParser):
    """All elements with their attributes, and text outside of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script" and self.scripts:
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def items() -> list[Page | Resource]:
    return list(all_pages(example_history(), AROUND))


@pytest.fixture(scope="module")
def pages(items: list[Page | Resource]) -> dict[str, Page]:
    return {item.path: item for item in items if isinstance(item, Page)}


def _page(history: History, kind: PageKind) -> Page:
    """The only page of a kind."""
    (page,) = kind(history, AROUND)
    assert isinstance(page, Page)
    return page


def _class(pages: dict[str, Page], name: str) -> Page:
    return next(page for page in pages.values() if page.title == name and page.path.startswith("benchmarks/"))


# ---------------- all pages


def test_every_page_is_free_of_markup_from_outside(pages: dict[str, Page]) -> None:
    for page in pages.values():
        for tag, attributes in _Tags(page.body).found:
            assert tag not in BAD_TAGS, (page.path, tag)
            assert not [name for name in attributes if name.startswith("on")], page.path
            for name in ("href", "src", "xlink:href"):
                assert not re.match(r"\s*(javascript|data|vbscript):", attributes.get(name) or "", re.I), page.path
            if tag == "script":
                assert attributes.get("type") == "application/json", page.path


def test_hostile_names_are_there_as_text(pages: dict[str, Page]) -> None:
    hostile = next(page for page in pages.values() if page.title == f"hostile.{HOSTILE}" and "bench" in page.path)
    assert "&lt;script&gt;alert(" in hostile.body
    assert HOSTILE not in hostile.body


def test_every_link_within_the_site_leads_to_something(items: list[Page | Resource]) -> None:
    known = {item.path for item in items}
    anchors = {item.path: set(re.findall(r'\bid="([^"]+)"', item.body)) for item in items if isinstance(item, Page)}
    for item in items:
        if not isinstance(item, Page):
            continue
        for tag, attributes in _Tags(item.body).found:
            link = attributes.get("href") or ""
            if tag != "a" or not link or link.startswith("http"):
                continue
            path, _, fragment = link.partition("#")
            place = Path("/", item.path).parent.joinpath(path).as_posix() if path else f"/{item.path}"
            target = _normal(place)
            assert target in known, (item.path, link)
            assert not fragment or fragment in anchors[target], (item.path, link)


def _normal(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def test_ids_are_unique_in_their_page(pages: dict[str, Page]) -> None:
    for page in pages.values():
        ids = [attributes["id"] for _, attributes in _Tags(page.body).found if "id" in attributes]
        assert len(ids) == len(set(ids)), page.path


def test_paths_are_unique_also_where_case_does_not_count(items: list[Page | Resource]) -> None:
    lower = [item.path.lower() for item in items]
    assert len(lower) == len(set(lower))


def test_every_benchmark_is_reachable_from_the_list(pages: dict[str, Page]) -> None:
    listing = pages["benchmarks/index.html"].body
    for benchmark in BENCHMARKS:
        page = _class(pages, benchmark.group)
        assert f'href="{page.path.removeprefix("benchmarks/")}"' in listing
    assert listing.count('scope="row"') == len(BENCHMARKS)


def test_the_same_history_makes_the_same_site(items: list[Page | Resource]) -> None:
    assert list(all_pages(example_history(), AROUND)) == items


# ---------------- home


def test_home_says_what_changed_and_what_fails(pages: dict[str, Page]) -> None:
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", pages["index.html"].body))
    assert "1 benchmark got worse and 1 got better" in text
    changed = "psgi.Starlet time_request (5.40, close; 5.40, keepalive) ▲&nbsp;6 % slower"
    assert f"{changed} since 25252525, 2026-05-12" in text
    assert "flask.Gunicorn time_request (4) fails since 28282828" in text
    assert "fastest perl: 5.32" in text


def test_home_has_a_card_for_every_class_the_changed_ones_first(pages: dict[str, Page]) -> None:
    names = re.findall(r'class="wt-card-name"[^>]*>([^<]+)<', pages["index.html"].body.replace("<wbr>", ""))
    assert names[:2] == ["flask.Gunicorn", "psgi.Starlet"]
    assert len(names) == len({one.group for one in BENCHMARKS})
    assert names[-1] == "unmeasured.Nothing"


def test_home_without_results_says_how_to_get_some() -> None:
    page = _page(ExampleHistory(benchmarks_=BENCHMARKS), home_page)
    assert "windtunnel replay" in page.body


def test_a_quiet_history_says_so() -> None:
    history = example_history()
    history.change_points_ = ()
    assert "Nothing changed its level" in _page(history, home_page).body


def test_home_leads_to_files_that_were_passed_over() -> None:
    history = example_history()
    history.unreadable_ = (Unreadable(Path("/secret/place/results/m/<b>x.json"), "it ends in the <middle>"),)
    assert 'href="machines.html#unreadable"' in _page(history, home_page).body
    machines = _page(history, machine_page).body
    assert "results/m/&lt;b&gt;x.json" in machines
    assert "/secret" not in machines


# ---------------- levels and cards


def _flat(values: list[float], benchmark: Benchmark = STARLET, machine: str = "m") -> ExampleHistory:
    key = SeriesKey(benchmark.name, ("'5.32'", "'close'"), machine, "e")
    return ExampleHistory(
        commits_=commits(len(values)),
        machines_=(Machine(machine),),
        benchmarks_=(benchmark,),
        series_=(series_of(key, list(enumerate(values))),),
    )


def test_level_is_the_median_of_the_newest_against_a_month_ago() -> None:
    """Commits are two days apart, so a month is fifteen of them."""
    values = [1.0] * 20 + [1.5] * 15 + [9.0, 1.5]
    history = _flat(values)
    start = months_start(history, commits(len(values))[-1].date.timestamp())
    assert start == len(values) - 15
    level = level_of(history.series_[0], start)
    assert (level.value, level.change) == (1.5, 1.0)
    earlier = level_of(history.series_[0], 20)
    assert earlier.change == 1.5


def test_level_without_a_past_has_no_change() -> None:
    assert math.isnan(level_of(_flat([1.0, 2.0]).series_[0], 0).change)


def test_level_that_failed_is_no_number() -> None:
    level = level_of(_flat([1.0, 1.0, math.nan]).series_[0], 2)
    assert math.isnan(level.value)
    assert math.isnan(level.change)


def test_main_place_is_where_it_was_measured_last() -> None:
    series = example_history().series(STARLET.name)
    assert main_place(series) == Place(NEW_CPU.name, ENVIRONMENTS[0].name)
    assert [one.machine for one in places(series)] == [NEW_CPU.name, OLD_CPU.name]


def test_failures_tell_since_when() -> None:
    gunicorn = next(one for one in groups(example_history()) if one.name == "flask.Gunicorn")
    (failure,) = failures_of(gunicorn, START)
    assert (failure.which, failure.since, failure.count) == ("4", COMMITS - 1, 1)


def test_what_never_worked_is_told_apart() -> None:
    (group,) = groups(_flat([math.nan, math.nan]))
    (failure,) = failures_of(group, 0)
    assert failure.since == -1


def test_an_old_failure_is_no_news() -> None:
    (group,) = groups(_flat([1.0, math.nan]))
    assert failures_of(group, 2) == []


def test_card_is_of_one_machine() -> None:
    starlet = next(one for one in groups(example_history()) if one.name == "psgi.Starlet")
    card = card_of(starlet, START, [])
    assert [at for at, _ in card.line] == list(range(14, COMMITS))
    assert card.combinations == 6
    assert card.metric == "time_request"


def test_card_of_a_class_without_results() -> None:
    nothing = next(one for one in groups(example_history()) if one.name == "unmeasured.Nothing")
    card = card_of(nothing, START, [])
    assert (card.latest, card.line, card.weight) == ("", (), 0.0)


def test_a_missing_combination_does_not_bend_the_line() -> None:
    """The slow combination is missing in the middle; the mean of what is there must stay where it is."""
    keys = [SeriesKey(STARLET.name, ("'5.32'", one), "m", "e") for one in ("'close'", "'keepalive'")]
    slow = [(at, 8.0) for at in range(10) if at != 5]
    history = ExampleHistory(
        commits_=commits(10),
        benchmarks_=(STARLET,),
        series_=(series_of(keys[0], [(at, 1.0) for at in range(10)]), series_of(keys[1], slow)),
    )
    (group,) = groups(history)
    assert {round(value, 9) for _, value in card_of(group, 0, []).line} == {0.0}


def test_a_name_breaks_between_its_words_and_stays_text() -> None:
    assert breakable("a_b.<i>") == "a_<wbr>b.<wbr>&lt;i&gt;"


@pytest.mark.parametrize("length", [0, 1, 2, 61, 5000])
def test_sparkline_is_small_and_within_its_box(length: int) -> None:
    svg = str(sparkline([(at, math.sin(at)) for at in range(length)]))
    assert (svg == "") == (length < 2)
    assert len(svg) < 1500
    for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", svg):
        assert 0 <= float(x) <= 160
        assert 0 <= float(y) <= 36


def test_sparkline_of_noise_is_nearly_flat() -> None:
    svg = str(sparkline([(at, 0.001 * (at % 2)) for at in range(10)]))
    heights = [float(y) for _, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", svg)]
    assert max(heights) - min(heights) < 2


# ---------------- class pages


def test_class_page_has_the_newest_value_of_every_combination(pages: dict[str, Page]) -> None:
    body = _class(pages, "psgi.Starlet").body
    for one in example_history().series(STARLET.name):
        shown = value_text(one.values[-1], STARLET)
        assert shown in body, one.key


def test_class_page_begins_with_its_question(pages: dict[str, Page]) -> None:
    body = _class(pages, "psgi.Starlet").body
    assert "<p>Starlet behind an access log: does a newer perl serve it faster?</p>" in body
    assert body.index("<h1") < body.index("does a newer perl") < body.index("<figure")


def test_rows_are_in_the_order_of_the_parameters() -> None:
    benchmark = Benchmark("a.B.time_x", "time", "seconds", ("n",), (("100", "20", "3"),))
    keys = [SeriesKey(benchmark.name, (value,), "m", "e") for value in ("20", "3", "100", "7")]
    history = ExampleHistory(
        commits_=commits(2), benchmarks_=(benchmark,), series_=tuple(series_of(key, [(0, 1.0)]) for key in keys)
    )
    (group,) = groups(history)
    (table,) = tables(group, Place("m", "e"), 0)
    assert [row.params for row in table.rows] == [("100",), ("20",), ("3",), ("7",)]


def test_a_value_of_an_older_commit_is_told_so() -> None:
    benchmark = Benchmark("a.B.time_x", "time", "seconds", ("n",), (("1", "2"),))
    keys = [SeriesKey(benchmark.name, (value,), "m", "e") for value in ("1", "2")]
    history = ExampleHistory(
        commits_=commits(5),
        benchmarks_=(benchmark,),
        series_=(series_of(keys[0], [(4, 1.0)]), series_of(keys[1], [(2, 1.0)])),
    )
    (group,) = groups(history)
    (table,) = tables(group, Place("m", "e"), 0)
    assert [row.cells[0].old for row in table.rows] == [-1, 2]


def test_only_a_new_level_has_a_colour() -> None:
    """Both combinations ended a tenth higher; of one of them a new level was found, the other may be noise."""
    benchmark = Benchmark("a.B.time_x", "time", "seconds", ("n",), (("1", "2"),))
    keys = [SeriesKey(benchmark.name, (value,), "m", "e") for value in ("1", "2")]
    values = [(at, 1.0 if at < 5 else 1.1) for at in range(10)]
    history = ExampleHistory(
        commits_=commits(10),
        benchmarks_=(benchmark,),
        series_=tuple(series_of(key, values) for key in keys),
        change_points_=(ChangePoint(keys[1], 5, 4, 1.0, 1.1),),
    )
    (group,) = groups(history)
    for start, tones in ((5, ["", "worse"]), (6, ["", ""])):
        (table,) = tables(group, Place("m", "e"), start)
        assert [row.cells[0].tone for row in table.rows] == tones
    assert {row.cells[0].change for row in next(tables(group, Place("m", "e"), 5)).rows} == {"+10.0 %"}
    (change,) = all_changes(history, [group])
    assert [card_of(group, 5, lately).tone for lately in ([], [change])] == ["", "worse"]


def test_a_huge_grid_makes_a_bounded_page_and_a_whole_data_file() -> None:
    axes = tuple(map(str, range(162))), tuple(map(str, range(100)))
    benchmark = Benchmark("a.B.time_x", "time", "seconds", ("n", "m"), axes)
    count = len(axes[0]) * len(axes[1])
    series = (series_of(SeriesKey(benchmark.name, one, "m", "e"), [(0, 1.0)]) for one in combinations(benchmark))
    history = ExampleHistory(commits_=commits(1), benchmarks_=(benchmark,), series_=tuple(series))
    made = {item.path: item for item in class_pages(history, AROUND)}
    page = made["benchmarks/a.B.html"]
    assert isinstance(page, Page)
    assert len(page.body) < 400_000
    assert "further rows are in the data file only" in page.body
    data = made["benchmarks/a.B.latest.csv"]
    assert isinstance(data, Resource)
    assert len(data.content.splitlines()) == count + 1


def test_csv_has_base_units_and_no_formula(items: list[Page | Resource]) -> None:
    history = example_history()
    data = next(
        item for item in items if isinstance(item, Resource) and "Starlet" in item.path and "csv" in item.path
    )
    rows = list(csv.DictReader(io.StringIO(data.content.decode())))
    assert len(rows) == sum(len(history.series(one.name)) for one in BENCHMARKS if one.group == "psgi.Starlet")
    shown = {float(row["value"]) for row in rows if row["benchmark"] == STARLET.name}
    assert shown == {one.values[-1] for one in history.series(STARLET.name)}


def test_csv_defuses_formulas() -> None:
    benchmark = Benchmark('=HYPERLINK("http://x").y', "time", "seconds")
    key = SeriesKey(benchmark.name, (), "@m", "-1+1")
    history = ExampleHistory(commits_=commits(1), benchmarks_=(benchmark,), series_=(series_of(key, [(0, 1.0)]),))
    data = next(item for item in class_pages(history, AROUND) if isinstance(item, Resource) and "csv" in item.path)
    (row,) = csv.DictReader(io.StringIO(data.content.decode()))
    assert [row["benchmark"][:2], row["machine"], row["environment"]] == ["'=", "'@m", "'-1+1"]


# ---------------- machines


def test_machines_tell_where_the_cpu_changed(pages: dict[str, Page]) -> None:
    text = re.sub(r"<[^>]+>", "", pages["machines.html"].body)
    assert "EPYC 7763 (runner-new) comes in; before it Xeon E5-2673 v4 (runner-old)" in text


def test_memory_is_told_in_a_unit() -> None:
    assert fact(Machine("m", {"ram": "16416652"}), "ram") == "15.66 GiB"
    assert fact(Machine("m", {"ram": "16 GB"}), "ram") == "16 GB"
    assert fact(Machine("m"), "ram") == ""


def test_uses_count_commits() -> None:
    assert [(use.machine.name, use.commits) for use in uses(example_history())] == [
        ("runner-new", 26),
        ("runner-old", 14),
    ]


def test_a_machine_without_results_is_named() -> None:
    history = example_history()
    history.machines_ = (*history.machines_, Machine("idle", {"cpu": "<i>"}))
    body = _page(history, machine_page).body
    assert "no result" in body
    assert "&lt;i&gt;" in body


def test_home_of_run_files_alone_leads_to_them() -> None:
    history = ExampleHistory(commits_=commits(2), runs_=(RunRef(Path("a.jsonl"), commits(2)[1].hash),))
    body = _page(history, home_page).body
    assert 'href="runs/index.html"' in body
    assert "Nothing changed" not in body
