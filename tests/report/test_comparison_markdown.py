"""A comparison as GitHub Markdown: how it looks, that it fits, and that what is from outside stays in its code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from test_comparison_text import _golden

from example_comparisons import RULE, RUNS, Measured, Sides, case, foreign, judged, run_of
from windtunnel.compare.verdict import compare
from windtunnel.report.markdown import LEAST, comparison_markdown
from windtunnel.report.pieces import code, fenced, name_cell
from windtunnel.report.visible import visible
from windtunnel.sample.runfile import Run

_MARK = "zqx"
_PIECES = [
    _MARK,
    f"@{_MARK}",
    f"#{_MARK}",
    f"https://{_MARK}.example/",
    f"www.{_MARK}.example",
    f"{_MARK}@{_MARK}.example",
    f"[{_MARK}](https://{_MARK})",
    f"![{_MARK}](x)",
    f"[{_MARK}]: x",
    f"<b>{_MARK}",
    f"<img src={_MARK}>",
    f"<!-- {_MARK}",
    "-->",
    "</details>",
    "</summary>",
    "`",
    "``",
    "```",
    "~~~",
    "|",
    "\\",
    "\\|",
    "\n",
    "\n\n",
    "\r",
    "\u2028",
    "\x00",
    "\x1b[31m",
    "\ud800",
    "&lt;",
    "**",
    "# ",
    "- ",
    "    ",
    "|---|",
    "$$",
    ":tada:",
]
hostile = st.lists(st.sampled_from(_PIECES) | st.text(max_size=4), min_size=1, max_size=8).map(
    lambda pieces: _MARK + "".join(pieces)
)
_PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")


def _markdown(name: str) -> str:
    return comparison_markdown(RUNS[name], judged(name))


def _tokens(text: str) -> Iterator[Token]:
    for token in _PARSER.parse(text):
        yield token
        yield from token.children or ()


def _shape(text: str) -> list[str]:
    """What kinds of things there are, HTML verbatim, without what stands in code; a long name is several lines."""
    found = (
        f"{token.type} {token.content}" if token.type.startswith("html") else token.type
        for token in _tokens(text)
        if token.type not in {"text", "softbreak"} and token.content != "<br>"
    )
    return [kind for kind, _ in groupby(found)]


@pytest.mark.parametrize("name", RUNS)
def test_the_markdown_is_as_it_should_be(name: str) -> None:
    text = _markdown(name)
    assert text == _golden(f"comparison-{name}.md", text)


@pytest.mark.parametrize("name", RUNS)
def test_the_first_line_tells_the_outcome_and_what_to_do(name: str) -> None:
    first = _markdown(name).splitlines()[0]
    assert re.fullmatch(r"\*\*[^*]+\.\*\* [A-Z][^*]+\.", first)


# ---------------- what comes from outside


@given(hostile)
@settings(max_examples=60)
@example(f"{_MARK}\\|")
@example(f"{_MARK}`|`")
@example(f"|{_MARK}\\")
def test_what_comes_from_outside_stays_in_code(text: str) -> None:
    """No mention, link or HTML of it: neither Markdown nor GitHub's own filters look into code."""
    shown = comparison_markdown(*foreign(text))
    for token in _tokens(shown):
        assert token.type not in {"link_open", "image", "html_inline"} or _MARK not in token.content
        if token.type not in {"code_inline", "fence", "inline"}:
            assert _MARK not in token.content, token
            assert not token.attrs or _MARK not in str(token.attrs)
    shown.encode()


@given(hostile)
@settings(max_examples=60)
def test_what_comes_from_outside_changes_nothing_around_it(text: str) -> None:
    assert _shape(comparison_markdown(*foreign(text))) == _shape(comparison_markdown(*foreign("x")))


@given(hostile)
def test_text_in_a_code_span_is_what_is_shown(text: str) -> None:
    tokens = [token for token in _tokens(f"before {code(text)} after") if token.type == "code_inline"]
    assert [token.content.replace(" ", "") for token in tokens] == [
        code(text).strip("`").replace(" ", "") if "`" not in text else tokens[0].content.replace(" ", "")
    ]
    plain = re.sub(r"[\s\x00-\x1f]", "", text)
    if plain.isascii() and plain.isprintable() and "\x1b" not in text:
        assert tokens[0].content.replace(" ", "") == re.sub(r"[\x00-\x1f]", "\ufffd", re.sub(r"\s", "", text))


