"""Submodules: at the commit's own commit, wherever their objects are, and in words where they are not."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from windtunnel.adapters.git import CommitTree, WorkTree
from windtunnel.adapters.submodules import relative_url
from windtunnel.errors import WindtunnelError


def text(tree, path: str) -> str:
    (file,) = tree.read([path])
    return file.content.decode()


@pytest.fixture
def library(make_repo):
    repo = make_repo("upstream/library")
    repo.put("lib.c", "one")
    repo.put("src/deep.c", "deep")
    repo.commit()
    return repo


@pytest.fixture
def project(make_repo, library):
    """Two commits of a project, each with the library at another commit."""
    repo = make_repo("upstream/project")
    repo.git("submodule", "--quiet", "add", "../library", "vendor/lib")
    repo.put("main.c", "1")
    repo.commit()
    repo.git("tag", "first")
    library.put("lib.c", "two")
    library.commit()
    repo.git("-C", "vendor/lib", "pull", "--quiet")
    repo.put("main.c", "2")
    repo.commit()
    return repo


def test_a_submodule_is_read_at_the_commits_own_commit(project):
    first, second = CommitTree(project.path, "first"), CommitTree(project.path, "HEAD")
    assert first.paths() == second.paths() == (".gitmodules", "main.c", "vendor/lib/lib.c", "vendor/lib/src/deep.c")
    assert (text(first, "vendor/lib/lib.c"), text(second, "vendor/lib/lib.c")) == ("one", "two")
    assert second.paths("vendor/lib/src") == ("vendor/lib/src/deep.c",)


def test_read_finds_submodules_without_a_list_first(project):
    assert text(CommitTree(project.path, "first"), "vendor/lib/src/deep.c") == "deep"


def test_the_working_tree_has_the_submodules_working_tree(project):
    project.put("vendor/lib/lib.c", "edited")
    project.put("vendor/lib/new.c", "untracked")
    tree = WorkTree(project.path)
    assert text(tree, "vendor/lib/lib.c") == "edited"
    assert text(tree, "vendor/lib/new.c") == "untracked"


def test_a_submodule_whose_folder_is_gone_by_now(project):
    project.git("rm", "-q", "-r", "vendor")
    project.commit()
    shutil.rmtree(project.path / "vendor", ignore_errors=True)
    assert text(CommitTree(project.path, "first"), "vendor/lib/lib.c") == "one"
    assert CommitTree(project.path, "HEAD").paths() == (".gitmodules", "main.c")


def test_nested_submodules(make_repo, project, library):
    outer = make_repo("upstream/outer")
    outer.git("submodule", "--quiet", "add", "../project", "p")
    outer.git("submodule", "--quiet", "update", "--init", "--recursive")
    outer.commit()
    tree = CommitTree(outer.path, "HEAD")
    assert text(tree, "p/vendor/lib/lib.c") == "two"
    assert tree.paths("p/vendor") == ("p/vendor/lib/lib.c", "p/vendor/lib/src/deep.c")
    assert text(WorkTree(outer.path), "p/vendor/lib/lib.c") == "two"


def test_a_moved_submodule_keeps_its_name(project):
    project.git("mv", "vendor/lib", "third_party")
    project.commit()
    assert text(CommitTree(project.path, "HEAD"), "third_party/lib.c") == "two"
    assert text(CommitTree(project.path, "first"), "vendor/lib/lib.c") == "one"


def clone(project, tmp_path, *options: str):
    target = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", *options, f"file://{project.path}", str(target)], check=True)
    return type(project)(target)


def test_what_was_never_initialised_is_fetched_and_leaves_the_clone_as_it_was(project, tmp_path):
    fresh = clone(project, tmp_path)
    before = fresh.git("status", "--porcelain"), fresh.git("config", "--list", "--local")
    assert text(CommitTree(fresh.path, "first"), "vendor/lib/lib.c") == "one"
    assert text(CommitTree(fresh.path, "HEAD"), "vendor/lib/lib.c") == "two"
    assert (fresh.git("status", "--porcelain"), fresh.git("config", "--list", "--local")) == before
    assert not (fresh.path / ".git" / "modules").exists()


def test_a_bare_clone_fetches_too(project, tmp_path):
    fresh = clone(project, tmp_path, "--bare")
    assert text(CommitTree(fresh.path, "HEAD"), "vendor/lib/lib.c") == "two"


def test_a_commit_that_the_submodule_lacks_is_fetched_without_making_it_shallow(project, library, tmp_path):
    fresh = clone(project, tmp_path, "--recurse-submodules")
    library.put("lib.c", "three")
    newest = library.commit()
    fresh.git("update-index", "--cacheinfo", f"160000,{newest},vendor/lib")
    fresh.git("commit", "-q", "-m", "ahead")
    assert text(CommitTree(fresh.path, "HEAD"), "vendor/lib/lib.c") == "three"
    inner = type(fresh)(fresh.path / "vendor" / "lib")
    assert inner.git("rev-parse", "--is-shallow-repository") == "false"
    assert inner.git("show", "HEAD:lib.c") == "two"


def test_git_decides_whether_a_transport_may_be_used(project, tmp_path, git_settings):
    fresh = clone(project, tmp_path)
    git_settings.write_text(git_settings.read_text().replace("allow = always", "allow = user"))
    with pytest.raises(WindtunnelError, match="not allowed"):
        CommitTree(fresh.path, "HEAD").read(["vendor/lib/lib.c"])


def test_a_submodule_that_is_not_to_be_had_names_itself_and_the_way_out(project, library, tmp_path):
    fresh = clone(project, tmp_path)
    shutil.rmtree(library.path)
    tree = CommitTree(fresh.path, "HEAD")
    assert tree.paths() == (".gitmodules", "main.c", "vendor/lib/.git")
    assert text(tree, "main.c") == "2"
    with pytest.raises(WindtunnelError, match=r"submodule vendor/lib: .*git submodule update --init --recursive"):
        tree.read(["vendor/lib/.git"])
    with pytest.raises(WindtunnelError, match="submodule vendor/lib"):
        tree.read(["vendor/lib/lib.c"])
    on_disk = WorkTree(fresh.path)
    assert on_disk.paths("vendor") == ("vendor/lib/.git",)
    with pytest.raises(WindtunnelError, match=r"submodule vendor/lib: .*git submodule update --init --recursive"):
        on_disk.read(["vendor/lib/.git"])


def test_what_nobody_asks_for_is_not_fetched(project, tmp_path):
    fresh = clone(project, tmp_path)
    tree = CommitTree(fresh.path, "HEAD")
    assert tree.paths("src") == ()
    assert text(tree, "main.c") == "2"
    assert not (fresh.path / ".git" / "windtunnel").exists()


@pytest.mark.parametrize("name", ["../../../evil-git", "/abs", "a/../../../../evil-git", "..", ""])
def test_a_hostile_name_does_not_leave_the_git_folder(make_repo, library, tmp_path, name):
    """A repository beside the project, that the commit's .gitmodules would reach by its submodule's name."""
    repo = make_repo("victim/project")
    trap = make_repo("victim/evil")
    trap.put("secret", "s")
    commit = trap.commit()
    shutil.copytree(trap.path / ".git", tmp_path / "victim" / "evil-git", dirs_exist_ok=True)
    repo.put(".gitmodules", f'[submodule "{name}"]\n\tpath = lib\n\turl = -evil\n')
    repo.git("add", ".gitmodules")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},lib")
    repo.git("commit", "-q", "-m", "x")
    for place in ("modules", "a"):
        (repo.path / ".git" / place).mkdir(exist_ok=True)
    tree = CommitTree(repo.path, "HEAD")
    with pytest.raises(WindtunnelError, match="submodule lib"):
        tree.read(["lib/secret"])


def test_a_gitlink_without_an_entry_is_said_in_words(make_repo, library):
    repo = make_repo("careless")
    inner = type(repo)(repo.path / "nested")
    inner.path.mkdir()
    inner.git("init", "-q")
    inner.put("a", "1")
    inner.commit()
    repo.git("add", "nested")
    repo.git("commit", "-q", "-m", "an embedded repository, by mistake")
    assert text(CommitTree(repo.path, "HEAD"), "nested/a") == "1"  # its objects are there all the same
    shutil.rmtree(inner.path)
    with pytest.raises(WindtunnelError, match=r"submodule nested: .*\.gitmodules has no entry"):
        CommitTree(repo.path, "HEAD").read(["nested/a"])


@pytest.mark.parametrize(
    ("base", "url", "expected"),
    [
        ("https://host/a/b.git", "../c.git", "https://host/a/c.git"),
        ("https://host/a/b.git/", "../../c.git", "https://host/c.git"),
        ("https://host/a/b", "./c", "https://host/a/b/c"),
        ("host:a/b.git", "../c.git", "host:a/c.git"),
        ("host:b.git", "../c.git", "host:c.git"),
        ("/srv/git/b", "../c", "/srv/git/c"),
    ],
)
def test_relative_urls(base, url, expected):
    assert relative_url(base, url) == expected
