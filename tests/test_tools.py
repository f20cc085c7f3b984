"""The scripts that give a bare machine what it lacks, all of them, and how make and CI call them."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from commands import assert_refused, pretend_system, run
from engines import TOOLS

REPOSITORY = TOOLS.parent


def scripts() -> list[Path]:
    return [
        file for file in (*TOOLS.iterdir(), REPOSITORY / ".ci/run") if file.read_text().startswith("#!/usr/bin/env b")
    ]


@pytest.mark.parametrize("script", scripts(), ids=lambda script: script.name)
def test_a_script_is_sound_bash_and_can_be_run(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert run("bash", "-n", script).stderr == ""


@pytest.mark.parametrize(
    "name", ["docker-engine", "base-images", "second-engine", "docker-registry", "virtualenv", "chromium"]
)
def test_help_is_the_text_at_the_top(name: str) -> None:
    result = run(TOOLS / name, "--help")
    assert result.returncode == 0
    assert result.stdout.startswith(f"tools/{name} ")
    assert "#" not in result.stdout and "set -" not in result.stdout


@pytest.mark.parametrize(
    "command",
    [
        ["docker-engine", "--chek"],
        ["base-images", "Trixie"],
        ["base-images", "../x"],
        ["second-engine", "halt", "x"],
        ["docker-registry", "--here"],
        ["chromium", "--headless"],
    ],
    ids=" ".join,
)
def test_a_wrong_argument_is_a_usage_error(command: list[str], tmp_path: Path) -> None:
    result = run(TOOLS / command[0], *command[1:], TMPDIR=str(tmp_path))
    assert result.returncode == 2
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_an_old_python_is_named_and_refused(tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    lie = "import sys, platform; sys.version_info = (3, 9, 2); platform.python_version = lambda: '3.9.2'"
    old.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{lie}; $2"\n')
    old.chmod(0o755)
    result = run(TOOLS / "virtualenv", tmp_path / "venv", "dev", PYTHON=str(old))
    assert_refused(result, "3.9.2", "3.11", "make PYTHON=")
    assert not (tmp_path / "venv").exists()


def test_a_python_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert_refused(run(TOOLS / "virtualenv", tmp_path / "venv", "dev", PYTHON="python3.99"), "python3.99", "PATH")


def test_make_alone_explains_every_target() -> None:
    rules = (REPOSITORY / "Makefile").read_text()
    targets = next(line for line in rules.splitlines() if line.startswith(".PHONY:")).split()[1:]
    result = run("make", "-s", "-C", REPOSITORY)
    explained = re.findall(r"^make ([a-z-]+) +\S", result.stdout, re.MULTILINE)
    assert sorted(explained) == sorted(targets)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """As much of this repository as make needs, with a virtualenv that is up to date."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, tmp_path)
    for name in ("tools", ".ci"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    (tmp_path / "tests").mkdir()
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin/pytest").write_text(f'#!/bin/sh\nexec {sys.executable} -m pytest "$@"\n')
    (tmp_path / ".venv/bin/pytest").chmod(0o755)
    (tmp_path / ".venv/.dev").touch()
    return tmp_path


@pytest.mark.engine
@pytest.mark.parametrize("level", ["0", pytest.param("1", marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("content", "code", "summary"),
    [
        ("def test_fine(): pass", 0, r"=+ 1 passed in .*"),
        ("def test_wrong(): raise ValueError", 1, r"=+ 1 failed in .*"),
        ("import no_such_module_anywhere", 1, r"=+ 1 error in .*"),
    ],
    ids=["passed", "failed", "broken"],
)
def test_ci_ends_with_pytests_own_words(clone: Path, content: str, code: int, summary: str, level: str) -> None:
    """Also where make is called by another make, as in these tests of `make test`."""
    (clone / "tests/test_it.py").write_text(content)
    result = run(clone / ".ci/run", PYTEST_ADDOPTS="", PYTEST_ARGS="", MAKELEVEL=level)
    assert result.returncode == code, result
    assert re.fullmatch(summary, result.stdout.splitlines()[-1])
    assert result.stderr == ""


def test_ci_without_an_engine_says_so_and_fails(clone: Path) -> None:
    (clone / "build").mkdir()
    (clone / "build/pytest.status").write_text("0")  # of an earlier run: it must not count
    (clone / "tests/test_it.py").write_text("def test_fine(): pass")
    result = run(clone / ".ci/run", DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert result.returncode not in (0, 1)
    assert "no container engine answers at unix:///nonexistent/docker.sock" in result.stdout
    assert "passed" not in result.stdout


def test_a_registry_is_unpacked_where_it_was_asked_for_and_nowhere_else(tmp_path: Path) -> None:
    """Twice: the second time it is there. A machine that has one installed says which."""
    folder = tmp_path / "registry"
    first = run(TOOLS / "docker-registry", folder)
    assert first.returncode == 0, first.stderr
    program = Path(first.stdout.strip())
    assert program.is_relative_to(folder) or program == Path(shutil.which("docker-registry") or "")
    assert "distribution" in run(program, "--version").stdout
    assert run(TOOLS / "docker-registry", folder).stdout == first.stdout


@pytest.mark.skipif(shutil.which("docker-registry") is not None, reason="one is installed here")
def test_a_registry_is_refused_where_it_cannot_be_had(tmp_path: Path) -> None:
    elsewhere = pretend_system(tmp_path, "fedora", "Fedora Linux 41")
    result = run(TOOLS / "docker-registry", tmp_path / "registry", WINDTUNNEL_OS_RELEASE=elsewhere)
    assert_refused(result, "docker-registry", "Fedora Linux 41")
