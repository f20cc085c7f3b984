"""The build context: which files of which tree reach the engine, and as what."""

from __future__ import annotations

import datetime
import io
import tarfile
import zipfile
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.adapters.git import CommitTree, WorkTree
from windtunnel.build.context import DOCKERFILE, EPOCH, Context, select, tar
from windtunnel.errors import ConfigError, VariantMissing, WindtunnelError
from windtunnel.model import Target
from windtunnel.ports import SourceFile

FOLDER = "targets/app"


class Tree:
    """A source tree from a mapping."""

    def __init__(self, files: dict[str, str], revision: str = "1" * 40, absent: tuple[str, ...] = ()) -> None:
        self.revision = revision
        self._files = dict(files)
        self._absent = tuple(f"{folder}/.git" for folder in absent)

    def paths(self, under: str = "") -> tuple[str, ...]:
        prefix = f"{under}/" if under else ""
        return tuple(sorted(path for path in (*self._files, *self._absent) if path.startswith(prefix)))

    def read(self, paths: Iterable[str]) -> tuple[SourceFile, ...]:
        wanted = list(paths)
        for path in wanted:
            if path in self._absent:
                raise WindtunnelError(f"submodule {path}: run this")
        return tuple(SourceFile(path, 0o644, self._files[path].encode()) for path in wanted)


def own(**more: str) -> dict[str, str]:
    return {f"{FOLDER}/Dockerfile": "FROM a\n", f"{FOLDER}/target.toml": "", **more}


def target(**changes: object) -> Target:
    return Target(**{"name": "app", "folder": FOLDER, **changes})  # type: ignore[arg-type]


def whole(**changes: object) -> Target:
    return target(**{"context": "/", "harness": "head", "sources": ("/src",), **changes})


def names(files: Iterable[SourceFile]) -> list[str]:
    return [file.path for file in files]


def contents(files: Iterable[SourceFile]) -> dict[str, str]:
    return {file.path: file.content.decode() for file in files}


def test_context_dot_is_the_folder_with_paths_relative_to_it():
    tree = Tree(own(**{f"{FOLDER}/app.psgi": "x", f"{FOLDER}/lib/a": "y", "src/outside": "z", "targets/app2/b": "w"}))
    context = select(tree, tree, target())
    assert names(context.files) == ["Dockerfile", "app.psgi", "lib/a"]
    assert context.build_only == ()
    assert (context.dockerfile, context.dockerfile_path) == ("FROM a\n", f"{FOLDER}/Dockerfile")


def test_patterns_of_context_dot_are_relative_to_the_folder():
    tree = Tree(own(**{f"{FOLDER}/app": "x", f"{FOLDER}/doc/a.md": "y", f"{FOLDER}/README.md": "r"}))
    context = select(tree, tree, target(sources=("/*", "!doc/"), build_only=("README.md",)))
    assert names(context.files) == ["Dockerfile", "app"]
    assert names(context.build_only) == ["README.md"]


def test_context_slash_is_what_sources_name_and_the_folder():
    tree = Tree(own(**{f"{FOLDER}/app": "x", "src/a": "1", "src/b": "2", "README.md": "r", "LICENSE": "l"}))
    context = select(tree, tree, whole(build_only=("LICENSE",)))
    assert names(context.files) == ["src/a", "src/b", f"{FOLDER}/Dockerfile", f"{FOLDER}/app"]
    assert names(context.build_only) == ["LICENSE"]


def test_the_folder_of_the_newest_side_is_laid_over_the_commits_sources():
    head = Tree(own(**{f"{FOLDER}/app": "head's", "src/a": "head"}))
    base = Tree(
        {
            "src/a": "base",
            f"{FOLDER}/Dockerfile": "FROM old",
            f"{FOLDER}/app": "base's",
            f"{FOLDER}/old": "base only",
        },
        revision="2" * 40,
    )
    context = select(base, head, whole(sources=("**",)))
    assert contents(context.files) == {"src/a": "base", f"{FOLDER}/Dockerfile": "FROM a\n", f"{FOLDER}/app": "head's"}
    assert context.dockerfile == "FROM a\n"


