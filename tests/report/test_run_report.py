"""What `windtunnel run` prints, as text and as JSON, in every state a run can be in.

The files under golden/ are what it should look like; `UPDATE_GOLDEN=1 pytest tests/report` writes them anew, and
then it is for a person to read the difference.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from example_runs import KEEPALIVE, RUNS
from hypothesis import given, settings
from hypothesis import strategies as st

import material
from windtunnel.model import METRICS, Launch
from windtunnel.report.run import PHASES, render_run, run_to_json, spent_by_phase
from windtunnel.sample.runfile import Failure, Run, RunWriter, read_run

GOLDEN = Path(__file__).parent / "golden"
quick = settings(max_examples=30, deadline=None)


def _golden(name: str, text: str) -> str:
    path = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")


def _near(value: Any) -> Any:
    """`value` as something to compare with whose floats may differ in the last digits, as libraries' do."""
    if isinstance(value, dict):
        return {key: _near(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_near(item) for item in value]
    return pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value


def _json(run: Run) -> str:
    return json.dumps(run_to_json(run), indent=2, allow_nan=False)


def _rows(name: str) -> dict[str, str]:
    """The rows of a report's (first) table by their label."""
    lines = render_run(RUNS[name]).split("\n\n")[0].splitlines()[1:]
    cells = [re.split(r"  +", line.strip()) for line in lines]
    return {label: "  ".join(rest) for label, *rest in cells}


@pytest.mark.parametrize("name", RUNS)
def test_the_text_is_as_it_should_look(name: str) -> None:
    text = render_run(RUNS[name]) + "\n"
    assert text == _golden(f"{name}.txt", text)


@pytest.mark.parametrize("name", RUNS)
def test_the_json_is_as_it_should_be(name: str) -> None:
    text = _json(RUNS[name]) + "\n"
    assert json.loads(text) == _near(json.loads(_golden(f"{name}.json", text)))


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_went_through_its_file_gives_the_same_report(name: str, tmp_path: Path) -> None:
    run, path = RUNS[name], tmp_path / "run.jsonl"
    writer = RunWriter(path)
    writer.header(run.header)
    for failure in run.failures:
        writer.failure(failure)
    for launch in run.launches:
        writer.launch(launch)
    if run.end:
        writer.end(**run.end)
    writer.close()
    assert render_run(read_run(path)) == render_run(run)
    assert _json(read_run(path)) == _json(run)


def test_no_golden_file_is_left_over() -> None:
    own = {path.name for path in GOLDEN.iterdir() if not path.name.startswith(("comparison-", "comment-"))}
    assert own == {f"{name}.{kind}" for name in RUNS for kind in ("txt", "json")}


@pytest.mark.parametrize("name", RUNS)
def test_no_line_of_a_table_is_too_wide_for_a_terminal(name: str) -> None:
    for line in render_run(RUNS[name]).splitlines():
        assert len(line) <= 120 or line.lstrip().startswith(("!", "note:", "psgi.", "Wall time")), line
        assert line == line.rstrip()


# ---------------- what must not be said


def test_the_rate_of_bodies_is_told_as_such_and_only_where_the_whole_is_not_known() -> None:
    assert "without headers" in _rows("close")["Transfer rate"]
    assert _rows("close")["Transfer rate"].startswith("500.0 KiB/s")  # 160 x 128 B in 40 ms
    assert _rows("ok")["Transfer rate"].startswith("1.144 MiB/s")  # 160 x 300 B in 40 ms
    assert "without" not in _rows("ok")["Transfer rate"]
    assert _rows("missing")["Transfer rate"] == "n/a  not reported"


def test_a_spread_is_not_told_of_what_has_none() -> None:
    rows = _rows("ok")
    assert "±" not in rows["Idle CPU"]
    assert "±" not in rows["Image size"]
    assert "±2.0 %" in rows["Requests per second"]


def test_requests_that_were_never_made_did_not_succeed() -> None:
    assert "Failed requests" not in render_run(RUNS["failed"])
    assert "Failed requests" in render_run(RUNS["invalid"])


def test_a_case_without_a_good_launch_has_no_figures() -> None:
    for name in ("invalid", "failed", "not-launched"):
        text = render_run(RUNS[name]).partition("\n\nWall time")[0]
        assert not re.search(r"[0-9] (?:s|ms|µs|%)(?:\s|$)|/s", text.replace("within 20 s", "")), text


def test_every_missing_number_has_its_reason() -> None:
    for label, rest in _rows("missing").items():
        assert rest != "n/a", label


@quick
@given(st.lists(material.launches, max_size=4), st.lists(material.failures, max_size=2), st.booleans())
def test_whatever_a_run_file_holds_there_is_a_report_and_no_case_is_forgotten(
    launches: list[Launch], failures: list[Failure], mine: bool
) -> None:
    """Launches of strange figures, of cases that the header does not have, or none at all."""
    if mine:
        launches = [launch for launch in RUNS["ok"].launches if launches] + launches
    run = Run(RUNS["ok"].header, tuple(launches), tuple(failures))
    assert KEEPALIVE.id in render_run(run)
    for failure in failures:
        assert failure.reason in render_run(run)
    (case,) = json.loads(_json(run))["cases"]
    assert case["case"] == KEEPALIVE.id
    assert not case["launches"] or set(case["metrics"]) == set(METRICS)


# ---------------- for programs


@pytest.mark.parametrize("name", RUNS)
def test_json_has_every_number_in_its_base_unit_or_a_reason(name: str) -> None:
    for case in run_to_json(RUNS[name])["cases"]:
        for metric, seen in case.get("metrics", {}).items():
            assert seen["unit"] == METRICS[metric].unit.value
            for key in ("median", "low", "high"):
                assert isinstance(seen[key], float) or set(seen[key]) == {"missing"}
            assert (seen["launches"] == 0) == isinstance(seen["median"], dict)


def test_json_tells_one_arm_from_the_other() -> None:
    cases: list[dict[str, Any]] = run_to_json(RUNS["arms"])["cases"]
    assert [case["arm"] for case in cases] == ["base", "head"]
    times = [case["metrics"]["time_per_request"]["median"] for case in cases]
    assert times[1] / times[0] == pytest.approx(1.1)


# ---------------- where the time went


def test_phases_add_up_to_the_whole() -> None:
    spent = spent_by_phase(RUNS["ok"])
    assert list(spent) == [*PHASES, "other"]
    assert sum(spent.values()) == pytest.approx(20.0)
    assert spent["start"] == pytest.approx(8 * 0.5)
    assert spent["build"] == 3.5


def test_without_an_end_what_the_launches_took_is_all_that_is_known() -> None:
    spent = spent_by_phase(RUNS["cut-short"])
    assert list(spent) == list(PHASES)
    assert sum(spent.values()) == pytest.approx(1.2)


def test_launches_that_overlap_never_make_the_rest_negative() -> None:
    run = RUNS["ok"]
    short = Run(run.header, run.launches, end={"seconds": 1.0, "build_seconds": 0.1})
    assert spent_by_phase(short)["other"] == 0.0
