"""One line of a run file -> one record, with everything about it checked.

A run file may come from anyone: a pull request of a stranger hands one over. So nothing is taken for what it is not
(``"1.5"`` is no number, nor is ``true``), and everything has an end: a line, a text, how deep things are nested, how
large a number is. The bounds are far from what honest files come to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar, get_args, get_type_hints

from windtunnel.errors import ConfigError, Exit
from windtunnel.model import Launch, Slice
from windtunnel.sample.plausible import Implausible, check_numbers
from windtunnel.units import Missing

__all__ = [
    "FILE_BYTES",
    "LINES",
    "LINE_BYTES",
    "NotJSON",
    "checked_end",
    "decoded",
    "json_object",
    "object_of",
    "shown_name",
    "text_of",
]

LINE_BYTES = 16 << 20
"""The longest line. A launch takes about ten kilobytes; a header is longest where workloads have large bodies."""

LINES = 200_000
"""The most lines: four hundred cases with two hundred launches on each of two arms, and some."""

FILE_BYTES = 2 << 30
"""The largest file."""

TEXT = 8 << 20
"""The longest text, in characters: the body of a workload is the longest that is honest."""

_DEPTH = 24
_LARGEST = float(1 << 63)

_T = TypeVar("_T")


class NotJSON(ValueError):
    """A line that is no JSON at all: if it is the last one, its write may have been cut short."""


class _Unfit(ValueError):
    """Something is out of bounds; `key` is where."""

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key


def json_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; raises NotJSON, or ValueError for JSON that is no object."""
    try:
        found = json.loads(line, parse_float=_number, parse_int=_whole, parse_constant=_no_number)
    except RecursionError as error:
        raise NotJSON("is not JSON: nested too deep") from error
    except ValueError as error:
        raise NotJSON(f"is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError("is not an object")  # noqa: TRY004 - the content is wrong, not the program
    return found


def _number(text: str) -> float:
    number = float(text)
    return number if abs(number) <= _LARGEST else _no_number(text)


def _whole(text: str) -> int:
    return int(text) if len(text) <= 19 else _no_number(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:30]} is not a number that can be measured")


def decoded(kind: type[_T], record: Mapping[str, Any], path: Path, number: int) -> _T:
    """A record as the dataclass it stands for; keys that it does not have are passed over.

    Raises ConfigError with file, line and key.
    """
    from pydantic import ValidationError

    known = kind.__dataclass_fields__  # type: ignore[attr-defined]
    try:
        plain = {key: _bounded(record[key], key, 1) for key in record if key in known}
        found: _T = _adapter(kind).validate_json(json.dumps(plain), strict=True)
        check_numbers(found)
    except (_Unfit, Implausible) as error:
        raise ConfigError(str(error), file=path, line=number, key=shown_name(error.key) or None) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ConfigError(first["msg"], file=path, line=number, key=_key(record, first["loc"])) from error
    return found


def text_of(record: Mapping[str, Any], key: str, path: Path, number: int) -> str:
    """The text that has to be at `key`."""
    value = record.get(key)
    if not isinstance(value, str):
        raise ConfigError("Input should be a valid string", file=path, line=number, key=key)
    return _unicode(value, key)


def object_of(record: Mapping[str, Any], key: str, path: Path, number: int) -> Mapping[str, Any]:
    """The object that has to be at `key`."""
    value = record.get(key)
    if not isinstance(value, dict):
        raise ConfigError("Input should be an object", file=path, line=number, key=key)
    return value


def checked_end(record: Mapping[str, Any], path: Path, number: int) -> dict[str, Any]:
    """What the last line says; of what it may hold, that is checked which somebody reckons with."""
    try:
        facts = {key: _bounded(value, key, 1) for key, value in record.items() if key != "type"}
        for key in facts.keys() & {"exit", "seconds", "build_seconds"}:
            _reckoned(facts[key], key)
    except (_Unfit, Implausible) as error:
        raise ConfigError(str(error), file=path, line=number, key=shown_name(error.key) or None) from error
    return facts


def _reckoned(value: object, key: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Unfit("Input should be a valid number", key)
    if key == "exit" and value not in set(Exit):
        raise _Unfit(f"{value} is not an exit code of windtunnel", key)
    check_numbers(value, key, key)


# ---------------- the values


def _bounded(value: Any, key: str, depth: int) -> Any:
    """A value within bounds, in the form that the dataclasses have: ``{"missing": reason}`` as `Missing`."""
    if isinstance(value, str):
        return _unicode(value, key)
    if isinstance(value, dict):
        _not_too_deep(key, depth)
        if key in _measured():
            return {"reason": _bounded(value["missing"], key, depth)} if value.keys() == {"missing"} else {}
        if key == "latency" and set(map(type, value.values())) == {int}:  # hundreds of buckets, in every slice
            return value
        return {_unicode(name, key): _bounded(item, name, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        _not_too_deep(key, depth)
        return [_bounded(item, "", depth + 1) for item in value]
    return value


def _not_too_deep(key: str, depth: int) -> None:
    if depth > _DEPTH:
        raise _Unfit(f"nested deeper than {_DEPTH}", key)


def _unicode(text: str, key: str) -> str:
    """A text that any file can hold: half a surrogate pair (a path that is not UTF-8) becomes U+FFFD."""
    if len(text) > TEXT:
        raise _Unfit(f"longer than {TEXT} characters", key[:60])
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def shown_name(name: str, most: int = 60) -> str:
    """A name from a file for a message: as it is, or where that might be more than a few seen characters, escaped."""
    return name if name.isprintable() and len(name) <= most else json.dumps(name[:most])[1:-1]


# ---------------- pydantic


_adapters: dict[str, Any] = {}


def _adapter(kind: type[Any]) -> Any:
    """Reads a dataclass with all its types checked; made once, and only where a run file is read."""
    from pydantic import TypeAdapter

    if kind.__name__ not in _adapters:
        _adapters[kind.__name__] = TypeAdapter(kind)
    return _adapters[kind.__name__]


def _key(record: Any, location: tuple[int | str, ...]) -> str:
    """The key that is wrong: as far as the record has it, and one more that it lacks; then come names of types."""
    parts: list[str] = []
    here = record
    for part in location:
        if isinstance(here, list) and isinstance(part, int):
            here = here[part] if part < len(here) else None
        elif isinstance(here, dict) and (not parts or parts[-1] not in _measured()):
            here = here.get(str(part))
        else:
            break
        parts.append(shown_name(str(part)))
    return ".".join(parts)


@cache
def _measured() -> frozenset[str]:
    """The keys whose values may be `Missing`; elsewhere "missing" is a name like any other (of an axis, a header)."""
    hints = {**get_type_hints(Slice), **get_type_hints(Launch)}
    return frozenset(name for name, hint in hints.items() if Missing in get_args(hint))