def test_with_the_commits_own_harness_the_folder_is_the_commits():
    head = Tree(own(**{f"{FOLDER}/app": "head's"}))
    base = Tree(own(**{f"{FOLDER}/app": "base's", "src/a": "base"}))
    for context in ("/", "."):
        chosen = select(base, head, target(context=context, sources=("**",), harness="commit"))
        assert "base's" in contents(chosen.files).values()
        assert "head's" not in contents(chosen.files).values()


def test_what_is_in_the_way_of_the_folder_gives_way():
    head = Tree(own(**{"src/a": "1"}))
    base = Tree({"targets": "a file (or a symlink) in its place", "src/a": "2"}, revision="2" * 40)
    assert names(select(base, head, whole(sources=("**",))).files) == ["src/a", f"{FOLDER}/Dockerfile"]


def test_excluding_and_build_only_hold_inside_the_folder_too():
    tree = Tree(own(**{f"{FOLDER}/big.bin": "b", f"{FOLDER}/notes.md": "n", "src/a": "1"}))
    context = select(tree, tree, whole(sources=("/src", "!big.bin"), build_only=("*.md",)))
    assert names(context.files) == ["src/a", f"{FOLDER}/Dockerfile"]
    assert names(context.build_only) == [f"{FOLDER}/notes.md"]


def test_target_toml_is_never_in_an_image():
    tree = Tree(own(**{"src/a": "1"}))
    for chosen in (target(), whole(sources=("**",), build_only=("target.toml",))):
        context = select(tree, tree, chosen)
        assert not any(path.endswith("target.toml") for path in names((*context.files, *context.build_only)))


def test_the_projects_dockerignore_has_no_say():
    tree = Tree(own(**{".dockerignore": "*", "sub/.dockerignore": "x", f"{FOLDER}/.dockerignore": "*", "src/a": "1"}))
    assert ".dockerignore" not in names(select(tree, tree, whole(sources=("**",))).files)
    assert ".dockerignore" not in names(select(tree, tree, target()).files)


# ---------------- what cannot be


def test_an_image_of_heads_harness_alone_is_an_error():
    tree = Tree(own(**{"src/a": "1", "README.md": "x"}))
    for sources, build_only in (((f"{FOLDER}/**",), ()), (("/scr",), ()), ((f"{FOLDER}/**",), ("README.md",))):
        chosen = whole(sources=sources, build_only=build_only)
        with pytest.raises(ConfigError, match=rf"{FOLDER}/target\.toml: sources: no file from outside"):
            select(tree, tree, chosen)
        assert select(tree, tree, chosen, companion=True).files  # a service need not change


def test_a_commit_from_before_the_sources_lacks_the_variant():
    head = Tree(own(**{"src/a": "1"}))
    base = Tree({"old/a": "1"}, revision="2" * 40)
    with pytest.raises(VariantMissing, match="commit 222222222222 has none of the files"):
        select(base, head, whole())


def test_a_commit_without_the_target_lacks_the_variant():
    with pytest.raises(VariantMissing, match="target app is not in commit 2222"):
        select(Tree({"a": "1"}, revision="2" * 40), Tree(own()), target())


@pytest.mark.parametrize("dockerfile", ["Missing", "../other/Dockerfile", "../../Dockerfile"])
def test_a_dockerfile_that_is_not_there(dockerfile):
    tree = Tree(own(**{"targets/other/Dockerfile": "FROM x"}))
    with pytest.raises(ConfigError, match=r"set `dockerfile` in targets/app/target\.toml"):
        select(tree, tree, target(dockerfile=dockerfile))


def test_a_dockerfile_of_the_project_in_context_slash():
    head = Tree(own(**{"Dockerfile": "FROM head", "src/a": "1"}))
    base = Tree({"Dockerfile": "FROM base", "src/a": "1"}, revision="2" * 40)
    assert select(base, head, whole(dockerfile="../../Dockerfile")).dockerfile == "FROM base"


