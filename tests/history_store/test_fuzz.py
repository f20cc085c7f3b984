"""Any JSON in any place of the files, and any bytes: refused in one line, or read; nothing else comes of it."""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from history_store.folders import COLUMNS, START, Folder, commit, row
from windtunnel.history import open_history
from windtunnel.history.asvfiles import read_benchmarks, read_machine, read_result
from windtunnel.history.runheads import read_head
from windtunnel.history.texts import BadFile

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=9,
)

RESULT: dict[str, Any] = {
    "commit_hash": commit(0),
    "env_name": "py",
    "date": START,
    "params": {"machine": "box", "cpu": "Z80"},
    "python": "3.11",
    "requirements": {"six": ""},
    "env_vars": {"A": "1"},
    "result_columns": COLUMNS,
    "results": {
        "m.C.time_it": row([1.0, None, float("nan")], [["1", "2", "3"]], ends=([0.5, None, None], [2.0, 1, 2]))
    },
    "version": 2,
}
OLD = {
    **RESULT,
    "results": {"m.C.time_it": {"result": [1.0], "stats": [{"ci_99": [0.5, 1.5]}], "params": [["1"]]}, "m.f": 1.0},
    "benchmark_version": {"m.f": "1"},
    "version": 1,
}
BENCHMARKS = {
    "m.C.time_it": {
        "name": "m.C.time_it",
        "params": [["1", "2", "3"]],
        "param_names": ["n"],
        "code": 'def time_it():\n    """Text."""',
        "type": "time",
        "unit": "seconds",
        "version": "1",
    },
    "version": 2,
}
MACHINE = {"machine": "box", "cpu": "Z80", "version": 1}
HEAD = {
    "type": "header",
    "format": "windtunnel-run",
    "version": 1,
    "arms": [{"name": "head", "commit": commit(1), "date": "2023-11-14"}],
    "compare": {"suite": "s"},
}


def head(content: bytes) -> object:
    return read_head(content, packed=False)


def places(document: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    return [path, *(place for key, value in inner for place in places(value, (*path, key)))]


def replaced(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    made = copy.deepcopy(document)
    here = made
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    return made


@pytest.mark.parametrize(
    "read,whole",
    [(read_result, RESULT), (read_result, OLD), (read_benchmarks, BENCHMARKS), (read_machine, MACHINE), (head, HEAD)],
    ids=["result", "old result", "benchmarks", "machine", "run"],
)
@given(data=st.data())
def test_any_value_in_any_place(read: Callable[[bytes], object], whole: Any, data: st.DataObject) -> None:
    read(json.dumps(whole).encode())  # as it is it is fine
    document = replaced(whole, data.draw(st.sampled_from(places(whole))), data.draw(ANY))
    try:
        read(json.dumps(document).encode())
    except BadFile as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 400
        str(error).encode()


@pytest.mark.parametrize("read", [read_result, read_benchmarks, read_machine, head])
@given(content=st.binary(max_size=60))
def test_any_bytes(read: Callable[[bytes], object], content: bytes) -> None:
    with pytest.raises(BadFile):
        read(content)


@given(rows=st.dictionaries(st.text(st.characters(), max_size=6), st.lists(ANY, max_size=7), max_size=3), more=ANY)
def test_whatever_a_file_has_the_index_takes_and_gives_again(rows: dict[str, Any], more: Any) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Folder(Path(name) / "results").machine().define("m.C.time_it", [["1", "2", "3"]])
        for benchmark in rows:
            folder.define(benchmark)
        folder.result(0, {"m.C.time_it": row([1.0, 2.0], [["1", "2", "3"]]), **rows}, requirements=more)
        history = open_history([folder.path], Path(name) / "index.sqlite")
        for one in history.benchmarks():
            assert all(len(series) == 1 for series in history.series(one.name))
            history.change_points(one.name)
        if "m.C.time_it" not in rows:
            assert [list(one.values) for one in history.series("m.C.time_it")] == [[1.0], [2.0]]
        history.close()
