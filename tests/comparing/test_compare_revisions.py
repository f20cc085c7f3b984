"""Which commits are compared where not all are named. Nothing is measured: they differ outside the image alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from compared import SETTINGS, SLOW, Commits

pytestmark = [pytest.mark.engine, pytest.mark.slow]


@pytest.fixture
def topic(commits: Commits) -> Commits:
    """On the branch topic, which left main before its last commit."""
    commits.git("checkout", "--quiet", "-b", "topic")
    commits.commit("on topic", {"README": "Hello.\n"})
    commits.git("checkout", "--quiet", "main")
    commits.commit("on main", {"NEWS": "None.\n"})
    commits.git("checkout", "--quiet", "topic")
    return commits


def arms(suite: Commits) -> list[str]:
    return [arm.commit for arm in suite.measured().header.arms]


def test_base_is_where_head_left_the_main_branch(topic: Commits) -> None:
    topic.run("compare").expect(0, "identical")
    assert arms(topic) == [topic.hash("main~1"), topic.hash("topic")]


def test_the_main_branch_is_the_remotes_however_far_behind_the_local_one_is(topic: Commits, tmp_path: Path) -> None:
    topic.git("checkout", "--quiet", "main")
    clone = topic.clone(tmp_path / "clone")
    clone.commit("not pushed", {"LOCAL": "yes\n"})
    clone.run("compare").expect(0, "identical")
    assert arms(clone) == [topic.hash("main"), clone.hash("HEAD")]


def test_the_branch_of_a_workflows_checkout(topic: Commits, tmp_path: Path) -> None:
    """No origin/HEAD, no local branch, a detached head: only origin/main says what main is."""
    clone = topic.clone(tmp_path / "clone", "--branch", "topic")
    clone.git("checkout", "--quiet", "--detach")
    clone.git("branch", "--quiet", "-D", "topic")
    clone.git("remote", "set-head", "origin", "--delete")
    clone.run("compare").expect(0, "identical")
    assert arms(clone) == [topic.hash("main~1"), topic.hash("topic")]


def test_on_the_main_branch_itself_a_base_has_to_be_named(commits: Commits) -> None:
    commits.commit("readme", {"README": "Hello.\n"})
    commits.run("compare").expect(
        2, "HEAD has nothing that main does not have; name a base: windtunnel compare HEAD~1 HEAD", "--worktree"
    )
    commits.run("compare", "--worktree").expect(0, "identical")


def test_what_is_not_committed_is_not_silently_left_out(topic: Commits) -> None:
    said = "what is not committed is measured with --worktree"
    assert said not in topic.run("compare").expect(0).err
    topic.write({SETTINGS: SLOW})
    topic.run("compare").expect(0, "identical", said)
    assert said not in topic.run("compare", "main", "topic").expect(0, "identical").err


def test_without_any_main_branch(topic: Commits) -> None:
    topic.git("branch", "--quiet", "-D", "main")
    topic.run("compare").expect(2, "none of origin/HEAD, origin/main, main is a commit here; name a base")


@pytest.mark.parametrize("arguments", [("nowhere",), ("main", "nowhere"), ("HEAD~40",)])
def test_an_unknown_revision(topic: Commits, arguments: tuple[str, ...]) -> None:
    topic.run("compare", *arguments).expect(2, f"'{arguments[-1]}' does not name a commit")
    assert not topic.run_files


@pytest.mark.parametrize("base", [(), ("HEAD~1",)])
def test_a_shallow_clone_says_how_to_get_the_rest(topic: Commits, tmp_path: Path, base: tuple[str, ...]) -> None:
    topic.git("checkout", "--quiet", "main")
    clone = topic.clone(tmp_path / "clone", "--depth", "1", "--no-single-branch", "--branch", "topic")
    clone.run("compare", *base).expect(2, "git fetch --unshallow", "fetch-depth: 0")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("main", "topic", "--worktree"), "--worktree is the head already; leave topic out"),
        (("main", "--bench", "nothing"), 'no case matches "nothing"'),
        (("main", "--suite", "smal"), 'did you mean "?small'),
        (("main", "--shard", "3/2"), '--shard: found "3/2"'),
        (("main", "--budget", "soon"), "soon"),
        (("main", "--threshold", "-1%"), "threshold"),
    ],
)
def test_what_can_not_be_meant(topic: Commits, arguments: tuple[str, ...], words: str) -> None:
    topic.run("compare", *arguments).expect(2, words)
    assert not topic.run_files
