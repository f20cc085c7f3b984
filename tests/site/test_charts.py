"""Charts as far as no browser is needed: what is drawn and told, what files hold, which colours are told apart."""

from __future__ import annotations

import itertools
import json
import math
import re
import xml.etree.ElementTree as ET
from array import array
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from example_history import (
    COMMITS,
    ENVIRONMENTS,
    HOSTILE,
    NEW_CPU,
    OLD_CPU,
    STEP_AT,
    ExampleHistory,
    commits,
    example_history,
    series_of,
)
from hypothesis import example, given
from hypothesis import strategies as st

from windtunnel.errors import ConfigError
from windtunnel.history.nouns import Benchmark, Machine, Series, SeriesKey
from windtunnel.site.charts import (
    Axis,
    Bar,
    Chart,
    Curve,
    Dot,
    Measure,
    bars_chart,
    distribution_chart,
    dots_chart,
    figure,
    history_chart,
    theme,
)
from windtunnel.site.charts import draw as drawing_module
from windtunnel.site.charts.columns import as_read, combination, data_files
from windtunnel.site.charts.draw import Drawing
from windtunnel.site.charts.machines import machine_changes
from windtunnel.site.charts.view import first_view, lines_of
from windtunnel.site.groups import groups
from windtunnel.site.page import Around
from windtunnel.units import Unit

AROUND = Around("https://example.org/commit/", "example", 0.0)
TIME = Axis("time per request", Measure(Unit.SECOND))
SVG = "{http://www.w3.org/2000/svg}"


def chart_of(history: ExampleHistory, name: str) -> Chart:
    group = next(one for one in groups(history) if one.name == name)
    chart = history_chart(history, group, AROUND, "data/x")
    assert chart is not None
    return chart


def grid(*sizes: int, commits_: int = 3) -> ExampleHistory:
    """One benchmark with that many values of each parameter, all of them measured."""
    params = tuple(tuple(str(value) for value in range(size)) for size in sizes)
    names = tuple(f"axis{number}" for number in range(len(sizes)))
    benchmark = Benchmark("grid.Grid.time_it", "time", "seconds", names, params, "1")
    keys = [SeriesKey(benchmark.name, one, NEW_CPU.name, "container") for one in itertools.product(*params)]
    several = tuple(
        series_of(key, [(at, 0.001 * (1 + number)) for at in range(commits_)]) for number, key in enumerate(keys)
    )
    return ExampleHistory(commits(), (NEW_CPU,), ENVIRONMENTS, (benchmark,), several)


# Bars, dots, distributions


def test_bars_tell_value_and_interval() -> None:
    bars = [Bar("a", 0.002, 0.0019, 0.0021), Bar("b", 0.004), Bar("c", math.nan)]
    chart = bars_chart("Servers", bars, TIME)
    assert chart.table.rows == (("a", "2.000 ms", "1.900 ms to 2.100 ms"), ("b", "4.000 ms", ""), ("c", "n/a", ""))
    assert [row["v"] for row in chart.spec["data"]["values"]] == [2.0, 4.0]
    assert chart.text == "Servers: time per request of 2; lowest a with 2.000 ms, highest b with 4.000 ms."


def test_nothing_to_draw_is_said() -> None:
    for chart in (bars_chart("Bars", [], TIME), dots_chart("Dots", [], TIME), distribution_chart("All", [], TIME)):
        assert "there is no value" in chart.text
        assert "<figure" in figure(chart, id="none")


def test_dots_stay_in_their_rows() -> None:
    dots = [Dot("base", 0.002, "base", "launch 1"), Dot("base", 0.0022, "base"), Dot("head", 0.0021, "head")]
    chart = dots_chart("Launches", dots, TIME)
    assert [row["n"] for row in chart.spec["data"]["values"]] == ["base", "base", "head"]
    assert chart.table.rows[0] == ("base base launch 1", "2.000 ms")


@given(
    st.lists(
        st.tuples(st.integers(0, 2500), st.integers(1, 10**6)), min_size=1, max_size=80, unique_by=lambda one: one[0]
    )
)
def test_a_distribution_loses_no_request(counts: list[tuple[int, int]]) -> None:
    buckets = [(1e-9 * 1.01**at, 1e-9 * 1.01 ** (at + 1), count) for at, count in sorted(counts)]
    chart = distribution_chart("Latency", [Curve("all", buckets)], TIME)
    shares = [row["p"] for row in chart.spec["data"]["values"]]
    assert sum(shares) == pytest.approx(1, rel=1e-3)
    assert len(shares) <= 70


