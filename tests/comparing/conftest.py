"""Commits to compare, and one comparison that several tests look at."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "faults"))  # what runs and watches commands

from compared import FAST, ONE, SETTINGS, SLOW, Commits, Compared, new_commits


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """A lock of the machine that other windtunnels on it do not use: no figure is looked at closely here."""
    return {"TMPDIR": str(tmp_path_factory.mktemp("lock")), "TERM": "dumb", "COLUMNS": "200"}


@pytest.fixture
def commits(tmp_path: Path, alone: Mapping[str, str]) -> Commits:
    """A suite of one commit."""
    return new_commits(tmp_path / "suite", tmp_path, alone)


@pytest.fixture(scope="session")
def slower(tmp_path_factory: pytest.TempPathFactory, alone: Mapping[str, str]) -> Compared:
    folder = tmp_path_factory.mktemp("slower")
    suite = new_commits(folder / "suite", folder, alone)
    suite.commit("slow", {SETTINGS: SLOW})
    suite.commit("readme", {"README": "Hello.\n"})
    reports = [word for name in ("r.md", "r.xml", "r.txt") for word in ("--report", folder / name)]
    done = suite.run("compare", "HEAD~2", "HEAD", *ONE, "--budget", "120", "--json", folder / "r.json", *reports)
    assert (suite.path / SETTINGS).read_text() == SLOW != FAST
    return Compared(suite, done, folder)
