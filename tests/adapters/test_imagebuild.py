"""What `docker buildx build` is given to build from: a folder, as BuildKit reads rules there alone."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.adapters.contextfolder import laid_out
from windtunnel.adapters.imagebuild import buildx_build
from windtunnel.build.context import DOCKERFILE, EPOCH, Context
from windtunnel.errors import BuildFailed, StorageError
from windtunnel.ports import BuildRequest, SourceFile

# Stands where docker stands: writes down its arguments, and keeps the folder that they end with.
DOCKER = """#!/bin/sh
printf '%s\\0' "$@" >"$RECORD/argv"
for last; do :; done
cp -a "$last" "$RECORD/folder"
while [ $# -gt 1 ]; do
    if [ "$1" = --file ]; then cp "$2" "$RECORD/dockerfile"; ls -A "$(dirname "$2")" >"$RECORD/beside"; fi
    shift
done
echo "built something"
echo "and more" >&2
exit "$CODE"
"""


@dataclass(frozen=True)
class Asked:
    """What the stand-in has seen."""

    record: Path
    scratch: Path

    @property
    def argv(self) -> Sequence[str]:
        return (self.record / "argv").read_text().split("\0")[:-1]

    @property
    def folder(self) -> Path:
        return self.record / "folder"

    def value(self, option: str) -> str:
        return self.argv[self.argv.index(option) + 1]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    seen = Asked(tmp_path / "record", tmp_path / "scratch")
    for folder in (seen.record, seen.scratch, tmp_path / "bin"):
        folder.mkdir()
    (tmp_path / "bin" / "docker").write_text(DOCKER)
    (tmp_path / "bin" / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("RECORD", str(seen.record))
    monkeypatch.setenv("CODE", "0")
    monkeypatch.setattr("tempfile.tempdir", str(seen.scratch))
    return seen


FILES = (
    SourceFile("src/run", 0o755, b"#!/bin/sh\n"),
    SourceFile("src/a b/text", 0o644, b"x" * 100_000),
    SourceFile("src/link", 0o777, b"run", symlink=True),
    SourceFile("dangling", 0o777, b"/nowhere", symlink=True),
    SourceFile("n\udce4me", 0o644, b"a name that is not UTF-8"),
    SourceFile(f"{DOCKERFILE}.dockerignore", 0o644, b"src\n"),
)
WHOLE = Context("FROM scratch\nCOPY . /\n", "targets/app/Dockerfile", FILES[:3], FILES[3:])


def request(**more: object) -> BuildRequest:
    return BuildRequest("app:1", WHOLE.tar(), DOCKERFILE, {"SUITE": "trixie"}, {"windtunnel": "image"}, **more)


def test_it_is_given_a_folder_of_exactly_the_context(asked: Asked) -> None:
    lines: list[str] = []
    buildx_build(request(), "default", lines.append)

    found = {path.relative_to(asked.folder).as_posix(): path for path in asked.folder.rglob("*")}
    assert set(found) == {"src", "src/a b", ".dockerignore", *(file.path for file in FILES)}
    for file in FILES:
        path = found[file.path]
        seen = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        assert (path.is_symlink(), seen) == (file.symlink, file.content)
        if not file.symlink:
            assert stat.S_IMODE(path.stat().st_mode) == file.mode
    assert {path.lstat().st_mtime for path in found.values()} == {EPOCH}
    assert lines == ["built something", "and more"]


def test_the_rules_are_those_of_the_context_and_the_dockerfile_is_beside_it(asked: Asked) -> None:
    """A file of the project that is called like rules for our Dockerfile has no say."""
    buildx_build(request(), "default", lambda _: None)

    assert (asked.record / "dockerfile").read_text() == WHOLE.dockerfile
    assert (asked.record / "beside").read_text().split() == ["Dockerfile"]
    assert (asked.folder / ".dockerignore").read_text().split() == [".dockerignore", DOCKERFILE]
    assert not (asked.folder / DOCKERFILE).exists()


def test_the_whole_request_is_handed_on(asked: Asked) -> None:
    buildx_build(request(no_cache=True), "host", lambda _: None, ["localhost:1/a"])

    assert asked.argv[:3] == ["buildx", "build", "--load"]
    assert {"--no-cache", "--network=host", "--cache-from=type=registry,ref=localhost:1/a"} <= set(asked.argv)
    options = {"--tag": "app:1", "--build-arg": "SUITE=trixie", "--label": "windtunnel=image"}
    assert {option: asked.value(option) for option in options} == options


@pytest.mark.parametrize("code", ["0", "3"])
def test_nothing_of_the_folder_is_left(asked: Asked, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setenv("CODE", code)
    try:
        buildx_build(request(), "default", lambda _: None)
    except BuildFailed as error:
        assert code in str(error)
        assert error.detail.splitlines() == ["built something", "and more"]
    assert (asked.folder / "src" / "run").exists()
    assert not list(asked.scratch.iterdir())


def test_modes_are_the_contexts_whatever_the_umask(asked: Asked) -> None:
    before = os.umask(0o077)
    try:
        buildx_build(request(), "default", lambda _: None)
    finally:
        os.umask(before)
    assert stat.S_IMODE((asked.folder / "src").stat().st_mode) == 0o755
    assert stat.S_IMODE((asked.folder / "src" / "run").stat().st_mode) == 0o755


def test_a_failure_says_what_buildx_said_last(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODE", "1")
    script = Path(os.environ["PATH"].partition(os.pathsep)[0], "docker")
    script.write_text(DOCKER.replace("and more", "ERROR: failed to solve: no such instruction: NONSENSE"))

    with pytest.raises(BuildFailed, match=r"^failed to solve: no such instruction: NONSENSE$"):
        buildx_build(request(), "default", lambda _: None)


# ---------------- what a context may not do


def stream(*members: tuple[str, bytes, str]) -> bytes:
    """A tar stream of (name, type, target of a link), and a Dockerfile."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, kind, target in (*members, (DOCKERFILE, tarfile.REGTYPE, "")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
    return written.getvalue()


FILE, LINK, FOLDER = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "a/..", "."])
@pytest.mark.parametrize("kind", [FILE, LINK, FOLDER])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, name: str, kind: bytes) -> None:
    with (
        pytest.raises(BuildFailed, match="leads out of the build context"),
        laid_out(stream((name, kind, "x")), DOCKERFILE),
    ):
        pass


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE])
def test_what_is_no_file_is_refused(kind: bytes) -> None:
    with pytest.raises(BuildFailed), laid_out(stream(("odd", kind, "/etc/passwd")), DOCKERFILE):
        pass


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("kind", [FILE, FOLDER])
def test_nothing_is_written_through_a_link(tmp_path: Path, order: int, kind: bytes) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    members = [("a", LINK, str(outside)), ("a/b", kind, "")][::order]

    with pytest.raises(BuildFailed, match="in the way of 'a'"), laid_out(stream(*members), DOCKERFILE):
        pass
    assert not list(outside.iterdir())


