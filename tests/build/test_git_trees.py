"""Source trees: the commit as git has it, the working tree as it is on disk, a plain folder."""

from __future__ import annotations

import os
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from windtunnel.adapters.git import CommitTree, FolderTree, WorkTree
from windtunnel.errors import ConfigError, WindtunnelError
from windtunnel.ports import SourceFile


def contents(tree, under: str = "") -> dict[str, bytes]:
    return {file.path: file.content for file in tree.read(tree.paths(under))}


def one(tree, path: str) -> SourceFile:
    (file,) = tree.read([path])
    return file


def test_a_commit_is_read_whatever_the_working_tree_says(repo):
    repo.put("a.txt", "old")
    repo.put("gone.txt", "still there")
    first = repo.commit()
    repo.put("a.txt", "new")
    repo.put("untracked.txt", "x")
    (repo.path / "gone.txt").unlink()
    tree = CommitTree(repo.path, "HEAD")
    assert tree.revision == first
    assert contents(tree) == {"a.txt": b"old", "gone.txt": b"still there"}


def test_export_ignore_takes_nothing_away(repo):
    repo.put(".gitattributes", "tests/ export-ignore\n*.md export-ignore\nversion.txt export-subst\n")
    repo.put("tests/t.py", "t")
    repo.put("README.md", "r")
    repo.put("version.txt", "$Format:%H$")
    repo.commit()
    tree = CommitTree(repo.path, "HEAD")
    assert tree.paths() == (".gitattributes", "README.md", "tests/t.py", "version.txt")
    assert one(tree, "version.txt").content == b"$Format:%H$"


@pytest.mark.parametrize("kind", [CommitTree, WorkTree, FolderTree])
def test_symlinks_and_the_executable_bit(repo, kind):
    repo.put("run.sh", "#!/bin/sh\n", executable=True)
    repo.put("plain", "p")
    (repo.path / "link").symlink_to("plain")
    (repo.path / "dangling").symlink_to("../nowhere/at all")
    (repo.path / "folder").mkdir()
    repo.put("folder/in", "i")
    (repo.path / "folderlink").symlink_to("folder")
    repo.commit()
    tree = CommitTree(repo.path, "HEAD") if kind is CommitTree else kind(repo.path)
    assert tree.paths() == ("dangling", "folder/in", "folderlink", "link", "plain", "run.sh")
    assert one(tree, "run.sh").mode == 0o755
    assert one(tree, "plain").mode == 0o644
    assert one(tree, "link") == SourceFile("link", 0o777, b"plain", symlink=True)
    assert one(tree, "dangling").content == b"../nowhere/at all"
    assert one(tree, "folderlink").symlink


ODD = (b"new\nline", b"tab\there", b'quo"te', b"latin-\xe9", "ünï".encode(), b"-dash", b" lead", b"a\\b", b"*[x]?")


@pytest.mark.parametrize("kind", [CommitTree, WorkTree, FolderTree])
def test_any_name_that_a_file_can_have(repo, kind):
    for number, name in enumerate(ODD):
        repo.put(name, str(number))
        repo.put(b"deep/" + name + b"/inner", str(number))
    repo.commit()
    tree = CommitTree(repo.path, "HEAD") if kind is CommitTree else kind(repo.path)
    found = contents(tree)
    expected = {name.decode("utf-8", "surrogateescape"): str(n).encode() for n, name in enumerate(ODD)}
    assert found == {**expected, **{f"deep/{name}/inner": number for name, number in expected.items()}}
    assert list(found) == sorted(found, key=lambda path: path.encode("utf-8", "surrogateescape"))


