"""What a push to main leaves on the results branch. asv and git are real; what was measured is made up."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from recordings import BRANCH, Main, main_of, state

from localhub import LocalGitHub
from windtunnel.adapters.results import restore_calibration
from windtunnel.declare.suite import find_suite
from windtunnel.sample.calibration import FORMAT, VERSION, calibration_file, read_calibration

ONE, TWO = "tiny.Page(2)", "tiny.Page(4)"


@pytest.fixture
def main(tmp_path: Path) -> Main:
    return main_of(tmp_path)


def _asv(main: Main, commit: str, top: str = "") -> dict[str, object]:
    """asv's results of a commit, by benchmark."""
    (text,) = (
        text for name, text in main.remote.files().items() if name.startswith(f"{top}asv/") and commit[:8] in name
    )
    found = json.loads(text)
    assert found["commit_hash"] == commit
    return dict(found["results"])


def test_the_first_push(main: Main) -> None:
    job = main.job().measured("main~1", 1.0, "small")
    before = state(job.step.checkout)
    told = job.record("--suite", "small").expect(0)
    assert state(job.step.checkout) == before
    tip = main.remote.tip()
    assert told.outputs == {
        "outcome": "ok",
        "regressions": "0",
        "recorded": tip,
        "site": "",
        "run": str(job.out / "run.jsonl"),
        "artifact": "windtunnel-record--small",
    }
    head = job.head
    files = main.remote.files()
    (year,) = {name.split("/")[1] for name in files if name.startswith("runs/")}
    (machine,) = {name.split("/")[1] for name in files if name.startswith("asv/") and name.count("/") == 2}
    assert set(files) == {
        "README.md",
        "format.json",
        "asv/benchmarks.json",
        f"asv/{machine}/machine.json",
        f"asv/{machine}/{head[:8]}-container.json",
        f"runs/{year}/{head}-small.jsonl.xz",
    }
    assert machine.startswith("github-")
    packed = main.remote.raw("cat-file", "blob", f"{BRANCH}:runs/{year}/{head}-small.jsonl.xz")
    assert lzma.decompress(packed) == (job.out / "run.jsonl").read_bytes()
    assert "tiny.Page.time_request" in _asv(main, head)
    message = main.remote.log("%B")[0]
    assert message.startswith(f"Record {head[:7]} (small): No change larger than 2 %")
    assert main.remote.git("rev-list", "--count", BRANCH) == "1"
    assert "no change larger than 2 %" in told.summary
    assert len(told.commands("notice")) == 1
    assert told.commands("error") == []
    (warning,) = told.commands("warning")
    assert "GITHUB_TOKEN is not set" in warning


def test_pushes_that_were_skipped_are_in_the_next_comparison(main: Main) -> None:
    main.job().measured("main~1").record().expect(0)
    recorded = main.origin.hash("main")
    main.origin.commit("skipped")
    main.origin.commit("third")
    told = main.job().measured(recorded).record().expect(0)
    assert f"compared with {recorded[:12]}, recorded last" in told.log
    assert len(main.remote.log()) == 2
    assert f"base {recorded}" in main.remote.log("%B")


def test_without_anything_recorded_it_is_the_parent(main: Main) -> None:
    main.origin.commit("third")
    told = main.job().measured("main~2").record().expect(2)
    assert "is of other commits" in told.log
    told = main.job().measured("main~1").record().expect(0)
    assert f"compared with {main.origin.hash('main~1')[:12]}, its parent" in told.log


@pytest.mark.slow
def test_a_commit_that_did_not_build_is_recorded_and_is_no_base(main: Main) -> None:
    small = ("--suite", "small")
    main.job().measured("main~1", suite="small").record(*small).expect(0)
    good = main.origin.hash("main")
    main.origin.commit("broken")
    told = main.job().measured(good, suite="small", failure="failed").record(*small).expect(0)
    assert told.outputs["outcome"] == "head_broken"
    assert told.outputs["recorded"] == main.remote.tip()
    assert len(told.commands("warning")) >= 2
    main.origin.commit("mended")
    told = main.job().measured(good, suite="small").record(*small).expect(0)
    assert f"compared with {good[:12]}, recorded last" in told.log


