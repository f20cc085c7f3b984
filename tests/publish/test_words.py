"""What is told where nothing was judged: text from outside stays in its code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from pretend_forge import workflow_run

from windtunnel.publish.comment import Marker, key_of, parse_marker
from windtunnel.publish.forge import WorkflowRun
from windtunnel.publish.gate import TITLE, short
from windtunnel.publish.judging import Judged, Offer
from windtunnel.publish.words import Told, told_markdown, why_nothing
from windtunnel.report.around import Around

REPOSITORY = "https://forge.example/owner/project"
HEAD = "ab" * 20
PIECES = [
    "@everyone",
    "<b>",
    "<!--",
    "-->",
    "`",
    "``",
    "[x](y)",
    "![x](y)",
    "https://x.example",
    "\n",
    "\n\n",
    "|",
    "#1",
    "* ",
    "    ",
]
hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=12).map("".join)


def tokens(markdown: str) -> Iterator[Token]:
    for token in MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table").parse(markdown):
        yield token
        yield from token.children or ()


def told(fault: str, suite: str = "", run_url: str = f"{REPOSITORY}/actions/runs/1", **more: object) -> Told:
    judged = Judged(suite, fault=fault, **more)  # type: ignore[arg-type]
    return Told(judged, Around(repository_url=REPOSITORY, run_url=run_url, suite=suite), HEAD)


@given(hostile, hostile)
def test_a_fault_from_outside_is_code_and_nothing_else(fault: str, suite: str) -> None:
    marker = Marker(key_of("", suite), HEAD, 1)
    markdown = told_markdown(told(fault, suite), limit=60_000, marker=str(marker))
    assert parse_marker(markdown) == marker
    found = list(tokens(markdown))
    links = [str(one.attrs["href"]) for one in found if one.type == "link_open"]
    assert links == [f"{REPOSITORY}/commit/{HEAD}", f"{REPOSITORY}/actions/runs/1"]
    assert [one.content for one in found if one.type in {"html_block", "html_inline"}] == [f"<!-- {marker} -->\n"]
    plain = "".join(one.content for one in found if one.type == "text")
    assert "@" not in plain
    assert not {"image", "heading_open", "table_open", "list_item_open", "blockquote_open"} & {
        one.type for one in found
    }


@given(st.text(max_size=3_000))
def test_it_is_never_long(fault: str) -> None:
    assert len(told_markdown(told(fault, fault[:200]), limit=60_000)) < 2_000
    assert len(short(fault)) <= TITLE


def test_nothing_outside_of_the_repository_is_linked() -> None:
    assert "evil" not in told_markdown(told("x", run_url="https://evil.example/run"), limit=60_000)


def test_our_own_words_are_plain() -> None:
    assert "\nThe run was cancelled.\n" in told_markdown(told("The run was cancelled.", foreign=False), limit=60_000)


@pytest.mark.parametrize(
    ("run", "offer", "words"),
    [
        (workflow_run(conclusion="timed_out"), Offer({}), "took too long"),
        (workflow_run(conclusion="skipped"), Offer({}), "was skipped"),
        (workflow_run(conclusion="whatever"), Offer({}), "left no run file"),
        (workflow_run(), Offer({}, expired=1), "kept no longer"),
        (workflow_run(), Offer({}, others=1), "other folders only"),
        (workflow_run(), Offer({}, undeclared=("a`b",)), "does not declare the suite ``a`b``"),
    ],
)
def test_why_there_is_nothing(run: WorkflowRun, offer: Offer, words: str) -> None:
    assert words in why_nothing(run, offer)
