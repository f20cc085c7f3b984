"""Variables in a FROM or ARG line, quotes and escapes: ``debian:${SUITE:-trixie}-slim``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["substitute"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATOR = re.compile(r":?[-+?]")


def substitute(text: str, values: Mapping[str, str], escape: str = "\\") -> str:
    """`text` with variables replaced and quotes removed; a variable that is not in `values` is empty.

    ``$X``, ``${X}``, and with a word that may itself hold variables: ``${X:-word}``, ``${X-word}``, ``${X:+word}``,
    ``${X+word}``, ``${X:?word}``, ``${X?word}``. Without the colon an empty value counts as set.

    Raises:
        ValueError: a quote or a brace that isn't closed, another modifier, or a variable that ``?`` wants set.
    """
    return _Reader(text, values, escape).until("")


@dataclass
class _Reader:
    text: str
    values: Mapping[str, str]
    escape: str
    at: int = 0

    def until(self, stop: str) -> str:
        """Everything up to `stop` (one character, "" for the end), which is passed."""
        found = ""
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == stop:
                return found
            found += self._piece(character, quoted=stop == '"')
        if stop:
            raise ValueError(f"{stop} is missing in {self.text}")
        return found

    def _piece(self, character: str, *, quoted: bool) -> str:
        if character == self.escape:
            return self._escaped(quoted=quoted)
        if character == "$":
            return self._variable()
        if character == '"' and not quoted:
            return self.until('"')
        if character == "'" and not quoted:
            return self._literal()
        return character

    def _escaped(self, *, quoted: bool) -> str:
        following = self.text[self.at : self.at + 1]
        if quoted and following not in ('"', "$", self.escape):
            return self.escape
        self.at += 1
        return following

    def _literal(self) -> str:
        end = self.text.find("'", self.at)
        if end < 0:
            raise ValueError(f"' is missing in {self.text}")
        start, self.at = self.at, end + 1
        return self.text[start:end]

    def _variable(self) -> str:
        if self.text[self.at : self.at + 1] == "{":
            self.at += 1
            return self._braced()
        match = _NAME.match(self.text, self.at)
        if match is None:
            return "$"
        self.at = match.end()
        return self.values.get(match[0], "")

    def _braced(self) -> str:
        match = _NAME.match(self.text, self.at)
        if match is None:
            raise ValueError(f"${{ is not followed by a name in {self.text}")
        self.at = match.end()
        operator = _OPERATOR.match(self.text, self.at)
        if operator is None and self.text[self.at : self.at + 1] not in ("}", ""):
            raise ValueError(f"the modifier of ${{{match[0]}...}} is not one of :- - :+ + :? ? in {self.text}")
        self.at = operator.end() if operator else self.at
        word = self.until("}")
        return self._modified(match[0], operator[0] if operator else "", word)

    def _modified(self, name: str, operator: str, word: str) -> str:
        value = self.values.get(name)
        is_set = bool(value) if operator.startswith(":") else value is not None
        if operator.endswith("?") and not is_set:
            raise ValueError(f"{name} has to be set{': ' + word if word else ''}")
        if operator.endswith("-"):
            return value or "" if is_set else word
        if operator.endswith("+"):
            return word if is_set else ""
        return value or ""
