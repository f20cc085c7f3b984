"""Sweeps, made by hand: what is one, where throughput ends, and what is printed of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import material
from example_sweeps import SATURATING, launches_of, sweep_run, swept_case
from windtunnel.load.openloop import BEHIND
from windtunnel.report.run import render_run, run_to_json
from windtunnel.report.sweep import Sweep, knee, sweeps_of, verdict_words
from windtunnel.report.sweep_text import render_sweep
from windtunnel.sample.runfile import Failure, Run, RunWriter, read_run


def _only(run: Run) -> Sweep:
    (sweep,) = sweeps_of(run)
    return sweep


# ---------------- what is one


def test_points_come_in_order_whatever_that_of_the_cases() -> None:
    run = sweep_run("concurrency", dict(reversed(SATURATING.items())))
    sweep = _only(run)
    assert (sweep.by, sweep.name, sweep.arm) == ("concurrency", "psgi.Starlet(5.36, close)", "head")
    assert [point.value for point in sweep.points] == list(SATURATING)
    assert [point.launches for point in sweep.points] == [8] * 5


def test_cases_that_differ_in_more_than_that_are_none() -> None:
    cases = (swept_case("concurrency", 1), swept_case("concurrency", 2, path="/other"))
    assert sweeps_of(Run(replace(material.HEADER, cases=cases))) == ()
    assert sweeps_of(Run(replace(material.HEADER, cases=(material.CASE,)))) == ()


def test_a_parameter_that_only_has_the_name_is_none() -> None:
    named = [replace(swept_case("concurrency", value), workload=material.CASE.workload) for value in (1, 2)]
    assert sweeps_of(Run(replace(material.HEADER, cases=tuple(named)))) == ()


def test_each_combination_of_the_others_is_a_sweep_of_its_own() -> None:
    open_, close = (swept_case("concurrency", 1), swept_case("concurrency", 2)), []
    for case in open_:
        params = tuple((name, "keepalive" if name == "connection" else text) for name, text in case.params)
        close.append(replace(case, params=params, workload=replace(case.workload, keepalive=True)))
    found = sweeps_of(Run(replace(material.HEADER, cases=(*open_, *close))))
    assert [sweep.name for sweep in found] == ["psgi.Starlet(5.36, close)", "psgi.Starlet(5.36, keepalive)"]


def test_a_run_of_two_dimensions_is_swept_in_each() -> None:
    cases = [
        replace(
            material.CASE,
            params=(("concurrency", str(many)), ("rate", f"{rate:g}")),
            workload=replace(material.CASE.workload, concurrency=many, rate=rate),
        )
        for many in (1, 2)
        for rate in (10.0, 20.0)
    ]
    found = sweeps_of(Run(replace(material.HEADER, cases=tuple(cases))))
    assert [sweep.by for sweep in found] == ["concurrency"] * 2 + ["rate"] * 2


def test_it_survives_the_run_file(tmp_path: Path) -> None:
    run = sweep_run("rate", {100: (100, 0.001), 200: (150, 0.1)}, rate=100.0, warnings=(BEHIND,))
    writer = RunWriter(tmp_path / "run.jsonl")
    writer.header(run.header)
    for launch in run.launches:
        writer.launch(launch)
    writer.close()
    assert sweeps_of(read_run(tmp_path / "run.jsonl")) == sweeps_of(run)


# ---------------- where it ends


def test_the_knee_is_where_nothing_gives_much_more() -> None:
    sweep = _only(sweep_run("concurrency", SATURATING))
    found = knee(sweep.points)
    assert found is not None
    assert found.value == 10
    assert "stops growing at concurrency 10" in verdict_words(sweep)


def test_what_still_grows_has_none() -> None:
    sweep = _only(sweep_run("concurrency", {1: (1000, 0.001), 2: (2000, 0.001), 4: (4000, 0.001)}))
    assert knee(sweep.points) is None
    assert "still grows at concurrency 4, the highest" in verdict_words(sweep)


def test_a_server_of_one_request_at_a_time_has_it_at_the_first() -> None:
    found = knee(_only(sweep_run("concurrency", {1: (1000, 0.001), 2: (1001, 0.002), 4: (1002, 0.004)})).points)
    assert found is not None
    assert found.value == 1


@pytest.mark.parametrize("count", [1, 3])
def test_too_few_launches_tell_nothing(count: int) -> None:
    sweep = _only(sweep_run("concurrency", SATURATING, count))
    assert knee(sweep.points) is None
    assert "not told from fewer than 4 launches" in verdict_words(sweep)


def test_noise_tells_nothing() -> None:
    run = sweep_run("concurrency", {1: (1000, 0.001), 2: (1100, 0.001), 4: (1150, 0.001)})
    noisy = [
        replace(
            launch,
            slices=tuple(
                replace(one, wall=one.wall * (0.7 + 0.09 * launch.number))  # type: ignore[operator]
                for one in launch.slices
            ),
        )
        for launch in run.launches
    ]
    assert "can't be told" in verdict_words(_only(replace(run, launches=tuple(noisy))))


@given(st.lists(st.floats(10, 10_000), min_size=2, max_size=6))
def test_no_later_point_gives_much_more_than_the_knee(throughputs: Sequence[float]) -> None:
    points = _only(sweep_run("concurrency", {n + 1: (one, 0.001) for n, one in enumerate(throughputs)}, 4)).points
    found = knee(points)
    if found is not None:
        at = points.index(found)
        assert all(one <= 1.1 * throughputs[at] for one in throughputs[at + 1 :])
        assert at < len(points) - 1


def _rates(*behind: bool) -> Sweep:
    cases = [swept_case("rate", 100.0 * (number + 1)) for number in range(len(behind))]
    launches = [
        launch
        for case, slow in zip(cases, behind, strict=True)
        for launch in launches_of(case, 90, 0.001, 2, rate=case.workload.rate, warnings=(BEHIND,) if slow else ())
    ]
    return _only(Run(replace(material.HEADER, cases=tuple(cases)), tuple(launches)))


@pytest.mark.parametrize(
    ("behind", "said"),
    [
        ((False, False, True), "keeps up with 200.0/s, and no longer with 300.0/s"),
        ((False, False), "keeps up with all of them, up to 200.0/s"),
        ((True, True), "does not keep up with 100.0/s, the lowest"),
        ((True, False), "can't be told"),
    ],
)
def test_up_to_which_rate_it_keeps_up(behind: tuple[bool, ...], said: str) -> None:
    assert said in verdict_words(_rates(*behind))


# ---------------- what is printed


@pytest.mark.parametrize("width", [20, 60, 80, 100, 200])
def test_the_chart_fits_and_is_of_plain_characters(width: int) -> None:
    text = render_sweep(_only(sweep_run("concurrency", SATURATING)), width=width)
    chart = [line for line in text.splitlines() if "|" in line]
    assert chart
    assert max(map(len, chart)) <= max(width, 51)  # below that a terminal breaks lines
    assert all(" " <= char < "\x7f" or char == "µ" for line in chart for char in line)
    bars = [line.split("|")[1].count("#") for line in chart if "#" in line]
    assert len(bars) == 5
    assert len(chart) == (6 if width > 80 else 12)
    assert bars == sorted(bars)
    assert bars[-1] >= 8 * bars[0] > 0


def test_the_table_has_every_point_with_its_spread() -> None:
    lines = render_sweep(_only(sweep_run("concurrency", SATURATING))).splitlines()
    assert lines[0] == "psgi.Starlet(5.36, close)   over concurrency"
    cells = [line.split() for line in lines[2:7]]
    assert [row[0] for row in cells] == ["1", "2", "5", "10", "20"]
    assert [row[1] for row in cells] == ["1,000/s", "2,000/s", "5,000/s", "9,000/s", "9,100/s"]
    assert all("±" in line for line in lines[2:7])


def test_a_point_that_was_not_measured_is_there_with_the_reason() -> None:
    run = sweep_run("concurrency", SATURATING)
    lost = run.header.cases[2].id
    run = replace(
        run,
        launches=tuple(one for one in run.launches if one.case != lost),
        failures=(Failure(lost, "head", "skipped", "it is not there"),),
    )
    text = render_sweep(_only(run))
    assert "! concurrency 5: it is not there" in text
    assert "n/a" in text.splitlines()[4]


def test_a_warning_is_told_once_with_the_points_that_have_it() -> None:
    run = sweep_run("concurrency", SATURATING)
    warned = tuple(
        replace(one, warnings=("too few workers",)) if one.case.endswith((", 10)", ", 20)")) else one
        for one in run.launches
    )
    text = render_sweep(_only(replace(run, launches=warned)))
    assert text.count("too few workers") == 1
    assert "note: concurrency 10, 20: too few workers" in text


def test_the_report_of_a_run_has_it_after_the_cases_or_in_place_of_them() -> None:
    run = sweep_run("concurrency", SATURATING)
    whole, brief = render_run(run), render_run(run, brief=True)
    for text in (whole, brief):
        assert "over concurrency" in text
        assert "Wall time" in text.splitlines()[-2]
    assert whole.count("Requests per second") == 5
    assert brief.count("Requests per second") == 0
    assert "stops growing" not in render_run(Run(material.HEADER, (material.LAUNCH,)))


def test_programs_get_the_same_figures() -> None:
    report = json.loads(json.dumps(run_to_json(sweep_run("concurrency", SATURATING)), allow_nan=False))
    (sweep,) = report["sweeps"]
    by_case = {case["case"]: case["metrics"] for case in report["cases"]}
    assert sweep["knee"] == 10
    for point in sweep["points"]:
        assert point["launches"] == 8
        assert point["throughput"]["median"] == by_case[point["case"]]["throughput"]["median"]
        assert set(point) >= {"value", "latency_p50", "latency_p99", "cpu_per_request"}
    assert "sweeps" not in run_to_json(Run(material.HEADER, (material.LAUNCH,)))
