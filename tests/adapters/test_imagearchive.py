"""Archives of images from strangers: whatever is in the file, it is refused with a reason or it is our own image."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windtunnel.adapters.imagearchive import BadArchive, ImageArchive
from windtunnel.build.identity import DIGEST_LABEL

DIGEST = "0123456789abcdef" * 4
TAG = f"windtunnel/app:{DIGEST[:24]}"
LAYER = b"a layer" * 100


def config(**changes: object) -> bytes:
    labels = {"windtunnel": "image", DIGEST_LABEL: DIGEST}
    whole = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(LAYER).hexdigest()}"]},
    }
    return json.dumps({**whole, **changes}).encode()


def name_of(content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()}.json"


def manifest(content: bytes, **changes: object) -> bytes:
    entry = {"Config": name_of(content), "RepoTags": [TAG], "Layers": ["a/layer.tar"]}
    return json.dumps([{**entry, **changes}]).encode()


def archive(members: dict[str, bytes], links: dict[str, str] | None = None) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as made:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            made.addfile(member)
    return stream.getvalue()


def sound() -> bytes:
    return archive({"manifest.json": manifest(config()), name_of(config()): config(), "a/layer.tar": LAYER})


def read(path: Path, content: bytes, platform: str = "linux/amd64") -> list[str]:
    path.write_bytes(content)
    with ImageArchive(path, platform) as opened:
        return [image.tag for image in opened.images]


def test_a_sound_archive(tmp_path: Path) -> None:
    assert read(tmp_path / "a", sound()) == [TAG]


def test_the_engine_gets_what_was_looked_at_and_nothing_else(tmp_path: Path) -> None:
    members = {"manifest.json": manifest(config()), name_of(config()): config(), "a/layer.tar": LAYER}
    more = {"../../etc/passwd": b"root", "repositories": b'{"debian": {"trixie-slim": "a"}}', "index.json": b"{}"}
    (tmp_path / "a").write_bytes(archive({**members, **more}))
    with ImageArchive(tmp_path / "a") as opened:
        streamed = b"".join(opened.stream(opened.images))
    with tarfile.open(fileobj=io.BytesIO(streamed)) as again:
        names = again.getnames()
        (entry,) = json.load(again.extractfile("manifest.json"))
        assert again.extractfile(entry["Layers"][0]).read() == LAYER
        assert again.extractfile(entry["Config"]).read() == config()
    assert sorted(names) == sorted(["manifest.json", entry["Config"], *entry["Layers"]])
    assert entry["RepoTags"] == [TAG]


def test_a_layer_may_be_a_link_to_another_and_comes_once(tmp_path: Path) -> None:
    content = config(rootfs={"diff_ids": ["x", "x"]})
    members = {"manifest.json": manifest(content, Layers=["a/layer.tar", "b/layer.tar"]), name_of(content): content}
    (tmp_path / "a").write_bytes(archive({**members, "a/layer.tar": LAYER}, {"b/layer.tar": "../a/layer.tar"}))
    with ImageArchive(tmp_path / "a") as opened:
        streamed = b"".join(opened.stream(opened.images))
    assert streamed.count(LAYER) == 1


def members(**changes: bytes) -> dict[str, bytes]:
    return {"manifest.json": manifest(config()), name_of(config()): config(), "a/layer.tar": LAYER, **changes}


DEEP = b"[" * 100_000
OTHER = config(config={"Labels": None})
HOSTILE = {
    "no manifest": archive({"x": b""}),
    "deep": archive({"manifest.json": DEEP}),
    "nan": archive({"manifest.json": b"[NaN]"}),
    "not utf-8": archive({"manifest.json": b"[\xff]"}),
    "an object": archive({"manifest.json": b"{}"}),
    "numbers": archive({"manifest.json": b"[1]"}),
    "config is missing": archive({"manifest.json": manifest(config()), "a/layer.tar": LAYER}),
    "layer is missing": archive({"manifest.json": manifest(config()), name_of(config()): config()}),
    "no labels": archive({"manifest.json": manifest(OTHER), name_of(OTHER): OTHER, "a/layer.tar": LAYER}),
    "deep config": archive({"manifest.json": manifest(DEEP), name_of(DEEP): DEEP, "a/layer.tar": LAYER}),
    "another's tag": archive(members(**{"manifest.json": manifest(config(), RepoTags=[TAG, "debian:trixie-slim"])})),
    "tag with a host": archive(members(**{"manifest.json": manifest(config(), RepoTags=[f"x.org/{TAG}"])})),
    "tag with a line break": archive(members(**{"manifest.json": manifest(config(), RepoTags=[f"{TAG}\n"])})),
    "no tag": archive(members(**{"manifest.json": manifest(config(), RepoTags=None)})),
    "more layers": archive(members(**{"manifest.json": manifest(config(), Layers=["a/layer.tar"] * 2)})),
    "a link out": archive(
        {"manifest.json": manifest(config(), Layers=["l"]), name_of(config()): config()}, {"l": "/etc/passwd"}
    ),
    "a link to itself": archive(
        {"manifest.json": manifest(config(), Layers=["l"]), name_of(config()): config()}, {"l": "l"}
    ),
    "the manifest is a link": archive({}, {"manifest.json": "/etc/passwd"}),
    "large text": archive({"manifest.json": b" " * (5 << 20)}),
    "many members": archive({str(number): b"" for number in range(20_002)}),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_wrong_is_said(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(BadArchive) as caught:
        read(tmp_path / "a", content)
    assert 0 < len(str(caught.value)) < 400


def test_another_platform(tmp_path: Path) -> None:
    with pytest.raises(BadArchive, match="linux/amd64"):
        read(tmp_path / "a", sound(), "linux/arm64")
    assert read(tmp_path / "a", sound(), "") == [TAG]


@settings(max_examples=300)
@given(at=st.integers(0, 1 << 20), value=st.integers(0, 255), cut=st.integers(0, 1 << 20))
def test_damage_is_found_or_does_no_harm(
    at: int, value: int, cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = bytearray(sound())
    content[at % len(content)] = value
    content = content[: len(content) - cut % len(content)]
    path = tmp_path_factory.getbasetemp() / "damaged"
    try:
        assert read(path, bytes(content)) in ([TAG], [])
    except BadArchive:
        return
    with ImageArchive(path) as opened:
        b"".join(opened.stream(opened.images))


@settings(max_examples=200)
@given(content=st.binary(max_size=4096))
def test_anything_else_is_refused(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(BadArchive):
        read(tmp_path_factory.getbasetemp() / "anything", content)
