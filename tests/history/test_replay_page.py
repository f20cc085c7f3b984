"""The page on replay and bisect tells every key of their reports, and the looks as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pasts import Machine, Repository, unheard

from windtunnel.adapters.history import Ancestry, stretch
from windtunnel.cli.bisect import Bisect
from windtunnel.cli.comparing import Request
from windtunnel.cli.replay import Replay
from windtunnel.compare.bisection import Care, Side
from windtunnel.report.bisect import bisect_to_json
from windtunnel.report.replay import Told, replay_to_json

PAGE = (Path(__file__).parents[2] / "site/replay.md").read_text("utf-8")
REPLAY, BISECTION = PAGE.partition("## As JSON")[2].split("Bisection:")


def told(text: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", text))


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys(inner)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "repository")
    made.line(4)
    return made


def test_the_keys_of_a_replay(repository: Repository, tmp_path: Path) -> None:
    commits = stretch(repository.path, "main~2..main").commits
    machine = Machine(speed={commits[0].hash: 1.06})
    rows = Replay(Request(start=tmp_path), tmp_path, machine, check=True, say=unheard).rows(commits)
    report = replay_to_json(rows, title="", check=True)
    assert report["commits"][0]["changes"]
    assert set(keys(report)) - {"format", "version"} <= told(REPLAY)
    assert {one.value for one in Told} <= told(REPLAY)
    assert f"format `{report['format']}`, version {report['version']}." in PAGE


def test_the_keys_of_a_bisection(repository: Repository, tmp_path: Path) -> None:
    commits = Ancestry(repository.path, "main~3", "main")
    machine = Machine(speed={commits.bad: 1.06})
    request = Request(start=tmp_path, select=(), budget=600.0)
    found, _ = Bisect(request, tmp_path, machine, commits, "psgi.Starlet(5.36, close)", say=unheard).run()
    report = bisect_to_json(found)
    assert report["steps"]
    assert report["check"]
    assert set(keys(report)) - {"format", "version"} <= told(BISECTION)
    assert {"skipped", *(one.value for one in Side)} <= told(BISECTION)
    assert f"format `{report['format']}`, version {report['version']}." in PAGE


def test_the_looks_of_a_step() -> None:
    care = Care()
    *first, last = (str(count) for count, _ in care.looks)
    assert f"after {', '.join(first)} and {last} pairs" in " ".join(PAGE.split())
    assert f"at most {round(care.wrong * 100)} %" in " ".join(PAGE.split())
    assert sum(share for _, share in care.looks) == pytest.approx(1.0)
