"""The history of real measurements for the site: its commits, without measuring them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from benchlib import pages
from benchlib.pages import STEPS, Step, commits_of
from benchlib.plants import Calibration
from benchlib.scratch import Branch, make_history

from commands import run
from windtunnel.errors import ConfigError

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "pages"
PLANTS = {
    target: Calibration(1000, 1.25, 1.24, 1.26, 90e-6, 20, "2026-01-01T00:00:00Z", "made up")
    for target in ("starlet", "waitress")
}


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_there_are_as_many_commits_as_a_site_has_to_show() -> None:
    assert len(STEPS) >= 20
    assert len({step.subject for step in STEPS}) == len(STEPS)


def test_each_commit_has_what_its_step_says_and_an_image_of_its_own(tmp_path: Path) -> None:
    steps = (Step("first"), Step("slower", starlet=0.05), Step("waits", waitress=0.1, wait=0.001), Step("as before"))
    hashes = make_history(tmp_path / "history", commits_of(steps, PLANTS))
    assert len(set(hashes)) == len(steps) + 1
    found = {
        number: git(tmp_path / "history", "show", f"{one}:targets/waitress/plant.py").splitlines()
        for number, one in enumerate(hashes)
    }
    assert "ROUNDS = 0" in found[1]
    assert "ROUNDS = 400" in found[3]
    assert "WAIT = 0.001" in found[3]
    assert "ROUNDS = 0" in found[4]
    assert "my $rounds = 200;" in git(tmp_path / "history", "show", f"{hashes[2]}:targets/starlet/Plant.pm")
    assert len({tuple(lines) for lines in found.values()}) == len(hashes)
    dates = git(tmp_path / "history", "log", "--reverse", "--format=%cI").split()
    assert dates == sorted(set(dates))


def test_the_same_history_is_not_made_twice_and_another_one_is(tmp_path: Path) -> None:
    commits = [("one", Branch({}, {}, comment="1"))]
    first = make_history(tmp_path / "history", commits)
    (tmp_path / "history" / "results").mkdir()
    assert make_history(tmp_path / "history", commits) == first
    assert (tmp_path / "history" / "results").is_dir()
    assert make_history(tmp_path / "history", [("two", Branch({}, {}, comment="2"))]) != first
    assert not (tmp_path / "history" / "results").exists()


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    with pytest.raises(ConfigError, match="was not made by these scripts"):
        make_history(tmp_path / "own", [])


def test_it_says_what_lacks_and_what_it_does(tmp_path: Path) -> None:
    assert f"{len(STEPS)} commits" in " ".join(run(str(SCRIPT), "--help").stdout.split())
    done = run(str(SCRIPT), "--plants", str(tmp_path / "none.json"), "--folder", str(tmp_path))
    assert done.returncode == 2
    assert "--calibrate" in done.stderr
    assert pages.__doc__
