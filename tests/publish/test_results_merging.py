"""Two recordings at the same time, put together: the same as asv has after one and then the other."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from asv.results import Results
from asv.runner import BenchmarkResult
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.publish.merging import merged_benchmarks, merged_calibration, merged_results, ours, theirs

PARAMS = {
    "http.One.time_request": [["'a'", "'b'"], ["1", "2"]],
    "http.Two.track_memory": [["3", "4", "5"]],
    "x.Y": [],
}
COMMIT = "ab" * 20


def _combinations(name: str) -> int:
    return len(list(itertools.product(*PARAMS[name])))


def _add(results: Results, name: str, figures: Mapping[int, float | None], version: str = "1") -> None:
    """What asv does after it has run some combinations of a benchmark's parameters; None is "failed"."""
    count = _combinations(name)
    values = [figures.get(at, math.nan) for at in range(count)]
    known = [at in figures and figures[at] is not None for at in range(count)]
    samples = [[value, value * 1.1] if has and value else None for value, has in zip(values, known, strict=True)]
    result = BenchmarkResult(values, samples, [1 if one else None for one in samples], 0, "", None)
    results.add_result(
        {"name": name, "version": version, "params": PARAMS[name]},
        result,
        record_samples=True,
        selected_idx=set(figures),
        duration=1.0,
    )


def _document(folder: Path, recordings: Sequence[Mapping[str, Mapping[int, float | None]]]) -> bytes:
    """asv's file after these recordings."""
    results = Results({"machine": "m"}, {}, COMMIT, 1, "3.11", "container", {})
    for recording in recordings:
        for name, figures in recording.items():
            _add(results, name, figures)
    results.save(str(folder))
    (path,) = folder.glob("m/*.json")
    return path.read_bytes()


def _meaning(folder: Path, content: bytes) -> dict[str, list[Any]]:
    """What asv reads there, for each combination."""
    path = folder / "m" / f"{COMMIT[:8]}-container.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    results = Results.load(str(path))
    return {
        name: [
            repr(one)
            for one in zip(
                results.get_result_value(name, PARAMS[name]),
                results.get_result_samples(name, PARAMS[name]),
                results.get_result_stats(name, PARAMS[name]),
                strict=True,
            )
        ]
        for name in sorted(results.get_all_result_keys())
    }


figures = st.floats(1e-6, 10) | st.none()


@st.composite
def recordings(draw: st.DrawFn) -> dict[str, dict[int, float | None]]:
    names = draw(st.lists(st.sampled_from(sorted(PARAMS)), unique=True))
    found = {}
    for name in names:
        chosen = draw(st.sets(st.integers(0, _combinations(name) - 1), min_size=1))
        found[name] = {at: draw(figures) for at in sorted(chosen)}
    return found


def _without(some: Mapping[str, Mapping[int, float | None]], others: Mapping[str, Any]) -> dict[str, Any]:
    left = {name: {at: one for at, one in some[name].items() if at not in others.get(name, {})} for name in some}
    return {name: found for name, found in left.items() if found}


@given(recordings(), recordings(), recordings())
def test_results_are_what_asv_has_after_theirs_and_then_ours(
    tmp_path_factory: Any, first: Any, second: Any, third: Any
) -> None:
    folder = tmp_path_factory.mktemp("merged")
    second = _without(second, third)  # of the same combination twice the later one counts, as below
    before = _document(folder, [first])
    own, there = _document(folder, [first, third]), _document(folder, [first, second])
    both = _document(folder, [first, second, third])
    merged = merged_results(before, own, there)
    assert _meaning(folder, merged) == _meaning(folder, both)


@given(recordings(), recordings())
def test_where_there_was_nothing_before_both_are_there(tmp_path_factory: Any, second: Any, third: Any) -> None:
    folder = tmp_path_factory.mktemp("merged")
    own, there, both = (_document(folder, one) for one in ([third], [second], [second, third]))
    assert _meaning(folder, merged_results(None, own, there)) == _meaning(folder, both)


def test_another_version_of_a_benchmark_is_not_mixed_with_ours(tmp_path: Path) -> None:
    name = "http.Two.track_memory"
    there = _document(tmp_path, [{name: {0: 1.0, 1: 2.0}}])
    newer = Results({"machine": "m"}, {}, COMMIT, 1, "3.11", "container", {})
    _add(newer, name, {2: 3.0}, version="2")
    newer.save(str(tmp_path))
    own = next(tmp_path.glob("m/*.json")).read_bytes()
    assert _meaning(tmp_path, merged_results(None, own, there)) == _meaning(tmp_path, own)


def test_a_file_that_is_none_of_asvs_gives_way() -> None:
    own = json.dumps({"commit_hash": COMMIT, "results": {}, "result_columns": []}).encode()
    for there in (b"", b"{", b"[]", b"[" * 100_000, json.dumps({"commit_hash": "0" * 40}).encode()):
        assert merged_results(None, own, there) == own
        assert merged_results(b"{", own, there) == own
    assert merged_benchmarks(None, own, b"nonsense") == own
    assert merged_calibration(None, own, b"nonsense") == own
    assert (ours(None, b"1", b"2"), theirs(None, b"1", b"2")) == (b"1", b"2")


def test_benchmarks_that_were_added_changed_and_taken_away() -> None:
    before = {"version": 2, "a": 1, "b": 1, "c": 1, "d": 1}
    own = {"version": 2, "a": 1, "b": 2, "d": 1, "new": 3}
    there = {"version": 2, "a": 5, "b": 1, "c": 1, "also": 4}
    merged = merged_benchmarks(*(json.dumps(one).encode() for one in (before, own, there)))
    assert json.loads(merged) == {"version": 2, "a": 5, "b": 2, "new": 3, "also": 4}
    assert merged == json.dumps(json.loads(merged), indent=4, sort_keys=True).encode()  # as asv writes it


def test_calibrations_of_several_machines_and_cases() -> None:
    def document(*machines: tuple[str, int, dict[str, int]]) -> bytes:
        known = [{"cpu_model": cpu, "cores": cores, "cases": cases} for cpu, cores, cases in machines]
        return json.dumps({"format": "windtunnel-calibration", "version": 1, "machines": known}).encode()

    own = document(("A", 2, {"x": 1, "y": 2}), ("B", 4, {"x": 3}))
    there = document(("A", 2, {"x": 9, "z": 9}), ("A", 4, {"x": 5}))
    merged = json.loads(merged_calibration(None, own, there))
    found = {(one["cpu_model"], one["cores"]): one["cases"] for one in merged["machines"]}
    assert found == {("A", 2): {"x": 1, "y": 2, "z": 9}, ("A", 4): {"x": 5}, ("B", 4): {"x": 3}}
