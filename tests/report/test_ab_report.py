"""A run's report as ab would print it: the same fields in the same places, and nothing that was not measured."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from example_runs import CLOSE, KEEPALIVE, PEAK, RUNS
from hypothesis import given, settings
from hypothesis import strategies as st

import material
from windtunnel.load import ab
from windtunnel.load.histogram import build
from windtunnel.load.output import Output
from windtunnel.model import Case, Launch, Slice, Variant, Workload
from windtunnel.report.abreport import render_ab
from windtunnel.sample.runfile import Run
from windtunnel.units import Missing

PAGE = Path(__file__).resolve().parents[2] / "site" / "reports.md"
FIELDS = [
    *("Server Software", "Document Path", "Document Length", "Concurrency Level", "Time taken for tests"),
    *("Complete requests", "Failed requests", "Keep-Alive requests", "Total transferred", "HTML transferred"),
    *("Requests per second", "Time per request", "Time per request", "Transfer rate"),
]
"""Of ab 2.3, in its order."""

ROWS = [0.0012, 0.0010, 0.0014, 0.0016, 0.0011]
"""Medians that ab printed of five slices, in seconds."""


def _labels(text: str) -> list[str]:
    """Of everything before the two tables."""
    return re.findall(r"^([A-Z][A-Za-z -]+):(?=  )", text.partition("Connection Times")[0], re.MULTILINE)


def _field(text: str, label: str) -> str:
    found = re.search(rf"^{re.escape(label)}: +(.+)$", text, re.MULTILINE)
    assert found is not None, text
    return found[1]


def _run(case: Case, *launches: Launch) -> Run:
    return Run(replace(material.HEADER, cases=(case,)), tuple(replace(one, case=case.id) for one in launches))


def _launch(*slices: Slice, **changes: object) -> Launch:
    return replace(material.LAUNCH, slices=slices, **changes)


def _load(run: Run) -> list[Slice]:
    good = [launch for launch in run.launches if launch.outcome == "ok"]
    return [one for launch in good for one in launch.slices if one.role == "load"]


AB = Case("psgi.Old", (), Variant("starlet"), Workload(concurrency=16, generator="ab"))
PRINTED = [
    replace(material.LOAD, latency={}, kept=160, percentiles={0.0: 0.0001 * n, 50.0: middle, 100.0: 0.01 * n})
    for n, middle in enumerate(ROWS, start=1)
]


def _example() -> Run:
    """What the documentation shows: a run in which the time of every request was logged."""
    times = build([0.002 + 0.000025 * number for number in range(160)])
    return replace(
        RUNS["ok"],
        launches=tuple(
            replace(launch, slices=tuple(replace(one, latency=times) for one in launch.slices))
            for launch in RUNS["ok"].launches
        ),
    )


def test_the_documentation_shows_such_a_report() -> None:
    assert f'```text title="ab.txt"\n{render_ab(_example())}\n```' in PAGE.read_text("utf-8")


def test_the_fields_are_those_of_ab_in_its_order() -> None:
    assert _labels(render_ab(RUNS["ok"])) == FIELDS


def test_abs_own_reader_reads_the_figures() -> None:
    run = RUNS["ok"]
    load = _load(run)
    read = ab.parse(Output(render_ab(run) + "\n", "", 0, None, timed_out=False, wall=0.0))
    assert read.completed == sum(one.requests for one in load) == 24 * 160
    assert read.seconds == pytest.approx(sum(one.wall for one in load if isinstance(one.wall, float)), abs=0.0005)
    assert read.body_bytes == sum(one.body_bytes for one in load if isinstance(one.body_bytes, int))
    assert read.total_bytes == sum(one.total_bytes for one in load if isinstance(one.total_bytes, int))
    assert (read.server, read.failed) == ("Starlet", {})


def test_rates_are_those_of_all_slices_together() -> None:
    text, load = render_ab(RUNS["ok"]), _load(RUNS["ok"])
    seconds = sum(one.wall for one in load if isinstance(one.wall, float))
    each = 1000 * seconds / (24 * 160)
    assert _field(text, "Requests per second") == f"{1000 / each:.2f} [#/sec] (mean)"
    assert f"{16 * each:.3f} [ms] (mean)\n" in text
    assert f"{each:.3f} [ms] (mean, across all concurrent requests)" in text
    assert _field(text, "Transfer rate") == f"{24 * 160 * 300 / 1024 / seconds:.2f} [Kbytes/sec] received"
    assert "24 slices of 160 requests in 8 launches, added up" in text


def test_slices_at_concurrency_one_and_warm_up_are_in_none_of_it() -> None:
    whole = RUNS["ok"]
    bare = replace(
        whole,
        launches=tuple(
            replace(one, slices=tuple(part for part in one.slices if part.role == "load")) for one in whole.launches
        ),
    )
    assert render_ab(bare) == render_ab(whole)


def test_times_come_from_the_histogram_and_connecting_was_not_measured() -> None:
    case = replace(KEEPALIVE, workload=replace(KEEPALIVE.workload, concurrency=1))
    seen = replace(material.LOAD, requests=4, latency={1400: 1, 1450: 2, 1500: 1})
    text = render_ab(_run(case, _launch(seen)))
    table = {
        line.split(":")[0]: line.split(":")[1].split() for line in text.splitlines() if re.match(r"[A-Z]\w+: ", line)
    }
    assert table["Connect"] == table["Waiting"] == table["Total"] == ["-"] * 5
    least, mean, spread, middle, most = map(float, table["Processing"])
    shortest, usual, longest = (1e-6 * 1.01 ** (bucket + 0.5) for bucket in (1400, 1450, 1500))
    assert (least, middle, most) == pytest.approx((shortest, usual, longest), abs=0.0005)
    average = (shortest + 2 * usual + longest) / 4
    assert mean == pytest.approx(average, abs=0.0005)
    square = ((shortest - average) ** 2 + 2 * (usual - average) ** 2 + (longest - average) ** 2) / 3
    assert spread == pytest.approx(square**0.5, abs=0.0005)
    shown = dict(re.findall(r"^ +(\d+)% +([0-9.]+)", text, re.MULTILINE))
    assert list(shown) == ["50", "66", "75", "80", "90", "95", "98", "99", "100"]
    assert (float(shown["50"]), float(shown["100"])) == (middle, most)
    assert "from the times of all 4 requests; connecting is not in them" in text


def test_abs_own_percentiles_are_called_its_own() -> None:
    text = render_ab(_run(AB, _launch(*PRINTED)))
    shown = dict(re.findall(r"^ +(\d+)% +([0-9.]+)", text, re.MULTILINE))
    assert shown == {"50": "1.200", "100": "50.000"}
    assert re.search(r"^Total: +0\.100 +- +- +1\.200 +50\.000$", text, re.MULTILINE)
    assert "ab's own, the median of 5 slices" in text
    assert text.startswith("Benchmarking psgi.Old: GET over HTTP/1.0 by ab")


def test_a_percentile_that_a_slice_lacks_is_not_made_from_the_others() -> None:
    lacking = [replace(PRINTED[0], percentiles={100.0: 0.02}), *PRINTED[1:]]
    text = render_ab(_run(AB, _launch(*lacking)))
    assert re.findall(r"^ +(\d+)% ", text, re.MULTILINE) == ["100"]


def test_kept_connections_are_told_where_they_were_counted() -> None:
    assert _field(render_ab(_run(AB, _launch(*PRINTED))), "Keep-Alive requests") == "800"
    assert _field(render_ab(RUNS["ok"]), "Keep-Alive requests") == "not counted by h2load"
    assert "Keep-Alive" not in render_ab(RUNS["close"])


def test_what_was_not_measured_says_so_and_has_no_figure() -> None:
    text = render_ab(RUNS["missing"])
    assert _field(text, "HTML transferred") == "not measured (wrk does not count bodies)"
    assert _field(text, "Total transferred") == "not measured (not reported)"
    assert _field(text, "Transfer rate") == "not measured (not reported)"
    assert _field(text, "Document Length") == "not known (no answer was checked)"
    assert "Connection Times, percentages: not measured (wrk told no times of requests)" in text
    assert "%" not in text.partition("Connection Times")[2]


def test_a_transfer_rate_of_bodies_alone_is_called_that() -> None:
    told = _field(render_ab(RUNS["close"]), "Transfer rate")
    load = _load(RUNS["close"])
    rate = len(load) * 160 * 128 / 1024 / sum(one.wall for one in load if isinstance(one.wall, float))
    assert told.startswith(f"{rate:.2f} [Kbytes/sec] of HTML received; in all not measured (h2load leaves out")


def test_failures_have_abs_kinds_and_there_is_no_speed_without_a_good_launch() -> None:
    failed = {"length": 40, "connect": 1, "timeout": 3, "status": 2}
    seen = replace(material.LOAD, failed=failed, status={"200": 158, "500": 2}, invalid="40 of the wrong length")
    text = render_ab(_run(CLOSE, _launch(seen).failing("invalid", seen.invalid)))
    assert _field(text, "Failed requests") == "44"
    assert "   (Connect: 1, Receive: 0, Length: 40, Exceptions: 3)" in text
    assert _field(text, "Non-2xx responses") == "2"
    assert _field(text, "Requests per second") == "not told (no launch is good)"
    assert "! left out, 1 of 1 launch: 40 of the wrong length" in text
    assert "Time per request" not in text


def test_what_no_generator_counted_is_not_told_as_none() -> None:
    text = render_ab(RUNS["invalid"])
    assert _field(text, "Failed requests") == "not counted (what was wrong stands below)"
    assert "! left out, 2 of 2 launches: 500 bytes less than 160 x 128" in text


def test_bad_launches_are_left_out_and_told() -> None:
    text = render_ab(RUNS["partly"])
    assert _field(text, "Complete requests") == str(4 * 3 * 160)
    assert _field(text, "Failed requests") == "0"
    assert "! left out, 1 of 6 launches: status 60 x 500 instead of 200" in text
    assert "! left out, 1 of 6 launches: the load side-car ended" in text


def test_both_arms_of_a_comparison_have_a_report() -> None:
    heads = re.findall(r"^Benchmarking (.*): GET over", render_ab(RUNS["arms"]), re.MULTILINE)
    assert heads == [f"{KEEPALIVE.id} [base]", f"{KEEPALIVE.id} [head]"]


def test_what_was_not_launched_has_its_reason() -> None:
    text = render_ab(RUNS["not-launched"])
    assert f"Benchmarking {KEEPALIVE.id}: not measured\n  failed: the image of starlet can't be built" in text
    assert "Benchmarking psgi.Starlet(5.8, close): not measured\n  skipped: this commit has no value '5.8'" in text


def test_a_program_of_the_targets_own_asks_for_no_document() -> None:
    work = Workload(generator="program", op="get", payload="scalar")
    case = Case("clients.Get", (), Variant("fast"), work)
    seen = replace(material.LOAD, concurrency=1, total_bytes=Missing("no"), body_bytes=Missing("no"))
    text = render_ab(_run(case, _launch(seen, answer=None, program="Fast 0.28")))
    assert text.startswith("Benchmarking clients.Get: by its own program (Fast 0.28)")
    assert _field(text, "Operation") == "get scalar"
    assert not {"Document Path", "Total transferred", "Transfer rate", "Keep-Alive requests"} & set(_labels(text))
    assert re.search(r"^Total: +[0-9]", text, re.MULTILINE)


def test_an_open_loop_has_no_time_per_request_but_times_from_when_they_were_due() -> None:
    case = replace(KEEPALIVE, workload=replace(KEEPALIVE.workload, rate=500.0))
    text = render_ab(_run(case, _launch(material.LOAD)))
    assert text.startswith(f"Benchmarking {case.id}: GET over HTTP/1.1 by an open loop\n")
    assert (
        _field(text, "Time per request")
        == "not measured (500 requests a second arrive, however fast they are answered)"
    )
    assert re.search(r"^Total: +[0-9]", text, re.MULTILINE)
    assert "from the times of all 160 requests, from when each was due" in text


def test_names_steer_no_terminal() -> None:
    case = replace(PEAK, benchmark="\x1b[31mred", workload=replace(PEAK.workload, path="/\x1b]0;title\x07"))
    assert "\x1b" not in render_ab(_run(case, *RUNS["missing"].launches))


@settings(max_examples=60, deadline=None)
@given(st.lists(material.launches, max_size=3), material.cases)
def test_anything_that_a_run_file_holds_can_be_told(launches: list[Launch], case: Case) -> None:
    here = [replace(one, case=case.id, arm="head") for one in launches]
    assert render_ab(Run(replace(material.HEADER, cases=(case,)), tuple(here))).startswith("Benchmarking ")
