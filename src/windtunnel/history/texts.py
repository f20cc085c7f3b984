"""Texts and grids from files of anybody, brought within bounds. Pure."""

from __future__ import annotations

import ast
import json
import math
import warnings
from collections.abc import Sequence
from typing import Any

__all__ = ["CELLS", "TEXT", "BadFile", "docstring", "grid_of", "shown", "size_of", "text"]

CELLS = 1_000_000
"""The most parameter combinations of one benchmark; asv itself holds a list of all of them."""

TEXT = 4_000
"""The longest name, value of a parameter or fact, in characters."""

_CODE = 50_000


class BadFile(ValueError):
    """A file, or a part of one, that cannot be used; the text says why in one line."""


def text(value: Any, what: str) -> str:
    """A text that any file and database can hold: "" for None, numbers as Python has them.

    Raises BadFile for what is no text, or too long.
    """
    if value is None:
        return ""
    if isinstance(value, int | float):
        return str(value)[:40] if isinstance(value, float) or abs(value) < 1 << 63 else "a number"
    if not isinstance(value, str):
        raise BadFile(f"{shown(what)} is no text")
    if len(value) > TEXT:
        raise BadFile(f"{shown(what)} is longer than {TEXT} characters")
    if value.isascii():
        return value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def shown(name: str, most: int = 60) -> str:
    """A name from a file for a message: as it is, or where that might be more than a few seen characters, escaped."""
    return name if name.isprintable() and len(name) <= most else json.dumps(name[:most])[1:-1]


def grid_of(found: Any) -> tuple[tuple[str, ...], ...]:
    """The values of each parameter. Raises BadFile for anything else."""
    if not isinstance(found, list) or not all(isinstance(axis, list) for axis in found):
        raise BadFile("params is no list of lists")
    return tuple(tuple(text(value, "a parameter's value") for value in axis) for axis in found)


def size_of(grid: Sequence[Sequence[str]]) -> int:
    """How many combinations it has. Raises BadFile for more than `CELLS`."""
    size = math.prod(map(len, grid))
    if size > CELLS:
        raise BadFile(f"has {size:.3g} parameter combinations, more than {CELLS:,}")
    return size


def docstring(code: Any, name: str) -> str:
    """The documentation string of `name`, or of its class, in what asv has of a benchmark's code; or ""."""
    if not isinstance(code, str) or len(code) > _CODE:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
            found = {node.name: ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, _DOCUMENTED)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    told = found.get(name) or next((one for one in found.values() if one), "") or ""
    return text(told[:TEXT], "the documentation")


_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
