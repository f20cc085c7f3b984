"""Whether a report that was made of what a stranger handed over does nothing but be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["MARK", "assert_safe"]

MARK = "zqx"
"""In every text from outside, so that it can be found again."""

_PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")
_OWN_HTML = re.compile(r"<details><summary>[A-Za-z0-9 ,:]+</summary>|</details>")
_OUR_OWN = {"\n", "\N{NO-BREAK SPACE}", "\N{ZERO WIDTH JOINER}"}
"""Lines, figures that stay beside their unit, and what joins an emoji; nothing else that is not seen."""

_OWN_INLINE = frozenset({"<br>", "<sub>", "</sub>"})
_LIVE = frozenset({"link_open", "image", "html_inline"})


def _tokens(text: str) -> Iterator[Token]:
    for token in _PARSER.parse(text):
        yield token
        yield from token.children or ()


def assert_safe(text: str, marker: str, limit: int) -> None:
    """No link, image, mention or HTML of a stranger's; one hidden marker, which is ours; all of it to be seen."""
    assert len(text) <= limit
    opening, _, rest = text.partition("\n")
    assert opening == f"<!-- {marker} -->"
    hidden = {char for char in rest if not char.isprintable()} - _OUR_OWN
    assert not hidden
    for token in _tokens(rest):
        assert token.type not in _LIVE or token.content in _OWN_INLINE, token
        if token.type == "html_block":
            assert all(_OWN_HTML.fullmatch(line) for line in token.content.split("\n") if line), token
        if token.type == "text":
            assert not re.search(r"@|#[0-9]|GH-[0-9]|https?:|www\.|::", token.content), token
        if token.type not in {"code_inline", "fence", "inline"}:
            assert MARK not in token.content, token
            assert MARK not in str(token.attrs), token
        if token.type == "fence":
            assert re.fullmatch(r"[a-z]*", token.info), token
