"""`asv run` over commits of every kind: what is measured, what is skipped, what fails, and what a person sees."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from suites import Suite

from windtunnel.model import METRICS

pytestmark = [pytest.mark.engine, pytest.mark.slow]

SHORT = ("time_request", "track_cpu_per_request")
GOOD = ("without the target plain", "with it", "readme only", "works again", "slow")


@pytest.fixture(scope="module")
def output(past: Suite) -> str:
    """What `asv run --quick` says of the whole past. Two commits fail, so its exit status is 2."""
    return past.asv("run", "--quick", "--show-stderr", "--bench", "|".join(SHORT), "main", code=2)


def _section(output: str, commit: str) -> str:
    """The part about one commit."""
    begin = output.index(f"commit {commit[:8]}")
    return output[begin : begin + (output[begin + 1 :].find("· For hello commit") % len(output))]


@pytest.mark.parametrize("subject", GOOD)
def test_every_cell_of_a_good_commit_has_a_figure(past: Suite, output: str, subject: str) -> None:
    results = past.results(past.commits[subject])
    for name in SHORT:
        values = results.values(f"http.Hello.{name}")
        assert len(values) == 2
        assert all(value is not None and value > 0 for value in values), (name, values)


def test_a_target_that_a_commit_does_not_have_is_skipped_there(past: Suite, output: str) -> None:
    for name in SHORT:
        (there,) = past.results(past.commits["with it"]).values(f"http.Plain.{name}")
        assert there is not None and there > 0
        (missing,) = past.results(past.commits["without the target plain"]).values(f"http.Plain.{name}")
        assert missing is not None and math.isnan(missing)


@pytest.mark.parametrize(
    ("subject", "reason"),
    [("does not build", "can't be built"), ("does not start", "no GREETING is set")],
)
def test_a_broken_commit_fails_its_own_cells_with_a_short_reason(
    past: Suite, output: str, subject: str, reason: str
) -> None:
    results, section = past.results(past.commits[subject]), _section(output, past.commits[subject])
    for name in SHORT:
        assert results.values(f"http.Hello.{name}") == [None, None]
    (other,) = results.values("http.Plain.time_request")
    assert other is not None and other > 0
    assert reason in section
    assert "For parameters: 'close'" in section
    assert "Traceback" not in section


def test_a_failed_build_is_tried_once_and_its_error_shown_once(past: Suite, output: str) -> None:
    section = _section(output, past.commits["does not build"])
    assert len(re.findall(r"building hello as", section)) == 1
    assert section.count("SyntaxError") == 1
    log = re.search(r"less (\S+\.log)", section)
    assert log is not None
    assert "SyntaxError" in Path(log[1]).read_text()


def test_builds_are_announced_and_nothing_is_built_twice(past: Suite, output: str) -> None:
    images = {
        subject: past.run_files(past.commits[subject])["http.Hello(close)"].launches[0].image for subject in GOOD
    }
    assert images["with it"] == images["readme only"] == images["works again"] == images["without the target plain"]
    assert images["slow"] != images["with it"]
    built = re.findall(r"building \S+ as (\S+)", output)
    assert len(built) == len(set(built))
    assert "already" in _section(output, past.commits["readme only"])


def test_all_metrics_read_the_same_launches(past: Suite, output: str) -> None:
    for subject in GOOD:
        for run in past.run_files(past.commits[subject]).values():
            assert len(run.launches) == 1, "--quick is one launch"
            assert [one.role for one in run.launches[0].slices].count("load") == 1


def test_quick_warns_that_it_replaces_samples(output: str) -> None:
    assert "replace saved samples" in output


def test_nothing_is_checked_out_or_installed(past: Suite, output: str) -> None:
    files = [path for path in (past.root / ".asv" / "env").rglob("*") if not path.is_dir()]
    assert files == []
    assert past.git("status", "--porcelain") == ""


def test_a_fresh_home_gets_a_machine_that_outlives_kernels_and_host_names(past: Suite, output: str) -> None:
    (folder,) = (path for path in (past.root / ".asv" / "results").iterdir() if path.is_dir())
    machine = json.loads((folder / "machine.json").read_text())
    assert machine["machine"] == folder.name
    assert machine["num_cpu"] and machine["cpu"]
    assert not any(re.match(r"\d+\.\d+\.\d+", str(value)) for value in machine.values()), "no kernel version"


def test_compare_and_show_read_what_was_recorded(past: Suite, output: str) -> None:
    fast, slow = past.commits["works again"], past.commits["slow"]
    table = past.asv("compare", "--factor", "1.5", fast, slow)
    assert "http.Hello.track_cpu_per_request('keepalive')" in table
    shown = past.asv("show", slow)
    assert "http.Hello.time_request" in shown


def test_check_finds_nothing_wrong(past: Suite) -> None:
    assert "No problems found" in past.asv("check")


def test_every_metric_of_a_commit_in_one_run_and_on_its_page(past: Suite, output: str) -> None:
    past.asv("run", "--quick", f"{past.commits['slow']}^!")
    results = past.results(past.commits["slow"])
    for name in past.benchmarks():
        assert all(value is not None and value > 0 for value in results.values(name)), name
    tracked = {name.rpartition(".track_")[2] for name in past.benchmarks() if ".track_" in name}
    assert tracked <= set(METRICS)

    past.asv("publish")
    html = past.root / ".asv" / "html"
    for name in past.benchmarks():
        graphs = [path for path in (html / "graphs").rglob(f"{name}.json") if "summary" not in path.parts]
        assert any(point[1] is not None for path in graphs for point in json.loads(path.read_text())), name


ONCE = """
from windtunnel import HTTPBenchmark, Workload


class Once(HTTPBenchmark):
    target = "hello"
    rounds = 1

    def workload(self):
        return Workload(concurrency=4, requests=80)
"""


@pytest.fixture
def once(past: Suite) -> Iterator[str]:
    """A benchmark of one launch, in the working tree only: where asv has no --quick."""
    file = past.root / "benchmarks" / "once.py"
    file.write_text(ONCE)
    yield "once.Once.track_cpu_per_request"
    file.unlink()


@pytest.mark.nightly
def test_find_comes_to_the_slow_commit(past: Suite, output: str, once: str) -> None:
    span = f"{past.commits['with it']}..{past.commits['slow']}"
    found = past.asv("find", "--skip-save", span, once)
    assert f"regression found: {past.commits['slow'][:8]}" in found, found


def test_builds_in_processes_of_their_own_measure_their_own_commits(past: Suite, tmp_path: Path) -> None:
    wanted = [past.commits[subject] for subject in ("works again", "slow", "works again")]
    hashes = tmp_path / "hashes"
    hashes.write_text("\n".join(dict.fromkeys(wanted)))
    past.asv("run", "--quick", "--parallel", "2", "--bench", "Hello.time_request", f"HASHFILE:{hashes}")

    for commit in dict.fromkeys(wanted):
        files = past.run_files(commit)
        assert {run.header.arms[0].commit for run in files.values()} == {commit}
        assert sum(len(run.launches) for run in files.values()) == 2
    images = {launch.image for commit in wanted for run in past.run_files(commit).values() for launch in run.launches}
    assert len(images) == 2
