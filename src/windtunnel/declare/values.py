"""Converters: one plain value from a file -> one typed value in base units, or `Unfit` with what was expected.

They know nothing of files and lines; `reader` adds those. Each factory returns a function ``convert(value)``.
"""

from __future__ import annotations

import json
import math
import posixpath
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import TypeVar

from windtunnel.declare.toml import Path

__all__ = [
    "NAME",
    "Convert",
    "Unfit",
    "boolean",
    "choice",
    "describe",
    "duration",
    "integer",
    "number",
    "regex",
    "relative_path",
    "share",
    "size",
    "text",
    "text_list",
    "text_map",
]

T = TypeVar("T")
W = TypeVar("W", bound=str)
Convert = Callable[[object], T]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""Names that become part of container, image and folder names."""

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(us|µs|ms|s|min|m|h)")
_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt]?)(?:i?b)?", re.IGNORECASE)
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_PERCENT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?%")
_SHOWN = 60


class Unfit(Exception):
    """A value is not what its key takes. `at` is where inside the value ((), or an element's index or key)."""

    def __init__(self, found: object, expected: str, at: Path = ()) -> None:
        super().__init__(f"found {describe(found)}, expected {expected}")
        self.at = at


def describe(value: object) -> str:
    """A value as people would say it: ``"abc" (a string)``, ``true (a boolean)``, ``an array``."""
    simple: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "a boolean"),
        (int, "an integer"),
        (float, "a number"),
        (str, "a string"),
    )
    for kind, word in simple:
        if isinstance(value, kind):
            return f"{_shorten(json.dumps(value, ensure_ascii=False))} ({word})"
    if isinstance(value, list | tuple):
        return "an array" if value else "an empty array"
    if isinstance(value, Mapping):
        return "a table" if value else "an empty table"
    if isinstance(value, datetime | date | time):
        return f"{value.isoformat()} (a date or time)"
    return "nothing" if value is None else _shorten(repr(value))


def _shorten(shown: str) -> str:
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"


def boolean(value: object) -> bool:
    """true or false."""
    if not isinstance(value, bool):
        raise Unfit(value, "true or false")
    return value


def choice(*allowed: W) -> Convert[W]:
    """One of a few words; annotate the result with a Literal to have them typed."""
    expected = " or ".join(json.dumps(word) for word in allowed)

    def convert(value: object) -> W:
        for word in allowed:
            if isinstance(value, str) and value == word:
                return word
        raise Unfit(value, expected)

    return convert


def integer(least: int, most: int = 1 << 53) -> Convert[int]:
    """A whole number within bounds (both included); a boolean is none."""
    expected = f"an integer from {least} to {most}" if most < 1 << 53 else f"an integer, {least} or more"

    def convert(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise Unfit(value, expected)
        return value

    return convert


def number(least: float, expected: str) -> Convert[float]:
    """A finite number, `least` or more."""

    def convert(value: object) -> float:
        found = _number(value)
        if found is None or found < least:
            raise Unfit(value, expected)
        return found

    return convert


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _measured(value: object, pattern: re.Pattern[str], units: Mapping[str, float]) -> float | None:
    """The base value of ``"NUMBER UNIT"``, or of a plain number (which is in the base unit already)."""
    if not isinstance(value, str):
        return _number(value)
    match = pattern.fullmatch(value.strip())
    return None if match is None else _number(float(match[1]) * units[match[2].lower()])


def duration(value: object) -> float:
    """Seconds, from ``"20s"``, ``"500ms"``, ``"10m"`` or a plain number of seconds; more than 0."""
    found = _measured(value, _DURATION, _SECONDS)
    if found is None or found <= 0:
        raise Unfit(value, 'a duration above 0, such as "20s", "500ms" or "10m" (a plain number is seconds)')
    return found


def size(least: int) -> Convert[int]:
    """Bytes, from ``"1g"``, ``"512m"`` (binary multiples, as engines have it) or a whole number of bytes."""

    def convert(value: object) -> int:
        found = None if isinstance(value, float) else _measured(value, _SIZE, _BYTES)
        if found is None or not least <= found < 1 << 62:
            raise Unfit(value, f'a size of at least {least >> 20}m, such as "512m", "1g" or a number of bytes')
        return int(found)

    return convert


def share(value: object) -> float:
    """A ratio between 0 and 1, from ``"2%"`` or ``0.02``."""
    percent = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    found = float(percent[1]) / 100 if percent else _number(value)
    if found is None or not 0 < found < 1:
        raise Unfit(value, 'a share above 0 and below 1, such as "2%" or 0.02')
    return found


def text(expected: str = "a string", pattern: re.Pattern[str] | None = None) -> Convert[str]:
    """A string; with `pattern`, one that matches it as a whole. NUL is refused: no argument and no name takes it."""

    def convert(value: object) -> str:
        if not isinstance(value, str) or "\0" in value or (pattern is not None and not pattern.fullmatch(value)):
            raise Unfit(value, expected)
        return value

    return convert


def text_list(expected: str, item: Convert[str] | None = None) -> Convert[tuple[str, ...]]:
    """An array of strings with at least one element, each taken by `item`."""
    take = item or text()

    def convert(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not value:
            raise Unfit(value, expected)
        return tuple(_inside(take, element, index) for index, element in enumerate(value))

    return convert


def text_map(expected: str, key: re.Pattern[str]) -> Convert[Mapping[str, str]]:
    """A table of strings whose keys match `key`."""

    def convert(value: object) -> Mapping[str, str]:
        if not isinstance(value, Mapping):
            raise Unfit(value, expected)
        for name in value:
            if not key.fullmatch(name):
                raise Unfit(name, f"a name that matches {key.pattern}", (name,))
        return {name: _inside(_quoted, element, name) for name, element in value.items()}

    return convert


def _quoted(value: object) -> str:
    """A string; a bare number or boolean gets told to put on quotes."""
    if isinstance(value, bool | int | float):
        raise Unfit(value, f'a string: write "{json.dumps(value)}"')
    return text()(value)


def _inside(convert: Convert[str], value: object, at: str | int) -> str:
    try:
        return convert(value)
    except Unfit as error:
        error.at = (at, *error.at)
        raise


def regex(value: object) -> str:
    """A regular expression that compiles."""
    pattern = text("a regular expression")(value)
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise Unfit(value, f"a regular expression ({error})") from None
    return pattern


def relative_path(value: object) -> str:
    """A POSIX path that stays below the folder it starts in, normalised."""
    found = text("a relative path")(value)
    path = posixpath.normpath(found) if found else ""
    if not path or path in (".", "..") or path.startswith(("/", "../")):
        raise Unfit(value, "a relative path inside this folder")
    return path
