"""`windtunnel site`, as its users run it: in a folder with a suite, or on anybody's results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from example_history import COMMITS, small_history
from example_results import write_results
from sites import Built, project

_ENV = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org"}
_ENV |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org"}


def _site(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "windtunnel", "site", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=_ENV,
    )


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return write_results(small_history(), tmp_path / "theirs" / "results")


def _suite(folder: Path) -> Path:
    """A suite with the results of the example, in a git repository that has its commits by date, not by name."""
    folder.mkdir(exist_ok=True)
    conf = {
        "version": 1,
        "project": "example",
        "repo": ".",
        "branches": ["main"],
        "environment_type": "virtualenv",
        "results_dir": "results",
        "html_dir": "html",
    }
    (folder / "asv.conf.json").write_text(json.dumps(conf))
    (folder / "benchmarks").mkdir()
    for command in (["init", "-q", "-b", "main"], ["add", "asv.conf.json"], ["commit", "-q", "-m", "First"]):
        subprocess.run(["git", *command], cwd=folder, check=True, env=_ENV)
    return folder


def test_results_alone(tmp_path: Path, results: Path) -> None:
    done = _site(tmp_path, "--results", results, "--out", "out", "--commit-url", "https://example.org/c/")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "out/index.html"
    assert "pages of results" in done.stderr
    built = Built(tmp_path / "out")
    assert "% slower" in built.text("index.html")
    assert 'href="https://example.org/c/' in built.text("index.html")
    assert built.broken_links() == []
    assert built.foreign_files() == []
    again = _site(tmp_path, "--results", results, "--out", "out")
    assert again.returncode == 0, again.stderr
    assert "files of results" not in again.stderr


def test_a_suite_without_mkdocs_yml(tmp_path: Path) -> None:
    suite = _suite(tmp_path / "suite")
    write_results(small_history(), suite / "results")
    done = _site(suite)
    assert done.returncode == 0, done.stderr
    built = Built(suite / ".windtunnel" / "site")
    assert "example: performance" in built.text("index.html")
    assert built.broken_links() == []


def test_a_suite_without_results_gets_a_site_that_says_so(tmp_path: Path) -> None:
    done = _site(_suite(tmp_path / "suite"), "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "There are no results yet" in Built(tmp_path / "suite" / "out").text("index.html")


@pytest.mark.parametrize("plugins", [["search"], {"search": {}, "windtunnel": {}}])
def test_mkdocs_yml_of_the_suite_is_used_and_gets_the_plugin(tmp_path: Path, plugins: object) -> None:
    suite = _suite(tmp_path / "suite")
    project(suite, small_history(), plugins=plugins)
    done = _site(suite, "--out", "out")
    assert done.returncode == 0, done.stderr
    built = Built(suite / "out")
    assert "Our project" in built.text("index.html")
    assert "% slower" in built.text("performance/index.html")


def test_a_commit_of_the_repository_has_its_subject(tmp_path: Path) -> None:
    suite = _suite(tmp_path / "suite")
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=suite, capture_output=True, text=True, check=True, env=_ENV
    )
    folder = write_results(small_history(), suite / "results")
    result = next((folder / "runner-new").glob(f"{COMMITS:02x}*.json"))
    result.write_text(result.read_text().replace(f"{COMMITS:02x}" * 20, head.stdout.strip()))
    done = _site(suite, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert " First" in Built(suite / "out").text("index.html")


def test_asv_pages_on_demand(tmp_path: Path) -> None:
    suite = _suite(tmp_path / "suite")
    write_results(small_history(), suite / "results")
    done = _site(suite, "--out", "out", "--asv")
    assert done.returncode == 0, done.stderr
    assert "example" in (suite / "out" / "asv" / "index.json").read_text()
    assert "% slower" in Built(suite / "out").text("index.html")


def test_asv_pages_need_results_of_a_suite(tmp_path: Path, results: Path) -> None:
    done = _site(tmp_path, "--results", results, "--out", "out", "--asv")
    assert done.returncode == 2
    assert "leave --results out" in done.stderr
    done = _site(_suite(tmp_path / "suite"), "--out", "out", "--asv")
    assert done.returncode == 2
    assert "no results of asv yet" in done.stderr


def test_a_folder_with_something_else_in_it_is_not_emptied(tmp_path: Path, results: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    done = _site(tmp_path, "--results", results, "--out", "out")
    assert done.returncode == 2
    assert "--out" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "out" / "thesis.txt").read_text() == "years of work"


def test_the_results_themselves_are_not_emptied(tmp_path: Path, results: Path) -> None:
    (results.parent / "404.html").write_text("looks like a site")
    done = _site(tmp_path, "--results", results, "--out", results.parent)
    assert done.returncode == 2
    assert "holds the results" in done.stderr
    assert (results / "benchmarks.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--results", "nowhere"], "nowhere is not there"),
        (["--commit-url", "javascript:alert(1)", "--results", "theirs/results"], "no address of http"),
        (["--out", "file.txt", "--results", "theirs/results"], "file.txt"),
    ],
)
def test_wrong_arguments_are_told(tmp_path: Path, results: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "file.txt").write_text("")
    done = _site(tmp_path, *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_an_index_that_is_no_database_is_told(tmp_path: Path, results: Path) -> None:
    assert _site(tmp_path, "--results", results, "--out", "out").returncode == 0
    (index,) = (tmp_path / ".windtunnel").glob("history-*.sqlite")
    index.write_bytes(b"garbage" * 1000)
    done = _site(tmp_path, "--results", results, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "% slower" in Built(tmp_path / "out").text("index.html")


def test_a_broken_mkdocs_yml_is_told(tmp_path: Path) -> None:
    suite = _suite(tmp_path / "suite")
    project(suite, small_history(), plugins=["search", "there-is-no-such-plugin"])
    done = _site(suite, "--out", "out")
    assert done.returncode == 2
    assert "there-is-no-such-plugin" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_not_installed_is_told_with_the_remedy(tmp_path: Path, results: Path) -> None:
    """Python without MkDocs, as `pip install windtunnel` leaves it."""
    hide = (
        "import sys; sys.modules['mkdocs'] = None; from windtunnel.__main__ import main; "
        f"sys.argv = ['windtunnel', 'site', '--results', {str(results)!r}]; main()"
    )
    done = subprocess.run([sys.executable, "-c", hide], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "pip install 'windtunnel[site]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_interrupted_ends_with_130(tmp_path: Path, results: Path) -> None:
    """Interrupted once it works on the results; the next build is whole."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "windtunnel", "site", "--results", str(results), "--out", "out"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    assert "reading results" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.returncode == 130
    assert "Traceback" not in process.stderr.read()
    assert _site(tmp_path, "--results", results, "--out", "out").returncode == 0