def test_quantiles_of_a_distribution() -> None:
    chart = distribution_chart(
        "Latency", [Curve("all", [(0.001, 0.002, 90), (0.009, 0.010, 9), (0.09, 0.1, 1)])], TIME
    )
    assert chart.table.columns == ("", "50% within", "90% within", "99% within", "100% within")
    assert chart.table.rows == (("all", "2.000 ms", "2.000 ms", "10.00 ms", "100.0 ms"),)


# A figure


def test_a_figure_is_well_formed_and_hostile_texts_are_texts() -> None:
    chart = bars_chart(
        f"Title {HOSTILE}", [Bar(HOSTILE, 0.002), Bar("]]><!--</script>", 0.003)], TIME, notes=(HOSTILE,)
    )
    markup = str(figure(chart, id="x"))
    root = ET.fromstring(markup.replace("&nbsp;", " "))
    assert root.tag == "figure"
    assert [one.get("type") for one in root.iter("script")] == ["application/json"]
    assert json.loads(next(root.iter("script")).text or "")["spec"]["data"]["values"][0]["n"] == HOSTILE
    assert HOSTILE not in markup
    assert any(HOSTILE[:20] in (one.text or "") for one in root.iter(f"{SVG}text"))


def test_only_addresses_of_the_web_are_links() -> None:
    history = example_history()
    group = groups(history)[0]
    for address, links in (("https://example.org/c/", True), ("javascript:alert(1)//", False), ("", False)):
        chart = history_chart(history, group, Around(address, "", 0.0), "data/x")
        assert chart is not None
        assert ("<a " in str(figure(chart, id="x"))) is links


def test_colours_are_variables_of_the_style_sheet() -> None:
    svg = Drawing().svg(chart_of(example_history(), "psgi.Starlet").spec)
    painted = set(re.findall(r'(?:fill|stroke)="([^"]+)"', svg))
    assert {one for one in painted if not one.startswith("var(--wt-")} <= {"none", "transparent"}


# Drawings


def test_a_drawing_is_kept_and_found_again(tmp_path: Path) -> None:
    spec = bars_chart("Bars", [Bar("a", 1.0)], TIME).spec
    first = Drawing(tmp_path)
    svg = first.svg(spec)
    again = Drawing(tmp_path)
    assert (again.svg(spec), again.drawn, first.drawn) == (svg, 0, 1)
    other = bars_chart("Bars", [Bar("a", 2.0), Bar("b", 1.0)], TIME).spec
    assert again.svg(other) != svg
    assert again.drawn == 1


@pytest.mark.parametrize("content", [b"", b"<svg half", b"\xff\xfe", b"<html></html>"])
def test_a_drawing_that_was_half_written_is_made_again(tmp_path: Path, content: bytes) -> None:
    spec = bars_chart("Bars", [Bar("a", 1.0)], TIME).spec
    svg = Drawing(tmp_path).svg(spec)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(content)
    assert Drawing(tmp_path).svg(spec) == svg
    assert kept.read_text() == svg


def test_a_folder_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    drawing = Drawing(tmp_path / "file" / "drawings")
    assert drawing.svg(bars_chart("Bars", [Bar("a", 1.0)], TIME).spec).startswith("<svg")


def test_a_missing_converter_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(ConfigError, match=r"pip install 'windtunnel\[site\]'"):
        drawing_module.converter()


# A history


def test_nothing_measured_is_no_chart() -> None:
    history = example_history()
    group = next(one for one in groups(history) if one.name == "unmeasured.Nothing")
    assert history_chart(history, group, AROUND, "data/x") is None


@pytest.mark.parametrize(
    ("sizes", "lines"), [((), 1), ((3,), 3), ((3, 2), 6), ((5, 4), 4), ((2, 2, 2), 8), ((40,), 8), ((3, 300), 8)]
)
def test_no_more_lines_than_can_be_told_apart(sizes: tuple[int, ...], lines: int) -> None:
    history = grid(*sizes)
    (group,) = groups(history)
    view = first_view(group)
    assert view is not None
    found = lines_of(view, group.series[view.benchmark.name])
    assert len(found) == lines
    assert len({line.label for line in found}) == lines


@pytest.mark.parametrize(("others", "log"), [((0.003, 0.003), False), ((1.0, 1.0), True), ((1.0, 0.0), False)])
def test_lines_far_apart_are_seen_on_a_log_scale(others: tuple[float, ...], log: bool) -> None:
    history = grid(2)
    first, second = history.series_
    history.series_ = (first, series_of(second.key, list(enumerate(others))))
    chart = chart_of(history, "grid.Grid")
    heights = [layer["encoding"]["y"]["scale"].get("type") for layer in chart.spec["layer"]]
    assert set(heights) == ({"log"} if log else {None})
    assert chart.setup is not None
    assert chart.setup["view"]["log"] is log


