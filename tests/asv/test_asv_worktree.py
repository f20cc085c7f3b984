"""What changes with the suite itself: the working tree, versions of benchmarks, the machine's name."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import asv
import pytest
from suites import FAST, SLOW, Suite, make_suite

import windtunnel

QUICK = ("run", "--quick", "--python=same", "--bench", r"Hello\.track_cpu_per_request\('keepalive'\)")


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """A suite with one commit."""
    made = make_suite(tmp_path / "suite", tmp_path / "home")
    made.put({"benchmarks/http.py": made.text("benchmarks/http.py").partition("class Plain")[0]})
    made.commit("first")
    return made


def _seconds(output: str) -> float:
    figure = re.search(r"keepalive\s+([\d.]+)±\S*?(μs|ms)", output)
    assert figure is not None, output
    return float(figure[1]) * {"μs": 1e-6, "ms": 1e-3}[figure[2]]


@pytest.mark.engine
@pytest.mark.slow
def test_python_same_measures_what_is_not_committed(suite: Suite) -> None:
    before = suite.asv(*QUICK)
    much_slower = SLOW.replace("4", "40")  # one launch of a busy machine is to tell it
    suite.put({"hello/app.py": suite.text("hello/app.py").replace(FAST, much_slower)})
    after = suite.asv(*QUICK)

    for output in (before, after):
        assert re.search(r"Building the working tree\n.*(building hello|already)", output), "the wait has a name"
    assert _seconds(after) > 1.5 * _seconds(before)
    assert list(suite.run_files("worktree")) == ["http.Hello(keepalive)"]


@pytest.mark.engine
@pytest.mark.slow
def test_a_dry_run_records_nothing(suite: Suite) -> None:
    output = suite.asv("run", "--quick", "--dry-run", "--bench", QUICK[-1], "main^!")

    assert _seconds(output) > 0
    assert "replace saved samples" not in output
    assert list((suite.root / ".asv" / "results").glob("*/*-container.json")) == []


@pytest.mark.parametrize("how", [("main^!",), ("--python=same",)])
def test_without_an_engine_nothing_is_recorded_as_failed(suite: Suite, how: tuple[str, ...]) -> None:
    suite.variables["DOCKER_HOST"] = "unix:///nowhere/engine.sock"
    output = suite.asv("run", "--quick", *how, code=1)

    assert output.count("no container engine answers at unix:///nowhere/engine.sock") == 1
    assert "Traceback" not in output
    assert list((suite.root / ".asv").rglob("*-container.json")) == []


# ---------------- versions


def _versions(suite: Suite, package: Path | None = None) -> dict[str, str]:
    """asv's version of every benchmark, by asv's own discovery, with windtunnel from another folder."""
    script = Path(asv.__file__).parent / "benchmark.py"
    result = suite.home / "discovered.json"
    environment = suite.environment() | ({"ASV_PYTHONPATH": str(package)} if package else {})
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # Python takes an edit within a second, of equal length, for none
    command = [sys.executable, str(script), "discover", str(suite.root / "benchmarks"), str(result)]
    subprocess.run(command, env=environment, cwd=suite.home, check=True)
    return {one["name"]: one["version"] for one in json.loads(result.read_text())}


def _edited(suite: Suite, old: str, new: str) -> dict[str, str]:
    text = suite.text("benchmarks/http.py")
    assert old in text
    suite.put({"benchmarks/http.py": text.replace(old, new)})
    return _versions(suite)


def test_a_version_follows_what_is_asked_for(suite: Suite) -> None:
    first = _versions(suite)
    assert {name.rpartition(".")[2] for name in first} >= {"time_request", "track_cpu_per_request"}

    assert _edited(suite, "The page behind waitress.", "The page, behind waitress, in other words.") == first
    changed = _edited(suite, "requests=80", "requests=160")
    assert all(changed[name] != first[name] for name in first)
    assert _edited(suite, "requests=160", "requests=80") == first


def test_a_version_does_not_follow_our_own_code(suite: Suite, tmp_path: Path) -> None:
    package = tmp_path / "other" / "windtunnel"
    shutil.copytree(Path(windtunnel.__file__).parent, package)
    source = package / "asv" / "benchmark.py"
    text = source.read_text()
    lines = [line for line in text.splitlines() if line.startswith("    def time_request")]
    assert lines
    source.write_text(text.replace(lines[0], f"{lines[0]}\n        # another line"))

    assert _versions(suite, package.parent) == _versions(suite)


def test_a_version_stays_when_an_axis_gets_a_value(suite: Suite) -> None:
    with_axis = suite.text("benchmarks/http.py").replace(
        "return Workload(", 'return Workload(axes={"python": python}, '
    )
    with_axis = with_axis.replace("def workload(self, connection)", "def workload(self, python, connection)")
    with_axis = with_axis.replace('params = (["close"', 'params = (["3.11"], ["close"').replace(
        'param_names = ("connection",)', 'param_names = ("python", "connection")'
    )
    suite.put({"benchmarks/http.py": with_axis})
    first = _versions(suite)

    assert _edited(suite, '["3.11"]', '["3.11", "3.13"]') == first
    assert _edited(suite, '"keepalive"],)', '"keepalive", "other"],)') == first  # the same workload as "close"
    assert _edited(suite, "concurrency=4", "concurrency=8") != first


# ---------------- machines


def _recorded(suite: Suite) -> dict[str, str]:
    """The machine that asv records results under; discovery needs no engine."""
    suite.asv("run", "--quick", "--bench", "just-discover", "main^!")
    (file,) = (suite.root / ".asv" / "results").glob("*/machine.json")
    assert file.parent.name == json.loads(file.read_text())["machine"]
    return dict(json.loads(file.read_text()))


def test_a_machine_without_a_name_is_called_after_runner_and_processor(suite: Suite) -> None:
    suite.variables |= {"GITHUB_ACTIONS": "true", "CI": "true"}
    assert re.fullmatch(r"github-[a-z0-9.-]+-\d+cpu", _recorded(suite)["machine"])


def test_the_same_processor_elsewhere_is_another_machine(suite: Suite) -> None:
    assert _recorded(suite)["machine"].startswith("host-")


def test_a_user_who_introduced_the_machine_is_left_alone(suite: Suite) -> None:
    suite.asv("machine", "--machine", "bench-1", "--cpu", "of mine", "--yes")
    recorded = _recorded(suite)

    assert recorded["machine"] == "bench-1"
    assert recorded["cpu"] == "of mine"
