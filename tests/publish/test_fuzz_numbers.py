"""Every number in a run file, whatever stands there: a refusal in one visible line, or reports without a stumble."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from handed_over import HEAD_SHA, RAW, SUITES, lines_of, places, shape, write_lines
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safe_markdown import assert_safe

from windtunnel.compare.verdict import Comparison, compare
from windtunnel.model import Answer, Case, Expect, Host, Launch, LaunchPlan, Slice, Workload
from windtunnel.publish.intake import IntakeError, check_run, read_artifact
from windtunnel.report.comparison import render_comparison
from windtunnel.report.comparison_json import comparison_to_json
from windtunnel.report.junit import comparison_junit
from windtunnel.report.markdown import comparison_markdown
from windtunnel.report.run import render_run, run_to_json
from windtunnel.sample.merge import merge_runs
from windtunnel.sample.plausible import BUCKETS, RANGES, Range
from windtunnel.sample.runfile import Arm, ComparePlan, Failure, Header, Run, Shard, read_run
from windtunnel.sample.schedule import Sizes

MARKER = "windtunnel comment ./quick head=1 run=2"

EXTREMES = [
    *(b"0", b"-0.0", b"-1", b"1", b"0.5", b"1e-320", b"-1e-320", b"5e-324", b"1e-13", b"2e-12", b"1e9", b"1.1e9"),
    *(b"1e15", b"1e16", b"1e18", b"9007199254740993", b"9223372036854775807", b"-9223372036854775808", b"1e19"),
    *(b"1e308", b"1e309", b"-1e400", b"1" + b"0" * 400, b"-1" + b"0" * 400, b"NaN", b"Infinity", b"-Infinity"),
    *(b"true", b"null", b'"1"', b"[1]", b'{"missing":"why"}', b'{"missing":1e400}', b"0x10", b"1_000", b"+1", b"01"),
    *(b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 30 + b"1" + b"}" * 30),
]


def _get(lines: Any, at: tuple[Any, ...]) -> Any:
    for key in at:
        lines = lines[key]
    return lines


@cache
def _numbers() -> dict[str, list[tuple[Any, ...]]]:
    """The places that hold a number, by shape."""
    lines = lines_of()
    found: dict[str, list[tuple[Any, ...]]] = {}
    for at in places(lines):
        value = _get(lines, at)
        if len(at) > 1 and isinstance(value, int | float) and not isinstance(value, bool):
            found.setdefault(shape(lines, at), []).append(at)
    return found


def _range(name: str) -> Range | None:
    """By the field, or for an item of a list or a mapping by the field that this is in."""
    return next((RANGES[part] for part in reversed(name.split(".")[-2:]) if part in RANGES), None)


def _taken(lines: Any, path: Path, raw: bytes = b"") -> Run | None:
    try:
        run = read_artifact(write_lines(lines, path, raw))
        check_run(run, head_sha=HEAD_SHA, suites=SUITES)
    except IntakeError as error:
        assert str(error).isprintable(), str(error)
        return None
    return run


def _report(run: Run) -> Comparison:
    comparison = compare(run)
    assert_safe(comparison_markdown(run, comparison, marker=MARKER), MARKER, 60_000)
    json.dumps(comparison_to_json(run, comparison), allow_nan=False)
    assert render_run(run)
    return comparison


def _every_report(path: Path, run: Run) -> None:
    """Of what was let in, and of the whole file as `windtunnel show` would read it: all numbers are numbers."""
    comparison = _report(run)
    whole = read_run(path)
    for one in (run, whole, merge_runs({"one": run})):
        judged = compare(one)
        assert [case.verdict for case in judged.cases] == [case.verdict for case in comparison.cases]
        assert render_comparison(one, judged)
        assert comparison_junit(one, judged)
        json.dumps(comparison_to_json(one, judged), allow_nan=False)
    assert render_run(whole)
    json.dumps(run_to_json(whole), allow_nan=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("numbers")


@pytest.mark.parametrize("name", sorted(name for name in _numbers() if _range(name) is not None))
def test_every_number_of_one_kind_at_its_ends(name: str, folder: Path) -> None:
    """In all launches, or only in head's: then ratios are as far from 1 as they can be. (Of numbers that anybody
    reckons with; the others have no range.)"""
    known = _range(name)
    assert known is not None
    whole = isinstance(_get(lines_of(), _numbers()[name][0]), int)
    ends = [value for value in _ends(known) if not whole or value == int(value)]
    for value, everywhere in [(value, everywhere) for value in ends for everywhere in _sides(name)]:
        lines = lines_of()
        for at in _numbers()[name]:
            if everywhere or lines[at[0]]["arm"] != "base":
                here = _get(lines, at[:-1])
                here[at[-1]] = _numbered(lines, at, value) if name == "launch.number" else _typed(value, whole)
        run = _taken(lines, folder / "ends.jsonl")
        assert run is not None, (value, everywhere)
        _report(run)


def _sides(name: str) -> list[bool]:
    """Whether all have it: of what a launch has, also head's alone."""
    return [True, False] if name.startswith("launch.") and name != "launch.number" else [True]


def _typed(value: float, whole: bool) -> float:
    return int(value) if whole else value


