"""The identity of an image: a digest over all that it is made from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

from windtunnel.ports import SourceFile

__all__ = ["DIGEST_LABEL", "digest", "tag"]

DIGEST_LABEL = "windtunnel.digest"
"""The label that carries an image's whole digest; its tag has only the beginning of it."""

_VERSION = b"windtunnel image 1"
_TAG_DIGITS = 24
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def digest(
    dockerfile: str,
    build_args: Mapping[str, str],
    files: Iterable[SourceFile],
    base_layers: Iterable[Sequence[str]],
) -> str:
    """Hex SHA-256 over Dockerfile, build arguments, sources, and the layers of the images it stands on.

    The order of `build_args` and `files` does not matter; that of `base_layers` (one sequence of diff-ids for each
    base image, in the Dockerfile's order) does. Every part carries its length, so no two inputs look alike.
    """
    parts = [
        _VERSION,
        _bytes(dockerfile),
        _packed(_packed([_bytes(key), _bytes(value)]) for key, value in sorted(build_args.items())),
        _packed(_file(file) for file in sorted(files, key=lambda file: _bytes(file.path))),
        _packed(_packed(_bytes(layer) for layer in layers) for layers in base_layers),
    ]
    return hashlib.sha256(_packed(parts)).hexdigest()


def _file(file: SourceFile) -> bytes:
    kind = b"symlink" if file.symlink else b"file"
    return _packed([kind, f"{file.mode:o}".encode(), _bytes(file.path), hashlib.sha256(file.content).digest()])


def _packed(parts: Iterable[bytes]) -> bytes:
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def tag(target: str, full_digest: str) -> str:
    """The reference of an image of ours: ``windtunnel/TARGET:FIRST24``, with what a reference can't hold replaced."""
    name = _NOT_IN_NAMES.sub("-", target.lower()).strip("-") or "target"
    return f"windtunnel/{name}:{full_digest[:_TAG_DIGITS]}"
