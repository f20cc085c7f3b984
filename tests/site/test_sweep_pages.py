"""Sweeps on the page of a run: charts of throughput and latency over concurrency, with their tables."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from example_history import HOSTILE, ExampleHistory, commits
from example_runs_on_disk import write
from hypothesis import given
from hypothesis import strategies as st

from example_sweeps import SATURATING, sweep_run
from windtunnel.history.nouns import RunRef
from windtunnel.sample.runfile import Arm, Run
from windtunnel.site.charts import figure
from windtunnel.site.charts.draw import static_svg
from windtunnel.site.charts.lines import Path as Line
from windtunnel.site.charts.lines import Spot, lines_chart
from windtunnel.site.charts.plots import Axis
from windtunnel.site.charts.scale import Measure
from windtunnel.site.page import Around, Page
from windtunnel.site.rundigest import RunDigest, digest
from windtunnel.site.runpages import run_pages, run_paths
from windtunnel.site.sweeps import MOST_SWEEPS
from windtunnel.units import Unit

OVER, TIME = Axis("concurrency", Measure(Unit.COUNT)), Axis("seconds per request", Measure(Unit.SECOND), log=True)
HASH = commits(8)[0].hash


def _page(run: Run, folder: Path) -> str:
    path = write(run, folder / "runs" / "2026" / f"{HASH}.jsonl")
    history = ExampleHistory(commits_=commits(8), runs_=(RunRef(path, HASH),))
    pages = {page.path: page for page in run_pages(history, Around("", "example", 0.0)) if isinstance(page, Page)}
    return str(pages[run_paths(history)[history.runs_[0]]].body)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "runs" / "2026").mkdir(parents=True)
    return tmp_path


def test_the_page_has_the_charts_the_values_and_the_words(folder: Path) -> None:
    body = _page(sweep_run("concurrency", SATURATING), folder)
    assert "over concurrency</h2>" in body
    assert "stops growing at concurrency 10" in body
    for name in ("throughput", "latency", "cpu"):
        (chart,) = re.findall(rf'<figure class="wt-chart" id="sweep-{name}-1">.*?</figure>', body, re.DOTALL)
        assert chart.count("<svg") == 1
        rows = re.findall(r"<tr>\s*<td>(.*?)</td>", chart)
        assert rows == ["1", "2", "5", "10", "20"]
    assert "9,000/s (8,910/s to 9,090/s)" in body


def test_a_run_without_one_has_none(folder: Path) -> None:
    body = _page(sweep_run("concurrency", {1: (1000, 0.001)}), folder)
    assert "sweep-" not in body


def test_arms_are_told_apart_and_there_are_not_too_many(folder: Path) -> None:
    run = sweep_run("concurrency", SATURATING)
    arms = tuple(Arm(f"arm{number}", "main", "worktree") for number in range(MOST_SWEEPS + 3))
    launches = tuple(replace(one, arm=arm.name) for arm in arms for one in run.launches)
    body = _page(replace(run, header=replace(run.header, arms=arms), launches=launches), folder)
    assert body.count('id="sweep-throughput-') == MOST_SWEEPS
    assert "3 further sweeps are left out" in body
    assert len(body) < 1 << 19
    assert "[arm0] over concurrency" in body


def test_a_digest_goes_through_its_file() -> None:
    from pydantic import TypeAdapter

    found = digest(sweep_run("rate", {100: (100, 0.001), 200: (150, 0.2)}))
    adapter = TypeAdapter(RunDigest)
    assert found.sweeps[0].by == "rate"
    assert adapter.validate_json(adapter.dump_json(found)) == found


def test_names_of_strangers_stay_text(folder: Path) -> None:
    run = sweep_run("concurrency", SATURATING)
    cases = tuple(replace(case, benchmark=HOSTILE) for case in run.header.cases)
    launches = tuple(replace(one, case=one.case.replace("psgi.Starlet", HOSTILE)) for one in run.launches)
    body = _page(replace(run, header=replace(run.header, cases=cases), launches=launches), folder)
    assert 'id="sweep-throughput-1"' in body
    assert "<script>alert" not in body
    assert "<img" not in body


# ---------------- the chart itself


def _spots(*values: float) -> list[Spot]:
    return [Spot(2.0**number, value, value * 0.9, value * 1.1) for number, value in enumerate(values)]


def test_what_is_drawn_has_a_dot_and_a_bar_for_each_value() -> None:
    chart = lines_chart("Latency", [Line("p50", _spots(1, 2, 3)), Line("p99", _spots(4, 5, 9))], OVER, TIME)
    root = ET.fromstring(static_svg(chart.spec))
    assert len([one for one in root.iter() if "mark-symbol" in one.get("class", "")]) >= 1
    rows = chart.spec["data"]["values"]
    assert [row["x"] for row in rows] == [1, 2, 4] * 2
    assert all(row["a"] < row["v"] < row["b"] for row in rows)
    assert "p99 is highest at 4, 9.000 s" in chart.text
    assert chart.table.columns == ("concurrency", "p50", "p99")


def test_what_is_not_known_is_in_the_table_alone() -> None:
    chart = lines_chart("Latency", [Line("p50", [Spot(1, 0.5), Spot(2, math.nan)])], OVER, TIME)
    assert len(chart.spec["data"]["values"]) == 1
    assert chart.table.rows == (("1", "500.0 ms"), ("2", "n/a"))


def test_nothing_at_all_can_be_drawn() -> None:
    for lines in ([], [Line("p50", [])], [Line("p50", [Spot(1, math.nan)])]):
        chart = lines_chart("Latency", lines, OVER, TIME)
        assert "There is no value to draw" in json.dumps(chart.spec)
        assert "<figure" in figure(chart, id="x")


amounts = st.floats(1e-9, 1e9) | st.just(math.nan)


@given(st.dictionaries(st.floats(1, 1e6), amounts, max_size=6))
def test_any_values_make_a_chart(values: dict[float, float]) -> None:
    spots = [Spot(x, values[x]) for x in sorted(values)]
    chart = lines_chart("Any", [Line("one", spots)], OVER, TIME)
    json.dumps(chart.spec, allow_nan=False)
    assert len(chart.table.rows) == len(values)
