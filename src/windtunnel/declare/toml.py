"""TOML with the line of every key: values come from tomllib, lines from a scanner that runs after it.

The scanner only ever sees text that tomllib has accepted, so it checks nothing; it walks over statements, keys and
values, and writes down where each key and each array element begins.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from windtunnel.errors import ConfigError

__all__ = ["Document", "Path", "format_key", "parse_toml"]

Path = tuple[str | int, ...]
"""Where a value is: keys, and indices of array elements. ``("services", 0, "name")``."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_SCALAR = re.compile(r"[^,\]}#\n]*")
_BASIC = re.compile(r'"((?:[^"\\]|\\.)*)"')
_LITERAL = re.compile(r"'([^']*)'")
_LONG_BASIC = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}', re.DOTALL)
_LONG_LITERAL = re.compile(r"'''.*?'{3,5}", re.DOTALL)
_ERROR_LINE = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


@dataclass(frozen=True)
class Document:
    """A parsed file: plain values (as tomllib gives them), and the line (from 1) of every key and array element."""

    data: Mapping[str, Any]
    lines: Mapping[Path, int]
    file: str

    def line(self, path: Path) -> int:
        """The line of `path`, or of the nearest thing around it that is written down; 1 for the file as a whole."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return 1


def format_key(path: Path) -> str:
    """A path as TOML would write it: ``axes.perl."5.36".env``, ``services[0].name``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        name = part if _BARE.fullmatch(part) else '"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"'
        text += f".{name}" if text else name
    return text


def parse_toml(text: str, file: str) -> Document:
    """Parse `text`, the content of `file` (a name for messages only).

    Raises:
        ConfigError: it is not TOML; with file, line, and the parser's words.
    """
    text = text.replace("\r\n", "\n")
    try:
        data = tomllib.loads(text)
        lines = _Scanner(text).scan()
    except RecursionError:
        raise ConfigError("arrays or tables are nested too deeply; flatten them", file=file) from None
    except ValueError as error:  # TOMLDecodeError is one; so is what int() says of thousands of digits
        raise _syntax_error(str(error), text, file) from None
    return Document(data, lines, file)


def _syntax_error(message: str, text: str, file: str) -> ConfigError:
    match = _ERROR_LINE.fullmatch(message)
    if match is None:
        return ConfigError(f"not valid TOML: {message}", file=file)
    what, line, column = match.groups()
    if line is None:
        last = max(1, text.rstrip("\n").count("\n") + 1)
        return ConfigError(f"not valid TOML: {what}, and the file ends here", file=file, line=last)
    return ConfigError(f"not valid TOML at column {column}: {what}", file=file, line=int(line))


@dataclass
class _Scanner:
    """One walk over the text of a valid document."""

    text: str
    at: int = 0
    lines: dict[Path, int] = field(default_factory=dict)
    counts: dict[Path, int] = field(default_factory=dict)
    """How many elements each array of tables has so far."""
    _line: int = 1
    _counted: int = 0

    def scan(self) -> dict[Path, int]:
        table: Path = ()
        self._skip(_BLANK)
        while self.at < len(self.text):
            if self._next("["):
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK)
        return self.lines

    def _header(self) -> Path:
        """`[a.b]` or `[[a.b]]`: the path that the keys below it belong to."""
        double = self._next("[[")
        line = self._here()
        self.at += 2 if double else 1
        parts = self._key()
        self.at += 2 if double else 1
        path: Path = ()
        for part in parts[:-1]:
            path = self._open((*path, part), line)
        path = (*path, parts[-1])
        if not double:
            # the table's own header tells more than the first mention of it inside another one's
            self.lines[path] = line
            return path
        self._note(path, line)
        self.counts[path] = self.counts.get(path, 0) + 1
        return self._open(path, line)

    def _open(self, path: Path, line: int) -> Path:
        """`path`, or, where that is an array of tables, its last element; noted if it is new."""
        self._note(path, line)
        if path in self.counts:
            path = (*path, self.counts[path] - 1)
            self._note(path, line)
        return path

    def _pair(self, table: Path) -> None:
        line = self._here()
        path = table
        for part in self._key():
            path = (*path, part)
            self._note(path, line)
        self.at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            self._skip(_SPACE)
            parts.append(self._key_part())
            self._skip(_SPACE)
            if not self._next("."):
                return tuple(parts)
            self.at += 1

    def _key_part(self) -> str:
        if self._next('"'):
            quoted = self._skip(_BASIC)
            return next(iter(tomllib.loads(f"{quoted}=0"))) if "\\" in quoted else quoted[1:-1]
        if self._next("'"):
            return self._skip(_LITERAL)[1:-1]
        return self._skip(_BARE)

    def _value(self, path: Path) -> None:
        if self._next("["):
            self._array(path)
        elif self._next("{"):
            self._inline_table(path)
        elif self._next('"'):
            self._skip(_LONG_BASIC if self._next('"""') else _BASIC)
        elif self._next("'"):
            self._skip(_LONG_LITERAL if self._next("'''") else _LITERAL)
        else:
            self._skip(_SCALAR)

    def _array(self, path: Path) -> None:
        self.at += 1
        index = 0
        self._skip(_BLANK)
        while not self._next("]"):
            if self._next(","):
                self.at += 1
            else:
                self._note((*path, index), self._here())
                self._value((*path, index))
                index += 1
            self._skip(_BLANK)
        self.at += 1

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        self._skip(_BLANK)
        while not self._next("}"):
            if self._next(","):
                self.at += 1
            else:
                self._pair(path)
            self._skip(_BLANK)
        self.at += 1

    def _note(self, path: Path, line: int) -> None:
        self.lines.setdefault(path, line)

    def _next(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if (
            match is None
        ):  # tomllib took what this scanner can't read (a newer TOML): no line is better than a wrong one
            raise ValueError(f"cannot be read by windtunnel (at line {self._here()}, column 1)")
        self.at = match.end()
        return match.group()

    def _here(self) -> int:
        """The line of the current position. Positions only grow, so each character is counted once."""
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line
