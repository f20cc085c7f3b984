"""The order of commits, from a real git repository and without one."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from history_store.folders import DAY, START, Folder, plain, row
from windtunnel.history import Index, open_history


class Repository:
    """A git repository whose commits are made at chosen seconds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, when: int = 0) -> str:
        date = f"@{START // 1000 + when} +0000"
        identity = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _WHO.items()}
        environment = {**os.environ, **identity, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, subject: str, when: int) -> str:
        self.git("commit", "-q", "--allow-empty", "-m", subject, when=when)
        return self.git("rev-parse", "HEAD")


_WHO = {"NAME": "A & Name", "EMAIL": "a@example.org"}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def opened(folder: Folder, tmp_path: Path, repository: Repository | None, heard: list[str] | None = None) -> Index:
    tell = heard.append if heard is not None else lambda _: None
    return open_history([folder.path], tmp_path / "index.sqlite", repository.path if repository else None, tell=tell)


def record(folder: Folder, name: str, value: float, seconds: int) -> None:
    """A result for a commit, with a date that need not be right."""
    folder.result(0, {}, commit_hash=name, environment=name[:8])
    path = folder.path / "box" / f"{'00000001'}-{name[:8]}.json"
    document = json.loads(path.read_text())
    document |= {"date": START + seconds * 1000, "env_name": "py", "results": {"m.time_it": row([value])}}
    path.write_text(json.dumps(document))


def test_git_knows_better_than_dates(tmp_path: Path, repository: Repository) -> None:
    names = [repository.commit(f"commit <{number}>", when) for number, when in enumerate([0, 500, 100, 600])]
    repository.git("tag", "v1.0", names[1])
    repository.git("tag", "-a", "-m", "again", "v1.1", names[1])
    folder = plain(tmp_path / "results")
    for number, (name, when) in enumerate(zip(names, [0, 500, 100, 600], strict=True)):
        record(folder, name, float(number), when)
    by_date = opened(folder, tmp_path, None)
    assert [one.hash for one in by_date.commits()] == [names[0], names[2], names[1], names[3]]
    history = opened(folder, tmp_path, repository)
    assert [one.hash for one in history.commits()] == names
    assert [one.position for one in history.commits()] == [0, 1, 2, 3]
    second = history.commits()[1]
    assert (second.subject, second.author, second.tags) == ("commit <1>", _WHO["NAME"], ("v1.0", "v1.1"))
    assert second.date.timestamp() == START // 1000 + 500
    (series,) = history.series("m.time_it")
    assert list(series.values) == [0.0, 1.0, 2.0, 3.0]


def test_commits_that_git_does_not_know_stand_by_their_date(tmp_path: Path, repository: Repository) -> None:
    names = [repository.commit(str(number), number * 100) for number in range(3)]
    folder = plain(tmp_path / "results")
    for name, when in [(names[0], 0), (names[2], 200), ("a" * 40, 150), ("b" * 40, 999), ("c" * 40, -5)]:
        record(folder, name, 1.0, when)
    history = opened(folder, tmp_path, repository)
    assert [one.hash[:3] for one in history.commits()] == ["ccc", names[0][:3], "aaa", names[2][:3], "bbb"]


def test_new_commits_go_where_a_new_index_would_have_them(tmp_path: Path, repository: Repository) -> None:
    """On top, in between, on another branch, one that git had not known before: the order is that of a fresh look."""
    base = repository.commit("base", 0)
    skipped = repository.commit("skipped", 100)
    top = repository.commit("top", 200)
    repository.git("checkout", "-q", "-b", "side", base)
    side = repository.commit("side", 150)
    repository.git("checkout", "-q", "main")
    folder = plain(tmp_path / "results")
    record(folder, base, 1.0, 0)
    record(folder, top, 1.0, 200)
    record(folder, "f" * 40, 1.0, 170)
    history = opened(folder, tmp_path, repository)
    history.update()
    newest = repository.commit("newest", 300)
    for name, when in [(newest, 300), (skipped, 100), (side, 150)]:
        record(folder, name, 1.0, when)
        history.update()
        fresh = open_history([folder.path], tmp_path / f"{name}.sqlite", repository.path)
        assert [one.hash for one in history.commits()] == [one.hash for one in fresh.commits()]
    assert [one.subject for one in history.commits()] == ["base", "skipped", "side", "", "top", "newest"]


def test_what_git_said_is_kept_and_tags_are_looked_up(tmp_path: Path, repository: Repository) -> None:
    names = [repository.commit(str(number), number) for number in range(2)]
    folder = plain(tmp_path / "results")
    for name in names:
        record(folder, name, 1.0, 5)
    opened(folder, tmp_path, repository).update()
    repository.git("tag", "late", names[0])
    history = opened(folder, tmp_path, repository)
    assert [one.tags for one in history.commits()] == [("late",), ()]


def test_another_repository_is_asked_anew(tmp_path: Path, repository: Repository) -> None:
    name = repository.commit("one", 0)
    folder = plain(tmp_path / "results")
    record(folder, name, 1.0, 0)
    opened(folder, tmp_path, repository).update()
    other = Repository(tmp_path / "other")
    other.commit("two", 0)
    assert [one.subject for one in opened(folder, tmp_path, other).commits()] == [""]


def test_a_folder_that_is_no_repository_is_told_of(tmp_path: Path) -> None:
    folder = plain(tmp_path / "results")
    record(folder, "a" * 40, 1.0, DAY // 1000)
    heard: list[str] = []
    history = open_history([folder.path], tmp_path / "index.sqlite", tmp_path / "nothing", tell=heard.append)
    assert [one.hash for one in history.commits()] == ["a" * 40]
    assert any("nothing" in line and "in the order of their dates" in line for line in heard)
