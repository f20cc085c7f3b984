"""Names of commits: resolve, merge_base, describe, top."""

from __future__ import annotations

import datetime

import pytest

from windtunnel.adapters.git import describe, merge_base, resolve, top
from windtunnel.errors import ConfigError, Exit


@pytest.fixture
def history(repo):
    """main: one - two - three; side (from one): four."""
    commits = {}
    for name in ("one", "two", "three"):
        repo.put(name, name)
        commits[name] = repo.commit(name)
    repo.git("tag", "-a", "-m", "x", "v1", commits["one"])
    repo.git("checkout", "-q", "-b", "side", commits["one"])
    repo.put("four", "4")
    commits["four"] = repo.commit("four")
    repo.git("checkout", "-q", "main")
    return repo, commits


def test_whatever_git_understands_is_resolved_to_a_full_hash(history):
    repo, commits = history
    for revision, name in (
        ("HEAD", "three"),
        ("main~1", "two"),
        ("v1", "one"),
        ("side", "four"),
        (commits["two"][:10], "two"),
        (":/four", "four"),
    ):
        assert resolve(repo.path, revision) == commits[name]


@pytest.mark.parametrize(
    "revision", ["nope", "", "--all", "-h", "HEAD:one", "HEAD\0", "main..side", "\udcff", "HEAD^{tree}"]
)
def test_what_is_no_commit_is_a_usage_error_that_names_it(history, revision):
    with pytest.raises(ConfigError) as caught:
        resolve(history[0].path, revision)
    assert repr(revision)[1:-1] in str(caught.value)
    assert caught.value.exit is Exit.USAGE


def test_merge_base(history, make_repo):
    repo, commits = history
    assert merge_base(repo.path, "main", "side") == commits["one"]
    assert merge_base(repo.path, "main", "main~1") == commits["two"]
    repo.git("checkout", "-q", "--orphan", "alone")
    repo.commit("alone")
    with pytest.raises(ConfigError, match="no common ancestor"):
        merge_base(repo.path, "main", "alone")


def test_a_shallow_clone_is_told_what_to_do(history, tmp_path):
    repo, commits = history
    repo.git("clone", "-q", "--depth=1", "--no-single-branch", f"file://{repo.path}", str(tmp_path / "shallow"))
    with pytest.raises(ConfigError, match=r"shallow.*fetch-depth: 0"):
        merge_base(tmp_path / "shallow", "origin/main", "origin/side")
    with pytest.raises(ConfigError, match=r"shallow.*--unshallow"):
        resolve(tmp_path / "shallow", commits["two"])


def test_describe(repo, monkeypatch):
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2024-02-29T12:00:00+0530")
    repo.put("a", "1")
    full = repo.commit("Größe: a subject\n\nand a body\nof two lines")
    info = describe(repo.path, "HEAD")
    assert (info.hash, info.subject) == (full, "Größe: a subject")
    assert full.startswith(info.short) and len(info.short) < 20
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    assert info.date == datetime.datetime(2024, 2, 29, 12, tzinfo=zone)


def test_describe_of_an_empty_subject_and_a_tag(repo):
    full = repo.git("commit-tree", "-m", "", repo.git("hash-object", "-t", "tree", "-w", "/dev/null"))
    assert describe(repo.path, full).subject == ""


def test_top(repo, tmp_path):
    repo.put("a/b/c", "1")
    repo.commit()
    assert top(repo.path / "a" / "b") == top(repo.path / "a" / "b" / "c") == repo.path
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    assert top(tmp_path / "linked" / "a") == tmp_path / "linked"
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    assert top(tmp_path / "bare.git") == tmp_path / "bare.git"
    with pytest.raises(ConfigError, match="not a git repository"):
        top(tmp_path)


def test_a_path_that_ends_in_a_newline(make_repo):
    repo = make_repo("odd\n")
    repo.commit()
    assert top(repo.path) == repo.path