def test_what_is_recorded_already_is_not_measured_again(main: Main) -> None:
    main.job().measured("main~1").record().expect(0)
    tip = main.remote.tip()
    told = main.job(event="workflow_dispatch").record().expect(0)
    assert (told.outputs["outcome"], told.outputs["recorded"]) == ("ok", "")
    assert "is recorded already" in told.log
    assert "is recorded already" in told.summary
    assert main.remote.tip() == tip


def test_the_first_commit_of_all(main: Main) -> None:
    told = main.job("main~1").record().expect(0)
    assert (told.outputs["outcome"], told.outputs["recorded"]) == ("ok", "")
    assert "first commit of the history" in told.summary
    assert not main.remote.exists()


def test_a_second_suite_stands_beside_the_first(main: Main) -> None:
    main.job().measured("main~1").record().expect(0)
    told = main.job().measured("main~1", suite="small").record("--suite", "small").expect(0)
    assert told.outputs["artifact"] == "windtunnel-record--small"
    head = main.origin.hash("main")
    runs = sorted(name.split("/")[2] for name in main.remote.files() if name.startswith("runs/"))
    assert runs == [f"{head}-small.jsonl.xz", f"{head}.jsonl.xz"]
    assert "(small)" in main.remote.log()[0]


@pytest.mark.slow
def test_two_suites_at_the_same_time_are_both_there(main: Main, tmp_path: Path) -> None:
    """Each has measured one of the two cases of the same commit on the same machine."""
    (main.origin.path / "windtunnel.toml").write_text("[suites.one]\ncases = ['2']\n[suites.two]\ncases = ['4']\n")
    main.origin.commit("third", {"more": "x"})
    jobs = {suite: main.job().measured("main~1", 1.1, suite) for suite in ("one", "two")}
    with (
        jobs["one"].step.running(*jobs["one"].arguments("--suite", "one")) as one,
        jobs["two"].step.running(*jobs["two"].arguments("--suite", "two")) as two,
    ):
        one.wait(120)
        two.wait(120)
    for process, job in ((one, jobs["one"]), (two, jobs["two"])):
        job.step.told(process).expect(0)
    assert len(main.remote.log()) == 2
    row = _asv(main, main.origin.hash("main"))["tiny.Page.time_request"]
    assert isinstance(row, list)
    assert row[1] == [["2", "4"]]
    assert all(isinstance(value, float) and value > 0 for value in row[0])
    main.remote.check()


def test_a_suite_in_a_folder(tmp_path: Path) -> None:
    main = main_of(tmp_path, "perf/http/")
    told = main.job().measured("main~1").record().expect(0)
    assert told.outputs["artifact"] == "windtunnel-record.perf-http"
    head = main.origin.hash("main")
    names = {name for name in main.remote.files() if "/" in name}
    assert {name.split("/asv/")[0].split("/runs/")[0] for name in names} == {"directories/perf-http"}
    (run,) = (name for name in names if name.startswith("directories/perf-http/runs/"))
    assert head in run
    told = main.job().record().expect(0)
    assert "is recorded already" in told.log


# ---------------- what is refused


@pytest.mark.parametrize("name", ["main", "gh-pages"])
def test_a_branch_that_is_something_else(main: Main, name: str) -> None:
    main.origin.commit("settings", {"windtunnel.toml": f'results_branch = "{name}"\n'})
    tip = main.origin.hash("main")
    told = main.job().measured("main~1").record().expect(2)
    (error,) = told.commands("error")
    assert "results_branch" in error
    assert "file=windtunnel.toml" in error
    assert main.origin.hash("main") == tip


