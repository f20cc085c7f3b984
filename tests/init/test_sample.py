"""The sample project of `windtunnel init --example`, and the demonstration that uses it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sample_projects import commit, context_of, git, target_of

from windtunnel.cli.init import initialise, next_steps
from windtunnel.cli.render import example_files
from windtunnel.declare.cases import discover
from windtunnel.declare.suite import load_suite
from windtunnel.errors import ConfigError


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    folder = tmp_path / "sample"
    initialise(folder, example=True, force=False)
    git(folder, "init", "-b", "main")
    commit(folder)
    return folder


def test_the_sample_is_a_suite_of_two_cases(sample: Path) -> None:
    suite = load_suite(sample / "asv.conf.json")

    assert len(discover(suite).cases) == 2
    assert suite.branches == ("main",)
    assert target_of(suite).sources == ("/hello/**",)


def test_the_sample_measures_its_application(sample: Path) -> None:
    suite = load_suite(sample / "asv.conf.json")
    before = context_of(suite, git(sample, "rev-parse", "HEAD"))

    application = (sample / "hello/app.py").read_text()
    after = context_of(suite, commit(sample, {"hello/app.py": application + "# slower\n"}))

    assert after.files != before.files


def test_the_sample_does_not_overwrite_either(sample: Path) -> None:
    with pytest.raises(ConfigError, match="is there already"):
        initialise(sample, example=True, force=False)


def test_the_steps_after_the_sample_are_commands_that_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"):
        monkeypatch.setenv(name, "T")
    for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"):
        monkeypatch.setenv(name, "t@example.org")
    initialise(Path("sample"), example=True, force=False)
    first = next(line for line in next_steps(Path("sample"), example=True).splitlines() if "git init" in line)

    subprocess.run(("sh", "-e", "-c", first), check=True, capture_output=True)

    assert git(tmp_path / "sample", "status", "--short") == ""
    assert set(git(tmp_path / "sample", "ls-files").splitlines()) == set(example_files())


# ---------------- the demonstration


def demo(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    script = Path(__file__).parents[2] / "tools" / "demo"
    env = os.environ | environment
    return subprocess.run((str(script), *arguments), env=env, capture_output=True, text=True, check=False)


def test_the_demonstration_refuses_what_it_does_not_know() -> None:
    done = demo("--fast")

    assert (done.returncode, done.stdout) == (2, "")
    assert "--fast is not an option" in done.stderr


def test_the_demonstration_says_what_is_missing(tmp_path: Path) -> None:
    for name in ("bash", "dirname", "env", "git"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    script = tmp_path / "windtunnel" / "tools"
    script.mkdir(parents=True)
    for name in ("demo", "common.sh"):
        shutil.copy(Path(__file__).parents[2] / "tools" / name, script)

    done = subprocess.run(
        (str(script / "demo"),), env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (6, "")
    assert "windtunnel is not there; `make demo`" in done.stderr


ROW = "| + | 178±7μs | 321±20μs | 1.8 | http.Hello.{metric}('keepalive') |\n"


@pytest.mark.parametrize(
    ("said", "code", "exit_code", "words"),
    [
        (ROW.format(metric="track_cpu_per_request"), 1, 0, "Found: asv calls the second commit slower (+)."),
        (ROW.format(metric="track_peak_memory"), 1, 1, "Not found"),
        ("BENCHMARKS NOT SIGNIFICANTLY CHANGED.\n", 0, 1, "Not found"),
        ("no engine answers\n", 2, 6, "asv could not measure it (exit code 2)"),
    ],
    ids=["found", "another metric", "unchanged", "not measured"],
)
def test_the_demonstration_ends_as_asv_does(tmp_path: Path, said: str, code: int, exit_code: int, words: str) -> None:
    """Everything of it but asv, which is a program here that has something to say."""
    tools, programs = tmp_path / "tools", tmp_path / "programs"
    for folder in (tools, programs, tmp_path / "tmp"):
        folder.mkdir()
    for name in ("demo", "common.sh"):  # not in place: there the virtualenv's asv comes first
        shutil.copy(Path(__file__).parents[2] / "tools" / name, tools)
    asked = tmp_path / "asked"
    (programs / "asv").write_text(f"#!/bin/sh\necho \"$*\" >'{asked}'\ncat <<'END'\n{said}END\nexit {code}\n")
    (programs / "asv").chmod(0o755)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    env = os.environ | {"PATH": path, "TMPDIR": str(tmp_path / "tmp")}

    done = subprocess.run((str(tools / "demo"),), env=env, capture_output=True, text=True, check=False)

    assert done.returncode == exit_code, done
    assert words in done.stdout + done.stderr
    assert "+    page()  # a mistake" in done.stdout
    assert asked.read_text().split()[0] == "continuous"
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
def test_the_planted_slowdown_is_found_and_nothing_is_left(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    done = demo(TMPDIR=str(tmp_path), PATH=path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^\| \+ .*http\.Hello\.", done.stdout, re.MULTILINE)
    assert not list(tmp_path.glob("tmp.*"))
