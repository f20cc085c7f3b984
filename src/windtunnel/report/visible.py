"""Strings from outside, made harmless for whatever shows them: a terminal, Markdown, XML. Pure.

Names of cases, reasons, logs and subjects of commits come from the project under measurement, and a run file may
come from anywhere: none of them may steer a terminal, turn the direction of a line, or be half a character.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["tail", "visible"]

_STEERING = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]")
"""What a terminal takes for commands (ECMA-48): colours of a build log above all, which nobody misses."""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINER = "\u200d"
_LINE = 500


def visible(text: str, most: int = 300) -> str:
    """`text` as one line of at most `most` characters that are all seen; a cut is shown by an ellipsis."""
    shown = _all_seen(re.sub(r"\s+", " ", _STEERING.sub("", text[: 8 * most])).strip())
    return shown if len(shown) <= most else shown[: most - 1].rstrip() + "…"


def tail(log: str, most: int = 20) -> list[str]:
    """The last lines of a log, each made visible with its indentation kept."""
    return [_line(line) for line in log.rstrip().splitlines()[-most:]]


def _line(line: str) -> str:
    whole = _all_seen(_STEERING.sub("", line[: 8 * _LINE]).expandtabs(4)).rstrip()
    return whole if len(whole) <= _LINE else whole[: _LINE - 1] + "…"


def _all_seen(text: str) -> str:
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(char: str) -> str:
    hidden = char != _JOINER and unicodedata.category(char) in _HIDDEN
    return "\N{REPLACEMENT CHARACTER}" if hidden else char
