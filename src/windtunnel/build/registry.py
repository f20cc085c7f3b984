"""Images in a registry: their names there, whether what came is what was wanted, and what to do where nothing comes.

A registry spares a build, and nothing depends on it: whatever is wrong there is said once, and the image is built.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from windtunnel.build.identity import DIGEST_LABEL
from windtunnel.errors import EngineError, RegistryError
from windtunnel.ports import LABEL, Engine, ImageInfo, LineSink

__all__ = ["PATIENCE", "Registry", "Wanted", "mistrust", "remote_reference"]

PATIENCE = 30.0
"""Seconds without a sign of life after which a registry is given up."""

_TAG_LENGTH = 128
_OFF = frozenset(("denied", "unreachable", "absent"))
"""What would be no different for the next image."""


@dataclass(frozen=True)
class Wanted:
    """What an image has to be, to stand for the one that would be built.

    Attributes:
        tag: its name on this engine.
        digest: its whole digest.
        base: the layers (diff-ids) that it begins with.
        labels: labels that must not be missing.
    """

    tag: str
    digest: str
    base: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


def mistrust(info: ImageInfo, wanted: Wanted, platform: str = "") -> str:
    """Why `info` is not the image that is wanted; "" where it is. A `platform` of "" is not compared.

    The labels tell mistakes, not malice: whoever may push to a registry, decides what is pulled from it.
    """
    if info.labels.get(LABEL) != "image":
        return "it is not an image of windtunnel's"
    digest = info.labels.get(DIGEST_LABEL, "")
    if digest != wanted.digest:
        return f"it was made from something else (its digest is {digest[:12] or 'missing'}, not {wanted.digest[:12]})"
    if info.layers[: len(wanted.base)] != wanted.base:
        return "it stands on another base image"
    if platform and info.platform and info.platform != platform:
        return f"it is for {info.platform}, and this engine is {platform}"
    lacking = [label for label in wanted.labels if not info.labels.get(label)]
    return f"it lacks the label {lacking[0]}" if lacking else ""


def remote_reference(registry: str, tag: str) -> str:
    """Where a registry has the image that is called `tag` here: ``windtunnel/app:12ab`` is at ``REGISTRY:app-12ab``.

    All images of a project are tags of one repository: that is one package with one set of permissions, and there
    are registries that have no deeper paths. A registry without a path gets ``/windtunnel``.
    """
    target, _, digest = tag.removeprefix("windtunnel/").rpartition(":")
    repository = registry if "/" in registry else f"{registry}/windtunnel"
    return f"{repository}:{target[: _TAG_LENGTH - len(digest) - 1].rstrip('-')}-{digest}"


class Registry:
    """A registry that images are pulled from and pushed to, through the engine and with the engine's credentials.

    Args:
        engine: what pulls and pushes.
        name: the registry and a path ("ghcr.io/owner/name").
        warn: gets a sentence when images can't be pulled; once for a registry that can't be used at all.
        patience: seconds without a sign of life after which it is given up.
    """

    def __init__(self, engine: Engine, name: str, warn: Callable[[str], None], *, patience: float = PATIENCE) -> None:
        self.name = name
        self._engine = engine
        self._warn = warn
        self._patience = patience
        self._there: set[str] = set()
        self._off = False
        self._lock = threading.Lock()
        self._platform: str | None = None

    def reference(self, tag: str) -> str:
        """The name in the registry of the image that is called `tag` here."""
        return remote_reference(self.name, tag)

    def has(self, tag: str) -> bool:
        """Whether the image is known to be there: it was pulled from there, or pushed."""
        return tag in self._there

    def forget(self, tag: str) -> None:
        """What is called `tag` here now is not what the registry has."""
        self._there.discard(tag)

    # ---------------- pull

    def pull(self, wanted: Wanted, line: LineSink) -> ImageInfo | None:
        """The image from the registry, under its own tag; None where it is to be built.

        Nothing that could not be trusted gets that tag, or is kept. Raises EngineError where the engine fails.
        """
        if self._off:
            return None
        reference = self.reference(wanted.tag)
        try:
            info = self._engine.pull(reference, line, self._patience)
        except RegistryError as error:
            self._refused(reference, error)
            return None
        try:
            return self._checked(reference, info, wanted)
        finally:
            self._untag(reference)

    def _checked(self, reference: str, info: ImageInfo, wanted: Wanted) -> ImageInfo | None:
        wrong = mistrust(info, wanted, self._engine_platform())
        if wrong:
            self._warn(f"{reference} is not what it should be: {wrong}; it is built here instead. {_REPLACE}")
            return None
        self._engine.tag(info.id, wanted.tag)
        self._there.add(wanted.tag)
        return self._engine.image(wanted.tag)

    def _engine_platform(self) -> str:
        if self._platform is None:
            self._platform = self._engine.info().platform
        return self._platform

    def _refused(self, reference: str, error: RegistryError) -> None:
        """An image that is not there (yet) is no news; everything else is told, what concerns all images once."""
        if error.cause == "missing":
            return
        with self._lock:
            told, self._off = self._off, self._off or error.cause in _OFF
        if not told:
            self._warn(
                f"{error}; {_REMEDY[error.cause].format(registry=self.name, host=self._host, image=reference)}"
            )

    @property
    def _host(self) -> str:
        first = self.name.partition("/")[0]
        return first if "." in first or ":" in first or first == "localhost" else "docker.io"

    def _untag(self, reference: str) -> None:
        """Images are known by our own tag alone; what has no other name goes away."""
        with suppress(EngineError):
            self._engine.remove_image(reference)

    # ---------------- push

    def push(self, tag: str, line: LineSink) -> bool:
        """See to it that the registry has the image that is called `tag` here; False where it was known to.

        Raises RegistryError where the registry does not take it, with what to do about it.
        """
        if self.has(tag):
            return False
        reference = self.reference(tag)
        self._engine.tag(tag, reference)
        try:
            self._engine.push(reference, line, self._patience)
        except RegistryError as error:
            remedy = _PUSH_REMEDY.get(error.cause, _PUSH_REMEDY["unreachable"]).format(host=self._host)
            raise RegistryError(f"{error}; {remedy}", cause=error.cause, detail=error.detail) from error
        finally:
            self._untag(reference)
        self._there.add(tag)
        return True


_REPLACE = "`windtunnel push` puts the right one there"

_REMEDY = {
    "unreachable": (
        "images are built here instead. Look at `registry` in windtunnel.toml ({registry}) and at the network"
    ),
    "denied": (
        "images are built here instead. `docker login {host}` with the right to read, or make them public; where "
        "nothing was ever pushed to {registry}, `windtunnel push` does it"
    ),
    "absent": "images are built here instead. Nothing was pushed to {registry} yet: `windtunnel push` does it",
    "broken": "{image} is built here instead. " + _REPLACE,
}

_PUSH_REMEDY = {
    "unreachable": "look at `registry` in windtunnel.toml and at the network",
    "denied": "`docker login {host}` with the right to write (in a workflow: `packages: write`)",
    "absent": "create the repository there first",
}