names = st.lists(st.sampled_from(["a", "b", "..", ".", "", "/"]), min_size=1, max_size=4).map("/".join)


@given(st.lists(st.tuples(names, st.sampled_from([FILE, LINK, FOLDER]), names), max_size=6))
def test_whatever_a_context_holds_stays_in_its_folder(members: list[tuple[str, bytes, str]]) -> None:
    named = [member for member in members if member[0].strip("/")]
    try:
        with laid_out(stream(*named), DOCKERFILE) as laid:
            top = laid.folder.parent
            assert {path.name for path in top.iterdir()} == {"context", "recipe"}
            assert {path.name for path in (top / "recipe").iterdir()} == {"Dockerfile"}
    except (BuildFailed, StorageError):
        pass


def test_two_files_of_one_name_are_said(tmp_path: Path) -> None:
    """As where capitals do not count: one would be lost, and nobody would know which."""
    with (
        pytest.raises(BuildFailed, match="in the way of 'a'"),
        laid_out(stream(("a", FILE, ""), ("a", FILE, "")), DOCKERFILE),
    ):
        pass


def test_a_disk_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    long = "x" * 300  # longer than any disk has names

    with pytest.raises(StorageError, match="can't be laid out"), laid_out(stream((long, FILE, "")), DOCKERFILE):
        pass