def test_a_failure_breaks_the_line() -> None:
    history = example_history()
    sets = chart_of(history, "flask.Gunicorn").spec["datasets"]
    assert [(row["x"], row["l"]) for row in sets["failed"]] == [(COMMITS - 1, "4")]
    assert {(row["l"], row["g"]) for row in sets["points"]} == {("2", 0), ("4", 0)}
    key = SeriesKey("grid.Grid.time_it", (), NEW_CPU.name, "container")
    broken = series_of(key, [(0, 1.0), (1, math.nan), (2, 1.0)])
    rows = chart_of(
        ExampleHistory(commits(), (NEW_CPU,), ENVIRONMENTS, grid().benchmarks_, (broken,)), "grid.Grid"
    ).spec
    assert [row["g"] for row in rows["datasets"]["points"]] == [0, 1]


def test_change_points_have_direction_judgement_and_commit() -> None:
    history = example_history()
    worse = chart_of(history, "psgi.Starlet").spec["datasets"]["changes"]
    better = chart_of(history, "flask.Gunicorn").spec["datasets"]["changes"]
    assert {(row["x"], row["u"], row["w"]) for row in worse} == {(STEP_AT, True, True)}
    assert {(row["x"], row["u"], row["w"]) for row in better} == {(STEP_AT, False, False)}
    assert worse[0]["h"] == f"https://example.org/commit/{commits()[STEP_AT].hash}"


def test_a_chart_is_of_one_machine_and_says_so() -> None:
    chart = chart_of(example_history(), "psgi.Starlet")
    assert min(row["x"] for row in chart.spec["datasets"]["points"]) == 14
    assert chart.notes[0] == "Measured on runner-new (EPYC 7763), container."
    assert chart.spec["datasets"]["machines"] == [
        {"x": 14, "t": "From here on measured on EPYC 7763, before on Xeon E5-2673 v4."}
    ]


def test_machines_of_one_model_are_no_change() -> None:
    keys = [SeriesKey("b", (), name, "e") for name in ("one", "two")]
    several = [series_of(keys[0], [(0, 1.0)]), series_of(keys[1], [(1, 1.0)])]
    assert machine_changes(several, {"one": "CPU", "two": "CPU"}) == []
    assert [at for at, _ in machine_changes(several, {"one": "CPU", "two": "Another"})] == [1]
    turns = [series_of(keys[at % 2], [(at, 1.0)]) for at in range(40)]
    assert machine_changes(turns, {"one": "CPU", "two": "Another"}) == []


def test_parameters_that_are_no_more_are_left_out() -> None:
    history = grid(2)
    lost = series_of(SeriesKey("grid.Grid.time_it", ("gone",), NEW_CPU.name, "container"), [(9, 1.0)])
    short = series_of(SeriesKey("grid.Grid.time_it", (), NEW_CPU.name, "container"), [(9, 1.0)])
    chart = chart_of(ExampleHistory(history.commits_, history.machines_, ENVIRONMENTS, history.benchmarks_,
                                    (*history.series_, lost, short)), "grid.Grid")  # fmt: skip
    index = json.loads(chart.resources[-1].content)
    assert [numbers[0] for numbers in index["metrics"][0]["series"]] == [0, 1]


def test_a_large_grid_has_files_of_a_bounded_size_and_no_long_page() -> None:
    chart = chart_of(grid(60, 27, commits_=25), "grid.Grid")
    sizes = [len(one.content) for one in chart.resources]
    assert len(sizes) > 3
    assert max(sizes[:-1]) < 400_000
    assert len(str(figure(chart, id="x"))) < 150_000


finite = st.floats(min_value=-1e12, max_value=1e12, allow_subnormal=False) | st.just(math.nan)


@given(st.lists(st.tuples(finite, finite, finite), min_size=1, max_size=20))
@example([(math.nan, math.nan, 1797693135.0), (2.3372803961069832e-294, math.nan, math.nan)])
@example([(2.3e-308, math.nan, 1.0)])
def test_files_hold_six_digits_of_the_smallest_value(rows: list[tuple[float, float, float]]) -> None:
    key = SeriesKey("b.B.time", (), "m", "e")
    values, low, high = (array("d", column) for column in zip(*rows, strict=True))
    read = as_read(Series(key, array("l", range(len(rows))), values, low, high))
    largest = max((abs(one) for one in values if math.isfinite(one)), default=0.0)
    for told, exact in zip(read.values, values, strict=True):
        assert math.isnan(told) == math.isnan(exact)
        if math.isfinite(exact):
            assert told == pytest.approx(exact, rel=1e-5, abs=largest * 1e-11)


def test_combinations_are_numbered_as_they_are_declared() -> None:
    benchmark = grid(3, 2).benchmarks_[0]
    numbers = [combination(benchmark, one) for one in itertools.product(*benchmark.params)]
    assert numbers == list(range(6))
    assert combination(benchmark, ("0",)) == combination(benchmark, ("0", "7")) == -1


