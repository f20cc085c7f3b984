"""Files of anybody: what can't be used is passed over with its name and the reason, and the rest goes on."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from history_store.folders import START, Folder, commit, plain, row
from windtunnel.history import Index, open_history
from windtunnel.history.update import FILE_BYTES

NAME = f"box/{commit(9)[:8]}-broken.json"


def opened(folder: Folder, tmp_path: Path) -> Index:
    return open_history([folder.path], tmp_path / "index.sqlite")


def document(**more: Any) -> dict[str, Any]:
    return {
        "commit_hash": commit(9),
        "env_name": "py3.11",
        "date": START,
        "params": {"machine": "box"},
        "python": "3.11",
        "requirements": {},
        "env_vars": {},
        "result_columns": ["result", "params", "version"],
        "results": {"m.time_it": [[9.0], [], "1"]},
        "durations": {},
        "version": 2,
        **more,
    }


WHOLE = json.dumps(document())

FILES = {
    "empty": ("", "is empty"),
    "blank": (" \n", "is empty"),
    "cut short": (WHOLE[: len(WHOLE) // 2], "only a part"),
    "a list": ("[1, 2]", "not a JSON object"),
    "nested": ("[" * 100_000, "nested too deep"),
    "newer": (json.dumps(document(version=3)), "newer"),
    "no version": (json.dumps(document(version=None)), "no version"),
    "odd version": (json.dumps(document(version="2")), "no version"),
    "old version": (json.dumps(document(version=0)), "no version"),
    "path as hash": (json.dumps(document(commit_hash="../../../etc/passwd")), "commit_hash"),
    "number as hash": (json.dumps(document(commit_hash=7)), "commit_hash"),
    "infinite date": (json.dumps(document(date=math.inf)), "date"),
    "nan date": (json.dumps(document(date=math.nan)), "date"),
    "far date": (json.dumps(document(date=10**30)), "date"),
    "text date": (json.dumps(document(date="yesterday")), "date"),
    "true date": (json.dumps(document(date=True)), "date"),
    "params": (json.dumps(document(params=[])), "params"),
    "other machine": (json.dumps(document(params={"machine": "../box"})), "another machine"),
    "no machine": (json.dumps(document(params={})), "another machine"),
    "long machine": (json.dumps(document(params={"machine": "x" * 5000})), "longer than"),
    "environment": (json.dumps(document(env_name={"a": 1})), "env_name is no text"),
    "columns": (json.dumps(document(result_columns=["params"])), "result_columns"),
    "no columns": (json.dumps(document(result_columns=3)), "result_columns"),
    "results": (json.dumps(document(results=[1])), "results is not an object"),
    "row": (json.dumps(document(results={"m.time_it": 3})), "m.time_it: its results are no list"),
    "no grid": (json.dumps(document(results={"m.time_it": [[1.0]]})), "not the parameters"),
    "bad grid": (json.dumps(document(results={"m.time_it": [[1.0], [3]]})), "params is no list of lists"),
    "text for results": (json.dumps(document(results={"m.time_it": ["fast", []]})), "its results are no list"),
    "huge number": ('{"version": 2, "date": ' + "9" * 10_000 + "}", "not JSON"),
    "vast grid": (
        json.dumps(document(results={"m.time_it": [[1.0], [[str(n) for n in range(1000)]] * 3]})),
        "1e+09 parameter combinations",
    ),
}


@pytest.mark.parametrize("content,reason", FILES.values(), ids=FILES.keys())
def test_a_file_that_is_no_good_is_named_and_the_rest_is_shown(tmp_path: Path, content: str, reason: str) -> None:
    folder = plain(tmp_path / "results")
    folder.result(0, {"m.time_it": row([1.0])})
    path = folder.write(NAME, content)
    history = opened(folder, tmp_path)
    (one,) = history.series("m.time_it")
    assert list(one.values) == [1.0]
    (found,) = history.unreadable()
    assert found.path == path
    assert reason in found.reason
    assert "\n" not in found.reason
    assert len(found.reason) < 300


def test_what_is_not_utf8_or_too_large_or_no_file_is_passed_over(tmp_path: Path) -> None:
    folder = plain(tmp_path / "results")
    folder.result(0, {"m.time_it": row([1.0])})
    (folder.path / NAME).write_bytes(b'{"version": "\xff\xfe"}')
    large = folder.path / "box" / "large.json"
    with large.open("wb") as file:
        file.truncate(FILE_BYTES + 1)
    os.mkfifo(folder.path / "box" / "pipe.json")
    (folder.path / "box" / "folder.json").mkdir()
    (folder.path / "box" / "gone.json").symlink_to("nowhere")
    history = opened(folder, tmp_path)
    reasons = {one.path.name: one.reason for one in history.unreadable()}
    assert reasons.keys() == {Path(NAME).name, "large.json"}
    assert "32 MiB" in reasons["large.json"]
    assert list(history.series("m.time_it")[0].values) == [1.0]


def test_a_file_that_is_mended_is_read_and_no_longer_named(tmp_path: Path) -> None:
    folder = plain(tmp_path / "results")
    path = folder.write(NAME, WHOLE[:-20])
    history = opened(folder, tmp_path)
    assert len(history.unreadable()) == 1
    folder.write(NAME, WHOLE)
    assert history.update().changed == (path,)
    assert history.unreadable() == ()
    assert list(history.series("m.time_it")[0].values) == [9.0]


def test_values_that_are_no_numbers_are_failures(tmp_path: Path) -> None:
    axis = [[str(number) for number in range(7)]]
    folder = Folder(tmp_path / "results").machine().define("m.C.time_it", axis)
    odd = ["1", {"a": 1}, [1], math.inf, 10**400, True, 2]
    folder.result(0, {"m.C.time_it": row(odd, axis)})
    found = [one.values[0] for one in opened(folder, tmp_path).series("m.C.time_it")]
    assert all(map(math.isnan, found[:5]))
    assert found[5:] == [1.0, 2.0]


def test_names_are_only_names(tmp_path: Path) -> None:
    odd = ["../../evil", "<script>alert(1)</script>", "a\x00b", "\ud800", "nul\u202e", "x" * 3000]
    folder = Folder(tmp_path / "results").machine("box")
    for name in odd:
        folder.define(name, [[name]])
    folder.result(0, {name: row([1.0], [[name]]) for name in odd}, environment="../../up")
    history = opened(folder, tmp_path)
    names = [one.name for one in history.benchmarks()]
    assert sorted(names) == sorted(["\ufffd" if name == "\ud800" else name for name in odd])
    for name in names:
        (one,) = history.series(name)
        assert (one.key.params, list(one.values)) == ((name,), [1.0])
    assert history.unreadable() == ()
    assert {path.name for path in tmp_path.iterdir()} == {"results", "index.sqlite"}


def test_a_benchmark_that_is_no_good_is_left_out_of_benchmarks_json(tmp_path: Path) -> None:
    folder = plain(tmp_path / "results").define("m.vast", [[str(n) for n in range(1000)]] * 3)
    folder.benchmarks |= {"m.list": [1], "m.names": {"params": [["1"]], "param_names": []}}  # type: ignore[dict-item]
    folder.define("m.fine")
    folder.result(0, {"m.time_it": row([1.0]), "m.fine": row([2.0])})
    history = opened(folder, tmp_path)
    assert [one.name for one in history.benchmarks()] == ["m.fine", "m.time_it"]
    (found,) = history.unreadable()
    assert found.path.name == "benchmarks.json"
    assert "1e+09 parameter combinations" in found.reason
    assert "(and 2 more)" in found.reason


@pytest.mark.parametrize("content", ["", "{}", '{"version": 1}', '{"version": 9, "machine": "box"}', "[]"])
def test_results_of_a_machine_that_cannot_be_told_are_passed_over_as_asv_does(tmp_path: Path, content: str) -> None:
    folder = plain(tmp_path / "results").machine("other")
    folder.result(0, {"m.time_it": row([1.0])})
    folder.result(0, {"m.time_it": row([2.0])}, machine="other")
    folder.write("box/machine.json", content)
    history = opened(folder, tmp_path)
    assert [one.key.machine for one in history.series("m.time_it")] == ["other"]
    assert any("machine.json" in f"{one.path} {one.reason}" for one in history.unreadable())


@pytest.mark.parametrize("content", [None, "", "{", '{"version": 3}'])
def test_results_without_benchmarks_json_say_so(tmp_path: Path, content: str | None) -> None:
    folder = plain(tmp_path / "results")
    folder.result(0, {"m.time_it": row([1.0])})
    path = folder.path / "benchmarks.json"
    path.unlink()
    if content is not None:
        folder.write("benchmarks.json", content)
    history = opened(folder, tmp_path)
    assert history.benchmarks() == ()
    assert history.series("m.time_it") == ()
    assert [one.path for one in history.unreadable()] == [path]


def test_a_grid_that_is_claimed_takes_no_room(tmp_path: Path) -> None:
    """A million combinations in a file of a few kilobytes, of which one has a value, at many commits."""
    axes = [[str(number) for number in range(100)]] * 3
    folder = Folder(tmp_path / "results").machine().define("m.C.time_it", axes)
    for number in range(100):
        folder.result(number, {"m.C.time_it": row([1.0], axes), "m.C.other": row(None, axes)})
    history = opened(folder, tmp_path)
    (one,) = history.series("m.C.time_it")
    assert len(one) == 100
    assert (tmp_path / "index.sqlite").stat().st_size < 4 << 20
