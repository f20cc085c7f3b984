"""Images in a folder: saved and loaded by the real engine; nothing but our own, whole images gets in."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.imagebuild import buildx_available
from windtunnel.adapters.imagestore import FILE, load_images, our_images, save_images
from windtunnel.build.context import tar
from windtunnel.build.identity import DIGEST_LABEL
from windtunnel.errors import EngineError, StorageError
from windtunnel.ports import BuildRequest, SourceFile

pytestmark = pytest.mark.engine

PLENTY = 1 << 30
DOCKERFILE = "FROM scratch\nCOPY shared /shared\nCOPY own /own\n"


class Shelf:
    """Small images of ours on the real engine, unlike all others; removed at the end."""

    def __init__(self, engine: DockerEngine) -> None:
        self.engine = engine
        self.shared = os.urandom(300_000)
        self.tags: list[str] = []

    def image(self, own: bytes | None = None, tag: str = "", **labels: str) -> str:
        digest = uuid.uuid4().hex * 2
        tag = tag or f"windtunnel/test:{digest[:24]}"
        files = (("shared", self.shared), ("own", own or os.urandom(1000)), ("Dockerfile", DOCKERFILE.encode()))
        context = tar(SourceFile(name, 0o644, content) for name, content in files)
        given = {"windtunnel": "image", DIGEST_LABEL: digest, "windtunnel-test": "imagestore", **labels}
        self.tags.append(tag)
        self.engine.build(BuildRequest(tag, context, "Dockerfile", {}, given), lambda _: None)
        return tag

    def id(self, tag: str) -> str | None:
        info = self.engine.image(tag)
        return info.id if info else None

    def clear(self) -> None:
        for tag in self.tags:
            with suppress(EngineError):
                self.engine.remove_image(tag)


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    shelf = Shelf(DockerEngine())
    yield shelf
    shelf.clear()


@pytest.fixture
def told() -> list[str]:
    return []


def kept(shelf: Shelf, folder: Path, tags: Sequence[str], told: list[str], most: int = PLENTY) -> int:
    return save_images(shelf.engine, folder, tags, most, told.append)


def test_images_come_back_as_they_were(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    tags = [shelf.image(), shelf.image()]
    ids = [shelf.id(tag) for tag in tags]
    assert kept(shelf, tmp_path / "new", tags, told) == 2
    shelf.clear()
    assert [shelf.id(tag) for tag in tags] == [None, None]
    assert load_images(shelf.engine, tmp_path / "new", told.append) == 2
    assert [shelf.id(tag) for tag in tags] == ids
    assert load_images(shelf.engine, tmp_path / "new", told.append) == 0
    assert told == []
    assert [file.name for file in (tmp_path / "new").iterdir()] == [FILE]


def test_only_what_the_engine_lacks_is_loaded(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    tags = [shelf.image(), shelf.image()]
    kept(shelf, tmp_path, tags, told)
    shelf.engine.remove_image(tags[0])
    assert load_images(shelf.engine, tmp_path, told.append) == 1
    assert all(shelf.id(tag) for tag in tags)


def test_a_shared_layer_is_kept_once(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    kept(shelf, tmp_path, [shelf.image(), shelf.image(), shelf.image()], told)
    assert len(shelf.shared) < (tmp_path / FILE).stat().st_size < 2 * len(shelf.shared)


def test_what_does_not_fit_is_left_out_and_said(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    first, second = shelf.image(), shelf.image(os.urandom(500_000))
    assert kept(shelf, tmp_path, [first, second], told, 600_000) == 1
    assert "1 of 2 images" in told[0]
    assert (tmp_path / FILE).stat().st_size <= 600_000
    shelf.clear()
    assert load_images(shelf.engine, tmp_path, told.append) == 1
    assert shelf.id(first)


def test_the_file_is_within_the_bound_where_only_its_own_overhead_is_too_much(
    shelf: Shelf, tmp_path: Path, told: list[str]
) -> None:
    tags = [shelf.image(b"x"), shelf.image(b"y")]
    most = len(shelf.shared) + 2_500  # layers fit, headers do not
    assert kept(shelf, tmp_path, tags, told, most) < 2
    assert not (tmp_path / FILE).exists() or (tmp_path / FILE).stat().st_size <= most
    assert [file.name for file in tmp_path.iterdir() if file.name != FILE] == []


def test_many_images_that_are_slightly_too_much_are_not_written_again_and_again(
    shelf: Shelf, tmp_path: Path, told: list[str]
) -> None:
    """They share nearly everything, so that leaving one out frees nearly nothing."""
    tries: list[int] = []

    class Counting(DockerEngine):
        def save(self, references: Sequence[str], on_chunk: Callable[[bytes], object]) -> None:
            tries.append(len(references))
            super().save(references, on_chunk)

    tags = [shelf.image() for _ in range(10)]
    most = len(shelf.shared) + 50_000  # layers fit, headers of some
    count = save_images(Counting(), tmp_path, tags, most, told.append)
    assert tries[0] == 10
    assert 1 <= count == tries[-1] < 10
    assert len(tries) < 1 + 10 - count  # that is what one at a time would take
    assert f"{count} of 10 images" in told[0]


def test_the_same_images_are_not_written_again(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    tags = [shelf.image(), shelf.image()]
    kept(shelf, tmp_path, tags, told)
    written = (tmp_path / FILE).stat().st_mtime_ns
    assert kept(shelf, tmp_path, tags[::-1], told) == 2
    assert (tmp_path / FILE).stat().st_mtime_ns == written
    assert kept(shelf, tmp_path, tags[:1], told) == 1
    assert (tmp_path / FILE).stat().st_mtime_ns != written


def test_only_our_own_images_are_kept(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    mine = shelf.image(tag=f"windtunnel-test/mine:{uuid.uuid4().hex}")
    assert kept(shelf, tmp_path, [mine, "debian:trixie-slim", "windtunnel/test:0" * 1, "windtunnel/no:1"], told) == 0
    assert not (tmp_path / FILE).exists()


def test_ours_are_found_by_their_label(shelf: Shelf) -> None:
    tag = shelf.image()
    other = shelf.image(tag=f"windtunnel-test/mine:{uuid.uuid4().hex}")
    found = our_images(shelf.engine)
    assert tag in found
    assert other not in found
    loads = [name for name in found if name.startswith("windtunnel/load:")]
    assert list(found[: len(loads)]) == loads


# ---------------- what is not loaded


def docker_save(path: Path, *references: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["docker", "save", "--output", path, *references], check=True, capture_output=True)


def refused(shelf: Shelf, folder: Path, *words: str) -> None:
    """The folder's archive is not loaded, is said to be wrong, and is gone."""
    told: list[str] = []
    assert load_images(shelf.engine, folder, told.append) == 0
    assert len(told) == 1, told
    for word in words:
        assert word in told[0]
    assert not (folder / FILE).exists()


