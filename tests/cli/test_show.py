"""`windtunnel show`: any run file, in any form, and what it refuses."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from xml.etree import ElementTree as ET

import pytest

import material
from commands import run
from example_comparisons import RUNS
from windtunnel.compare.verdict import compare
from windtunnel.report.comparison import render_comparison
from windtunnel.report.markdown import comparison_markdown
from windtunnel.report.run import render_run
from windtunnel.sample.runfile import Run, RunWriter, read_run


def _show(*options: str | Path) -> CompletedProcess[str]:
    return run(sys.executable, "-m", "windtunnel", "show", *options)


def _written(path: Path, one: Run) -> Path:
    writer = RunWriter(path)
    writer.header(one.header)
    for failure in one.failures:
        writer.failure(failure)
    for launch in one.launches:
        writer.launch(launch)
    if one.end:
        writer.end(**one.end)
    writer.close()
    return path


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison in which one case got slower."""
    return _written(tmp_path_factory.mktemp("runs") / "slower.jsonl", RUNS["regression"])


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """What `windtunnel run` writes."""
    return _written(
        tmp_path / "plain.jsonl", Run(material.HEADER, (material.LAUNCH,), end={"exit": 0, "seconds": 2.0})
    )


def test_a_comparison_is_shown_as_it_was_and_its_outcome_is_not_that_of_the_command(slower: Path) -> None:
    shown = _show(slower)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == render_comparison(RUNS["regression"], compare(RUNS["regression"])) + "\n"


def test_it_is_judged_anew_by_another_threshold(slower: Path) -> None:
    shown = _show(slower, "--threshold", "12%")
    assert shown.returncode == 0
    assert shown.stdout.startswith("No change larger than 12 % in 2 cases.")


def test_every_form_is_to_be_had(slower: Path) -> None:
    report = json.loads(_show(slower, "--json").stdout)
    assert (report["format"], report["outcome"]["exit"]) == ("windtunnel-comparison", 10)
    assert _show(slower, "--markdown").stdout == comparison_markdown(RUNS["regression"], compare(RUNS["regression"]))
    assert ET.fromstring(_show(slower, "--junit").stdout.encode()).get("failures") == "1"


def test_a_plain_run_is_shown_too(plain: Path) -> None:
    shown = _show(plain)
    assert shown.returncode == 0
    assert shown.stdout == render_run(read_run(plain)) + "\n"
    assert json.loads(_show(plain, "--json").stdout)["format"] == "windtunnel-run-report"


@pytest.mark.parametrize(("options", "named"), [(["--junit"], "--junit"), (["--threshold", "3%"], "--threshold")])
def test_what_only_a_comparison_has_is_refused_of_a_plain_run(plain: Path, options: list[str], named: str) -> None:
    shown = _show(plain, *options)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert f"{plain}: holds no comparison, and {named} is for those" in shown.stderr


def test_a_comparison_that_was_cut_short_is_shown_as_far_as_it_got(tmp_path: Path) -> None:
    unfinished = RUNS["unfinished"]
    path = _written(tmp_path / "cut.jsonl", unfinished)
    with path.open("ab") as file:
        file.write(b'{"type": "launch", "case": "psgi')
    shown = _show(path)
    assert shown.returncode == 0
    assert shown.stdout.startswith("Unfinished; so far: ")


def test_a_header_without_anything_is_shown(tmp_path: Path) -> None:
    empty = replace(RUNS["unfinished"], launches=())
    shown = _show(_written(tmp_path / "empty.jsonl", empty))
    assert shown.returncode == 0
    assert "none of the 3 cases was measured" in shown.stdout


@pytest.mark.parametrize("content", [b"", b"{}\n", b'{"format": "windtunnel-run", "version": 99}\n', b"\x00\xff\n"])
def test_what_is_no_run_file_is_a_mistake_of_whoever_asks(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    shown = _show(path)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert str(path) in shown.stderr


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    shown = _show(tmp_path / "nowhere.jsonl")
    assert shown.returncode == 2
    assert "nowhere.jsonl: cannot be read: No such file" in shown.stderr