def test_a_pull_request(main: Main) -> None:
    job = main.job(event="pull_request")
    told = job.record().expect(2)
    assert "history is written from the branch main only" in told.commands("error")[0]
    assert told.outputs["outcome"] == "usage"
    assert not main.remote.exists()


def test_a_suite_that_is_none(main: Main) -> None:
    told = main.job().record("--suite", "smal").expect(2)
    assert 'did you mean "small"' in told.log


def test_outside_of_a_workflow(main: Main) -> None:
    told = main.job().record(GITHUB_EVENT_NAME="").expect(2)
    assert "GITHUB_EVENT_NAME" in told.log


def test_a_protected_branch_costs_nothing_that_was_measured(main: Main) -> None:
    main.remote.hook("pre-receive", "echo 'protected branch' >&2\nexit 1")
    job = main.job().measured("main~1")
    told = job.record().expect(6)
    assert (told.outputs["outcome"], told.outputs["recorded"]) == ("infrastructure", "")
    assert told.outputs["run"] == str(job.out / "run.jsonl")
    assert (job.out / "run.jsonl").exists()
    (error,) = told.commands("error")
    assert "contents: write" in error
    assert "identical" in told.summary  # what was found is told all the same
    assert not main.remote.exists()
    (main.remote.path / "hooks" / "pre-receive").unlink()
    told = job.record().expect(0)
    assert "has this comparison already" in told.log
    assert told.outputs["recorded"] == main.remote.tip()


def test_a_remote_that_is_gone(main: Main) -> None:
    job = main.job().measured("main~1")
    main.remote.path.rename(main.remote.path.with_name("moved"))
    told = job.record().expect(6)
    assert "contents: write" in told.commands("error")[0]


def test_a_branch_of_something_else(main: Main) -> None:
    main.remote.git("branch", BRANCH, "main")
    tip = main.remote.tip()
    told = main.job().measured("main~1").record().expect(2)
    assert "name another branch" in told.log
    assert main.remote.tip() == tip


def test_the_token_is_not_in_what_is_said_nor_in_the_checkout(main: Main, github: LocalGitHub) -> None:
    job = main.job().measured("main~1")
    told = job.record(GITHUB_TOKEN="a-secret-token", GITHUB_API_URL=github.api_url).expect(0)
    assert "a-secret-token" not in told.log + told.summary
    assert all(b"a-secret-token" not in path.read_bytes() for path in job.path.rglob("*") if path.is_file())
    assert any("is not recorded" in line for line in told.commands("warning"))


# ---------------- the site


@pytest.mark.slow
def test_the_site_has_every_commit_of_the_branch(main: Main, tmp_path: Path) -> None:
    """A regression is recorded as everything else is, and the job is green."""
    small = ("--suite", "small")
    main.job().measured("main~1", 1.0, "small").record(*small).expect(0)
    first = main.origin.hash("main")
    main.origin.commit("third")
    site = tmp_path / "site"
    told = main.job().measured(first, 1.3, "small").record(*small, "--site", site).expect(0)
    assert (told.outputs["outcome"], told.outputs["regressions"]) == ("regression", "1")
    assert told.outputs["recorded"] == main.remote.tip()
    assert sum("slower" in line for line in told.commands("warning")) == 1
    assert "got slower" in main.remote.log()[0]
    assert told.outputs["site"] == str(site)
    index = json.loads((site / "asv" / "index.json").read_text())
    assert {first, main.origin.hash("main")} <= set(index["revision_to_hash"].values())
    page = (site / "benchmarks" / "tiny.Page.html").read_text()
    assert first[:8] in page
    assert main.origin.hash("main")[:8] in page
    assert list((site / "runs").glob(f"{main.origin.hash('main')[:12]}*.html"))
    graphs = [json.loads(path.read_text()) for path in (site / "asv" / "graphs").rglob("tiny.Page.time_request.json")]
    assert any(len(graph) == 2 for graph in graphs), graphs

    # A job that has nothing left to record builds it as well: one whose deployment failed is run again.
    told = main.job().record(*small, "--site", "another site").expect(0)
    assert told.outputs["recorded"] == ""
    assert (Path(told.outputs["site"]) / "asv" / "index.html").exists()


