"""The run file: what was measured comes back as it was, and no mishap of the disk takes more than one line."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import material
from windtunnel.errors import ConfigError, StorageError
from windtunnel.model import Answer, Launch
from windtunnel.sample.runfile import FORMAT, VERSION, Failure, Header, Run, RunWriter, read_run
from windtunnel.sample.schedule import Sizes
from windtunnel.units import Missing

slower = settings(max_examples=60, deadline=None)


@contextmanager
def _writer(path: Path) -> Iterator[RunWriter]:
    writer = RunWriter(path)
    try:
        yield writer
    finally:
        writer.close()


def _write(path: Path, run: Run) -> None:
    with _writer(path) as writer:
        writer.header(run.header)
        for case, sizes in run.sizes.items():
            writer.sizes(case, sizes)
        for failure in run.failures:
            writer.failure(failure)
        for launch in run.launches:
            writer.launch(launch)
        if run.end:
            writer.end(**run.end)


@contextmanager
def _file() -> Iterator[Path]:
    """A path of its own for each example."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "run.jsonl"


def _three(path: Path) -> list[bytes]:
    """A file of a header, two launches and an end; its lines."""
    two = replace(material.LAUNCH, number=2, idle_cpu=Missing("no cgroup"))
    _write(path, Run(material.HEADER, (material.LAUNCH, two), end={"exit": 0, "seconds": 1.5}))
    return path.read_bytes().splitlines(keepends=True)


# ---------------- there and back

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
    with _file() as path:
        _write(path, run)
        assert read_run(path) == run
        assert read_run(path).complete == bool(run.end)


@slower
@given(material.launches)
def test_a_number_that_was_not_measured_stays_so_and_no_other_becomes_one(launch: Launch) -> None:
    with _file() as path:
        _write(path, Run(material.HEADER, (launch,)))
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
    _write(tmp_path / "run.jsonl", run)
    assert read_run(tmp_path / "run.jsonl") == run


def test_text_that_is_no_unicode_can_be_written_and_read(tmp_path: Path) -> None:
    """A path or an argument that is not UTF-8 reaches Python as lone surrogates."""
    path = tmp_path / "run.jsonl"
    odd = os.fsdecode(b"caf\xe9")
    header = replace(material.HEADER, command=("windtunnel", "run", odd))
    _write(path, Run(header, (replace(material.LAUNCH, detail=odd),)))
    run = read_run(path)
    assert run.header.command[2].startswith("caf")
    assert run.launches[0].detail.startswith("caf")


