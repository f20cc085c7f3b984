"""Change points put together, the page that lists them, and the feed."""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from example_history import (
    COMMITS,
    HOSTILE_SUBJECT,
    NEW_CPU,
    STARLET,
    STEP_AT,
    ExampleHistory,
    combinations,
    commits,
    example_history,
    series_of,
)
from example_runs_on_disk import between, store

from example_comparisons import Measured, case
from windtunnel.history.nouns import Benchmark, ChangePoint, History, SeriesKey
from windtunnel.site.changelist import change_list
from windtunnel.site.changes import Change, all_changes
from windtunnel.site.classes import class_pages
from windtunnel.site.groups import groups
from windtunnel.site.page import Around, Page, Resource
from windtunnel.site.runpages import run_paths
from windtunnel.units import Direction

AROUND = Around("https://example.org/o/r/commit/", "example", commits()[-1].date.timestamp())
_ATOM = "{http://www.w3.org/2005/Atom}"


def _changes(history: History) -> list[Change]:
    return all_changes(history, groups(history))


def _one_step(benchmark: Benchmark, ratios: list[float], before: float = 0.01) -> ExampleHistory:
    """The first combinations of a benchmark change by these ratios at one commit."""
    keys = [SeriesKey(benchmark.name, params, NEW_CPU.name, "container") for params in combinations(benchmark)]
    flat = [series_of(key, [(at, before) for at in range(COMMITS)]) for key in keys]
    points = [
        ChangePoint(key, STEP_AT, STEP_AT - 2, before, before * ratio)
        for key, ratio in zip(keys, ratios, strict=False)
    ]
    return ExampleHistory(
        commits_=commits(), benchmarks_=(benchmark,), series_=tuple(flat), change_points_=tuple(points)
    )


def test_combinations_that_change_together_are_one_line() -> None:
    slower = next(one for one in _changes(example_history()) if one.benchmark == STARLET)
    assert slower.which == "5.40, close; 5.40, keepalive"
    assert slower.words == "6 % slower"
    assert slower.tone == "worse"
    assert (slower.previous.position, slower.commit.position) == (STEP_AT - 1, STEP_AT)


def test_many_combinations_are_counted_and_their_range_told() -> None:
    (change,) = _changes(_one_step(STARLET, [1.05, 1.2, 1.1]))
    assert change.which == "3 of 6 combinations"
    assert change.words == "5 to 20 % slower"
    assert math.isclose(change.ratio, 1.2)


def test_both_directions_at_one_commit_are_two_lines() -> None:
    assert [one.words for one in _changes(_one_step(STARLET, [1.5, 0.9]))] == ["50 % slower", "10 % faster"]


def test_direction_belongs_to_the_benchmark() -> None:
    rate = Benchmark(
        name="a.B.track_rate", kind="track", unit="requests/second", direction=Direction.HIGHER_IS_BETTER
    )
    (change,) = _changes(_one_step(rate, [1.5]))
    assert (change.words, change.tone) == ("50 % more", "better")


def test_a_level_of_zero_has_no_percentage() -> None:
    count = Benchmark(name="a.B.track_errors", kind="track", unit="errors")
    key = SeriesKey(count.name, (), NEW_CPU.name, "container")
    history = ExampleHistory(
        commits_=commits(),
        benchmarks_=(count,),
        series_=(series_of(key, [(0, 0.0), (1, 5.0)]),),
        change_points_=(ChangePoint(key, 1, 0, 0.0, 5.0),),
    )
    (change,) = _changes(history)
    assert (change.words, change.tone, change.levels) == ("more than nothing", "worse", "0 errors → 5 errors")


def test_newest_first() -> None:
    history = example_history()
    key = history.change_points_[0].key
    early = ChangePoint(key, 20, 19, 1.0, 2.0)
    history.change_points_ = (early, *history.change_points_)
    positions = [one.commit.position for one in _changes(history)]
    assert positions == sorted(positions, reverse=True)
    assert positions[-1] == 20


def _list(history: History) -> tuple[Page, bytes]:
    items = list(change_list(history, AROUND))
    page = next(item for item in items if isinstance(item, Page))
    return page, next(item.content for item in items if isinstance(item, Resource))


def test_list_has_both_directions_for_the_filter_and_escapes_subjects() -> None:
    page, _ = _list(example_history())
    assert re.findall(r'data-tone="(\w+)"', page.body) == ["better", "worse"]
    assert "<img" not in page.body
    assert "&lt;img" in page.body


