"""Commits of a range, merges and midpoints, asked of a real git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pasts import Repository

from windtunnel.adapters.history import Ancestry, Stretch, commit_at, last_merges, stretch
from windtunnel.errors import ConfigError


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """main: 0 - 1 - Merge A - 4 - Merge B, each merge of a branch with a commit of its own (the first has two)."""
    made = Repository(tmp_path / "repository")
    made.line(2)
    for branch, count in (("a", 2), ("b", 1)):
        made.git("checkout", "--quiet", "-b", branch)
        for number in range(count):
            made.commit(f"{branch}{number}")
        made.git("checkout", "--quiet", "main")
        if branch == "b":
            made.commit("commit 4")
        made.merge(branch, f"Merge {branch}")
    return made


def subjects(found: Stretch) -> list[str]:
    return [one.subject for one in found.commits]


def test_a_range_is_the_first_parent_line_newest_first(repository: Repository) -> None:
    found = stretch(repository.path, f"{repository.names['commit 0']}..main")
    assert subjects(found) == ["Merge b", "commit 4", "Merge a", "commit 1"]
    assert not found.notes
    merge = found.commits[0]
    assert merge.merge
    assert merge.parents[0] == repository.names["commit 4"]
    assert merge.author == "Ada <ada@example.org>"
    assert merge.date.utcoffset() is not None


@pytest.mark.parametrize(
    ("merges", "last", "expected"),
    [
        (True, None, ["Merge b", "Merge a"]),
        (False, None, ["commit 4", "commit 1"]),
        (None, 3, ["Merge b", "commit 4", "Merge a"]),
        (True, 1, ["Merge b"]),
    ],
)
def test_a_range_can_be_narrowed(
    repository: Repository, merges: bool | None, last: int | None, expected: list[str]
) -> None:
    assert subjects(stretch(repository.path, f"{repository.names['commit 0']}..", merges, last)) == expected


@pytest.mark.parametrize("wrong", ["main", "a...b", "nothing..main", "main..nothing"])
def test_what_is_no_range_is_refused(repository: Repository, wrong: str) -> None:
    with pytest.raises(ConfigError):
        stretch(repository.path, wrong)


def test_an_empty_range_is_refused_with_what_was_looked_for(repository: Repository) -> None:
    with pytest.raises(ConfigError, match=r"no commits in it on the first-parent line.*wrong way round"):
        stretch(repository.path, "main..main~1")
    with pytest.raises(ConfigError, match="there are no merges in it"):
        stretch(repository.path, "main~2..main~1", merges=True)


def test_the_last_merges(repository: Repository) -> None:
    assert subjects(last_merges(repository.path, 20)) == ["Merge b", "Merge a"]
    assert subjects(last_merges(repository.path, 1)) == ["Merge b"]
    assert subjects(last_merges(repository.path, 2, merges=False)) == ["commit 4", "commit 1"]


def test_without_merges_the_last_commits_stand_for_them_and_that_is_said(tmp_path: Path) -> None:
    straight = Repository(tmp_path / "straight")
    straight.line(3)
    found = last_merges(straight.path, 20)
    assert subjects(found) == ["commit 2", "commit 1"]
    no_merge, root = found.notes
    assert "no commit on the first-parent line is a merge" in no_merge
    assert "has no parent" in root
    assert "first of the history" in root


def test_the_edge_of_a_shallow_clone_is_told_as_such(repository: Repository, tmp_path: Path) -> None:
    clone = tmp_path / "shallow"
    source = f"file://{repository.path}"
    subprocess.run(["git", "clone", "--quiet", "--depth", "2", source, clone], check=True, capture_output=True)
    assert subjects(last_merges(clone, 20)) == ["Merge b"]
    clone_of_one = tmp_path / "one"
    command = ["git", "clone", "--quiet", "--depth", "2", "--branch", "a", source, str(clone_of_one)]
    subprocess.run(command, check=True, capture_output=True)
    found = last_merges(clone_of_one, 20)
    assert subjects(found) == ["a1"]
    assert any("git fetch --unshallow" in note for note in found.notes)


def test_a_repository_with_one_commit_has_nothing_to_compare(tmp_path: Path) -> None:
    lonely = Repository(tmp_path / "lonely")
    lonely.line(1)
    with pytest.raises(ConfigError, match="no commit to compare"):
        last_merges(lonely.path, 20)


# ---------------- halving


def test_midpoints_are_those_of_git(tmp_path: Path) -> None:
    made = Repository(tmp_path / "line")
    names = made.line(12)
    commits = Ancestry(made.path, "main~11", "main")
    found = commits.candidates([names[0]], names[11])
    assert set(found) == set(names[1:])
    assert found[0] == made.git("rev-list", "--bisect", names[11], f"^{names[0]}")
    assert set(commits.candidates([names[0], names[5]], names[8])) == set(names[6:9])
    assert commits.candidates([names[7]], names[8]) == (names[8],)
    assert commits.parent(names[8]) == names[7]


def test_a_branch_that_began_after_the_good_commit_is_searched_too(repository: Repository) -> None:
    names = repository.names
    commits = Ancestry(repository.path, names["commit 1"], "main")
    inside = ["a0", "a1", "Merge a", "b0", "commit 4", "Merge b"]
    assert set(commits.candidates([commits.good], commits.bad)) == {names[one] for one in inside}


def test_a_branch_that_began_before_the_good_commit_is_its_merge(repository: Repository) -> None:
    names = repository.names
    commits = Ancestry(repository.path, names["commit 4"], "main")
    assert commits.candidates([commits.good], commits.bad) == (names["Merge b"],)
    assert commits.parent(names["Merge b"]) == names["commit 4"]


def test_the_parent_is_the_one_that_has_the_good_commit(repository: Repository) -> None:
    names = repository.names
    assert Ancestry(repository.path, names["b0"], "main").parent(names["Merge b"]) == names["b0"]


@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("main", "main~1", "other way round: write main~1 main"),
        ("main", "main", "same commit"),
        ("a", "main~1", None),
        ("b", "main~1", "they part at"),
        ("nothing", "main", "does not name a commit"),
    ],
)
def test_ends_that_do_not_lead_to_one_another(repository: Repository, good: str, bad: str, words: str | None) -> None:
    if words is None:
        Ancestry(repository.path, good, bad)
        return
    with pytest.raises(ConfigError, match=words):
        Ancestry(repository.path, good, bad)


def test_ends_without_a_common_past(repository: Repository) -> None:
    repository.git("checkout", "--quiet", "--orphan", "other")
    repository.commit("another beginning")
    with pytest.raises(ConfigError, match="no common ancestor"):
        Ancestry(repository.path, "main", "other")


def test_odd_words_in_a_subject_survive(tmp_path: Path) -> None:
    made = Repository(tmp_path / "odd")
    made.commit("one")
    made.commit("naïve | `code` <!-- \t tab")
    assert commit_at(made.path, "HEAD").subject == "naïve | `code` <!-- \t tab"