def test_a_line_is_one_line_whatever_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    launch = replace(material.LAUNCH, detail="one\ntwo\r\n\x00\u2028three\x85")
    _write(path, Run(material.HEADER, (launch,)))
    assert path.read_bytes().count(b"\n") == 2
    assert read_run(path).launches == (launch,)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_does_not_have_is_not_written_as_one(number: float, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    _write(path, Run(material.HEADER, (replace(material.LAUNCH, peak_memory=number),)))
    assert b"NaN" not in path.read_bytes()
    assert b"Infinity" not in path.read_bytes()
    assert isinstance(read_run(path).launches[0].peak_memory, Missing)


def test_what_a_later_windtunnel_adds_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = _three(path)
    launch = json.loads(lines[1])
    launch["colour"] = {"deep": [1]}
    lines[1] = json.dumps(launch).encode() + b"\n"
    path.write_bytes(b"".join([*lines[:2], b'{"type":"weather","wind":3}\n', *lines[2:]]))
    assert [one.number for one in read_run(path).launches] == [1, 2]


# ---------------- a write that was cut short


def _whole(path: Path) -> Run:
    run = read_run(path)
    assert run.header == material.HEADER
    return run


def test_cut_anywhere_the_whole_lines_before_are_read(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = _three(path)
    whole, content = _whole(path), b"".join(lines)
    ends = [sum(map(len, lines[: number + 1])) for number in range(len(lines))]
    for cut in range(ends[0], len(content) + 1, 7):
        path.write_bytes(content[:cut])
        seen = _whole(path)
        assert seen.launches == whole.launches[: sum(cut >= end - 1 for end in ends[1:3])], cut
        assert seen.complete == (cut >= ends[3] - 1)


def test_a_tail_of_zeros_as_a_power_cut_leaves_is_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = _three(path)
    path.write_bytes(b"".join(lines[:2]) + bytes(500))
    assert [one.number for one in _whole(path).launches] == [1]


def test_what_is_appended_after_a_torn_line_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = _three(path)
    for cut in (1, len(lines[2]) // 2, len(lines[2]) - 2):
        path.write_bytes(b"".join(lines[:2]) + lines[2][:cut])
        with _writer(path) as writer:
            assert not writer.empty
            writer.launch(replace(material.LAUNCH, number=7))
            writer.end(exit=0)
        run = _whole(path)
        assert [one.number for one in run.launches] == [1, 7]
        assert run.complete


def test_a_line_that_lacks_only_its_newline_is_not_lost_by_appending(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = _three(path)
    path.write_bytes(b"".join(lines[:3]).rstrip(b"\n"))
    assert [one.number for one in _whole(path).launches] == [1, 2]
    with _writer(path) as writer:
        writer.launch(replace(material.LAUNCH, number=3))
    assert [one.number for one in _whole(path).launches] == [1, 2, 3]


def test_a_torn_header_leaves_an_empty_file_to_the_next_writer(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(_three(path)[0][:40])
    with pytest.raises(ConfigError, match="not a windtunnel run file"):
        read_run(path)
    with _writer(path) as writer:
        assert writer.empty
        writer.header(material.HEADER)
    assert _whole(path).launches == ()


def test_kill_9_while_writing_loses_nothing_that_was_reported_written(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    program = (
        "import sys; from dataclasses import replace; from pathlib import Path; import material\n"
        "from windtunnel.sample.runfile import RunWriter\n"
        "writer = RunWriter(Path(sys.argv[1])); writer.header(material.HEADER)\n"
        "for number in range(10**9):\n"
        "    writer.launch(replace(material.LAUNCH, number=number)); print(number, flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, path],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(material.__file__).parent)},
    )
    assert process.stdout is not None
    with process.stdout:
        for _ in range(20):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        told = [int(line) for line in process.stdout.read().split()]
    process.wait(10)
    seen = [one.number for one in _whole(path).launches]
    assert seen == list(range(len(seen)))
    assert len(seen) >= max([19, *told]) + 1


# ---------------- broken files


@pytest.mark.parametrize("broken", [b"{nonsense", b"\xff\xfe", b"[1, 2]", b"3", b'"launch"', b"[" * 100_000])
@pytest.mark.parametrize("blank", [b"", b"\n\n"])
def test_a_broken_line_before_the_last_is_named(broken: bytes, blank: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = _three(path)
    path.write_bytes(lines[0] + blank + lines[1] + broken + b"\n" + lines[2])
    with pytest.raises(ConfigError) as caught:
        read_run(path)
    assert (caught.value.file, caught.value.line) == (str(path), 3 + len(blank))


def _deep(record: dict[str, Any], *keys: Any) -> Any:
    for key in keys:
        record = record[key]
    return record


_WRONG: list[tuple[str, Callable[[dict[str, Any]], None]]] = [
    ("case", lambda launch: launch.update(case=3)),
    ("number", lambda launch: launch.update(number="first")),
    ("outcome", lambda launch: launch.update(outcome="fine")),
    ("started", lambda launch: launch.update(started=None)),
    ("identity", lambda launch: launch.pop("identity")),
    ("peak_memory", lambda launch: launch.update(peak_memory="much")),
    ("peak_memory", lambda launch: launch.update(peak_memory=None)),
    ("slices", lambda launch: launch.update(slices="none")),
    ("slices.1.wall", lambda launch: launch["slices"][1].update(wall="quick")),
    ("slices.1.wall", lambda launch: launch["slices"][1].update(wall={"missing": "why", "or": "not"})),
    ("slices.2.requests", lambda launch: launch["slices"][2].update(requests=1.5)),
    ("slices.0.role", lambda launch: launch["slices"][0].update(role="rest")),
    ("slices.0.status.200", lambda launch: launch["slices"][0].update(status={"200": "many"})),
    ("answer.length", lambda launch: launch["answer"].update(length=[])),
    ("spent.start", lambda launch: launch.update(spent={"start": "long"})),
]


@pytest.mark.parametrize(("key", "spoil"), _WRONG)
def test_a_wrong_type_is_told_with_line_and_key(
    key: str, spoil: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    lines = _three(path)
    launch = json.loads(lines[2])
    spoil(launch)
    path.write_bytes(b"".join([*lines[:2], json.dumps(launch).encode(), b"\n", lines[3]]))
    with pytest.raises(ConfigError) as caught:
        read_run(path)
    assert (caught.value.line, caught.value.key) == (3, key)
    assert str(caught.value).startswith(f"{path}:3: {key}: ")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_refused(number: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = _three(path)
    assert b'"wall":0.04' in lines[1]
    lines[1] = lines[1].replace(b'"wall":0.04', b'"wall":' + number.encode(), 1)
    path.write_bytes(b"".join(lines))
    with pytest.raises(ConfigError) as caught:
        read_run(path)
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("line", "spoilt"),
    [
        (0, b'{"type":"header","format":"%s","version":%d}' % (FORMAT.encode(), VERSION)),
        (1, b'{"type":"launch"}'),
        (2, b'{"type":"failure","case":"a"}'),
        (2, b'{"type":"sizes","case":"a","sizes":{"load":1}}'),
        (2, b'{"type":"sizes","case":"a","sizes":[1]}'),
        (2, b'{"type":"sizes","case":"a"}'),
    ],
)
def test_a_record_that_lacks_something_is_told_with_its_line(line: int, spoilt: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = _three(path)
    lines[line] = spoilt + b"\n"
    path.write_bytes(b"".join(lines))
    with pytest.raises(ConfigError) as caught:
        read_run(path)
    assert caught.value.line == line + 1


@pytest.mark.parametrize("version", [VERSION + 1, 99, "1", None])
def test_a_file_of_another_version_is_refused_with_both_versions(version: object, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = _three(path)
    header = {**json.loads(lines[0]), "version": version, "plan": "of another kind"}
    path.write_bytes(b"".join([json.dumps(header).encode(), b"\n", *lines[1:]]))
    with pytest.raises(ConfigError, match=f"{version}.*{VERSION}") as caught:
        read_run(path)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"{}\n", b'{"format":"else"}\n', b"hello", b"hello\n", b"\x1f\x8b\x08\0\n", b"[]\n"]
)
def test_another_kind_of_file_is_not_one(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_run(path)
    assert caught.value.file == str(path)


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_run(tmp_path / "none.jsonl")
    with pytest.raises(ConfigError, match="Is a directory"):
        read_run(tmp_path)


# ---------------- disks


def test_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "run.jsonl"
    _three(path)
    assert len(_whole(path).launches) == 2


def test_a_place_that_cannot_be_written_is_a_storage_error_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "run.jsonl", tmp_path):
        with pytest.raises(StorageError, match="--output") as caught:
            RunWriter(place)
        assert str(place) in str(caught.value)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("mounting takes root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_disk_loses_the_line_in_flight_and_nothing_else(small_disk: Path) -> None:
    path = small_disk / "run.jsonl"
    written = 0
    with _writer(path) as writer:
        writer.header(material.HEADER)
        with pytest.raises(StorageError, match="No space left") as caught:
            for written in range(10_000):
                writer.launch(replace(material.LAUNCH, number=written))
        assert str(path) in str(caught.value)
        assert "--output" in str(caught.value)
        before = path.read_bytes()
        assert before.endswith(b"\n")
        assert [one.number for one in _whole(path).launches] == list(range(written))
        with pytest.raises(StorageError):
            writer.launch(replace(material.LAUNCH, detail="x" * 64_000))
        assert path.read_bytes() == before
    assert written > 5


def test_the_end_still_fits_when_a_launch_did_not(small_disk: Path) -> None:
    path = small_disk / "run.jsonl"
    with _writer(path) as writer:
        writer.header(material.HEADER)
        with pytest.raises(StorageError):
            writer.launch(replace(material.LAUNCH, detail="x" * 64_000))
        writer.failure(Failure("case", "head", "failed", "the disk was full"))
        writer.end(exit=6)
    run = _whole(path)
    assert (run.launches, len(run.failures), run.end) == ((), 1, {"exit": 6})


def test_calibrated_sizes_come_back_by_case(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    sizes = {"a": Sizes(160, 40, 0.04, 0.05), "b": Sizes(32, 10, 1.0, 2.0)}
    _write(path, Run(material.HEADER, sizes=sizes))
    assert read_run(path).sizes == sizes


def test_a_header_without_a_host_is_one(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    header: Header = replace(material.HEADER, host=None)
    _write(path, Run(header))
    assert read_run(path).header == header
