"""An archive of images as ``docker save`` writes it, looked at before the engine gets any of it.

The file may come from a cache that others write to. So the engine is given a new archive that holds nothing but what
was looked at: our own images, under our own names.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from windtunnel.build.identity import DIGEST_LABEL
from windtunnel.build.registry import Wanted, mistrust
from windtunnel.ports import ImageInfo

__all__ = ["BadArchive", "ImageArchive", "SavedImage"]

_MANIFEST = "manifest.json"
_OURS = re.compile(r"windtunnel/[a-z0-9-]+:([0-9a-f]{24})")
_LARGEST_TEXT = 4 << 20
_MOST_MEMBERS = 20_000
_CHUNK = 1 << 20


class BadArchive(Exception):
    """The file is not an archive of our images, or not a whole one. The text says what is wrong with it."""


class _Entry(BaseModel):
    config: str = Field(alias="Config")
    tags: list[str] | None = Field(alias="RepoTags")
    layers: list[str] = Field(alias="Layers")


class _Container(BaseModel):
    labels: dict[str, str] | None = Field(None, alias="Labels")


class _RootFs(BaseModel):
    diff_ids: list[str]


class _Config(BaseModel):
    architecture: str
    os: str
    rootfs: _RootFs
    config: _Container


_ENTRIES = TypeAdapter(list[_Entry])


@dataclass(frozen=True)
class SavedImage:
    """One image of an archive.

    Attributes:
        tag: its name.
        wanted: what it says it is; what the engine has made of it afterwards has to fit.
        id: what an engine of Docker's calls it.
        config: the member that describes it.
        layers: the members that hold its layers, base first.
    """

    tag: str
    wanted: Wanted
    id: str
    config: str
    layers: tuple[str, ...]


class ImageArchive:
    """Opens the file and reads what is in it; a context manager. Raises BadArchive; OSError where it can't be read.

    Args:
        path: the file.
        platform: what this engine runs ("linux/amd64"); other images are of no use. "" takes them all.
    """

    def __init__(self, path: Path, platform: str = "") -> None:
        self._platform = platform
        with _sound():
            self._tar = tarfile.open(path, "r:")  # noqa: SIM115 - closed by __exit__
        try:
            with _sound():
                self._members = self._index()
                self.images = tuple(self._read())
        except BaseException:
            self._tar.close()
            raise

    def __enter__(self) -> ImageArchive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._tar.close()

    # ---------------- what is in it

    def _index(self) -> dict[str, tarfile.TarInfo]:
        members: dict[str, tarfile.TarInfo] = {}
        for member in self._tar:
            members[member.name] = member
            if len(members) > _MOST_MEMBERS:
                raise BadArchive(f"it has more than {_MOST_MEMBERS} members")
        return members

    def _read(self) -> Iterator[SavedImage]:
        for entry in _ENTRIES.validate_json(self._text(_MANIFEST)):
            yield from self._saved(entry)

    def _saved(self, entry: _Entry) -> Iterator[SavedImage]:
        """An image once for each of its tags, which all have to be ours."""
        text = self._text(entry.config)
        config = _Config.model_validate_json(text)
        number = hashlib.sha256(text).hexdigest()
        if number not in entry.config:
            raise BadArchive(f"{entry.config} was changed")
        if len(entry.layers) != len(config.rootfs.diff_ids):
            raise BadArchive(f"{entry.config} has other layers than the archive")
        layers = tuple(self._regular(name).name for name in entry.layers)
        for tag in entry.tags or [""]:
            yield SavedImage(tag, self._vouched(tag, config), f"sha256:{number}", entry.config, layers)

    def _vouched(self, tag: str, config: _Config) -> Wanted:
        """What the image says it is, if it is one of ours and for this engine."""
        labels = config.config.labels or {}
        digest = labels.get(DIGEST_LABEL, "")
        ours = _OURS.fullmatch(tag)
        if ours is None or not digest.startswith(ours[1]):
            raise BadArchive(f"it holds an image that is not windtunnel's: {tag[:100] or 'one without a name'}")
        layers = tuple(config.rootfs.diff_ids)
        seen = ImageInfo("", layers, 0, "", labels, platform=f"{config.os}/{config.architecture}")
        wrong = mistrust(seen, Wanted(tag, digest), self._platform)
        if wrong:
            raise BadArchive(f"{tag}: {wrong}")
        return Wanted(tag, digest, layers)

    def _text(self, name: str) -> bytes:
        member = self._regular(name)
        if member.size > _LARGEST_TEXT:
            raise BadArchive(f"{name} is too large")
        file = self._tar.extractfile(member)
        return file.read() if file is not None else b""

    def _regular(self, name: str) -> tarfile.TarInfo:
        """The member of that name, or the one it links to: a layer that two images have is there once."""
        found = self._members.get(name)
        if found is not None and found.issym():
            name = posixpath.normpath(posixpath.join(posixpath.dirname(name), found.linkname))
            found = self._members.get(name)
        if found is None or not found.isreg():
            raise BadArchive(f"it lacks {name[:100]}")
        return found

    # ---------------- what the engine gets

    def stream(self, images: Sequence[SavedImage]) -> Iterator[bytes]:
        """A new archive with these images alone, under names that are made up here."""
        configs = {image.config: f"{image.id.rpartition(':')[2]}.json" for image in images}
        layers = _numbered(name for image in images for name in image.layers)
        manifest = [
            {
                "Config": configs[image.config],
                "RepoTags": [image.tag],
                "Layers": [layers[name] for name in image.layers],
            }
            for image in images
        ]
        text = json.dumps(manifest).encode()
        yield from (_header(_MANIFEST, len(text)), text, _padding(len(text)))
        for name, new in (*configs.items(), *layers.items()):
            yield from self._copied(self._regular(name), new)
        yield bytes(2 * tarfile.BLOCKSIZE)

    def _copied(self, member: tarfile.TarInfo, name: str) -> Iterator[bytes]:
        yield _header(name, member.size)
        file = self._tar.extractfile(member)
        left = member.size
        while file is not None and left:
            chunk = file.read(min(left, _CHUNK))
            if not chunk:
                raise BadArchive("it was cut short while it was read")
            left -= len(chunk)
            yield chunk
        yield _padding(member.size)


@contextmanager
def _sound() -> Iterator[None]:
    """Everything that a damaged file may cause, as BadArchive."""
    try:
        yield
    except (tarfile.TarError, EOFError, RecursionError) as error:
        raise BadArchive(f"it is damaged ({error})") from error
    except (ValidationError, ValueError) as error:
        raise BadArchive("what it says of its images can't be read") from error


def _numbered(names: Iterable[str]) -> dict[str, str]:
    return {name: f"{number:05d}/layer.tar" for number, name in enumerate(dict.fromkeys(names))}


def _header(name: str, size: int) -> bytes:
    member = tarfile.TarInfo(name)
    member.size = size
    return member.tobuf(tarfile.GNU_FORMAT)


def _padding(size: int) -> bytes:
    return bytes(-size % tarfile.BLOCKSIZE)
