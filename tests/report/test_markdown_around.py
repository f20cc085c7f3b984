"""The comment on a pull request: every state as it should look, and what a forge adds at its front."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from test_comparison_markdown import _MARK, _tokens, hostile
from test_comparison_text import _golden

from example_comparisons import BASE, HEAD, RUNS, foreign, judged
from example_reports import MARKER, NEWER, REPOSITORY, RUN, STATES, WHEN, Shown, shown
from windtunnel.report.around import ACCEPT_COMMAND, ACCEPT_LABEL, Acceptance, Around
from windtunnel.report.markdown import LEAST, comparison_markdown
from windtunnel.report.markdown_opening import opening
from windtunnel.report.pieces import RESERVED, prose
from windtunnel.sample.runfile import Shard

_PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")
ACCEPTED = Acceptance("alice", "worth it", WHEN, f"{REPOSITORY}/pull/7#issuecomment-1")


def _markdown(state: Shown, **changes: object) -> str:
    around = replace(state.around, **changes)
    return comparison_markdown(state.run, state.comparison, limit=state.limit, marker=state.marker, around=around)


def _regression(**around: object) -> str:
    return comparison_markdown(RUNS["regression"], judged("regression"), around=Around(**around))  # type: ignore[arg-type]


def _links(text: str) -> Iterator[str]:
    for token in _tokens(text):
        if token.type in {"link_open", "image"}:
            yield str(token.attrGet("href") or token.attrGet("src"))


@pytest.mark.parametrize("name", STATES)
def test_the_comment_is_as_it_should_look(name: str) -> None:
    text = _markdown(shown(name))
    assert text == _golden(f"comment-{name}.md", text)
    assert len(text) <= shown(name).limit


@pytest.mark.parametrize("name", RUNS)
def test_nothing_around_changes_nothing(name: str) -> None:
    run, comparison = RUNS[name], judged(name)
    assert comparison_markdown(run, comparison, around=Around()) == comparison_markdown(run, comparison)


# ---------------- the front


def test_a_suite_is_named_first() -> None:
    assert _regression(suite="pr").startswith("**Suite `pr`: 1 of 2 cases got slower, ")
    first = _markdown(shown("suite")).splitlines()[1]
    assert first.startswith("**Suite `pr`: no change larger than 2 % in 1 case.**")


def test_an_accepted_slowdown_leaves_nothing_to_do_and_says_who_accepted_it() -> None:
    first, _, second, _, third, *_ = _regression(repository_url=REPOSITORY, acceptance=ACCEPTED).splitlines()
    assert first == "**1 of 2 cases got slower, 1 is unchanged.** Nothing to do: the slowdown was accepted."
    assert second == f"Accepted by `alice` on 2026-11-30 ([comment]({ACCEPTED.url})):"
    assert third == "> `worth it`"


def test_what_else_is_to_be_done_stays_when_a_slowdown_is_accepted() -> None:
    first = _markdown(shown("accepted-label")).splitlines()[1]
    assert "To do: make head build" in first
    assert "find what made head slower" not in first
    assert first.endswith("The slowdown was accepted.")


def test_where_nothing_got_slower_nothing_was_accepted() -> None:
    run, comparison = RUNS["invalid"], judged("invalid")
    plain = comparison_markdown(run, comparison)
    assert comparison_markdown(run, comparison, around=Around(acceptance=ACCEPTED)) == plain


@pytest.mark.parametrize(
    "url",
    [
        "https://elsewhere.example/pull/7",
        f"{REPOSITORY}-evil/pull/7",
        REPOSITORY,
        f"{REPOSITORY}/pull/7) [x](https://elsewhere.example",
        f"{REPOSITORY}/a b",
        f"{REPOSITORY}/<script>",
        "javascript:alert(1)",
        "",
    ],
)
def test_only_a_comment_of_the_own_repository_is_linked(url: str) -> None:
    text = _regression(repository_url=REPOSITORY, acceptance=replace(ACCEPTED, url=url))
    assert "Accepted by `alice`" in text
    assert all(link.startswith(f"{REPOSITORY}/commit/") for link in _links(text))


def test_an_outdated_report_says_first_what_it_is_of_and_what_becomes_of_the_newer_one() -> None:
    first = _markdown(shown("outdated")).splitlines()[1]
    assert first.startswith(f"**Outdated: this is of [`{HEAD.commit[:10]}`]({REPOSITORY}/commit/{HEAD.commit}).**")
    assert f"[`{NEWER[:10]}`]({REPOSITORY}/commit/{NEWER}) now, which [is being measured]({RUN[:-1]}2)" in first
    assert "nothing measures that yet" in _markdown(shown("outdated-unmeasured")).splitlines()[1]
    assert _regression(newer_head=NEWER).splitlines()[0].endswith(f"The pull request is at `{NEWER[:10]}` now.")


def test_how_to_accept_is_told_exactly_where_it_can_be_done() -> None:
    hint = f"`{ACCEPT_COMMAND} REASON`"
    told = {name for name in STATES if hint in _markdown(shown(name))}
    assert told == {"comment", "merged-comment", "grid", "grid-of-three", "huge"}
    assert hint not in _regression(repository_url=REPOSITORY)
    assert f"`{ACCEPT_LABEL}`" in _markdown(shown("comment"))


def test_remarks_stand_at_the_front_with_names_as_code() -> None:
    text = _markdown(shown("remark"))
    before, _, _ = text.partition("### ")
    assert "Note: The run compares with `5e6f7a8b90`, and the pull request's merge-base is `0fedcba987`: " in before
    assert "or `targets/starlet/target.toml` names another one." in before


# ---------------- links


def test_own_commits_are_linked_and_the_run_that_measured() -> None:
    found = set(_links(_markdown(shown("comment"))))
    assert found == {f"{REPOSITORY}/commit/{BASE.commit}", f"{REPOSITORY}/commit/{HEAD.commit}", RUN}


@pytest.mark.parametrize("commit", ["../../evil/evil", "1a2b3c4d5e", "1A2B3C4D5E" * 4, "1a2b3c4d5e" * 4 + "\n", ""])
def test_what_is_no_commit_is_not_linked(commit: str) -> None:
    run = RUNS["regression"]
    arms = tuple(replace(arm, commit=commit) for arm in run.header.arms)
    odd = replace(run, header=replace(run.header, arms=arms))
    text = comparison_markdown(odd, judged("regression"), around=Around(REPOSITORY, newer_head=commit))
    assert not list(_links(text))


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://a b", "https://a)(", "ftp://a", "https://<b>", "/x"])
def test_what_is_no_address_is_not_linked(url: str) -> None:
    assert not list(_links(_regression(repository_url=url, run_url=url, newer_head=NEWER, newer_run_url=url)))


def test_what_is_left_out_is_in_the_summary_of_the_run() -> None:
    text = _markdown(shown("huge"))
    assert f"The [summary of the measuring job]({RUN}) has all of it." in text
    assert "`windtunnel show --json RUNFILE` has all of it." in _markdown(shown("huge"), run_url="")


# ---------------- what comes from outside


def _hostile_around(text: str) -> Around:
    acceptance = Acceptance(text, text, WHEN, text, text)
    return Around(REPOSITORY, RUN, text, acceptance, text, (text,), text)


@given(hostile)
@settings(max_examples=30)
@example(f"{_MARK}\\|")
@example(f"`{_MARK}")
def test_whatever_is_around_it_stays_in_code(text: str) -> None:
    run, comparison = foreign(text)
    shards = (Shard(text, text, (text,), text, text, (text,), run.header.host),)
    merged = replace(run, header=replace(run.header, host=None, shards=shards))
    for one in (run, merged):
        found = comparison_markdown(one, comparison, around=_hostile_around(text))
        assert all(link.startswith((f"{REPOSITORY}/commit/", RUN)) for link in _links(found))
        for token in _tokens(found):
            if token.type == "text":
                _no_more_than_words(token)
            elif token.type not in {"code_inline", "fence", "inline"}:
                assert _MARK not in token.content


def _no_more_than_words(token: Token) -> None:
    """Of a remark plain words may stand outside of code, and those are words to GitHub too."""
    if _MARK in token.content:
        assert not re.search(rf"[@#/\\_*~\[\]<>|&$:](?=\S*{_MARK})|{_MARK}\S*[@/\\_*~\[\]<>|&$]", token.content)


@given(st.text(max_size=60) | hostile)
def test_a_remark_is_words_and_code(text: str) -> None:
    for token in _tokens(f"Note: {prose(text)}"):
        assert token.type in {"paragraph_open", "paragraph_close", "inline", "text", "code_inline"}, token
        if token.type == "text":
            assert re.fullmatch(r"[\sA-Za-z0-9().,;:?!'%-]*", token.content)
            assert not re.search(
                r"[A-Za-z0-9][.:][A-Za-z0-9]*[A-Za-z]|www\.|GH-[0-9]|(?=[0-9a-f]*[0-9])[0-9a-f]{7}", token.content
            )


_LONG = st.sampled_from(
    ["x" * 400, "`" * 400, "a @ " * 100, "é" * 400, "0" * 40, "\\" * 400, "https://a/" + "b" * 400]
)


@given(_LONG)
def test_the_front_fits_whatever_is_in_it(text: str) -> None:
    run, comparison = foreign(text)
    acceptance = Acceptance(text, text, WHEN, f"{REPOSITORY}/{'c' * 150}", text)
    around = Around(REPOSITORY, f"{RUN}/{'d' * 150}", text, acceptance, NEWER, (text,) * 5, f"{RUN}/{'e' * 150}")
    assert len(opening(run, comparison, around)) < LEAST - RESERVED - 210
    found = comparison_markdown(run, comparison, limit=LEAST, marker="m" * 200, around=around)
    assert len(found) <= LEAST
    assert "Left out for want of space" in found


def test_a_time_without_a_zone_is_taken_as_it_is() -> None:
    naive = datetime.datetime(2026, 11, 30, 23, 30)  # noqa: DTZ001
    assert "on 2026-11-30" in _regression(acceptance=replace(ACCEPTED, created=naive))


# ---------------- other places


def test_the_summary_of_a_check_says_the_same_without_a_marker() -> None:
    state = shown("comment")
    text = comparison_markdown(state.run, state.comparison, limit=65_000, around=state.around)
    assert text.startswith("**1 of 2 cases got slower")
    assert ACCEPT_COMMAND not in text
    assert MARKER in _markdown(state)


def test_the_page_about_reports_shows_one_as_it_is() -> None:
    page = (Path(__file__).parents[2] / "site/reports.md").read_text("utf-8")
    (told,) = re.findall(r'^````markdown title="comment-grid.md"\n(.*?)^````$', page, re.MULTILINE | re.DOTALL)
    assert told == re.sub(r"\n<details>.*?</details>\n", "", _markdown(shown("grid")), flags=re.DOTALL)
