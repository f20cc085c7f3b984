"""Images as a file in a folder, for runners that begin with nothing and have no registry.

One archive holds all of them, so a layer that several share is in it once. It is not compressed: what carries the
folder from job to job does that, and better.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from windtunnel.adapters.imagearchive import BadArchive, ImageArchive, SavedImage
from windtunnel.build.identity import DIGEST_LABEL
from windtunnel.build.registry import mistrust
from windtunnel.errors import EngineError, StorageError
from windtunnel.ports import LABEL, Engine, ImageInfo
from windtunnel.units import Unit, format_value

__all__ = ["FILE", "load_images", "our_images", "save_images"]

FILE = "windtunnel-images.tar"
"""The archive's name in its folder."""

Tell = Callable[[str], None]

_PART = ".part"
_STALE = 3600.0
_OWN = "windtunnel/"


def our_images(engine: Engine) -> tuple[str, ...]:
    """The names of all images of ours that the engine has: the load image first, then the newest.

    Raises EngineError.
    """
    found = sorted(engine.images(LABEL), key=lambda info: info.created, reverse=True)
    found.sort(key=lambda info: info.labels.get("windtunnel.role") != "load")
    return tuple(tag for info in found for tag in info.tags if tag.startswith(_OWN) and DIGEST_LABEL in info.labels)


# ---------------- load


def load_images(engine: Engine, folder: Path, tell: Tell) -> int:
    """Give the engine the images of `folder` that it does not have; returns how many those were.

    An image that the engine has keeps its name. An archive that is damaged, or holds anything but our images, is
    removed, and `tell` gets a sentence: those images are built again. Raises EngineError where no engine answers.
    """
    path = folder / FILE
    if not path.is_file():
        return 0
    try:
        with ImageArchive(path, engine.info().platform) as archive:
            missing = [image for image in archive.images if engine.image(image.tag) is None]
            if missing:
                _load(engine, archive, missing)
            return sum(1 for image in missing if _arrived(engine, image))
    except BadArchive as error:
        tell(f"{path} can't be used: {error}; it is removed, and its images are built again")
        with suppress(OSError):
            path.unlink()
    except OSError as error:
        tell(f"{path} can't be read: {error.strerror}; its images are built again")
    return 0


def _load(engine: Engine, archive: ImageArchive, images: Sequence[SavedImage]) -> None:
    try:
        engine.load(archive.stream(images))
    except EngineError as error:
        engine.info()  # an engine that is gone is nothing that the file is to blame for
        raise BadArchive(f"the engine does not take it ({error})") from error


def _arrived(engine: Engine, image: SavedImage) -> bool:
    """Whether the engine has made of it what it was to be; anything else loses its name."""
    info = engine.image(image.tag)
    if info is not None and mistrust(info, image.wanted):
        engine.remove_image(image.tag)
        return False
    return info is not None


# ---------------- save


def save_images(engine: Engine, folder: Path, references: Sequence[str], most_bytes: int, tell: Tell) -> int:
    """Write images of ours to `folder`, in place of what it has; returns how many were to be kept and are there.

    Args:
        engine: has the images.
        folder: made where it does not exist.
        references: their names, the most important first; what is not ours or not there is left out.
        most_bytes: the archive never gets larger; what comes last is left out, and `tell` says so.
        tell: gets a sentence.

    Raises:
        StorageError: it can't be written; what was there before is as it was.
        EngineError: the engine fails.
    """
    ours = _ours(engine, references)
    kept = _fitting(engine, ours, most_bytes)
    if kept and not _holds(folder / FILE, kept):
        kept = _written(engine, folder / FILE, kept, most_bytes)
    if len(kept) < len(ours):
        bound = format_value(float(most_bytes), Unit.BYTE)
        tell(f"{len(kept)} of {len(ours)} images are kept in {folder}: more do not fit into {bound}")
    return len(kept)


def _ours(engine: Engine, references: Sequence[str]) -> dict[str, ImageInfo]:
    found = {name: engine.image(name) for name in dict.fromkeys(references) if name.startswith(_OWN)}
    return {name: info for name, info in found.items() if info is not None and info.labels.get(DIGEST_LABEL)}


def _fitting(engine: Engine, images: dict[str, ImageInfo], most_bytes: int) -> dict[str, ImageInfo]:
    """The first of them that fit together, as far as the engine tells what a layer takes."""
    kept: dict[str, ImageInfo] = {}
    layers: dict[str, int] = {}
    for name, info in images.items():
        more = layers | _sizes(engine, name, info)
        if sum(more.values()) > most_bytes:
            break
        kept[name], layers = info, more
    return kept


def _sizes(engine: Engine, name: str, info: ImageInfo) -> dict[str, int]:
    """Bytes by layer; where they can't be told apart, those of the whole image."""
    history = engine.history(name)
    for sizes in ([entry.size for entry in history if not entry.empty], [one.size for one in history if one.size]):
        if len(sizes) == len(info.layers):
            return dict(zip(info.layers, sizes, strict=True))
    return {info.id: info.size}


def _holds(path: Path, images: dict[str, ImageInfo]) -> bool:
    """Whether the archive has these images and no others already."""
    try:
        with ImageArchive(path) as archive:
            return {image.tag: image.id for image in archive.images} == {tag: info.id for tag, info in images.items()}
    except (BadArchive, OSError):
        return False


class _TooLarge(Exception):
    pass


def _written(engine: Engine, path: Path, images: dict[str, ImageInfo], most_bytes: int) -> dict[str, ImageInfo]:
    """Write as many as fit: those that are in the file now.

    An archive is larger than its layers. Most images share theirs, so that one less would make next to no difference:
    each try leaves a fifth of them out, the last ones.
    """
    left = dict(images)
    while left:
        try:
            _write(engine, path, list(left), most_bytes)
        except _TooLarge:
            left = dict(list(left.items())[: len(left) * 4 // 5])
        else:
            break
    return left


def _write(engine: Engine, path: Path, references: Sequence[str], most_bytes: int) -> None:
    """The archive is there as a whole or not at all."""
    with _replacing(path) as write:
        taken = 0

        def take(chunk: bytes) -> None:
            nonlocal taken
            taken += len(chunk)
            if taken > most_bytes:
                raise _TooLarge
            write(chunk)

        engine.save(references, take)


@contextmanager
def _replacing(path: Path) -> Iterator[Callable[[bytes], None]]:
    """Writes a new file that takes the place of `path` when all went well. Raises StorageError."""
    with _written_or_told(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path.parent)
        file = tempfile.NamedTemporaryFile(dir=path.parent, prefix=FILE, suffix=_PART, delete=False)  # noqa: SIM115

    def write(chunk: bytes) -> None:
        with _written_or_told(path):  # here, so that nobody takes it for an error of the engine's connection
            file.write(chunk)

    try:
        with file:
            yield write
            with _written_or_told(path):
                file.flush()
                os.fsync(file.fileno())
        with _written_or_told(path):
            Path(file.name).replace(path)
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise


@contextmanager
def _written_or_told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path} can't be written: {error.strerror}; make room, or name another folder") from error


def _sweep(folder: Path) -> None:
    """What a process left that was killed while it wrote."""
    for file in folder.glob(f"{FILE}*{_PART}"):
        with suppress(OSError):
            if time.time() - file.stat().st_mtime > _STALE:
                file.unlink()