BODIES = st.binary(max_size=64) | st.sampled_from([b"", b"\n", b"blob 3\n", b"\0\0", b"x missing\n"])
NAMES = st.text(alphabet=string.ascii_lowercase + " \n.é", min_size=1, max_size=6).filter(
    lambda name: name.strip(".") and name != ".git" and ".gitmodules" not in name
)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.dictionaries(NAMES, BODIES, min_size=1, max_size=6))
def test_what_was_committed_is_what_is_read(tmp_path_factory, files):
    import subprocess

    path = tmp_path_factory.mktemp("any")
    for name, body in files.items():
        (path / name).write_bytes(body)
    for command in (["init", "-q"], ["add", "--all", "--force"], ["commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=path, check=True, capture_output=True)
    assert contents(CommitTree(path, "HEAD")) == files
    assert contents(WorkTree(path)) == files


def test_paths_under_a_folder_are_those_below_it_only(repo):
    for name in ("app/a", "app/b/c", "application/d", "app.txt"):
        repo.put(name, name)
    repo.commit()
    for tree in (CommitTree(repo.path, "HEAD"), WorkTree(repo.path), FolderTree(repo.path)):
        assert tree.paths("app") == tree.paths("app/") == ("app/a", "app/b/c")
        assert tree.paths("app/a") == tree.paths("nothing") == ()
        assert tree.paths(".") == tree.paths("")


def test_read_keeps_the_order_and_takes_a_path_twice(repo):
    repo.put("a", "1")
    repo.put("b", "2")
    repo.put("same", "1")
    repo.commit()
    for tree in (CommitTree(repo.path, "HEAD"), WorkTree(repo.path)):
        assert [file.content for file in tree.read(["b", "a", "same", "b"])] == [b"2", b"1", b"1", b"2"]
        assert tree.read([]) == ()


def test_a_path_that_is_not_there_is_a_key_error(repo):
    repo.put("a", "1")
    repo.put(".gitignore", "ignored\n")
    repo.put("ignored", "secret")
    repo.commit()
    for tree in (CommitTree(repo.path, "HEAD"), WorkTree(repo.path)):
        for path in ("b", "ignored", "../outside", "a/b"):
            with pytest.raises(KeyError):
                tree.read(["a", path])


def test_one_git_process_reads_all_files(repo, monkeypatch):
    from windtunnel.adapters.gitprocess import Git

    for number in range(50):
        repo.put(f"f{number}", str(number))
    repo.commit()
    tree = CommitTree(repo.path, "HEAD")
    calls = []
    real = Git.attempt
    monkeypatch.setattr(Git, "attempt", lambda self, *a, **k: calls.append(a) or real(self, *a, **k))
    assert len(tree.read(tree.paths())) == 50
    assert [call[0] for call in calls] == ["cat-file"]


# ---------------- the working tree


def test_the_working_tree_has_what_is_on_disk(repo):
    repo.put(".gitignore", "*.log\nbuild/\n")
    repo.put("tracked", "old")
    repo.put("deleted", "x")
    repo.put("forced.log", "tracked although ignored")
    repo.git("add", "--force", "forced.log")
    repo.commit()
    repo.put("tracked", "new")
    (repo.path / "deleted").unlink()
    repo.put("untracked", "u")
    repo.put("noise.log", "n")
    repo.put("build/out", "o")
    tree = WorkTree(repo.path)
    assert tree.revision == "worktree"
    assert contents(tree) == {
        ".gitignore": b"*.log\nbuild/\n",
        "forced.log": b"tracked although ignored",
        "tracked": b"new",
        "untracked": b"u",
    }


def test_the_working_tree_of_a_subfolder_is_that_of_the_repository(repo):
    repo.put("sub/a", "1")
    repo.put("b", "2")
    repo.commit()
    assert WorkTree(repo.path / "sub").paths() == ("b", "sub/a")
    assert CommitTree(repo.path / "sub", "HEAD").paths() == ("b", "sub/a")


def test_a_folder_that_became_a_symlink_is_not_followed(repo, tmp_path):
    repo.put("conf/a", "inside")
    repo.commit()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("secret of the host")
    (repo.path / "conf" / "a").unlink()
    (repo.path / "conf").rmdir()
    (repo.path / "conf").symlink_to(outside)
    tree = WorkTree(repo.path)
    assert tree.paths() == ("conf",)
    assert one(tree, "conf").symlink


def test_a_file_that_became_a_folder_and_the_other_way_round(repo):
    repo.put("a", "file")
    repo.put("b/c", "file in a folder")
    repo.commit()
    (repo.path / "a").unlink()
    repo.put("a/x", "now below")
    (repo.path / "b" / "c").unlink()
    (repo.path / "b").rmdir()
    repo.put("b", "now a file")
    assert contents(WorkTree(repo.path)) == {"a/x": b"now below", "b": b"now a file"}


def test_fifos_and_foreign_repositories_are_no_files(repo, make_repo):
    repo.put("a", "1")
    repo.commit()
    os.mkfifo(repo.path / "pipe")
    make_repo("project/vendored").put("x", "y")
    assert WorkTree(repo.path).paths() == ("a",)


def test_a_merge_conflict_lists_a_file_once(repo):
    repo.put("a", "base\n")
    repo.commit()
    repo.git("checkout", "-q", "-b", "other")
    repo.put("a", "theirs\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.put("a", "ours\n")
    repo.commit()
    with pytest.raises(Exception, match="merge"):
        repo.git("merge", "other")
    assert WorkTree(repo.path).paths() == ("a",)


def test_a_folder_without_git_is_all_its_files(tmp_path):
    folder = tmp_path / "plain"
    (folder / "a" / ".git").mkdir(parents=True)
    (folder / "a" / ".git" / "config").write_text("x")
    (folder / "a" / "b").write_text("1")
    (folder / ".git").write_text("gitdir: elsewhere")
    assert contents(FolderTree(folder)) == {"a/b": b"1"}
    with pytest.raises(ConfigError, match="no such folder"):
        FolderTree(folder / "missing")


# ---------------- kinds of repositories


def test_linked_working_trees_bare_and_shallow_repositories(repo, tmp_path):
    repo.put("a", "1")
    first = repo.commit()
    repo.put("a", "2")
    repo.commit()
    repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"), first)
    assert contents(WorkTree(tmp_path / "linked")) == {"a": b"1"}
    assert contents(CommitTree(tmp_path / "linked", "main")) == {"a": b"2"}
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    assert contents(CommitTree(tmp_path / "bare.git", first)) == {"a": b"1"}
    with pytest.raises(ConfigError, match="bare"):
        WorkTree(tmp_path / "bare.git")
    repo.git("clone", "-q", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    assert contents(CommitTree(tmp_path / "shallow", "HEAD")) == {"a": b"2"}


def test_sha256_repositories_are_read_too(tmp_path, make_repo):
    path = tmp_path / "long"
    path.mkdir()
    repo = make_repo("short")
    made = type(repo)(path)
    made.git("init", "-q", "--object-format=sha256")
    made.put("a", "1")
    commit = made.commit()
    assert len(commit) == 64
    assert contents(CommitTree(path, "HEAD")) == {"a": b"1"}


def test_a_git_hook_does_not_lead_astray(repo, make_repo, monkeypatch):
    repo.put("mine", "1")
    repo.commit()
    other = make_repo("other")
    other.put("theirs", "2")
    other.commit()
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other.path / ".git" / "index"))
    assert CommitTree(repo.path, "HEAD").paths() == ("mine",)
    assert WorkTree(repo.path).paths() == ("mine",)


def test_no_git_is_said_in_words(repo, monkeypatch, tmp_path):
    repo.put("a", "1")
    repo.commit()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(WindtunnelError, match="install git"):
        WorkTree(repo.path)


def test_a_missing_object_is_said_in_words(repo):
    repo.put("a", "1")
    repo.commit()
    name = repo.git("rev-parse", "HEAD:a")
    tree = CommitTree(repo.path, "HEAD")
    lost = repo.path / ".git" / "objects" / name[:2] / name[2:]
    lost.chmod(0o600)
    lost.unlink()
    with pytest.raises(WindtunnelError, match=name):
        tree.read(["a"])


def test_a_folder_that_is_no_repository(tmp_path: Path):
    with pytest.raises(ConfigError, match="not a git repository"):
        CommitTree(tmp_path, "HEAD")
    with pytest.raises(WindtunnelError, match="no such folder"):
        CommitTree(tmp_path / "nowhere" / "at" / "all", "HEAD")