def test_an_index_names_every_series_and_change() -> None:
    history = example_history()
    group = next(one for one in groups(history) if one.name == "psgi.Starlet")
    *files, last = data_files(group, "data/psgi.Starlet")
    index = json.loads(last.content)
    assert last.path == "data/psgi.Starlet/index.json"
    assert index["machines"] == [NEW_CPU.name, OLD_CPU.name]
    assert [len(metric["series"]) for metric in index["metrics"]] == [12, 12, 12]
    assert sum(len(metric["changes"]) for metric in index["metrics"]) == len(group.change_points)
    assert sum(len(json.loads(one.content)["series"]) for one in files) == 36


def test_hostile_names_go_into_no_path_and_no_expression() -> None:
    name = f"hostile.{HOSTILE}"
    chart = chart_of(example_history(), name)
    assert all(one.path.startswith("data/x/") for one in chart.resources)
    assert HOSTILE not in json.dumps(chart.spec["encoding"])


def test_no_machine_facts_no_model() -> None:
    history = grid(2)
    plain = ExampleHistory(history.commits_, (Machine(NEW_CPU.name),), (), history.benchmarks_, history.series_)
    assert chart_of(plain, "grid.Grid").notes[0] == f"Measured on {NEW_CPU.name}, container."


# Colours: whether they stand out, and whether they can be told apart


def _sheet() -> dict[str, dict[str, tuple[float, ...]]]:
    """The variables of the light and the dark scheme, as linear red, green and blue."""
    text = (resources.files("windtunnel.site.charts") / "static/charts.css").read_text()
    light, dark = (part.split("}")[0] for part in text.split("{")[1:3])
    found = [dict(re.findall(r"(--wt-[\w-]+): #([0-9a-f]{6});", part)) for part in (light, dark)]
    return {
        scheme: {
            name: tuple(_linear(int(code[at : at + 2], 16) / 255) for at in (0, 2, 4)) for name, code in one.items()
        }
        for scheme, one in zip(("light", "dark"), found, strict=True)
    }


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _luminance(colour: tuple[float, ...]) -> float:
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), colour, strict=True))


def _contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_colour_stands_out_from_its_ground(scheme: str) -> None:
    """WCAG 2.2: 3 for what is drawn (1.4.11), 4.5 for letters and for what is also used for words (1.4.3)."""
    sheet = _sheet()[scheme]
    ground = sheet["--wt-ground"]
    lines = [f"--wt-line-{number}" for number in range(1, theme.MOST_LINES + 1)]
    assert {name: _contrast(sheet[name], ground) for name in lines if _contrast(sheet[name], ground) < 3} == {}
    words = ["--wt-ink", "--wt-worse", "--wt-better"]
    assert {name: _contrast(sheet[name], ground) for name in words if _contrast(sheet[name], ground) < 4.5} == {}


# Machado, Oliveira and Fernandes (2009): what is seen without one kind of cone; rows for red, green, blue (linear).
SEEING = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}


def _pairs(scheme: str) -> Iterator[tuple[str, str]]:
    yield from itertools.combinations([f"--wt-line-{number}" for number in range(1, theme.MOST_LINES + 1)], 2)
    yield "--wt-worse", "--wt-better"


def _lab(colour: tuple[float, ...]) -> tuple[float, float, float]:
    """Oklab: distances are as large as they look."""
    red, green, blue = colour
    cones = (
        0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue,
        0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue,
        0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue,
    )
    long, middle, short = (math.copysign(abs(one) ** (1 / 3), one) for one in cones)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("seeing", SEEING)
def test_lines_are_told_apart_by_colour_or_by_dash(scheme: str, seeing: str) -> None:
    """Lines whose colours look alike to somebody have different dashes; worse and better are never alike."""
    sheet = _sheet()[scheme]
    seen = {
        name: _lab(
            tuple(sum(share * part for share, part in zip(row, colour, strict=True)) for row in SEEING[seeing])
        )
        for name, colour in sheet.items()
    }
    alike = [pair for pair in _pairs(scheme) if math.dist(seen[pair[0]], seen[pair[1]]) < 0.04]
    assert ("--wt-worse", "--wt-better") not in alike
    dashes = {f"--wt-line-{number + 1}": dash for number, dash in enumerate(theme.DASHES)}
    assert [pair for pair in alike if dashes[pair[0]] == dashes[pair[1]]] == []
    assert len(alike) <= (0 if seeing == "all" else 3), alike


def test_no_two_lines_have_the_same_dash() -> None:
    assert len({tuple(dash) for dash in theme.DASHES}) == theme.MOST_LINES == len(theme.LINES)
