"""The results branch of real remotes: added to, moved, refused, interrupted."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from results_adding import LIST
from results_remotes import BRANCH, Bare, adding, make_bare, opened

from windtunnel.adapters.remote import Remote, remote_of
from windtunnel.adapters.results import open_results
from windtunnel.errors import ConfigError, Exit, StorageError
from windtunnel.publish.results import Addition, TryAgain, Written, add, signs

SIGNS = {one.path for one in signs()}


@pytest.fixture
def bare(tmp_path: Path) -> Bare:
    return make_bare(tmp_path / "remote.git")


def _addition(name: str, content: bytes = b"x") -> Addition:
    return Addition((Written(f"runs/{name}", content),), f"Record {name}\n", f"runs/{name}")


# ---------------- adding


def test_the_first_commit_has_no_parent_and_an_author_that_is_nobody(bare: Bare) -> None:
    with opened(bare) as branch:
        assert (branch.tip, branch.paths(), branch.read("runs/a")) == ("", (), None)
        added = add(branch, _addition("a"))
        assert (branch.tip, branch.read("runs/a")) == (added.commit, b"x")
    assert bare.tip() == added.commit
    assert bare.log("%s|%P|%an|%ae|%cn") == ["Record a||windtunnel bot|windtunnel-bot@noreply.invalid|windtunnel bot"]
    assert set(bare.files()) == {"runs/a", *SIGNS}
    bare.check()


def test_every_addition_is_one_commit_on_the_one_before(bare: Bare) -> None:
    with opened(bare) as branch:
        first = add(branch, _addition("a"))
    with opened(bare) as branch:
        add(branch, _addition("b"))
        add(branch, _addition("c"))
    assert bare.log() == ["Record c", "Record b", "Record a"]
    assert bare.git("rev-list", "--max-parents=0", BRANCH) == first.commit
    assert set(bare.files()) == {"runs/a", "runs/b", "runs/c", *SIGNS}
    bare.check()


def test_what_is_there_already_is_no_commit(bare: Bare) -> None:
    again = Addition((Written("calibration/x", b"1"),), "Record x\n")
    with opened(bare) as branch:
        first = add(branch, again)
        assert add(branch, again).commit == first.commit
    assert bare.log() == ["Record x"]


def test_any_name_and_any_bytes(bare: Bare) -> None:
    content = bytes(range(256)) + b"\r\n\n\r"
    names = ("runs/2026/a-%C3%BC%20x.jsonl.xz", 'asv/a machine/\u00fc "x".json', "a\tb")
    with opened(bare) as branch:
        add(branch, Addition(tuple(Written(name, content) for name in names), "\u00fc \N{BUG}\n"))
    with opened(bare) as branch:
        assert {name: branch.read(name) for name in names} == dict.fromkeys(names, content)
    assert bare.log() == ["\u00fc \N{BUG}"]


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/x", "", "a//b", "a/.git/config", "./a"])
def test_no_path_leads_out_of_the_tree(bare: Bare, path: str) -> None:
    with opened(bare) as branch, pytest.raises(StorageError, match="no path for the results branch"):
        branch.append({path: b"x"}, "m")
    assert not bare.exists()


def test_settings_and_hooks_of_the_user_change_nothing(
    bare: Bare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-push").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-push").chmod(0o755)
    (tmp_path / "gitconfig").write_text(
        f"[core]\n\tautocrlf = true\n\thooksPath = {hooks}\n[commit]\n\tgpgSign = true\n[push]\n\tgpgSign = false\n"
        "[user]\n\tuseConfigOnly = true\n[fetch]\n\tprune = true\n[remote]\n\tpushDefault = nowhere\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    with opened(bare) as branch:
        add(branch, _addition("a", b"1\n2\r\n"))
    with opened(bare) as branch:
        assert branch.lay("runs", tmp_path / "laid") == 1
    assert (tmp_path / "laid" / "a").read_bytes() == b"1\n2\r\n"


# ---------------- others add as well


def test_who_comes_second_is_told_and_then_adds_to_what_the_first_has(bare: Bare) -> None:
    with opened(bare) as one, opened(bare) as other:
        add(one, _addition("a"))
        with pytest.raises(TryAgain, match=BRANCH):
            other.append({"runs/b": b"x"}, "b")
        assert other.tip == ""
        assert set(bare.files()) == {"runs/a", *SIGNS}
        add(other, _addition("b"), lambda _: None)
    assert set(bare.files()) == {"runs/a", "runs/b", *SIGNS}
    assert bare.log() == ["Record b", "Record a"]


def test_the_same_commit_recorded_twice_is_recorded_once(bare: Bare) -> None:
    with opened(bare) as one, opened(bare) as other:
        first = add(one, _addition("a", b"1"))
        second = add(other, _addition("a", b"2"), lambda _: None)
    assert (second.commit, second.before) == (first.commit, True)
    assert bare.files()["runs/a"] == "1"


def test_several_processes_at_once_lose_nothing(bare: Bare, tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(6)]
    running = [adding(bare, name, tmp_path) for name in names]
    ended = [(process.communicate(timeout=120)[0], process.returncode) for process in running]
    assert [code for _, code in ended] == [0] * len(names), ended
    files = bare.files()
    assert {name for name in files if name.startswith("runs/")} == {f"runs/{name}" for name in names}
    assert set(json.loads(files[LIST])) == {"version", *names}
    assert sorted(bare.log()) == [f"Record {name}" for name in names]
    assert bare.git("rev-list", "--merges", BRANCH) == ""
    bare.check()
    assert list(tmp_path.glob("windtunnel-results-*")) == []  # nothing stays on this side


def test_a_branch_that_is_gone_in_between_begins_anew(bare: Bare) -> None:
    with opened(bare) as branch:
        add(branch, _addition("a"))
        bare.git("update-ref", "-d", f"refs/heads/{BRANCH}")
        add(branch, _addition("b"), lambda _: None)
    assert "runs/b" in bare.files()


# ---------------- killed


@pytest.mark.parametrize("hook", ["pre-receive", "update", "post-receive"])
def test_killed_while_the_remote_takes_it(bare: Bare, tmp_path: Path, hook: str) -> None:
    with opened(bare) as branch:
        add(branch, _addition("before"))
    reached = tmp_path / "reached"
    bare.hook(hook, f"cat >/dev/null\ntouch '{reached}'\nsleep 1")
    process = adding(bare, "one", tmp_path)
    _wait_for(reached.exists)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    (bare.path / "hooks" / hook).unlink()
    _assert_whole(bare)
    if hook == "post-receive":  # by then the remote has it
        assert "runs/one" in bare.files()


def test_killed_at_any_other_time(bare: Bare, tmp_path: Path) -> None:
    with opened(bare) as branch:
        add(branch, _addition("before"))
    for number in range(5):
        process = adding(bare, f"n{number}", tmp_path)
        _wait_for(lambda: list(tmp_path.glob("windtunnel-results-*/results.git")))
        time.sleep(random.uniform(0, 0.25))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
        _assert_whole(bare)
        for left in tmp_path.glob("windtunnel-results-*"):
            subprocess.run(["rm", "-rf", left], check=True)
    last = adding(bare, "last", tmp_path)
    assert last.communicate(timeout=60)
    assert last.returncode == 0
    assert "runs/last" in bare.files()


def _wait_for(condition: object) -> None:
    assert callable(condition)
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _assert_whole(bare: Bare) -> None:
    """Either with an addition, all of it, or without."""
    bare.check()
    files = bare.files()
    added = {name.removeprefix("runs/") for name in files if name.startswith("runs/")} - {"before"}
    known = set(json.loads(files[LIST])) - {"version"} if LIST in files else set()
    assert added == known
    assert {"runs/before", *SIGNS} <= set(files)


# ---------------- refused


def test_a_protected_branch_is_said_once_and_with_the_remedy(bare: Bare, tmp_path: Path) -> None:
    count = tmp_path / "count"
    bare.hook("pre-receive", f"echo tried >>'{count}'\necho 'GH006: Protected branch update failed' >&2\nexit 1")
    with (
        opened(bare) as branch,
        pytest.raises(StorageError, match=r"hook declined.*contents: write.*no rule") as caught,
    ):
        add(branch, _addition("a"), lambda _: None)
    assert caught.value.exit is Exit.INFRASTRUCTURE
    assert "GH006" in caught.value.detail
    assert count.read_text() == "tried\n"
    assert not bare.exists()


def test_a_remote_that_is_not_there(tmp_path: Path) -> None:
    remote = Remote(f"file://{tmp_path}/nowhere.git")
    with (
        pytest.raises(StorageError, match=r"nowhere\.git can't be fetched: .*contents: write"),
        open_results(remote, "r"),
    ):
        pass


def test_a_branch_that_is_none_of_results_is_not_touched(bare: Bare) -> None:
    tree = bare.git("mktree", stdin=b"")
    commit = bare.git(*("-c", "user.name=T", "-c", "user.email=t@example.org", "commit-tree", "-m", "theirs", tree))
    bare.git("update-ref", f"refs/heads/{BRANCH}", commit)
    with opened(bare) as branch, pytest.raises(ConfigError, match="name another branch"):
        add(branch, _addition("a"))
    assert bare.tip() == commit


# ---------------- what is fetched


def _grown(bare: Bare, results: int) -> None:
    """A branch with that many files of results, and as many large run files."""
    stream = [f"commit refs/heads/{BRANCH}\ncommitter T <t@example.org> 1700000000 +0000\ndata 4\ngrow\n"]
    files = {one.path: one.content.decode() for one in signs()}
    files |= {f"asv/machine/{number:08x}-container.json": f'{{"n": {number}}}' for number in range(results)}
    files |= {f"runs/2026/{number:040x}.jsonl.xz": str(number) * 100 for number in range(results)}
    for name, text in files.items():
        stream.append(f"M 100644 inline {name}\ndata {len(text.encode())}\n{text}\n")
    bare.git("fast-import", "--quiet", stdin="".join(stream).encode())


def _blobs(scratch: Path) -> int:
    """How many files' contents have been fetched."""
    (repository,) = scratch.glob("windtunnel-results-*/results.git")
    listed = subprocess.run(
        ["git", "cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    )
    return listed.stdout.split().count("blob")


def test_of_a_large_branch_only_what_is_asked_for_is_fetched(bare: Bare, tmp_path: Path) -> None:
    _grown(bare, 3000)
    with opened(bare, scratch=tmp_path) as branch:
        assert len(branch.paths()) == 6002
        assert _blobs(tmp_path) == 0
        assert branch.read(f"runs/2026/{7:040x}.jsonl.xz") == b"7" * 100
        assert _blobs(tmp_path) == 1
        add(branch, _addition("a"))
        assert _blobs(tmp_path) == 4  # that one, the two signs, and what was added
        assert branch.lay("asv", tmp_path / "laid") == 3000
        assert _blobs(tmp_path) == 3004
    assert len(list((tmp_path / "laid" / "machine").iterdir())) == 3000
    assert (tmp_path / "laid" / "machine" / f"{7:08x}-container.json").read_text() == '{"n": 7}'
    assert len(bare.git("ls-tree", "-r", "--name-only", BRANCH).splitlines()) == 6003
    bare.check()


def test_laying_takes_the_place_of_what_is_there_and_leaves_the_rest(bare: Bare, tmp_path: Path) -> None:
    with opened(bare) as branch:
        files = tuple(Written(f"asv/{name}", name.encode()) for name in ("a.json", "m/b.json"))
        add(branch, Addition((*files, Written("runs/c", b"c")), "m"))
        (tmp_path / "m").mkdir()
        (tmp_path / "m" / "b.json").write_text("old")
        (tmp_path / "m" / "own.json").write_text("own")
        assert branch.lay("asv", tmp_path) == 2
        assert branch.lay("nothing", tmp_path / "none") == 0
    assert (tmp_path / "a.json").read_text() == "a.json"
    assert (tmp_path / "m" / "b.json").read_text() == "m/b.json"
    assert (tmp_path / "m" / "own.json").read_text() == "own"
    assert not (tmp_path / "c").exists()
    assert not (tmp_path / "none").exists()


# ---------------- which remote


def test_the_origin_of_a_checkout(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path / "project"], check=True)
    project = tmp_path / "project"

    def origin(url: str) -> str:
        subprocess.run(["git", "remote", "remove", "origin"], cwd=project, capture_output=True, check=False)
        subprocess.run(["git", "remote", "add", "origin", url], cwd=project, check=True)
        return remote_of(project).url

    with pytest.raises(ConfigError, match="no remote `origin`"):
        remote_of(project)
    assert origin("../remote.git") == str(tmp_path / "remote.git")
    assert origin("git@example.org:a/b.git") == "git@example.org:a/b.git"
    assert origin("https://example.org/a/b") == "https://example.org/a/b"
    assert origin(f"file://{tmp_path}/x.git") == f"file://{tmp_path}/x.git"
