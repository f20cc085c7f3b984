"""The same files by asv and by us: `asv publish` is really run, and every value of its graphs has to be ours too."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from benchlib import history as history_bench
from benchlib.asvgraphs import agreement, publish, same_order

from history_store.folders import DAY, START, Folder
from windtunnel.history import open_history

COMMITS = 24
GRIDS = {
    "m.C.time_one": [["1", "2", "3"]],
    "m.C.time_two": [["'a'", "'b'"], ["1", "10", "100", "1000"], ["True", "False"]],
    "m.C.track_many": [[str(number) for number in range(60)]],
    "m.time_none": [],
}


@dataclass
class Project:
    """A git repository, results of its commits, and what asv made of them."""

    repository: Path
    results: Path
    html: Path


def _git(folder: Path, *arguments: str, seconds: int = 0) -> str:
    date = f"@{START // 1000 + seconds} +0000"
    names = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "A") | dict.fromkeys(
        ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "a@example.org"
    )
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=os.environ | names | dates, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _repository(path: Path) -> list[str]:
    """A history with a branch in it; the last commit is on no branch that asv is told of."""
    path.mkdir()
    _git(path, "init", "-q", "-b", "main")
    names = []
    for number in range(COMMITS):
        _git(path, "commit", "-q", "--allow-empty", "-m", f"commit {number}", seconds=number * DAY // 1000)
        names.append(_git(path, "rev-parse", "HEAD"))
    _git(path, "checkout", "-q", "-b", "side")
    _git(path, "commit", "-q", "--allow-empty", "-m", "side", seconds=COMMITS * DAY // 1000)
    return [*names, _git(path, "rev-parse", "HEAD")]


def _cell(made: random.Random) -> float | None:
    return made.choices([made.uniform(1e-6, 1.0), None, math.nan], [8, 1, 1])[0]


def _row(made: random.Random, name: str) -> list[Any]:
    """As files of other people have them: other versions, other grids, failed as a whole, columns left out."""
    grid = GRIDS[name]
    if grid and made.random() < 0.2:  # an older grid: one value less, one that is gone, another order
        grid = [["gone", *reversed(axis[1:])] for axis in grid]
    version = made.choices(["1", "0", None], [8, 1, 1])[0]
    if made.random() < 0.1:
        return [None, grid, version]
    cells = [_cell(made) for _ in range(math.prod(map(len, grid)))]
    low = [None if one is None else made.choice([one * 0.9, -math.inf]) for one in cells]
    high = [None if one is None else made.choice([one * 1.1, math.inf]) for one in cells]
    return [cells, grid, version, START, 1.0, low, high][: made.choice([3, 7])]


def _results(path: Path, names: list[str]) -> None:
    made = random.Random(5)
    folder = Folder(path).machine("box").machine("other", cpu="6502")
    for name, grid in GRIDS.items():
        folder.define(name, grid, type="track" if "track" in name else "time")
    for number, name in enumerate(names):
        for machine, environment in (("box", "py3.11"), ("box", "py3.13"), ("other", "py3.11")):
            if made.random() < 0.9:
                python = environment.removeprefix("py")
                rows = {benchmark: _row(made, benchmark) for benchmark in GRIDS if made.random() < 0.95}
                path = folder.result(
                    number,
                    rows,
                    machine=machine,
                    environment=environment,
                    commit_hash=name,
                    python=python,
                    params={"machine": machine, "cpu": made.choice(["Z80", "6502"]), "python": python},
                )
                path.rename(path.with_name(f"{name[:8]}-{environment}.json"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    folder = tmp_path_factory.mktemp("asv")
    names = _repository(folder / "repository")
    _results(folder / "results", names)
    publish(folder / "results", folder / "repository", folder)
    return Project(folder / "repository", folder / "results", folder / "html")


@pytest.mark.parametrize("with_repository", [True, False])
def test_every_value_is_that_of_asv(project: Project, tmp_path: Path, with_repository: bool) -> None:
    repository = project.repository if with_repository else None
    history = open_history([project.results], tmp_path / "index.sqlite", repository)
    found = agreement(history, project.html)
    assert found.differences == []
    assert found.series >= 200
    assert found.values > 2000
    assert len(history.commits()) == COMMITS + 1
    assert same_order(history, project.html)


def test_they_are_the_same_when_files_come_one_by_one(project: Project, tmp_path: Path) -> None:
    results = tmp_path / "results"
    history = open_history([results], tmp_path / "index.sqlite", project.repository)
    files = sorted(project.results.rglob("*.json"))
    random.Random(3).shuffle(files)
    for number, path in enumerate(files):
        copy = results / path.relative_to(project.results)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
        if number % 5 == 0:
            history.update()
    history.update()
    assert agreement(history, project.html).differences == []


def _plain_cells(results: Path, without: str) -> Iterator[tuple[Path, dict[str, Any], int]]:
    """Files that have a number which asv shows, and where in the list it is."""
    for path in sorted(results.glob("*/*-*.json")):
        document = json.loads(path.read_text())
        cells, grid, version = (*document["results"].get("m.C.track_many", []), None, None, None)[:3]
        if cells and version != "0" and grid == GRIDS["m.C.track_many"] and document["commit_hash"] != without:
            yield from ((path, document, at) for at, one in enumerate(cells) if one is not None and one > 0)


def test_a_value_that_differs_would_be_seen(project: Project, tmp_path: Path) -> None:
    """The comparison itself: one digit in one file of results, and one value less."""
    results = tmp_path / "results"
    for path in project.results.rglob("*.json"):
        copy = results / path.relative_to(project.results)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    path, document, index = next(_plain_cells(results, without=_git(project.repository, "rev-parse", "side")))
    cells = document["results"]["m.C.track_many"][0]
    for changed in (math.nextafter(cells[index], 2.0), None):
        cells[index] = changed
        path.write_text(json.dumps(document))
        history = open_history([results], tmp_path / "index.sqlite", project.repository)
        (difference,) = agreement(history, project.html).differences
        assert f"m.C.track_many('{index}',)" in difference
        assert document["commit_hash"][:8] in difference


def test_the_bench_says_so_too(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert history_bench.main(["--results", str(project.results), "--repository", str(project.repository)]) == 0
    told = capsys.readouterr().out
    assert "read into a new index" in told
    assert "series compared with asv's graphs" in told
    assert "commits are in asv's order" in told
