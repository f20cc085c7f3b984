"""Run files from strangers: a run with its types, or refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runfiles import comparison, error_after, refused_at, temporary_file, three, write, writer_of

import material
from windtunnel.compare.verdict import compare
from windtunnel.errors import ConfigError
from windtunnel.report.run import render_run
from windtunnel.sample.runfile import read_run

_NESTED: Any = 1
for _ in range(200):
    _NESTED = {"a": _NESTED}

_NOT_QUITE: list[tuple[str, Callable[[dict[str, Any]], None]]] = [
    ("started", lambda launch: launch.update(started="1.5")),
    ("started", lambda launch: launch.update(started=True)),
    ("number", lambda launch: launch.update(number=1.0)),
    ("number", lambda launch: launch.update(number=False)),
    ("peak_memory", lambda launch: launch.update(peak_memory=True)),
    ("peak_memory", lambda launch: launch.update(peak_memory={"missing": 3})),
    ("peak_memory", lambda launch: launch.update(peak_memory={"missing": "x" * (9 << 20)})),
    ("peak_memory", lambda launch: launch.update(peak_memory={"reason": "not as files have it"})),
    ("reason", lambda launch: launch.update(reason=None)),
    ("answer.status", lambda launch: launch["answer"].update(status="200")),
    ("answer.headers.a", lambda launch: launch["answer"].update(headers={"a": 1})),
    ("a", lambda launch: launch["answer"].update(headers=_NESTED)),
    ("slices.1.latency", lambda launch: launch["slices"][1].update(latency={"1300": -1})),
    ("slices.1.latency", lambda launch: launch["slices"][1].update(latency={"1000000": 1})),
    ("slices.0.latency.many", lambda launch: launch["slices"][0].update(latency={"many": 1})),
    ("warnings", lambda launch: launch.update(warnings="one")),
    ("detail", lambda launch: launch.update(detail="x" * (9 << 20))),
]


@pytest.mark.parametrize(("key", "spoil"), _NOT_QUITE)
def test_what_could_be_taken_for_something_else_is_refused(
    key: str, spoil: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    refused_at(tmp_path / "run.jsonl", key, spoil)


def test_a_whole_number_will_do_for_seconds(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = three(path)
    path.write_bytes(lines[0] + lines[1].replace(b'"time_to_ready":0.4', b'"time_to_ready":2', 1))
    (launch,) = read_run(path).launches
    assert launch.time_to_ready == 2
    assert isinstance(launch.time_to_ready, float)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        (b'{"type":"end","exit":"0"}', "exit"),
        (b'{"type":"end","exit":true}', "exit"),
        (b'{"type":"end","exit":99}', "exit"),
        (b'{"type":"end","seconds":"1"}', "seconds"),
        (b'{"type":"end","build_seconds":{"a":1}}', "build_seconds"),
        (b'{"type":"sizes","case":3,"sizes":{}}', "case"),
        (b'{"type":"sizes","case":"a","sizes":{"load":1.5}}', "load"),
        (b'{"kind":"launch"}', "type"),
        (b'{"type":["launch"]}', "type"),
    ],
)
def test_the_other_lines_are_checked_too(line: bytes, key: str, tmp_path: Path) -> None:
    error = error_after(tmp_path / "run.jsonl", line)
    assert (error.line, error.key) == (3, key)


def test_two_files_in_one_are_not_a_run(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    error = error_after(path, three(tmp_path / "other.jsonl")[0].rstrip(b"\n"))
    assert error.line == 3
    assert "windtunnel merge" in str(error)


@pytest.mark.parametrize("number", [b"9" * 30, b"1e30", b"-1e19", b"9" * 5000])
def test_a_number_that_nobody_can_reckon_with_is_refused(number: bytes, tmp_path: Path) -> None:
    assert error_after(tmp_path / "run.jsonl", b'{"type":"end","seconds":' + number + b"}").line == 3


def test_a_line_has_an_end(tmp_path: Path) -> None:
    error = error_after(tmp_path / "run.jsonl", b'{"type":"weather","a":"' + b"x" * (16 << 20) + b'"}')
    assert error.line == 3
    assert "16 MiB" in str(error)
    error = error_after(tmp_path / "two.jsonl", b" " * (40 << 20))
    assert error.line == 3


def test_a_header_that_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    long = replace(material.CASE, workload=replace(material.CASE.workload, body="x" * (9 << 20)))
    with writer_of(tmp_path / "run.jsonl") as writer, pytest.raises(ConfigError, match="shorten the bodies"):
        writer.header(replace(material.HEADER, cases=(long,)))
    assert not (tmp_path / "run.jsonl").exists()


def test_lines_have_an_end(tmp_path: Path) -> None:
    assert error_after(tmp_path / "run.jsonl", b"\n" * 200_000).line == 200_001


@pytest.mark.parametrize(("key", "name"), [("arm", "heads"), ("case", "psgi.Other")])
def test_a_comparison_has_no_launches_of_what_it_does_not_declare(key: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    good = [replace(material.LAUNCH, arm=arm) for arm in ("base", "head", "control")]
    write(path, comparison(*good, replace(material.LAUNCH, **{key: name})))
    with pytest.raises(ConfigError, match=f'the header has no {key} "{name}"') as caught:
        read_run(path)
    assert (caught.value.line, caught.value.key) == (5, key)
    path.unlink()
    write(path, comparison(*good))
    assert len(read_run(path).launches) == 3


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6) | st.just("missing"), inner),
    max_leaves=6,
)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value, as the container and the key in it."""
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_whatever_stands_anywhere_it_is_a_run_with_its_types_or_a_config_error(data: st.DataObject) -> None:
    """An honest comparison with one thing in it replaced: what is read of it can be judged and reported."""
    pairs = [replace(material.LAUNCH, arm=arm, number=number) for number in range(8) for arm in ("base", "head")]
    with temporary_file() as path:
        write(path, replace(comparison(*pairs), end={"exit": 0, "seconds": 3.0}))
        lines = [json.loads(line) for line in path.read_bytes().splitlines()]
        record = lines[data.draw(st.integers(0, len(lines) - 1))]
        here, key = data.draw(st.sampled_from(list(_places(record))))
        here[key] = data.draw(_json)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        try:
            run = read_run(path)
        except ConfigError as error:
            assert error.file == str(path)
            return
    assert render_run(run)
    assert compare(run).cases


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_bytes_that_were_changed_on_the_way_are_a_run_or_a_config_error(data: st.DataObject) -> None:
    with temporary_file() as path:
        content = bytearray(b"".join(three(path)))
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(bytes(content))
        with suppress(ConfigError):
            assert len(read_run(path).launches) <= 2