@given(hostile | st.text(max_size=200))
def test_a_long_name_is_shown_in_lines_and_whole(text: str) -> None:
    tokens = list(_tokens(f"| head |\n|---|\n| {name_cell(text)} |"))
    assert sum(token.type == "td_open" for token in tokens) == 1
    assert {one.content for one in tokens if one.type == "html_inline"} <= {"<br>"}
    lines = [token.content for token in tokens if token.type == "code_inline"]
    assert all(len(line) <= 36 for line in lines)
    shown = visible(text, 160) or "(no text)"
    assert re.sub(r"\s", "", "".join(lines)) == re.sub(r"\s", "", shown)


@given(st.lists(hostile.map(lambda text: re.sub(r"\s", " ", text)), min_size=1, max_size=5))
def test_lines_in_a_fence_are_what_is_shown(lines: list[str]) -> None:
    lines = [line.replace("\x00", "").replace("\x1b", "") for line in lines]
    (token,) = [token for token in _tokens(f"{fenced(lines)}\n\nafter") if token.type == "fence"]
    assert token.content == "\n".join(lines) + "\n"


def test_a_bar_in_the_name_of_a_case_does_not_divide_its_cell() -> None:
    one = case("a|b")
    run = run_of([Measured(one)])
    (cell,) = {
        token.content
        for token in _tokens(comparison_markdown(run, compare(run)))
        if token.type == "code_inline" and "a" in token.content and "Starlet" in token.content
    }
    assert cell == one.id


# ---------------- what fits


def _large() -> Run:
    """Thirty cases of each kind."""
    kinds = (Sides(cpu=1.06), Sides(cpu=0.94), Sides(cpu=1.02, noise=9.0), Sides())
    return run_of(
        [Measured(case(str(n), f"mode{k}"), one, pairs=12) for n in range(12) for k, one in enumerate(kinds)]
    )


LARGE = _large()
LARGE_COMPARED = compare(LARGE, RULE)
WHOLE = comparison_markdown(LARGE, LARGE_COMPARED, limit=10**6, marker="windtunnel comment")


@given(st.integers(LEAST, len(WHOLE) + 2_000))
@example(LEAST)
@settings(max_examples=60)
def test_it_is_never_longer_than_it_may_be_and_says_what_is_missing(limit: int) -> None:
    text = comparison_markdown(LARGE, LARGE_COMPARED, limit=limit, marker="windtunnel comment")
    assert len(text) <= limit
    assert ("Left out for want of space" in text) == (text != WHOLE)
    html = [token.content for token in _tokens(text) if token.type == "html_block"]
    assert sum(one.count("<details>") for one in html) == sum(one.count("</details>") for one in html)
    assert text.splitlines()[:2] == WHOLE.splitlines()[:2]


def test_what_is_kept_when_there_is_little_room_is_what_got_slower() -> None:
    text = comparison_markdown(LARGE, LARGE_COMPARED, limit=LEAST)
    assert "### Slower" in text
    assert text.count("more\N{NO-BREAK SPACE}CPU") == 12
    assert " of 12 cases that got faster" in text.partition("Left out for want of space")[2]


@given(hostile)
@settings(max_examples=40)
def test_the_least_room_is_enough_whatever_comes_from_outside(text: str) -> None:
    run, comparison = foreign(text * 50)
    shown = comparison_markdown(run, comparison, limit=LEAST, marker="m" * 200)
    assert len(shown) <= LEAST
    assert all(
        _MARK not in one.content for one in _tokens(shown) if one.type not in {"code_inline", "fence", "inline"}
    )


def test_a_marker_is_a_comment_before_everything() -> None:
    text = comparison_markdown(RUNS["regression"], judged("regression"), marker="windtunnel: comment 1")
    assert text.startswith("<!-- windtunnel: comment 1 -->\n**1 of 2")
    assert next(iter(_tokens(text))).type == "html_block"


@pytest.mark.parametrize("marker", ["a--b", "-->", "a>b", "a\nb", "é", "x" * 201])
def test_a_marker_that_would_end_its_comment_is_refused(marker: str) -> None:
    run, comparison = RUNS["identical"], judged("identical")
    with pytest.raises(ValueError, match="marker"):
        comparison_markdown(run, comparison, marker=marker)


def test_a_limit_that_holds_nothing_is_refused() -> None:
    run, comparison = RUNS["identical"], judged("identical")
    with pytest.raises(ValueError, match=str(LEAST)):
        comparison_markdown(run, comparison, limit=LEAST - 1)
