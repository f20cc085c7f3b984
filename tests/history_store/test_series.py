"""What series come of results: grids, failures, versions, machines; as asv has it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from history_store.folders import Folder, commit, plain, row, same
from windtunnel.history import Index, open_history
from windtunnel.history.nouns import Series

NAN = math.nan


def opened(folder: Folder, tmp_path: Path) -> Index:
    return open_history([folder.path], tmp_path / "index.sqlite")


def by_params(history: Index, name: str) -> dict[tuple[str, ...], Series]:
    return {one.key.params: one for one in history.series(name)}


def test_a_benchmark_without_parameters_is_one_series_by_date(tmp_path: Path) -> None:
    folder = plain(tmp_path / "results")
    for number in (2, 0, 1):
        folder.result(number, {"m.time_it": row([number / 8])})
    history = opened(folder, tmp_path)
    (one,) = history.series("m.time_it")
    assert (one.key.benchmark, one.key.params, one.key.machine, one.key.environment) == (
        "m.time_it",
        (),
        "box",
        "py3.11",
    )
    assert list(one.positions) == [0, 1, 2]
    assert list(one.values) == [0, 0.125, 0.25]
    assert [found.hash for found in history.commits()] == [commit(0), commit(1), commit(2)]
    assert [found.position for found in history.commits()] == [0, 1, 2]


def test_null_is_a_failure_and_nan_was_skipped(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "results").machine().define("m.C.time_it", [["1", "2", "3"]])
    folder.result(0, {"m.C.time_it": row([1.0, None, NAN], [["1", "2", "3"]])})
    folder.result(1, {"m.C.time_it": row([NAN, 2.0, NAN], [["1", "2", "3"]])})
    found = by_params(opened(folder, tmp_path), "m.C.time_it")
    assert found.keys() == {("1",), ("2",)}
    assert (list(found[("1",)].positions), list(found[("1",)].values)) == ([0], [1.0])
    assert list(found[("2",)].positions) == [0, 1]
    assert same(found[("2",)].values, [NAN, 2.0])


def test_a_benchmark_that_failed_as_a_whole_failed_in_every_combination(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "results").machine().define("m.C.time_it", [["1", "2"]])
    folder.result(0, {"m.C.time_it": row([1.0, 2.0], [["1", "2"]])})
    folder.result(1, {"m.C.time_it": row(None, [["1", "2"]])})
    found = by_params(opened(folder, tmp_path), "m.C.time_it")
    assert same(found[("1",)].values, [1.0, NAN])
    assert same(found[("2",)].values, [2.0, NAN])


def test_one_that_has_always_failed_is_there(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "results").machine().define("m.C.time_it", [["1", "2"]])
    folder.result(0, {"m.C.time_it": row(None, [["1", "2"]])})
    found = by_params(opened(folder, tmp_path), "m.C.time_it")
    assert found.keys() == {("1",), ("2",)}
    assert all(same(one.values, [NAN]) for one in found.values())


def test_the_last_parameter_runs_fastest(tmp_path: Path) -> None:
    grid = [["'a'", "'b'"], ["1", "2", "3"]]
    folder = Folder(tmp_path / "results").machine().define("m.C.time_it", grid)
    folder.result(0, {"m.C.time_it": row([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], grid)})
    found = by_params(opened(folder, tmp_path), "m.C.time_it")
    assert {key: list(one.values) for key, one in found.items()} == {
        ("'a'", "1"): [1.0],
        ("'a'", "2"): [2.0],
        ("'a'", "3"): [3.0],
        ("'b'", "1"): [4.0],
        ("'b'", "2"): [5.0],
        ("'b'", "3"): [6.0],
    }


def test_results_of_other_parameters_are_taken_for_the_combinations_that_there_still_are(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "results").machine().define("m.C.time_it", [["2", "3", "4"], ["'x'"]])
    folder.result(0, {"m.C.time_it": row([1.0, 10.0, 2.0, 20.0], [["1", "2"], ["'y'", "'x'"]])})
    folder.result(1, {"m.C.time_it": row([21.0, 31.0, 41.0], [["2", "3", "4"], ["'x'"]])})
    folder.result(2, {"m.C.time_it": row([5.0], [["2"]])})  # one axis less: nothing of it fits
    found = by_params(opened(folder, tmp_path), "m.C.time_it")
    assert {key: (list(one.positions), list(one.values)) for key, one in found.items()} == {
        ("2", "'x'"): ([0, 1], [20.0, 21.0]),
        ("3", "'x'"): ([1], [31.0]),
        ("4", "'x'"): ([1], [41.0]),
    }


def test_a_list_that_ends_early_has_nothing_of_the_rest(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "results").machine().define("m.C.time_it", [["1", "2", "3"]])
    folder.result(0, {"m.C.time_it": row([1.0, 2.0, 3.0], [["1", "2", "3"]])})
    folder.result(1, {"m.C.time_it": row([1.5], [["1", "2", "3"]])})
    found = by_params(opened(folder, tmp_path), "m.C.time_it")
    assert list(found[("1",)].values) == [1.0, 1.5]
    assert list(found[("3",)].values) == [3.0]


def test_results_of_another_version_are_left_out_and_those_without_one_are_not(tmp_path: Path) -> None:
    folder = plain(tmp_path / "results")
    for number, version in enumerate(["0", "1", None, "2"]):
        folder.result(number, {"m.time_it": row([float(number)], version=version)})
    (one,) = opened(folder, tmp_path).series("m.time_it")
    assert list(one.positions) == [1, 2]


def test_a_new_version_in_benchmarks_json_alone_changes_what_is_shown(tmp_path: Path) -> None:
    folder = plain(tmp_path / "results")
    for number, version in enumerate("1122"):
        folder.result(number, {"m.time_it": row([float(number)], version=version)})
    history = opened(folder, tmp_path)
    assert list(history.series("m.time_it")[0].positions) == [0, 1]
    folder.define("m.time_it", version="2")
    assert history.update().changed == (folder.path / "benchmarks.json",)
    assert list(history.series("m.time_it")[0].positions) == [2, 3]


def test_intervals_are_there_where_they_are_finite(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "results").machine().define("m.C.time_it", [["1", "2", "3"]])
    ends = ([0.5, -math.inf, None], [1.5, math.inf, 3.5])
    folder.result(0, {"m.C.time_it": row([1.0, 2.0, 3.0], [["1", "2", "3"]], ends=ends)})
    found = by_params(opened(folder, tmp_path), "m.C.time_it")
    assert [(one.low[0], one.high[0]) for one in (found[("1",)],)] == [(0.5, 1.5)]
    assert same([found[("2",)].low[0], found[("2",)].high[0]], [NAN, NAN])
    assert same([found[("3",)].low[0], found[("3",)].high[0]], [NAN, 3.5])


def test_machines_and_environments_have_series_of_their_own(tmp_path: Path) -> None:
    folder = plain(tmp_path / "results").machine("other", cpu="6502")
    folder.result(0, {"m.time_it": row([1.0])})
    folder.result(0, {"m.time_it": row([2.0])}, environment="py3.13", requirements={"six": "1.0"})
    folder.result(1, {"m.time_it": row([3.0])}, machine="other", params={"machine": "other", "cpu": "6502"})
    history = opened(folder, tmp_path)
    found = {(one.key.machine, one.key.environment): list(one.values) for one in history.series("m.time_it")}
    assert found == {("box", "py3.11"): [1.0], ("box", "py3.13"): [2.0], ("other", "py3.11"): [3.0]}
    assert [(one.name, one.cpu_model) for one in history.machines()] == [("box", "Z80"), ("other", "6502")]
    assert {one.name: dict(one.facts) for one in history.environments()}["py3.13"] == {"python": "3.11", "six": "1.0"}


def test_a_name_that_stands_for_several_cpu_models_is_several_machines(tmp_path: Path) -> None:
    folder = plain(tmp_path / "results")
    for number, cpu in enumerate(["Z80", "6502", "Z80", ""]):
        folder.result(number, {"m.time_it": row([float(number)])}, params={"machine": "box", "cpu": cpu})
    history = opened(folder, tmp_path)
    found = {one.key.machine: list(one.positions) for one in history.series("m.time_it")}
    assert found == {"box": [0, 2, 3], "box (6502)": [1]}
    assert [(one.name, one.cpu_model) for one in history.machines()] == [("box", "Z80"), ("box (6502)", "6502")]


def test_several_results_of_a_commit_are_averaged(tmp_path: Path) -> None:
    first, second = plain(tmp_path / "first"), plain(tmp_path / "second")
    first.result(0, {"m.time_it": row([1.0])})
    second.result(0, {"m.time_it": row([2.0])})
    second.result(1, {"m.time_it": row([4.0])})
    history = open_history([first.path, second.path], tmp_path / "index.sqlite")
    (one,) = history.series("m.time_it")
    assert (list(one.positions), list(one.values)) == ([0, 1], [1.5, 4.0])


def test_what_is_known_of_a_benchmark(tmp_path: Path) -> None:
    code = 'class C:\n    def time_it(self, n):\n        """How long.\n\n        And more."""\n        it()\n'
    folder = Folder(tmp_path / "results").machine()
    folder.define("m.C.time_it", [["1"]], code=code, pretty_name="It <b>", type="time")
    folder.define("m.track_more", unit="B", type="track", code="def broken(:")
    one, other = opened(folder, tmp_path).benchmarks()
    assert (one.name, one.kind, one.unit, one.param_names, one.params) == (
        "m.C.time_it",
        "time",
        "seconds",
        ("param1",),
        (("1",),),
    )
    assert (one.label, one.text, one.group, one.metric) == ("It <b>", "How long.\n\nAnd more.", "m.C", "time_it")
    assert (other.name, other.unit, other.text) == ("m.track_more", "B", "")


@pytest.mark.parametrize("value", [[1.0], [[1.0, 2.0]], [None]])
def test_the_first_format_of_asv_is_read_as_well(tmp_path: Path, value: list[object]) -> None:
    folder = plain(tmp_path / "results")
    stats = [{"ci_99": [0.5, 1.5]}]
    rows = {"m.time_it": {"result": value, "params": [], "stats": stats}, "m.gone": 3.0}
    path = folder.result(0, {})
    folder.write(
        str(path.relative_to(folder.path)),
        {
            "commit_hash": commit(0),
            "date": 1_700_000_000_000,
            "params": {"machine": "box"},
            "python": "3.9",
            "requirements": {"six": "1"},
            "results": rows,
            "benchmark_version": {"m.time_it": "1"},
            "version": 1,
        },
    )
    (one,) = opened(folder, tmp_path).series("m.time_it")
    assert one.key.environment == "py3.9-six1"
    assert same(one.values, [value[0] if value == [1.0] else NAN])
    assert (list(one.low), list(one.high)) == ([0.5], [1.5])
