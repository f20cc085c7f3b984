"""The part of a comparison that one job of several measures: a number, or an entry of the plan's matrix."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from windtunnel.declare.shards import parse_shard
from windtunnel.errors import ConfigError

__all__ = ["Part", "parse_part"]

_KEYS = frozenset({"shard", "number", "bench", "cases", "minutes", "budget"})
"""What `windtunnel plan --shards` writes of each part."""


@dataclass(frozen=True)
class Part:
    """One of several parts.

    Attributes:
        label: "2/4" for the second of four; "" for the whole.
        number: 2; None for the whole.
        bench: the regular expression that finds its cases, or "" where every job works out the same cut by itself.
        budget: its seconds of machine time, or None.
    """

    label: str = ""
    number: int | None = None
    bench: str = ""
    budget: float | None = None


def parse_part(text: str) -> Part:
    """``2/4``, or an entry of the plan's matrix as JSON; "" is the whole.

    Raises ConfigError for anything else; nothing in it is guessed at.
    """
    if not text.strip():
        return Part()
    if not text.lstrip().startswith("{"):
        return Part(text, parse_shard(text)[0])
    entry = _entry(text)
    label = _text(entry, "shard")
    number = parse_shard(label)[0]
    if entry.get("number") is True or entry.get("number") != number:
        raise _wrong("number", entry.get("number"), f"{number}, as in {label}")
    return Part(label, number, _pattern(entry), _seconds(entry))


def _entry(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"--shard: is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise _wrong("the entry", found, "an object, an entry of what windtunnel plan --shards prints")
    if strange := sorted(found.keys() - _KEYS):
        raise ConfigError(
            f"--shard: {strange[0][:40]!r} is not of an entry of the plan's matrix; hand it over as it is: "
            f"shard: ${{{{ toJSON(matrix) }}}}"
        )
    return found


def _text(entry: dict[str, Any], key: str) -> str:
    found = entry.get(key)
    if not isinstance(found, str) or not found:
        raise _wrong(key, found, "a text")
    return found


def _pattern(entry: dict[str, Any]) -> str:
    found = _text(entry, "bench")
    try:
        re.compile(found)
    except (re.error, RecursionError, OverflowError) as error:
        raise _wrong("bench", found, f"a regular expression ({error})") from error
    return found


def _seconds(entry: dict[str, Any]) -> float:
    found = entry.get("budget")
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found) or found <= 0:
        raise _wrong("budget", found, "seconds, more than 0")
    return float(found)


def _wrong(key: str, found: object, expected: str) -> ConfigError:
    return ConfigError(f"--shard: {key}: found {str(found)[:60]!r}, expected {expected}")
