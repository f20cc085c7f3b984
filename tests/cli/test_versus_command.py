"""`windtunnel versus`: which cases BENCH means, what is refused, and what comes of run files and of a real run."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from commands import run
from example_versus import case, measured, written
from windtunnel.sample.runfile import Failure

FACTORS = {("5.32", "close"): 1.0, ("5.40", "close"): 0.5, ("5.32", "keepalive"): 0.4, ("5.40", "keepalive"): 0.3}


def _versus(*options: str | Path, **environment: str) -> CompletedProcess[str]:
    return run(sys.executable, "-m", "windtunnel", "versus", *options, **environment)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which perl 5.40 is twice as fast as 5.32 without keepalive."""
    return written(tmp_path_factory.mktemp("versus") / "run.jsonl", measured(FACTORS))


def test_a_class_by_its_short_name_has_a_matrix_for_each_kind_of_connection(file: Path) -> None:
    shown = _versus("Starlet", "--by", "perl", "--from", file)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert re.findall(r"by perl: connection (\w+)", shown.stdout) == ["close", "keepalive"]
    assert re.search(r"^  perl 5\.32 -> 5\.40: \+100\.0 % \[\+\d", shown.stdout, re.MULTILINE)


def test_a_regular_expression_chooses_cases(file: Path) -> None:
    shown = _versus("keepalive", "--by", "perl", "--from", file)
    assert re.findall(r"by perl: connection (\w+)", shown.stdout) == ["keepalive"]


def test_a_name_is_no_pattern_where_a_class_has_it(tmp_path: Path) -> None:
    """Starlet is the class Starlet, and not StarletSlow too."""
    both = (
        written(tmp_path / "one.jsonl", measured(FACTORS)),
        written(tmp_path / "two.jsonl", measured(FACTORS, benchmark="psgi.StarletSlow")),
    )
    shown = _versus("Starlet", "--by", "perl", "--from", both[0], "--from", both[1])
    assert "StarletSlow" not in shown.stdout
    assert "StarletSlow" in _versus("Starlet.*", "--by", "perl", "--from", both[0], "--from", both[1]).stdout


def test_two_files_count_together(file: Path) -> None:
    shown = _versus("Starlet", "--by", "perl", "--from", file, "--from", file, "--json")
    board = json.loads(shown.stdout)["boards"][0]
    assert [len(one["launches"]) for one in board["values"]] == [16, 16]


def test_another_metric_is_asked_for_by_name(file: Path) -> None:
    report = json.loads(
        _versus("Starlet", "--by", "perl", "--from", file, "--metric", "peak_memory", "--json").stdout
    )
    assert (report["format"], report["outcome"]) == ("windtunnel-versus", 0)
    assert {board["metric"] for board in report["boards"]} == {"peak_memory"}
    assert report["boards"][0]["steps"][0]["ratio"] == 1.0


def test_the_exit_code_is_that_of_the_cases_that_are_looked_at(tmp_path: Path) -> None:
    broken = Failure(case("5.40", "close").id, "head", "failed", "the image of starlet can't be built")
    path = written(tmp_path / "run.jsonl", measured(FACTORS, [broken]))
    shown = _versus("Starlet", "--by", "perl", "--from", path)
    assert shown.returncode == 7
    assert "not measured: perl 5.40: failed: the image of starlet can't be built" in shown.stdout
    assert _versus("keepalive", "--by", "perl", "--from", path).returncode == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["Starlet", "--by", "python"], "--by: Starlet has no parameter 'python'; it has perl, connection"),
        (["5.32, close", "--by", "perl"], "has one value of perl only"),
        (["Starman", "--by", "perl"], 'no case matches "Starman"'),
        (["Starlet(", "--by", "perl"], "is not a regular expression"),
        (["Starlet", "--by", "perl", "--launches", "3"], "--from measures nothing, and --launches is for measuring"),
        (["Starlet"], "Missing option '--by'"),
    ],
)
def test_what_can_not_be_set_against_anything_is_refused(file: Path, options: list[str], said: str) -> None:
    shown = _versus(*options, "--from", file)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert said in shown.stderr


def test_another_machines_file_is_refused(file: Path, tmp_path: Path) -> None:
    other = measured(FACTORS)
    assert other.header.host is not None
    header = replace(other.header, host=replace(other.header.host, cpu_model="Another"))
    foreign = written(tmp_path / "foreign.jsonl", replace(other, header=header))
    shown = _versus("Starlet", "--by", "perl", "--from", file, "--from", foreign)
    assert shown.returncode == 2
    assert "figures of two machines can't be set side by side" in shown.stderr
