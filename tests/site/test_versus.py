"""Versus pages: what stands against what, at which commit, and that the page says what the matrix says."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from example_history import (
    ENVIRONMENTS,
    HOSTILE,
    NEW_CPU,
    OLD_CPU,
    STARLET,
    ExampleHistory,
    commits,
    example_history,
    series_of,
)
from example_runs_on_disk import between, store

from example_comparisons import Measured, Sides, case
from windtunnel.history.nouns import Benchmark, Machine, Series, SeriesKey
from windtunnel.report.rates import rate_matrix, rate_rows
from windtunnel.site.boards import RELEASES, Board, boards_of
from windtunnel.site.groups import groups
from windtunnel.site.launches import Finder
from windtunnel.site.page import Around, Page
from windtunnel.site.paths import relative
from windtunnel.site.versus import VERSUS, shown_board, versus_pages, versus_paths
from windtunnel.units import Unit

AROUND = Around("https://forge.example/commit/", "example", 0.0)
NAME = STARLET.name


def _history(*series: Series, benchmark: Benchmark = STARLET, tags: bool = False, **more: object) -> ExampleHistory:
    known = commits() if tags else tuple(replace(one, tags=()) for one in commits())
    filled = {"machines_": (NEW_CPU, OLD_CPU), "environments_": ENVIRONMENTS, **more}
    return ExampleHistory(commits_=known, benchmarks_=(benchmark,), series_=series, **filled)  # type: ignore[arg-type]


def _series(params: tuple[str, ...], values: dict[int, float], machine: str = NEW_CPU.name) -> Series:
    return series_of(SeriesKey(NAME, params, machine, ENVIRONMENTS[0].name), values.items())


def _none(_series: Series, _position: int) -> tuple[float, ...]:
    return ()


def _boards(history: ExampleHistory, most: int = 50) -> list[Board]:
    (group,) = groups(history)
    return boards_of(group, history.commits(), _none, most)[0]


def _pages(history: ExampleHistory) -> dict[str, Page]:
    return {page.path: page for page in versus_pages(history, AROUND)}


class _Tables(HTMLParser):
    """The texts of all cells, by the class of their table."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tables: list[tuple[str, list[list[str]]]] = []
        self._cell = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append((str(dict(attrs).get("class")), []))
        elif tag == "tr":
            self.tables[-1][1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][1][-1].append("")
            self._cell = True

    def handle_endtag(self, tag: str) -> None:
        self._cell = self._cell and tag not in {"td", "th"}

    def handle_data(self, data: str) -> None:
        if self._cell:
            self.tables[-1][1][-1][-1] += data

    def having(self, kind: str) -> list[list[list[str]]]:
        return [rows for classes, rows in self.tables if kind in classes.split()]


# ---------------- which board


def test_a_board_holds_everything_else_and_takes_the_newest_commit_that_has_all() -> None:
    history = _history(
        _series(("'5.32'", "'close'"), {7: 0.4, 8: 0.3}),
        _series(("'5.36'", "'close'"), {7: 0.5, 9: 0.2}),
        _series(("'5.40'", "'close'"), {7: 0.6, 8: 0.1, 9: 0.1}),
        _series(("'5.32'", "'keepalive'"), {9: 9.0}),
    )
    board = next(one for one in _boards(history) if one.axis == "perl")
    assert board.position == 7
    assert board.fixed == (("connection", "close"),)
    assert [(one.name, one.value) for one in board.contenders] == [("5.32", 0.4), ("5.36", 0.5), ("5.40", 0.6)]
    assert board.missing == ()


def test_where_no_commit_has_all_the_one_with_the_most_is_taken_and_the_rest_is_named() -> None:
    history = _history(
        _series(("'5.32'", "'close'"), {3: 0.4}),
        _series(("'5.36'", "'close'"), {5: 0.5, 6: 0.5}),
        _series(("'5.40'", "'close'"), {5: 0.6, 6: math.nan}),
    )
    board = next(one for one in _boards(history) if one.axis == "perl")
    assert board.position == 5
    assert [one.name for one in board.contenders] == ["5.36", "5.40"]
    assert board.missing == ("5.32",)


def test_machines_are_never_mixed() -> None:
    history = _history(
        _series(("'5.32'", "'close'"), {7: 0.4}, NEW_CPU.name),
        _series(("'5.36'", "'close'"), {7: 0.5}, OLD_CPU.name),
    )
    assert _boards(history) == []
    (page,) = (page for path, page in _pages(history).items() if path != VERSUS)
    assert "no two values yet" in page.body


