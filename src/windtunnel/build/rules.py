"""`sources` and `build_only` of a target.toml: patterns as in a .gitignore, the last one that matches decides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import pathspec

from windtunnel.errors import ConfigError
from windtunnel.model import Target

__all__ = ["Choice", "Patterns", "Rules"]

_WILDCARD = re.compile(r"[*?\[\\]")


class Choice(Enum):
    """What a file is to an image: part of its identity, needed but not part of it, left out by name, or not named."""

    SOURCE = "source"
    BUILD_ONLY = "build_only"
    EXCLUDED = "excluded"
    UNNAMED = "unnamed"


@dataclass(frozen=True)
class _Pattern:
    spec: pathspec.GitIgnoreSpec
    exclude: bool
    fixed: str
    """What every path that it matches begins with; "" where it may be anywhere."""


class Patterns:
    """An ordered list of patterns; ``!`` in front of one takes its files out again.

    One difference to git: ``!folder/`` takes out everything below the folder, whichever pattern put it in.

    Raises:
        ConfigError: a pattern that is empty, a comment, or not valid.
    """

    def __init__(self, patterns: Sequence[str], *, file: str, key: str) -> None:
        self._patterns = tuple(_compiled(pattern, file, key) for pattern in patterns)

    def matches(self, path: str) -> bool | None:
        """True where the last pattern that matches `path` names it, False where that one excludes it, else None."""
        last = next((one for one in reversed(self._patterns) if one.spec.match_file(path)), None)
        return None if last is None else not last.exclude

    def may_reach_into(self, folder: str) -> bool:
        """Whether files below `folder`, which can't be listed, might be named. In doubt they might."""
        inside = f"{folder}/x"  # a pattern for the folder itself matches whatever is in it
        for one in reversed(self._patterns):
            if one.exclude and one.spec.match_file(inside):
                return False
            if not one.exclude and (one.fixed.startswith(f"{folder}/") or f"{folder}/".startswith(one.fixed)):
                return True
        return False


def _compiled(pattern: str, file: str, key: str) -> _Pattern:
    exclude, body = pattern.startswith("!"), pattern.removeprefix("!")
    try:
        spec = pathspec.GitIgnoreSpec.from_lines([body])
    except ValueError as error:
        raise ConfigError(
            f"{pattern!r} is not a pattern as .gitignore has them: {error}", file=file, key=key
        ) from error
    if not any(one.include for one in spec.patterns):
        raise ConfigError(f"{pattern!r} names nothing; write a pattern as in a .gitignore", file=file, key=key)
    anchored = "/" in body.rstrip("/")
    return _Pattern(spec, exclude, _WILDCARD.split(body, maxsplit=1)[0].lstrip("/") if anchored else "")


@dataclass(frozen=True)
class Rules:
    """Both lists of a target; where both name a file, it is needed only."""

    sources: Patterns
    build_only: Patterns

    @classmethod
    def of(cls, target: Target) -> Rules:
        """The rules in a target's target.toml. Raises ConfigError for a pattern that is none."""
        file = f"{target.folder}/target.toml"
        return cls(
            Patterns(target.sources, file=file, key="sources"),
            Patterns(target.build_only, file=file, key="build_only"),
        )

    def choice(self, path: str) -> Choice:
        """What `path`, relative to the context, is to the image."""
        if self.build_only.matches(path):
            return Choice.BUILD_ONLY
        named = self.sources.matches(path)
        if named is None:
            return Choice.UNNAMED
        return Choice.SOURCE if named else Choice.EXCLUDED

    def may_reach_into(self, folder: str, *, unnamed_too: bool = False) -> bool:
        """Whether a folder that can't be listed might hold files that are named, or (`unnamed_too`) not excluded."""
        if unnamed_too and self.sources.matches(f"{folder}/x") is None:
            return True
        return self.sources.may_reach_into(folder) or self.build_only.may_reach_into(folder)
