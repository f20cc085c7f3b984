"""The messages that the page on trouble explains are those that the code has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest
from pages import ROOT, read

_HOLE = "\0"
_ENOUGH = 3
"""So many words in a row make a message; others in it differ from case to case, and are examples on the page."""


def literals(tree: ast.AST) -> Iterator[str]:
    """All texts of a module; what a formatted one fills in is a hole."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (one.value if isinstance(one, ast.Constant) else _HOLE for one in node.values)
            yield "".join(map(str, parts))


@cache
def code() -> str:
    """Every text in the code, one a line, and what is written by the action's own scripts."""
    found = [
        text.replace("\n", " ")
        for path in sorted((ROOT / "src").rglob("*.py"))
        for text in literals(ast.parse(path.read_text("utf-8")))
    ]
    return "\n".join([*found, (ROOT / "action" / "install").read_text("utf-8")])


def messages() -> list[str]:
    inside = re.search(r'<div class="wt-messages" markdown>(.*?)</div>', read("trouble.md"), re.DOTALL)
    assert inside is not None
    return re.findall(r"^\| `([^`]+)`", inside[1], re.MULTILINE)


def runs(message: str) -> Iterator[str]:
    """Every few words of a message that stand in a row; capitals and numbers stand for what is filled in."""
    words = [_HOLE if re.fullmatch(r"[A-Z]+[:.]*|\d+", word) else word for word in message.split()]
    yield from (" ".join(words[at : at + _ENOUGH]).strip("(") for at in range(max(1, len(words) - _ENOUGH + 1)))


@pytest.mark.parametrize("message", messages())
def test_a_message_that_is_explained_is_one_that_is_given(message: str) -> None:
    assert [words for words in runs(message) if words in code()], "nothing in the code says this"
