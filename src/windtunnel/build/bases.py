"""Images from outside: those that ours stand on, and services by name."""

from __future__ import annotations

import re
from collections.abc import Callable

from windtunnel.build.layers import Stack
from windtunnel.errors import EngineError, RegistryError
from windtunnel.ports import Engine, ImageInfo

__all__ = ["Bases"]

_DEBIAN = re.compile(r"(?:docker\.io/)?(?:library/)?debian:([a-z]+)-slim")


class Bases:
    """Looks images up in the engine and pulls what it does not have; each is asked for once.

    Args:
        engine: where they are looked for.
        line: gets (reference, line) of a pull's log.
    """

    def __init__(self, engine: Engine, line: Callable[[str, str], None]) -> None:
        self._engine = engine
        self._line = line
        self._found: dict[str, ImageInfo | EngineError] = {}
        self._stacks: dict[str, Stack] = {}

    def get(self, reference: str, needed_by: str) -> ImageInfo:
        """The image. `needed_by` says in messages who wants it ("targets/x/Dockerfile:3").

        Raises:
            RegistryError: the engine does not have it, and no registry gives it.
            EngineError: the engine can't be asked.
        """
        if reference not in self._found:
            self._found[reference] = self._obtain(reference)
        found = self._found[reference]
        if isinstance(found, EngineError):
            message = f"{needed_by}: the image {reference} is not here and can't be pulled ({found})"
            if isinstance(found, RegistryError):
                raise RegistryError(
                    f"{message}; {_remedy(reference)}", cause=found.cause, detail=found.detail
                ) from found
            raise EngineError(f"{message}; {_remedy(reference)}", detail=found.detail) from found
        return found

    def stack(self, reference: str | None) -> Stack:
        """Instructions and layers of an image that `get` has found; an empty stack for None (from scratch)."""
        if reference is None:
            return Stack()
        if reference not in self._stacks:
            self._stacks[reference] = Stack(self._engine.history(reference), self.get(reference, reference).layers)
        return self._stacks[reference]

    def has_id(self, short: str) -> bool:
        """Whether `short`, the beginning of an image's id, is that of an image found here."""
        ids = (info.id.rpartition(":")[2] for info in self._found.values() if isinstance(info, ImageInfo))
        return any(full.startswith(short) for full in ids)

    def _obtain(self, reference: str) -> ImageInfo | EngineError:
        info = self._engine.image(reference)
        if info is not None:
            return info
        try:
            return self._engine.pull(reference, lambda text: self._line(reference, text))
        except EngineError as error:
            return error


def _remedy(reference: str) -> str:
    debian = _DEBIAN.fullmatch(reference)
    if debian:
        return f"`tools/base-images {debian[1]}` makes it without a registry"
    if reference.startswith("localhost/"):
        return "it is made on this machine: the target says how"
    return "check its name and the network, or `docker login` to its registry"
