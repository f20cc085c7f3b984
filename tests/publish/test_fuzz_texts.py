"""Every text in a run file, whatever stands there: a refusal in one visible line, or a report that is only read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from handed_over import HEAD_SHA, SUITES, ids, lines_of, places, renamed, shape, write_lines
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safe_markdown import MARK, assert_safe

from windtunnel.compare.verdict import compare
from windtunnel.publish.intake import IntakeError, check_run, read_artifact
from windtunnel.report.comparison import render_comparison
from windtunnel.report.markdown import comparison_markdown
from windtunnel.sample.runfile import Run

MARKER = "windtunnel comment ./quick head=1 run=2"
LIMIT = 60_000

PAYLOADS = [
    f"@{MARK}",
    f"@{MARK}/{MARK}",
    f"<!-- {MARKER} --> {MARK}",
    f"--> {MARK} <!--",
    f"#123 {MARK}",
    f"{MARK}/{MARK}#1",
    f"GH-1 {MARK}",
    f"fixes #1 {MARK}",
    f"https://{MARK}.example",
    f"www.{MARK}.example",
    f"{MARK}@{MARK}.example",
    f"[{MARK}](javascript:alert(1))",
    f"![{MARK}](https://{MARK}.example/x.png)",
    f"[{MARK}]: https://{MARK}.example",
    f"<img src=x onerror=alert(1) alt={MARK}>",
    f"<script>{MARK}</script>",
    f"</details></details><h1>{MARK}",
    f"</code></pre>{MARK}",
    f"| {MARK} | {MARK} |\n|---|---|\n| {MARK} | x |",
    f"{MARK}|{MARK}\\|\\\\|",
    f"``` {MARK}\n```\n# {MARK}",
    f"~~~~ {MARK}",
    f"`{MARK}`` ```{MARK}````",
    f"\n\n# {MARK}\n\n- {MARK}",
    f"\r\n::error::{MARK}\r::set-output name=x::{MARK}",
    f"\n::stop-commands::{MARK}\n##[command]{MARK}",
    f"\u202e{MARK}\u2066\u200b\u200d\ufeff{MARK}",
    f"\x1b]0;{MARK}\x07\x1b[31m{MARK}\x00\x08",
    f"\ud83d{MARK}\udce9",
    f"\u2028{MARK}\u2029{MARK}\x85{MARK}\x0b",
    f"$${MARK}$$ $\\href{{javascript:alert(1)}}{{{MARK}}}$",
    f"&lt;b&gt;{MARK}&#60;b>",
    f"{'`' * 3000}{MARK}",
    f"{MARK}{'x' * 999}",
    f"{MARK}{'|' * 999}",
    "c0ffee" * 6 + f"abcd {MARK}",
    f":{MARK}: :tada:",
    f"${{{{ secrets.{MARK} }}}} $(echo {MARK}) `{MARK}` '{MARK}' \"; {MARK}",
]


def _set(lines: Any, at: tuple[Any, ...], value: Any) -> None:
    here = lines
    for key in at[:-1]:
        here = here[key]
    here[at[-1]] = value


def _get(lines: Any, at: tuple[Any, ...]) -> Any:
    for key in at:
        lines = lines[key]
    return lines


@cache
def _texts() -> dict[str, list[tuple[Any, ...]]]:
    """The places that hold a text, by shape."""
    lines = lines_of()
    found: dict[str, list[tuple[Any, ...]]] = {}
    for at in places(lines):
        if len(at) > 1 and isinstance(_get(lines, at), str):
            found.setdefault(shape(lines, at), []).append(at)
    return found


@cache
def _keys() -> dict[str, list[tuple[Any, ...]]]:
    """The places of all keys, by shape."""
    lines = lines_of()
    found: dict[str, list[tuple[Any, ...]]] = {}
    for at in places(lines):
        if len(at) > 1 and isinstance(at[-1], str):
            found.setdefault(shape(lines, at), []).append(at)
    return found


def _replaced(lines: Any, shapes: Sequence[str], text: str) -> None:
    """Names of cases stay different from each other, and what refers to them goes on to."""
    before = ids(lines)
    for name in shapes:
        for at in _texts()[name]:
            own = f"{text}{at[2]}" if name.startswith("header.cases.") else text
            _set(lines, at, own)
    renamed(lines, before)


def _taken(lines: Any, path: Path) -> Run | None:
    """The run, if the intake lets it in; else the refusal is as it should be."""
    try:
        run = read_artifact(write_lines(lines, path))
        check_run(run, head_sha=HEAD_SHA, suites=SUITES)
    except IntakeError as error:
        assert str(error).replace("\N{ZERO WIDTH JOINER}", "").isprintable(), str(error)
        assert len(str(error)) <= 500
        return None
    return run


def _reported(run: Run) -> str:
    comparison = compare(run)
    text = comparison_markdown(run, comparison, limit=LIMIT, marker=MARKER)
    assert_safe(text, MARKER, LIMIT)
    shown = render_comparison(run, comparison)
    odd = {
        char for char in shown if not char.isprintable() and unicodedata.category(char) != "Zs"
    }  # a log has spaces
    assert odd <= {"\n", "\N{ZERO WIDTH JOINER}"}
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("texts")


@pytest.fixture(scope="module")
def free(folder: Path) -> list[str]:
    """The shapes in which any text is taken: all but the words that the format itself has."""
    found = []
    for name in _texts():
        if name.endswith(".type"):
            continue  # a line of a kind that is not known is passed over
        lines = lines_of()
        _replaced(lines, [name], "zqx plain")
        if _taken(lines, folder / "free.jsonl") is not None:
            found.append(name)
    return found


def test_the_honest_file_has_a_report_and_texts_in_every_record(folder: Path, free: list[str]) -> None:
    run = _taken(lines_of(), folder / "honest.jsonl")
    assert run is not None
    text = _reported(run)
    assert all(
        f"### {title}" in text for title in ("Slower", "Failed", "Invalid", "Could not be told", "New in head")
    )
    assert {name.partition(".")[0] for name in free} == {"header", "launch", "failure", "sizes"}
    assert {"header.cases.*.benchmark", "header.arms.*.subject", "launch.reason", "failure.reason"} <= set(free)
    refused = set(_texts()) - set(free)
    assert {"header.format", "header.arms.*.commit", "launch.arm", "launch.outcome", "failure.kind"} <= refused


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_whatever_stands_in_all_texts_the_report_is_only_read(payload: str, folder: Path, free: list[str]) -> None:
    lines = lines_of()
    _replaced(lines, free, payload)
    run = _taken(lines, folder / "all.jsonl")
    if run is None:
        assert len(payload) > 900
        lines = lines_of()
        _replaced(
            lines, [name for name in free if not re.match(r"header\.(?!cases)", name)], payload[:60] + payload[-60:]
        )
        run = _taken(lines, folder / "cut.jsonl")
    assert run is not None
    assert MARK in _reported(run)


@pytest.mark.parametrize("name", sorted(_texts()))
def test_whatever_stands_in_one_text_there_is_a_report_or_a_sentence(name: str, folder: Path) -> None:
    lines = lines_of()
    _replaced(
        lines,
        [name],
        f"\n|@{MARK}`<!-- {MARKER} -->\u202e\u200d\N{NO-BREAK SPACE}[{MARK}](x)\n```\n::error::{MARK}\n# ",
    )
    run = _taken(lines, folder / "one.jsonl")
    if run is not None:
        _reported(run)


@pytest.mark.parametrize("name", sorted(_keys()))
def test_whatever_is_a_key_there_is_a_report_or_a_sentence(name: str, folder: Path) -> None:
    lines = lines_of()
    for at in _keys()[name]:
        record = _get(lines, at[:-1])
        if at[-1] in record:
            record[f"\n|@{MARK}`<b>\u202e::error::{'k' * 400}"] = record.pop(at[-1])
    run = _taken(lines, folder / "key.jsonl")
    if run is not None:
        _reported(run)


@given(data=st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_stands_in_some_texts_there_is_a_report_or_a_sentence(data: st.DataObject, folder: Path) -> None:
    pieces = st.lists(st.sampled_from(PAYLOADS) | st.text(max_size=6), min_size=1, max_size=4).map("".join)
    lines = lines_of()
    for name in data.draw(st.lists(st.sampled_from(sorted(_texts())), min_size=1, max_size=4, unique=True)):
        _replaced(lines, [name], data.draw(pieces))
    run = _taken(lines, folder / "some.jsonl")
    if run is not None:
        _reported(run)


@pytest.mark.parametrize("name", ["launch.detail", "launch.reason", "launch.slices.*.warnings.*", "failure.detail"])
def test_ten_megabytes_in_a_text_are_refused_or_cut(name: str, folder: Path) -> None:
    lines = lines_of()
    at = _texts()[name][-1]
    for size in (7 << 20, 10 << 20):
        _set(lines, at, f"{MARK} " * (size // 4))
        run = _taken(lines, folder / "long.jsonl")
        assert (run is None) == (size > 8 << 20 or name.endswith(("reason", "*"))), size
        if run is not None:
            _reported(run)