def test_every_axis_has_its_first_board_before_any_has_its_second() -> None:
    values = {3: 0.5}
    every = [_series((perl, mode), values) for perl in STARLET.params[0] for mode in STARLET.params[1]]
    history = _history(*every)
    assert {one.axis for one in _boards(history, 2)} == {"perl", "connection"}
    assert len(_boards(history)) == len(STARLET.params[1]) + len(STARLET.params[0])


def test_values_that_are_not_declared_any_more_stand_against_nothing() -> None:
    history = _history(
        _series(("'5.8'", "'close'"), {7: 0.4}),
        _series(("'5.36'", "'close'"), {7: 0.5, 9: 0.2}),
        _series(("'5.40'", "'close'"), {7: 0.6, 9: 0.1}),
    )
    board = next(one for one in _boards(history) if one.axis == "perl")
    assert board.position == 9
    assert [one.name for one in board.contenders] == ["5.36", "5.40"]


def test_releases_are_set_against_each_other() -> None:
    history = _history(_series(("'5.40'", "'close'"), {0: 0.5, 5: 0.1, 10: 0.4, 20: 0.25}), tags=True)
    board = next(one for one in _boards(history) if one.axis == RELEASES)
    assert [(one.name, one.value) for one in board.contenders] == [("v1.0", 0.5), ("v1.1", 0.4), ("v1.2", 0.25)]
    shown = shown_board(board, history.commits(), board.place)
    assert [pair[:2] for pair in shown.pairs] == [("v1.0", "v1.1"), ("v1.1", "v1.2"), ("v1.0", "v1.2")]
    assert shown.pairs[0][2].startswith("+25.0 %")


# ---------------- what is printed


def test_the_page_has_the_matrix_the_bars_and_the_pairs() -> None:
    history = _history(
        _series(("'5.32'", "'close'"), {7: 0.004}),
        _series(("'5.36'", "'close'"), {7: 0.002}),
        _series(("'5.40'", "'close'"), {7: 0.001}),
    )
    page = _pages(history)[versus_paths(history)["psgi.Starlet"]]
    tables = _Tables(page.body)
    (matrix,) = tables.having("wt-matrix")
    contenders = next(one for one in _boards(history) if one.axis == "perl").contenders
    expected = rate_rows(rate_matrix(contenders, Unit.SECOND))
    assert [row[1:] for row in matrix] == [row[1:] for row in expected]
    assert matrix[3][:3] == ["5.40", "1,000/s", expected[3][2]]
    assert expected[3][2].startswith("+300.0 % [")
    (bars,) = tables.having("wt-bars")
    assert [(row[0], row[2], row[3]) for row in bars[1:]] == [
        ("5.32", "250.0/s", "4.000 ms"),
        ("5.36", "500.0/s", "2.000 ms"),
        ("5.40", "1,000/s", "1.000 ms"),
    ]
    (pairs,) = tables.having("wt-pairs")
    assert [(row[0], row[1]) for row in pairs[1:]] == [("5.32", "5.36"), ("5.36", "5.40"), ("5.32", "5.40")]
    assert pairs[1][2].startswith("+100.0 % [")
    assert "99 % intervals" in page.body
    assert f'{AROUND.commit_url}{history.commits()[7].hash}"' in page.body


def test_a_longer_bar_is_a_faster_one() -> None:
    history = _history(_series(("'5.32'", "'close'"), {7: 0.004}), _series(("'5.36'", "'close'"), {7: 0.002}))
    widths = [
        float(one)
        for one in re.findall(r'height="8"|width="([\d.]+)"', _pages(history)["versus/psgi.Starlet.html"].body)
        if one
    ]
    assert widths[1] == pytest.approx(2 * widths[0], rel=0.01)


def test_boards_of_another_machine_come_after_and_say_so() -> None:
    history = example_history()
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", _pages(history)[versus_paths(history)["psgi.Starlet"]].body)
    assert len(set(titles)) == len(titles)
    by_perl = [title for title in titles if title.startswith("time_request by perl")]
    assert [OLD_CPU.name in title for title in by_perl][:3] == [False, False, True]