def test_a_dockerfile_that_is_no_text(repo):
    repo.put(f"{FOLDER}/Dockerfile", b"FROM \xff")
    repo.commit()
    tree = WorkTree(repo.path)
    with pytest.raises(ConfigError, match="not UTF-8"):
        select(tree, tree, target())


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({"sources": ("/src",)}, False),
        ({"sources": ("**",)}, True),
        ({"sources": ("**", "!docs/theme/")}, False),
        ({"sources": ("/src", "docs/theme/x")}, True),
        ({"sources": ("/src",), "build_only": ("docs/**",)}, True),
    ],
)
def test_a_missing_submodule_matters_only_where_it_is_named(changes, needed):
    tree = Tree(own(**{"src/a": "1"}), absent=("docs/theme",))
    if needed:
        with pytest.raises(WindtunnelError, match="run this; or leave it out with `!docs/theme/`"):
            select(tree, tree, whole(**changes))
    else:
        assert names(select(tree, tree, whole(**changes)).files) == ["src/a", f"{FOLDER}/Dockerfile"]


def test_a_missing_submodule_in_the_targets_folder_always_matters():
    tree = Tree(own(**{"src/a": "1"}), absent=(f"{FOLDER}/vendor",))
    with pytest.raises(WindtunnelError, match="run this"):
        select(tree, tree, whole())
    with pytest.raises(WindtunnelError, match="run this"):
        select(tree, tree, target())
    assert select(tree, tree, whole(sources=("/src", f"!{FOLDER}/vendor/"))).files


def test_git_trees_end_to_end(repo):
    repo.put(f"{FOLDER}/Dockerfile", "FROM a")
    repo.put(f"{FOLDER}/run", "#!/bin/sh", executable=True)
    repo.put("src/a", "base")
    base = repo.commit()
    repo.put("src/a", "head")
    repo.put(f"{FOLDER}/run", "#!/bin/sh\n# newer")
    head = repo.commit()
    context = select(CommitTree(repo.path, base), CommitTree(repo.path, head), whole())
    assert contents(context.files)["src/a"] == "base"
    assert contents(context.files)[f"{FOLDER}/run"] == "#!/bin/sh\n# newer"


# ---------------- the stream


def members(stream: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(stream)) as archive:
        return {member.name: member for member in archive.getmembers()}


def test_the_stream_has_the_files_as_they_are_and_nobodys_time_or_name():
    files = [
        SourceFile("b/run", 0o755, b"x" * 600),
        SourceFile("a", 0o644, b""),
        SourceFile("b/link", 0o777, b"../a", symlink=True),
        SourceFile("odd\n\udce9" + "long" * 60, 0o644, b"1"),
    ]
    stream = tar(files)
    found = members(stream)
    assert list(found) == ["b", "a", "b/link", "b/run", files[3].path]
    assert all((m.mtime, m.uid, m.gid, m.uname, m.gname) == (EPOCH, 0, 0, "", "") for m in found.values())
    assert (found["b/run"].mode, found["a"].mode, found["b"].mode) == (0o755, 0o644, 0o755)
    assert found["b/link"].issym() and found["b/link"].linkname == "../a"
    assert tar(reversed(files)) == stream


FILES = st.dictionaries(
    st.text("ab/", min_size=1).filter(lambda p: "//" not in p and p.strip("/") == p), st.binary(), max_size=5
)


@given(FILES)
def test_the_stream_holds_exactly_what_was_put_in(files):
    paths = [path for path in files if not any(other.startswith(f"{path}/") for other in files)]
    stream = tar(SourceFile(path, 0o644, files[path]) for path in paths)
    with tarfile.open(fileobj=io.BytesIO(stream)) as archive:
        read = {m.name: archive.extractfile(m).read() for m in archive.getmembers() if m.isreg()}  # type: ignore[union-attr]
    assert read == {path: files[path] for path in paths}


def test_the_dockerfile_travels_under_a_name_of_its_own():
    context = Context("FROM a", "x/Dockerfile", (SourceFile("a", 0o644, b"1"),), (SourceFile("b", 0o644, b"2"),))
    assert set(members(context.tar())) == {"a", "b", ".dockerignore", DOCKERFILE}


def test_a_wheel_can_be_made_of_the_files() -> None:
    # What flit and others do: zip files with their own times, which zipfile refuses before 1980.
    stamp = datetime.datetime.fromtimestamp(EPOCH, datetime.UTC)
    zipfile.ZipInfo("a", stamp.timetuple()[:6])
    with pytest.raises(ValueError, match="1980"):
        zipfile.ZipInfo("a", datetime.datetime.fromtimestamp(0, datetime.UTC).timetuple()[:6])
