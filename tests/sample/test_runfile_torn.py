"""A write of the run file that was cut short: no mishap of the disk takes more than one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from runfiles import three, whole_run, writer_of

import material
from windtunnel.errors import ConfigError, StorageError
from windtunnel.sample.runfile import Failure, read_run


def test_cut_anywhere_the_whole_lines_before_are_read(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = three(path)
    whole, content = whole_run(path), b"".join(lines)
    ends = [sum(map(len, lines[: number + 1])) for number in range(len(lines))]
    for cut in range(ends[0], len(content) + 1, 7):
        path.write_bytes(content[:cut])
        seen = whole_run(path)
        assert seen.launches == whole.launches[: sum(cut >= end - 1 for end in ends[1:3])], cut
        assert seen.complete == (cut >= ends[3] - 1)


def test_a_tail_of_zeros_as_a_power_cut_leaves_is_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = three(path)
    path.write_bytes(b"".join(lines[:2]) + bytes(500))
    assert [one.number for one in whole_run(path).launches] == [1]


def test_what_is_appended_after_a_torn_line_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = three(path)
    for cut in (1, len(lines[2]) // 2, len(lines[2]) - 2):
        path.write_bytes(b"".join(lines[:2]) + lines[2][:cut])
        with writer_of(path) as writer:
            assert not writer.empty
            writer.launch(replace(material.LAUNCH, number=7))
            writer.end(exit=0)
        run = whole_run(path)
        assert [one.number for one in run.launches] == [1, 7]
        assert run.complete


def test_a_line_that_lacks_only_its_newline_is_not_lost_by_appending(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = three(path)
    path.write_bytes(b"".join(lines[:3]).rstrip(b"\n"))
    assert [one.number for one in whole_run(path).launches] == [1, 2]
    with writer_of(path) as writer:
        writer.launch(replace(material.LAUNCH, number=3))
    assert [one.number for one in whole_run(path).launches] == [1, 2, 3]


def test_a_torn_header_leaves_an_empty_file_to_the_next_writer(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(three(path)[0][:40])
    with pytest.raises(ConfigError, match="not a windtunnel run file"):
        read_run(path)
    with writer_of(path) as writer:
        assert writer.empty
        writer.header(material.HEADER)
    assert whole_run(path).launches == ()


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
    seen = [one.number for one in whole_run(path).launches]
    assert seen == list(range(len(seen)))
    assert len(seen) >= max([19, *told]) + 1


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
    with writer_of(path) as writer:
        writer.header(material.HEADER)
        with pytest.raises(StorageError, match="No space left") as caught:
            for written in range(10_000):
                writer.launch(replace(material.LAUNCH, number=written))
        assert str(path) in str(caught.value)
        assert "--output" in str(caught.value)
        before = path.read_bytes()
        assert before.endswith(b"\n")
        assert [one.number for one in whole_run(path).launches] == list(range(written))
        with pytest.raises(StorageError):
            writer.launch(replace(material.LAUNCH, detail="x" * 64_000))
        assert path.read_bytes() == before
    assert written > 5


def test_the_end_still_fits_when_a_launch_did_not(small_disk: Path) -> None:
    path = small_disk / "run.jsonl"
    with writer_of(path) as writer:
        writer.header(material.HEADER)
        with pytest.raises(StorageError):
            writer.launch(replace(material.LAUNCH, detail="x" * 64_000))
        writer.failure(Failure("case", "head", "failed", "the disk was full"))
        writer.end(exit=6)
    run = whole_run(path)
    assert (run.launches, len(run.failures), run.end) == ((), 1, {"exit": 6})