def test_a_percentile_has_no_rate() -> None:
    latency = replace(STARLET, name="psgi.Starlet.track_latency_p99", kind="track")
    every = [
        series_of(SeriesKey(latency.name, (perl, "'close'"), NEW_CPU.name, ENVIRONMENTS[0].name), {7: value}.items())
        for perl, value in (("'5.32'", 0.004), ("'5.36'", 0.002))
    ]
    tables = _Tables(_pages(_history(*every, benchmark=latency))["versus/psgi.Starlet.html"].body)
    (matrix,) = tables.having("wt-matrix")
    assert [row[:2] for row in matrix] == [["perl", "Value"], ["5.32", "4.000 ms"], ["5.36", "2.000 ms"]]
    assert matrix[1][3].startswith("+100.0 %")


def test_names_that_are_no_versions_have_no_pairs_and_a_wide_axis_no_matrix() -> None:
    wide = replace(STARLET, params=(tuple(f"'server {number}'" for number in range(30)), ("'close'",)))
    every = [_series((value, "'close'"), {7: 0.001 * (1 + number)}) for number, value in enumerate(wide.params[0])]
    history = _history(*every, benchmark=wide)
    tables = _Tables(_pages(history)["versus/psgi.Starlet.html"].body)
    assert tables.having("wt-matrix") == []
    assert tables.having("wt-pairs") == []
    (bars,) = tables.having("wt-bars")
    assert len(bars) == 31
    assert bars[1][4] == "--"
    assert bars[30][4].startswith("-96.7 %")


def test_a_value_of_zero_or_below_breaks_nothing() -> None:
    history = _history(
        _series(("'5.32'", "'close'"), {7: 0.0}),
        _series(("'5.36'", "'close'"), {7: -1.0}),
        _series(("'5.40'", "'close'"), {7: 0.1}),
    )
    assert "n/a" in _pages(history)["versus/psgi.Starlet.html"].body


def test_the_list_tells_the_best_of_each_class() -> None:
    history = example_history()
    body = _pages(history)[VERSUS].body
    (rows,) = _Tables(body).having("wt-table")
    by_name = {row[0]: row for row in rows[1:]}
    assert by_name["psgi.Starlet"][3] == "5.32"  # the example makes each further combination slower
    assert by_name["psgi.Starlet"][4].startswith("+")
    for name, path in versus_paths(history).items():
        if name in by_name:
            assert f'href="{relative(VERSUS, path)}"' in body


def test_hostile_names_are_text() -> None:
    pages = _pages(example_history())
    for page in pages.values():
        assert "<script" not in page.body
        assert "<img" not in page.body
        assert re.search(r'href="(?!https://forge\.example/|[A-Za-z0-9._/%-]+")', page.body) is None
    assert "&lt;script&gt;" in pages[versus_paths(example_history())[f"hostile.{HOSTILE}"]].body


def test_nothing_at_all_makes_a_list_that_says_so() -> None:
    assert "No class has an axis" in _pages(ExampleHistory())[VERSUS].body


# ---------------- launches


def _with_run(folder: Path, cpu: str = "A processor") -> ExampleHistory:
    known = commits()
    measured = [
        Measured(case(perl), Sides(cpu=factor, time=factor)) for perl, factor in (("5.32", 1.0), ("5.36", 1.5))
    ]
    refs = store([between(known[6].hash, known[7].hash, measured, cpu=cpu)], folder)
    machine = Machine(NEW_CPU.name, {"cpu": "A processor"})
    series = [
        _series((f"'{perl}'", "'keepalive'"), {6: value, 7: value})
        for perl, value in (("5.32", 0.00025), ("5.36", 0.000375))
    ]
    return _history(*series, machines_=(machine,), runs_=refs)


def test_launches_of_the_run_file_make_the_interval(tmp_path: Path) -> None:
    history = _with_run(tmp_path)
    found = Finder(history)(history.series_[1], 7)
    assert len(found) == 16
    assert sorted(found)[8] == pytest.approx(0.000375, rel=0.02)
    body = _pages(history)["versus/psgi.Starlet.html"].body
    assert "95 % intervals from all launches" in body


def test_another_commit_or_another_processor_has_no_launches(tmp_path: Path) -> None:
    history = _with_run(tmp_path)
    assert Finder(history)(history.series_[1], 6) == ()
    other = _with_run(tmp_path / "other", cpu="Another processor")
    assert Finder(other)(other.series_[1], 7) == ()
    assert "99 % intervals" in _pages(other)["versus/psgi.Starlet.html"].body


def test_a_run_file_that_can_not_be_read_costs_the_launches_alone(tmp_path: Path) -> None:
    history = _with_run(tmp_path)
    history.runs_[0].path.write_bytes(b"no run file")
    assert "99 % intervals" in _pages(history)["versus/psgi.Starlet.html"].body