def test_the_users_own_images_are_never_loaded_over(shelf: Shelf, tmp_path: Path) -> None:
    ours, theirs = shelf.image(), shelf.image(tag=f"windtunnel-test/mine:{uuid.uuid4().hex}")
    docker_save(tmp_path / FILE, ours, theirs)
    newer = shelf.image(b"newer", tag=theirs)
    now = shelf.id(newer)
    shelf.engine.remove_image(ours)
    refused(shelf, tmp_path, "not windtunnel's", theirs)
    assert shelf.id(theirs) == now
    assert shelf.id(ours) is None


def test_an_image_that_is_here_keeps_its_name(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    tag = shelf.image(b"one")
    kept(shelf, tmp_path, [tag], told)
    newer = shelf.id(shelf.image(b"two", tag=tag))
    assert load_images(shelf.engine, tmp_path, told.append) == 0
    assert shelf.id(tag) == newer


@pytest.mark.parametrize(
    ("labels", "word"),
    [({DIGEST_LABEL: "f" * 64}, "not windtunnel's"), ({"windtunnel": "other"}, "not an image of windtunnel's")],
)
def test_a_name_of_ours_is_not_enough(shelf: Shelf, tmp_path: Path, labels: dict[str, str], word: str) -> None:
    tag = shelf.image(**labels)
    docker_save(tmp_path / FILE, tag)
    shelf.clear()
    refused(shelf, tmp_path, word)
    assert shelf.id(tag) is None


def test_an_image_without_a_name_is_not_loaded(shelf: Shelf, tmp_path: Path) -> None:
    identifier = shelf.id(shelf.image())
    assert identifier
    docker_save(tmp_path / FILE, identifier)
    refused(shelf, tmp_path, "without a name")


@pytest.mark.parametrize("content", [b"", b"nonsense" * 1000, b"\x1f\x8b" + b"x" * 600, b"\0" * 10240])
def test_a_file_that_is_no_archive(shelf: Shelf, tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    refused(shelf, tmp_path, FILE)


def test_an_archive_that_was_cut_short(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    tags = [shelf.image(), shelf.image()]
    kept(shelf, tmp_path, tags, told)
    shelf.clear()
    whole = (tmp_path / FILE).read_bytes()
    for share in (0.05, 0.5, 0.97):
        (tmp_path / FILE).write_bytes(whole[: int(len(whole) * share)])
        refused(shelf, tmp_path, "built again")
    assert [shelf.id(tag) for tag in tags] == [None, None]


@pytest.mark.skipif(buildx_available(), reason="BuildKit's cache still has the layer, so nothing is unpacked")
def test_a_layer_that_was_changed_is_found_by_the_engine(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    tag = shelf.image()
    kept(shelf, tmp_path, [tag], told)
    shelf.clear()
    content = bytearray((tmp_path / FILE).read_bytes())
    at = content.find(shelf.shared[1000:1100])
    assert at > 0
    content[at] ^= 0xFF
    (tmp_path / FILE).write_bytes(content)
    refused(shelf, tmp_path, "the engine does not take it")
    assert shelf.id(tag) is None


def test_a_configuration_that_was_changed_is_found(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    tag = shelf.image()
    kept(shelf, tmp_path, [tag], told)
    shelf.clear()
    content = (tmp_path / FILE).read_bytes()
    assert b'"windtunnel-test":"imagestore"' in content
    (tmp_path / FILE).write_bytes(
        content.replace(b'"windtunnel-test":"imagestore"', b'"windtunnel-test":"Imagestore"')
    )
    refused(shelf, tmp_path, "was changed")
    assert shelf.id(tag) is None


def test_an_image_for_other_machines(shelf: Shelf, tmp_path: Path) -> None:
    tag = shelf.image()
    docker_save(tmp_path / FILE, tag)
    shelf.clear()
    rewritten(tmp_path / FILE, architecture="riscv64")
    refused(shelf, tmp_path, "linux/riscv64")


def rewritten(path: Path, **values: str) -> None:
    """Change the configuration of the archive's images, consistently, as somebody does who means to."""
    import hashlib
    import io

    with tarfile.open(path) as source:
        found = {one.name: source.extractfile(one).read() for one in source if one.isfile()}
    manifest = json.loads(found["manifest.json"])
    for entry in manifest:
        config = json.loads(found.pop(entry["Config"]))
        content = json.dumps({**config, **values}).encode()
        entry["Config"] = f"{hashlib.sha256(content).hexdigest()}.json"
        found[entry["Config"]] = content
    found["manifest.json"] = json.dumps(manifest).encode()
    with tarfile.open(path, "w") as archive:
        for name, content in found.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def test_a_folder_that_is_not_there_is_no_matter(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    assert load_images(shelf.engine, tmp_path / "none", told.append) == 0
    assert told == []


# ---------------- where it can't be written


def test_a_folder_that_can_not_be_made(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="can't be written"):
        kept(shelf, tmp_path / "file" / "below", [shelf.image()], told)


class Failing(DockerEngine):
    """The real engine, which goes away while it saves."""

    def save(self, references, sink) -> None:
        sink(b"x" * 1000)
        raise EngineError("gone")


def test_what_was_there_stays_when_saving_fails(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    tags = [shelf.image(), shelf.image()]
    kept(shelf, tmp_path, tags[:1], told)
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(EngineError):
        save_images(Failing(), tmp_path, tags, PLENTY, told.append)
    assert (tmp_path / FILE).read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_what_a_killed_process_left_goes_away_in_time(shelf: Shelf, tmp_path: Path, told: list[str]) -> None:
    old, new = tmp_path / f"{FILE}old.part", tmp_path / f"{FILE}new.part"
    for file in (old, new):
        file.write_bytes(b"x")
    os.utime(old, (time.time() - 86_400,) * 2)
    kept(shelf, tmp_path, [shelf.image()], told)
    assert not old.exists()
    assert new.exists()
