"""What the files are called that a measuring job hands over: one artifact for each run file. Pure.

``windtunnel-run[.SLUG]--[SUITE]--[NUMBER]`` holds the run file of a suite, or of its shard NUMBER;
``windtunnel-matrix[.SLUG]--[SUITE]`` holds the plan that a suite was cut into shards by. SLUG stands for the folder
that asv.conf.json is in, and is absent for the top of the repository. A name is all that is known of an artifact
before it is opened, and it may come from anyone: `parse_name` takes what `artifact_name` makes, and nothing else.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from dataclasses import dataclass
from typing import Literal

from windtunnel.errors import ConfigError

__all__ = ["MATRIX_FILE", "RUN_FILE", "ArtifactName", "Kind", "artifact_name", "parse_name", "slug_of"]

Kind = Literal["run", "matrix"]

RUN_FILE = "run.jsonl"
"""The one file in an artifact of a run."""

MATRIX_FILE = "matrix.json"
"""The one file in an artifact of a plan."""

_SLUG = r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"
_SUITE = r"[A-Za-z0-9._]*(?:-[A-Za-z0-9._]+)*"
_NAME = re.compile(
    rf"windtunnel-(?P<kind>run|matrix)(?:\.(?P<slug>{_SLUG}))?--(?P<suite>{_SUITE})(?P<tail>--(?P<number>[0-9]*))?"
)
_PLAIN_DIRECTORY = re.compile(r"[A-Za-z0-9]+(?:[/-][A-Za-z0-9]+)*")
_ESCAPED = re.compile(r"(?:_[0-9A-F]{2})+")

_LONGEST_SLUG = 60
_LONGEST_SUITE = 120
"""Of the encoded name: all together then stays below what file systems take for one name (255 bytes)."""

_MOST_SHARDS = 1000


@dataclass(frozen=True)
class ArtifactName:
    """What an artifact says by its name. `number` is that of the shard, None for a run that is whole."""

    kind: Kind
    slug: str = ""
    suite: str = ""
    number: int | None = None


def slug_of(directory: str) -> str:
    """What a folder of the repository is called in names of artifacts and in hidden marks; "" for its top.

    Whatever is no letter or digit becomes "-". Where more than a "/" got lost by that, a hash of the folder's name
    follows, so that two folders do not become one (only "a/b" and "a-b" do).
    """
    path = posixpath.normpath(directory) if directory else "."
    if path == ".":
        return ""
    if _PLAIN_DIRECTORY.fullmatch(path) and len(path) <= _LONGEST_SLUG:
        return path.replace("/", "-")
    digest = hashlib.sha256(path.encode(errors="surrogatepass")).hexdigest()[:8]
    words = "-".join(re.findall("[A-Za-z0-9]+", path))[: _LONGEST_SLUG - 9].strip("-")
    return f"{words}-{digest}" if words else digest


def artifact_name(kind: Kind, *, slug: str = "", suite: str = "", number: int | None = None) -> str:
    """The artifact's name: letters, digits and ``.-_`` only, whatever characters the suite's name has.

    Args:
        kind: whether it holds a run file or a plan.
        slug: as `slug_of` has it.
        suite: the suite's name in windtunnel.toml, or "" for the whole project.
        number: the shard's, from 1; None for a run that is not cut into shards.

    Raises:
        ConfigError: the suite's name is too long.
        ValueError: the slug is none, a plan has a number, or there is no such shard.
    """
    if slug and not re.fullmatch(_SLUG, slug):
        raise ValueError(f"{slug!r} is not what slug_of makes")
    if number is not None and (kind == "matrix" or not 1 <= number <= _MOST_SHARDS):
        raise ValueError(f"there is no {kind} with the number {number}")
    encoded = _encoded(suite)
    if len(encoded) > _LONGEST_SUITE:
        raise ConfigError(
            f"too long for the name of an artifact; name the suite in at most {_LONGEST_SUITE} letters and digits "
            f"(any other character counts as three or more)",
            key=f"suites.{suite[:40]}...",
        )
    front = f"windtunnel-{kind}" + (f".{slug}" if slug else "")
    return f"{front}--{encoded}" + (f"--{number or ''}" if kind == "run" else "")


def parse_name(name: str) -> ArtifactName | None:
    """What a name says; None for one that `artifact_name` would not have given."""
    match = _NAME.fullmatch(name) if len(name) <= 255 else None
    if match is None:
        return None
    kind: Kind = "run" if match["kind"] == "run" else "matrix"
    try:
        found = ArtifactName(kind, match["slug"] or "", _decoded(match["suite"]), _number(match["number"]))
        made = artifact_name(kind, slug=found.slug, suite=found.suite, number=found.number)
    except (ConfigError, ValueError):
        return None
    return found if made == name else None


def _number(digits: str | None) -> int | None:
    return int(digits) if digits else None


# ---------------- a suite's name


def _encoded(suite: str) -> str:
    """The name with every character that does not fit as its UTF-8 bytes, each written ``_5B``.

    "-" stays between two letters or digits, so that "--" only ever divides; "_" stays where no two digits of a
    hexadecimal number follow.
    """
    kept = re.compile(r"[A-Za-z0-9.]|(?<=[A-Za-z0-9.])-(?=[A-Za-z0-9.])|_(?![0-9A-F]{2})")
    pieces: list[str] = []
    for at, char in enumerate(suite):
        if kept.match(suite, at):
            pieces.append(char)
        else:
            pieces += [f"_{byte:02X}" for byte in char.encode(errors="surrogatepass")]
    return "".join(pieces)


def _decoded(encoded: str) -> str:
    """The name again. Raises ValueError for bytes that are no text."""
    return _ESCAPED.sub(lambda match: bytes.fromhex(match[0].replace("_", "")).decode(), encoded)
