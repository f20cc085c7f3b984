"""Where results are looked for, and the run files beside them."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

from history_store.folders import commit, plain, row
from windtunnel.history import open_history

RUNS = Path(__file__).resolve().parents[2] / "bench" / "runs"


def head(number: int, suite: str = "") -> bytes:
    """The first line of a run file."""
    arms = [
        {"name": "base", "commit": commit(number - 1), "date": "2023-11-14 00:00:00+00:00"},
        {"name": "head", "commit": commit(number), "date": "2023-11-15 00:00:00+00:00"},
    ]
    record = {"type": "header", "format": "windtunnel-run", "version": 1, "arms": arms, "compare": {"suite": suite}}
    return json.dumps(record).encode() + b'\n{"type": "launch"}\n'


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(content, preset=0) if path.suffix == ".xz" else content)
    return path


def test_the_results_branch_has_both(tmp_path: Path) -> None:
    branch = tmp_path / "branch"
    folder = plain(branch / "asv")
    folder.result(0, {"m.time_it": row([1.0])})
    write(branch / "format.json", b"{}")
    write(branch / "accepted" / f"{commit(0)}.json", b"{}")
    second = write(branch / "runs" / "2023" / f"{commit(2)}-suite.jsonl.xz", head(2, "suite"))
    first = write(branch / "runs" / "2023" / f"{commit(1)}.jsonl.xz", head(1))
    history = open_history([branch], tmp_path / "index.sqlite")
    assert [(one.path, one.commit, one.base, one.suite) for one in history.runs()] == [
        (first, commit(1), commit(0), ""),
        (second, commit(2), commit(1), "suite"),
    ]
    assert {one.hash for one in history.commits()} == {commit(0), commit(1), commit(2)}
    assert len(history.series("m.time_it")) == 1
    assert history.unreadable() == ()


def test_real_run_files_are_read(tmp_path: Path) -> None:
    history = open_history([RUNS], tmp_path / "index.sqlite")
    runs = history.runs()
    assert len(runs) == len(list(RUNS.glob("*.jsonl.xz"))) > 50
    known = {one.hash for one in history.commits()}
    assert {one.commit for one in runs} == known
    assert all(len(one.base) == 40 for one in runs)
    assert history.unreadable() == ()


def test_one_run_file_is_a_place(tmp_path: Path) -> None:
    path = write(tmp_path / "run.jsonl", head(3))
    history = open_history([path], tmp_path / "index.sqlite")
    assert [(one.path, one.commit) for one in history.runs()] == [(path, commit(3))]


def test_run_files_that_are_none_are_named(tmp_path: Path) -> None:
    bad = {
        "empty.jsonl": b"",
        "text.jsonl": b"hello\n",
        "other.jsonl": b'{"format": "other"}\n',
        "newer.jsonl": b'{"format": "windtunnel-run", "version": 2}\n',
        "arms.jsonl": b'{"format": "windtunnel-run", "version": 1, "arms": 3}\n',
        "long.jsonl": b"x" * (17 << 20),
    }
    for name, content in bad.items():
        write(tmp_path / "runs" / name, content)
    (tmp_path / "runs" / "cut.jsonl.xz").write_bytes(b"\xfd7zXZ\x00")
    (tmp_path / "runs" / "bad.jsonl.xz").write_bytes(b"no xz at all")
    write(tmp_path / "runs" / "bomb.jsonl.xz", b" " * (40 << 20))
    write(tmp_path / "runs" / "good.jsonl", head(1))
    history = open_history([tmp_path / "runs"], tmp_path / "index.sqlite")
    assert [one.path.name for one in history.runs()] == ["good.jsonl"]
    assert {one.path.name for one in history.unreadable()} == {*bad, "cut.jsonl.xz", "bad.jsonl.xz", "bomb.jsonl.xz"}


def test_a_working_tree_is_no_commit(tmp_path: Path) -> None:
    content = head(1).replace(commit(1).encode(), b"worktree")
    write(tmp_path / "runs" / "one.jsonl", content)
    history = open_history([tmp_path / "runs"], tmp_path / "index.sqlite")
    assert [(one.commit, one.base) for one in history.runs()] == [("", commit(0))]
    assert history.commits() == ()


def test_a_place_that_is_not_there_is_empty(tmp_path: Path) -> None:
    history = open_history([tmp_path / "nowhere"], tmp_path / "index.sqlite")
    assert (history.commits(), history.runs(), history.benchmarks()) == ((), (), ())


def test_folders_that_are_no_machines_are_named_once(tmp_path: Path) -> None:
    folder = plain(tmp_path / "results")
    folder.result(0, {"m.time_it": row([1.0])})
    for number in range(3):
        folder.write(f"node_modules/{number}.json", "{}")
    history = open_history([folder.path], tmp_path / "index.sqlite")
    (found,) = history.unreadable()
    assert found.path == folder.path / "node_modules" / "machine.json"
    folder.machine("node_modules")
    history.update()
    assert len(history.unreadable()) == 3


def test_names_that_are_not_utf8_are_told_and_not_read(tmp_path: Path) -> None:
    folder = plain(tmp_path / "results")
    good = folder.result(0, {"m.time_it": row([1.0])})
    os.link(good, os.fsencode(good.parent) + b"/\xff.json")
    Path(os.fsdecode(os.fsencode(folder.path) + b"/\xfe")).mkdir()
    os.link(good, os.fsencode(folder.path) + b"/\xfe/one.json")
    write(tmp_path / "results" / "runs" / "one.jsonl", head(1))
    os.link(tmp_path / "results" / "runs" / "one.jsonl", os.fsencode(tmp_path) + b"/results/runs/\xfd.jsonl")
    history = open_history([folder.path], tmp_path / "index.sqlite")
    assert [str(one.path.relative_to(folder.path)) for one in history.unreadable()] == [
        "\\xfe",
        "box/\\xff.json",
        "runs/\\xfd.jsonl",
    ]
    assert len(history.series("m.time_it")) == 1
    assert len(history.runs()) == 1
    assert not history.update()


@pytest.mark.skipif(os.geteuid() != 0, reason="has to become somebody else")
def test_folders_and_files_that_cannot_be_read_are_told(open_folder: Path) -> None:
    """Root may read everything, so a process of somebody else looks."""
    folder = plain(open_folder / "results")
    folder.result(0, {"m.time_it": row([1.0])})
    folder.result(1, {"m.time_it": row([2.0])}).chmod(0)
    folder.machine("secret").result(0, {}, machine="secret")
    (folder.path / "secret").chmod(0)
    write(folder.path / "runs" / "one.jsonl", head(1))
    (folder.path / "runs").chmod(0)
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom windtunnel.history import open_history\nos.setuid(65534)\n"
        "history = open_history([Path(sys.argv[1])], Path(sys.argv[2]))\n"
        "print(len(history.series('m.time_it')[0]), *sorted(one.path.name for one in history.unreadable()))\n"
    )
    (open_folder / "index").mkdir(mode=0o777)
    (open_folder / "index").chmod(0o777)
    done = subprocess.run(
        [sys.executable, "-c", program, folder.path, open_folder / "index" / "index.sqlite"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["1", f"{commit(1)[:8]}-py3.11.json", "runs", "secret"]
