"""A Dockerfile cut into instructions: comments, escapes, continued lines, flags, heredocs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Instruction", "escape_character", "instructions", "words"]

_DIRECTIVE = re.compile(r"\s*#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.+?)\s*")
_KEYWORD = re.compile(r"\s*(\S+)\s*(.*)", re.DOTALL)
_FLAG = re.compile(r"--([a-z][a-z-]*)(?:=(\S*))?(?:\s+|$)")
_HEREDOC = re.compile(r"\d*<<(-?)([^<]+)")
_WORD = re.compile(r"""(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*'|["'\\])+""", re.DOTALL)
_WITH_HEREDOC = ("RUN", "COPY", "ADD")


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes:
        line: where it begins, from 1.
        keyword: in upper case.
        flags: ``--name=value``, in order; a flag without a value has "".
        rest: its text after the flags, continued lines joined.
        heredocs: the names of the bodies that follow it.
    """

    line: int
    keyword: str
    flags: tuple[tuple[str, str], ...]
    rest: str
    heredocs: tuple[str, ...] = ()

    def flag(self, name: str) -> str | None:
        """The first value of ``--name``, or None."""
        return next((value for key, value in self.flags if key == name), None)

    @property
    def mounts(self) -> tuple[Mapping[str, str], ...]:
        """The options of every ``--mount``; its type is "bind" when left out."""
        options = [value.split(",") for key, value in self.flags if key == "mount"]
        return tuple(
            {"type": "bind"} | {part.partition("=")[0]: part.partition("=")[2] for part in o} for o in options
        )


def escape_character(text: str) -> str:
    """A backslash, unless an ``# escape=`` directive in the first lines says otherwise."""
    for line in text.removeprefix("\ufeff").splitlines():
        match = _DIRECTIVE.fullmatch(line)
        if match is None:
            break
        if match[1].lower() == "escape" and match[2] in ("\\", "`"):
            return match[2]
    return "\\"


def words(text: str) -> list[str]:
    """`text` cut at blanks outside of quotes; quotes are kept."""
    return _WORD.findall(text)


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions of a Dockerfile, in order."""
    escape = escape_character(text)
    lines = _Lines(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"))
    while (line := lines.next()) is not None:
        if not _is_nothing(line):
            number = lines.at
            match = _KEYWORD.fullmatch(_continued(line, lines, escape))
            if match:  # a lone backslash is no instruction
                yield _instruction(number, match[1].upper(), match[2], lines)


@dataclass
class _Lines:
    lines: Sequence[str]
    at: int = 0

    def next(self) -> str | None:
        if self.at >= len(self.lines):
            return None
        self.at += 1
        return self.lines[self.at - 1]


def _is_nothing(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _continued(line: str, lines: _Lines, escape: str) -> str:
    """`line` with the lines that continue it; comments and blank lines among them are skipped."""
    ending = re.compile(re.escape(escape) + r"[ \t]*$")
    whole, following = "", None
    while (cut := ending.sub("", line)) != line:
        whole += cut
        following = lines.next()
        while following is not None and _is_nothing(following):
            following = lines.next()
        if following is None:
            return whole
        line = following
    return whole + line


def _instruction(number: int, keyword: str, rest: str, lines: _Lines) -> Instruction:
    flags = []
    while found := _FLAG.match(rest):
        flags.append((found[1], found[2] or ""))
        rest = rest[found.end() :]
    names = []
    for tabs, name in _heredocs(rest) if keyword in _WITH_HEREDOC else ():
        _skip_body(tabs, name, lines)
        names.append(name)
    return Instruction(number, keyword, tuple(flags), rest.strip(), tuple(names))


def _heredocs(rest: str) -> Iterator[tuple[str, str]]:
    """("-" or "", name) of each heredoc that a line announces."""
    for word in words(rest):
        match = _HEREDOC.fullmatch(word)
        name = match[2].strip("\"'") if match else ""
        if match and name:
            yield match[1], name


def _skip_body(tabs: str, name: str, lines: _Lines) -> None:
    while (line := lines.next()) is not None:
        if (line.lstrip("\t") if tabs else line) == name:
            return
