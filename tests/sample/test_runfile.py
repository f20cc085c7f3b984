"""The run file: what was measured comes back as it was."""

from __future__ import annotations

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runfiles import temporary_file, three, whole_run, write

import material
from windtunnel.errors import StorageError
from windtunnel.model import Answer, Launch
from windtunnel.sample.runfile import Header, Run, RunWriter, read_run
from windtunnel.sample.schedule import Sizes
from windtunnel.units import Missing

slower = settings(max_examples=60, deadline=None)


runs = st.builds(
    Run,
    header=material.headers,
    launches=st.lists(material.launches, max_size=2).map(tuple),
    failures=st.lists(material.failures, max_size=2).map(tuple),
    sizes=st.dictionaries(material.texts, material.sizes, max_size=2),
    end=st.fixed_dictionaries({"exit": st.sampled_from([0, 4, 130]), "seconds": material.amounts}) | st.just({}),
)


@slower
@given(runs)
def test_what_is_written_is_what_is_read(run: Run) -> None:
    with temporary_file() as path:
        write(path, run)
        assert read_run(path) == run
        assert read_run(path).complete == bool(run.end)


@slower
@given(material.launches)
def test_a_number_that_was_not_measured_stays_so_and_no_other_becomes_one(launch: Launch) -> None:
    with temporary_file() as path:
        write(path, Run(material.HEADER, (launch,)))
        (back,) = read_run(path).launches
    for one, other in ((launch, back), *zip(launch.slices, back.slices, strict=True)):
        kinds = [{name: type(value) for name, value in vars(thing).items()} for thing in (one, other)]
        assert kinds[0] == kinds[1]


@pytest.mark.parametrize("word", ["missing", "type", "format", "reason"])
def test_words_of_the_format_may_be_names_in_a_project(word: str, tmp_path: Path) -> None:
    """A lone axis, header or status that is called like a key of the file."""
    work = replace(material.CASE.workload, axes={word: "1"}, headers={word: "2"})
    header = replace(material.HEADER, cases=(replace(material.CASE, workload=work),))
    answer = Answer(200, 1, "", "HTTP/1.1", {word: "3"})
    launch = replace(material.LAUNCH, answer=answer, spent={word: 1.0})
    run = Run(header, (launch,))
    write(tmp_path / "run.jsonl", run)
    assert read_run(tmp_path / "run.jsonl") == run


def test_text_that_is_no_unicode_can_be_written_and_read(tmp_path: Path) -> None:
    """A path or an argument that is not UTF-8 reaches Python as lone surrogates."""
    path = tmp_path / "run.jsonl"
    odd = os.fsdecode(b"caf\xe9")
    header = replace(material.HEADER, command=("windtunnel", "run", odd))
    write(path, Run(header, (replace(material.LAUNCH, detail=odd, peak_memory=Missing(odd)),)))
    run = read_run(path)
    assert run.header.command[2].startswith("caf")
    assert run.launches[0].detail.startswith("caf")
    assert run.launches[0].peak_memory == Missing("caf\N{REPLACEMENT CHARACTER}")


def test_a_line_is_one_line_whatever_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    launch = replace(material.LAUNCH, detail="one\ntwo\r\n\x00\u2028three\x85")
    write(path, Run(material.HEADER, (launch,)))
    assert path.read_bytes().count(b"\n") == 2
    assert read_run(path).launches == (launch,)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_have_is_not_written_as_one(number: float, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    write(path, Run(material.HEADER, (replace(material.LAUNCH, peak_memory=number),)))
    assert b"NaN" not in path.read_bytes()
    assert b"Infinity" not in path.read_bytes()
    assert isinstance(read_run(path).launches[0].peak_memory, Missing)


def test_what_a_later_windtunnel_adds_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = three(path)
    launch = json.loads(lines[1])
    launch["colour"] = {"deep": [1]}
    lines[1] = json.dumps(launch).encode() + b"\n"
    path.write_bytes(b"".join([*lines[:2], b'{"type":"weather","wind":3}\n', *lines[2:]]))
    assert [one.number for one in read_run(path).launches] == [1, 2]


def test_calibrated_sizes_come_back_by_case(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    sizes = {"a": Sizes(160, 40, 0.04, 0.05), "b": Sizes(32, 10, 1.0, 2.0)}
    write(path, Run(material.HEADER, sizes=sizes))
    assert read_run(path).sizes == sizes


def test_a_header_without_a_host_is_one(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    header: Header = replace(material.HEADER, host=None)
    write(path, Run(header))
    assert read_run(path).header == header


def test_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "run.jsonl"
    three(path)
    assert len(whole_run(path).launches) == 2


def test_a_place_that_cannot_be_written_is_a_storage_error_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "run.jsonl", tmp_path):
        with pytest.raises(StorageError, match="--output") as caught:
            RunWriter(place)
        assert str(place) in str(caught.value)