def test_list_links_commit_and_comparison() -> None:
    page, _ = _list(example_history())
    old, new = (commits()[at].hash for at in (STEP_AT - 1, STEP_AT))
    assert f'href="https://example.org/o/r/commit/{new}"' in page.body
    assert f'href="https://example.org/o/r/compare/{old}...{new}"' in page.body


def test_list_without_an_address_of_commits_has_no_links_out() -> None:
    items = change_list(example_history(), Around("", "x", AROUND.today))
    page = next(item for item in items if isinstance(item, Page))
    assert "http" not in page.body


def test_an_address_that_is_none_is_no_link() -> None:
    items = change_list(example_history(), Around("javascript:alert(1)//", "x", AROUND.today))
    page = next(item for item in items if isinstance(item, Page))
    assert not re.search(r'href="\s*javascript', page.body)


def test_feed_is_atom() -> None:
    """What RFC 4287 demands of a feed and of its entries."""
    _, content = _list(example_history())
    feed = ElementTree.fromstring(content)
    assert feed.tag == f"{_ATOM}feed"
    entries = feed.findall(f"{_ATOM}entry")
    assert len(entries) == 2
    for element in (feed, *entries):
        for name in ("id", "title", "updated"):
            assert len(element.findall(f"{_ATOM}{name}")) == 1
        assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", element.findtext(f"{_ATOM}id") or "")
        stamp = datetime.datetime.fromisoformat(element.findtext(f"{_ATOM}updated") or "")
        assert stamp == commits()[STEP_AT].date
    assert feed.findtext(f"{_ATOM}author/{_ATOM}name") == "example"
    assert {link.get("rel") for link in feed.findall(f"{_ATOM}link")} == {"self", "alternate"}
    assert any(HOSTILE_SUBJECT in (entry.findtext(f"{_ATOM}summary") or "") for entry in entries)


def test_feed_keeps_ids_when_more_comes() -> None:
    history = example_history()
    before = set(re.findall(rb"urn:uuid:[0-9a-f-]+", _list(history)[1]))
    key = next(one.key for one in history.series_ if one.key.benchmark.endswith("memory"))
    history.change_points_ = (ChangePoint(key, 3, 2, 1.0, 2.0), *history.change_points_)
    assert before < set(re.findall(rb"urn:uuid:[0-9a-f-]+", _list(history)[1]))


def test_feed_of_nothing_is_a_feed() -> None:
    _, content = _list(ExampleHistory())
    assert ElementTree.fromstring(content).findtext(f"{_ATOM}updated") == "1970-01-01T00:00:00Z"


def test_feed_with_half_characters_can_be_parsed() -> None:
    name = "a.B\ud800\x00\x1b[31m.time_x"
    history = _one_step(Benchmark(name=name, kind="time", unit="seconds"), [2.0])
    (entry,) = ElementTree.fromstring(_list(history)[1]).findall(f"{_ATOM}entry")
    assert (entry.findtext(f"{_ATOM}title") or "").startswith("a.B")


def test_feed_and_page_are_bounded() -> None:
    benchmark = Benchmark(name="a.B.time_x", kind="time", unit="seconds", param_names=("n",), params=(("1",),))
    key = SeriesKey(benchmark.name, ("1",), NEW_CPU.name, "container")
    many = 700
    history = ExampleHistory(
        commits_=commits(many),
        benchmarks_=(benchmark,),
        series_=(series_of(key, [(at, 1.0) for at in range(many)]),),
        change_points_=tuple(ChangePoint(key, at, at - 1, 1.0, 2.0) for at in range(1, many)),
    )
    page, feed = _list(history)
    assert page.body.count("data-tone=") == 500
    assert f"{many - 1 - 500} older ones" in page.body
    assert len(ElementTree.fromstring(feed).findall(f"{_ATOM}entry")) == 50


def test_a_change_leads_to_the_comparison_that_was_measured(tmp_path: Path) -> None:
    """Where the commit has a run file that can be read; a run of another commit, or a broken one, is not linked."""
    history = example_history()
    old, new = (commits()[at].hash for at in (STEP_AT - 1, STEP_AT))
    (ref,) = store([between(old, new, [Measured(case())])], tmp_path)
    history.runs_ = (ref,)
    (path,) = run_paths(history).values()
    assert _list(history)[0].body.count(f'href="{path}">comparison') == len(_changes(history))
    starlet = next(item for item in class_pages(history, AROUND) if isinstance(item, Page) and "Starlet" in item.path)
    assert f'href="../{path}">comparison' in starlet.body
    assert 'href="../relative/psgi.Starlet.html"' in starlet.body
    ref.path.write_bytes(b"half a file")
    history.runs_ = (replace(ref, commit=new),)
    assert "comparison</a>" not in _list(history)[0].body