def test_where_no_site_can_be_built_that_is_said(main: Main, tmp_path: Path) -> None:
    told = main.job("main~1").record("--site", tmp_path / "site").expect(0)
    assert told.outputs["site"] == ""
    assert "asv has no results yet" in told.log


def test_a_site_that_can_not_be_written_costs_no_history(main: Main, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    told = main.job().measured("main~1").record("--site", tmp_path / "file" / "site").expect(0)
    assert told.outputs["recorded"] == main.remote.tip()
    assert told.outputs["site"] == ""
    assert any("the site is not built" in line for line in told.commands("warning"))


def test_the_projects_own_pages_are_built_too(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pages = {"mkdocs.yml": "site_name: tiny\n", "docs/index.md": "# Hello\n"}
    main = main_of(tmp_path, files=pages)
    told = main.job("main~1").record("--site", tmp_path / "site").expect(0)
    assert "Hello" in (Path(told.outputs["site"]) / "index.html").read_text()


# ---------------- calibrations


def _calibration(case: str) -> str:
    entry = {
        "slices": 3,
        "single_slices": 1,
        "seconds": 0.05,
        "pairs": 8,
        "budget": 60.0,
        "variances": {"cpu_per_request": {"launch": 1e-4, "slice": 1e-4, "request": {"missing": "no"}}},
        "costs": {"launch": 1.0, "slice": 0.1, "single": 0.1},
        "kernel": "6.1",
        "when": "2026-12-01T00:00:00Z",
        "windtunnel": "0.1",
    }
    machine = {"cpu_model": "A processor", "cores": 2, "cases": {case: entry}}
    return json.dumps({"format": FORMAT, "version": VERSION, "machines": [machine]})


def _on_the_branch(main: Main, text: str) -> None:
    blob = main.remote.git("hash-object", "-w", "--stdin", stdin=text.encode())
    inner = main.remote.git("mktree", stdin=f"100644 blob {blob}\tcalibration.json\n".encode())
    tree = main.remote.git("mktree", stdin=f"040000 tree {inner}\tcalibration\n".encode())
    who = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    commit = main.remote.git(*who, "commit-tree", "-m", "calibration", tree)
    main.remote.git("update-ref", f"refs/heads/{BRANCH}", commit)


def test_a_calibration_comes_back_from_the_branch(main: Main) -> None:
    suite = find_suite(main.job().path)
    assert not restore_calibration(suite.root, suite.repository, suite.settings)
    _on_the_branch(main, _calibration(ONE))
    suite = find_suite(main.job().path)
    assert restore_calibration(suite.root, suite.repository, suite.settings)
    assert read_calibration(calibration_file(suite.root))[0].cases.keys() == {ONE}
    assert not restore_calibration(suite.root, suite.repository, suite.settings)  # what is there stays


@pytest.mark.parametrize("nonsense", ["", "{", "[]", '{"format": "windtunnel-calibration", "version": 99}'])
def test_a_calibration_that_can_not_be_read_is_left_alone(main: Main, nonsense: str) -> None:
    _on_the_branch(main, nonsense)
    suite = find_suite(main.job().path)
    assert not restore_calibration(suite.root, suite.repository, suite.settings)
    assert list(suite.root.glob(".windtunnel/*calibration*")) == []


def test_a_measuring_job_begins_with_it(main: Main) -> None:
    """Before it looks for the engine, of which there is none here."""
    _on_the_branch(main, _calibration(ONE))
    job = main.job(event="workflow_dispatch")
    told = job.step.run("measure", "--output", job.out).expect(6)
    assert f"is known from {BRANCH}" in told.log
    assert calibration_file(job.path).exists()