def _numbered(lines: Any, at: tuple[Any, ...], end: float) -> int:
    """Numbers of launches stay different from each other."""
    number: int = lines[at[0]]["number"]
    return abs(int(end) - number)


def _ends(known: Range) -> list[float]:
    near = [known.grain, -known.grain] if known.grain else []
    return [value for value in dict.fromkeys([known.low, known.high, 0, *near]) if known.holds(value)]


@given(data=st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_number_at_any_of_its_ends(data: st.DataObject, folder: Path) -> None:
    """Per kind and arm, all at once: the ends of one meet those of the others."""
    lines = lines_of()
    for name, found in _numbers().items():
        known = _range(name)
        if known is None or name in {"launch.number", "header.version", "end.exit"}:
            continue
        drawn = {arm: data.draw(st.sampled_from(_ends(known)), label=f"{name} {arm}") for arm in ("base", "head")}
        for at in found:
            value = drawn["base" if lines[at[0]].get("arm") == "base" else "head"]
            here = _get(lines, at[:-1])
            here[at[-1]] = int(value) if isinstance(here[at[-1]], int) else value
    run = _taken(lines, folder / "any.jsonl")
    if run is not None:
        _every_report(folder / "any.jsonl", run)


@pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("turn", "name"), list(enumerate(sorted(_numbers()))))
def test_a_number_that_nobody_has_measured_is_refused_or_does_no_harm(
    turn: int, name: str, half: int, folder: Path
) -> None:
    """All extremes for what slices and headers have (these with few launches); for others every second, in turn.

    In halves, each of which has both of what follows: everywhere, and on one side alone.
    """
    header = name.startswith("header")
    every = EXTREMES if header or ".slices." in name else EXTREMES[turn % 2 :: 2]
    for number, raw in enumerate(every):
        if number // 2 % 2 != half:
            continue
        lines = lines_of()[: 12 if header else None]
        for at in _numbers()[name][-1 if len(raw) > 999 else 0 :]:
            if number % 2 or lines[at[0]].get("arm") != "base":
                _get(lines, at[:-1])[at[-1]] = RAW
        path = folder / "extreme.jsonl"
        run = _taken(lines, path, raw)
        if run is not None:
            _report(run)


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_changed_taken_out_or_put_in_there_are_reports_or_a_sentence(
    data: st.DataObject, folder: Path
) -> None:
    lines = lines_of()
    raw = data.draw(st.sampled_from(EXTREMES))
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.integers(0, len(lines) - 1))
        where = list(places(lines[row]))
        at = data.draw(st.sampled_from(where))
        here = _get(lines[row], at[:-1])
        act = data.draw(st.sampled_from(["set", "drop", "add", "twice"]))
        if act == "set":
            here[at[-1]] = RAW
        elif act == "drop":
            del here[at[-1]]
        elif act == "twice" and isinstance(here, list):
            here.append(here[at[-1]])
        elif isinstance(here, dict):
            here[data.draw(st.sampled_from(["zqx", "missing", "type", "__class__", "slices"]))] = RAW
    run = _taken(lines, folder / "changed.jsonl", raw)
    if run is not None:
        _every_report(folder / "changed.jsonl", run)


# ---------------- nothing is forgotten


_RECORDS = (
    Header,
    Arm,
    Case,
    Workload,
    Expect,
    Host,
    LaunchPlan,
    ComparePlan,
    Shard,
    Launch,
    Slice,
    Answer,
    Failure,
    Sizes,
)


def _numeric(hint: object) -> bool:
    if hint in (int, float):
        return True
    return any(_numeric(part) for part in get_args(hint))


def test_every_number_of_a_run_file_has_a_range_and_every_range_a_number() -> None:
    found: set[str] = set()
    for record in _RECORDS:
        assert is_dataclass(record)
        hints: Mapping[str, object] = get_type_hints(record)
        found |= {one.name for one in fields(record) if _numeric(hints[one.name])}
    assert found | {"build_seconds"} == set(RANGES)


def test_within_the_ranges_nothing_that_is_reckoned_overflows_or_vanishes() -> None:
    """The quotients that metrics are made of, at their most extreme, and the sums over all launches there can be."""
    least, most = RANGES["wall"].grain, RANGES["wall"].high
    per_request = least / RANGES["requests"].high
    assert per_request > 0
    assert math.isfinite(1 / per_request)
    assert math.isfinite(RANGES["total_bytes"].high / least)
    assert math.isfinite(most * RANGES["concurrency"].high)
    assert math.isfinite(2.0**40 * max(one.high for one in RANGES.values()) ** 2)
    assert abs(math.log(most) - math.log(per_request)) < 700
    assert math.isfinite(1e-9 * 1.01 ** (BUCKETS.high + 1))


@pytest.mark.parametrize(("value", "holds"), [(0, True), (1e-13, False), (-1e-13, False), (1e-12, True), (1e9, True)])
def test_a_range_has_its_ends_in_it(value: float, holds: bool) -> None:
    assert RANGES["wall"].holds(value) is holds
    assert RANGES["cpu"].holds(-value) is holds
    assert not RANGES["wall"].holds(-1e-3)
    assert not RANGES["wall"].holds(1.001e9)
