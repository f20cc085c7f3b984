"""A page per run: that it says what the comparison and the report say, is bounded, and takes nothing for markup."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from example_history import ExampleHistory, commits
from example_runs_on_disk import between, store, write

from example_comparisons import (
    CLOSE,
    KEEPALIVE,
    RUNS,
    Measured,
    Sides,
    case,
    foreign,
    judged,
    run_of,
)
from windtunnel.history.nouns import RunRef
from windtunnel.report.comparison_words import headline
from windtunnel.report.run import render_run
from windtunnel.sample.runfile import Run
from windtunnel.site import runpages
from windtunnel.site.page import Around, Page
from windtunnel.site.runpages import RUNS as LIST
from windtunnel.site.runpages import run_pages, run_paths

AROUND = Around("https://forge.example/commit/", "example", 0.0)
COMMITS = commits(8)
HASHES = [commit.hash for commit in COMMITS]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)> [x](javascript:alert(3)) \"' \x1b[31m"


def _history(*runs: Run, folder: Path) -> ExampleHistory:
    return ExampleHistory(commits_=COMMITS, runs_=store(runs, folder))


def _pages(history: ExampleHistory) -> dict[str, Page]:
    return {page.path: page for page in run_pages(history, AROUND) if isinstance(page, Page)}


def _body(run: Run, folder: Path) -> str:
    history = _history(run, folder=folder)
    return _pages(history)[run_paths(history)[history.runs_[0]]].body


def _text(html: str) -> str:
    plain = re.sub(r"<(script|svg)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", plain)).replace("&#39;", "'").replace("&#34;", '"')


# ---------------- what it says


@pytest.mark.parametrize("name", RUNS)
def test_every_state_has_a_page_with_its_headline_and_every_case(name: str, tmp_path: Path) -> None:
    run = RUNS[name]
    arms = (replace(run.header.arms[0], commit=HASHES[0]), replace(run.header.arms[1], commit=HASHES[1]))
    text = _text(_body(replace(run, header=replace(run.header, arms=(*arms, *run.header.arms[2:]))), tmp_path))
    comparison = judged(name)
    assert headline(run, comparison) in text
    for one in comparison.cases:
        assert one.case.id in text
    assert ("cut short" in text) is (not run.complete)


def test_the_report_is_that_of_the_terminal(tmp_path: Path) -> None:
    run = between(HASHES[0], HASHES[1], [Measured(KEEPALIVE, Sides(cpu=1.05), pairs=10)])
    text = _text(_body(run, tmp_path))
    for line in render_run(run).splitlines():
        match = re.fullmatch(
            r"  (Requests per second|Transfer rate|Failed requests|Document length) +(\S+(?: \S+)?)  .*", line
        )
        if match:
            assert match[2] in text, line
    for label in ("Requests per second", "Time per request", "Transfer rate", "Failed requests", "Served within"):
        assert label in text
    assert "95 %" in text
    assert "windtunnel compare" in text


def test_the_effect_and_what_decides_are_those_of_the_comparison(tmp_path: Path) -> None:
    run = between(HASHES[0], HASHES[1], [Measured(KEEPALIVE, Sides(cpu=1.05, wait=1.1))])
    text = _text(_body(run, tmp_path))
    assert re.search(r"\+5\.\d % \[\+\d\.\d, \+\d\.\d\] more CPU", text)
    assert "(decides)" in text


def test_latencies_and_launches_are_drawn(tmp_path: Path) -> None:
    body = _body(
        between(HASHES[0], HASHES[1], [Measured(KEEPALIVE), Measured(CLOSE), Measured(case("5.32"))]), tmp_path
    )
    assert body.count("Latency under load") >= 2  # the first two cases have charts
    assert 'id="latency-1"' in body
    assert 'id="launches-2"' in body
    strips = re.findall(r'<svg class="wt-shape wt-dots".*?</svg>', body)
    assert len(strips) == 3 * 2  # the third has a strip for each judged metric and arm
    assert strips[0].count("h.01") == 16


def test_a_run_that_compares_nothing_has_its_reports(tmp_path: Path) -> None:
    run = between(HASHES[0], HASHES[1], [Measured(KEEPALIVE)])
    run = replace(run, header=replace(run.header, compare=None))
    text = _text(_body(run, tmp_path))
    assert "Nothing was compared" in text
    assert "Requests per second" in text


# ---------------- bounds


def test_a_large_run_has_a_table_of_all_and_the_reports_of_those_that_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runpages, "_REPORTS", 3)
    monkeypatch.setattr(runpages, "_ROWS", 5)
    measured = [Measured(case(f"5.{number}"), pairs=6) for number in range(6)]
    slower = Measured(case("5.99"), Sides(cpu=1.2))
    text = _text(_body(between(HASHES[0], HASHES[1], [*measured, slower]), tmp_path))
    assert "2 further cases are left out here" in text
    assert "reports of 4 further cases are left out" in text
    assert text.index(slower.case.id) < text.index(measured[0].case.id)


# ---------------- the list, and what was accepted


def _accepted(folder: Path, commit: str, **changed: object) -> Path:
    document = {
        "format": "windtunnel-accepted",
        "version": 1,
        "commit": commit,
        "pull_request": 7,
        "by": "maintainer",
        "reason": "signatures are checked now",
        "created": "2026-12-01T12:00:00+00:00",
        "url": "https://forge.example/pull/7#issuecomment-1",
        "label": "",
        "regressions": [KEEPALIVE.id],
        **changed,
    }
    path = folder / "accepted" / f"{commit}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_an_accepted_regression_is_told_on_its_run_and_in_the_list(tmp_path: Path) -> None:
    history = _history(between(HASHES[0], HASHES[1], [Measured(KEEPALIVE, Sides(cpu=1.1))]), folder=tmp_path)
    _accepted(tmp_path, HASHES[1])
    _accepted(tmp_path, HASHES[5], by="another")
    pages = _pages(history)
    body = pages[run_paths(history)[history.runs_[0]]].body
    assert "accepted by maintainer: “signatures are checked now”" in _text(body)
    assert 'href="https://forge.example/pull/7#issuecomment-1"' in body
    text = _text(pages[LIST].body)
    assert "accepted by maintainer" in text
    assert "by another" in text


@pytest.mark.parametrize(
    "changed",
    [{"format": "x"}, {"version": 2}, {"by": 3}, {"regressions": "all"}, {"regressions": [1]}, {"commit": "ab" * 20}],
)
def test_an_odd_acceptance_is_passed_over_and_named(tmp_path: Path, changed: dict[str, object]) -> None:
    history = _history(between(HASHES[0], HASHES[1], [Measured(KEEPALIVE)]), folder=tmp_path)
    path = _accepted(tmp_path, HASHES[1])
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    pages = _pages(history)
    assert path.name in pages[LIST].body
    assert "accepted by" not in pages[run_paths(history)[history.runs_[0]]].body


@pytest.mark.parametrize("content", [b"", b"[", b"[" * 100_000, b"\xff\xfe", b" " * (2 << 20)])
def test_an_acceptance_that_is_no_json_is_passed_over(tmp_path: Path, content: bytes) -> None:
    history = _history(between(HASHES[0], HASHES[1], [Measured(KEEPALIVE)]), folder=tmp_path)
    _accepted(tmp_path, HASHES[1]).write_bytes(content)
    assert f"{HASHES[1]}.json" in _pages(history)[LIST].body


def test_a_link_of_an_acceptance_is_one_of_the_web(tmp_path: Path) -> None:
    history = _history(between(HASHES[0], HASHES[1], [Measured(KEEPALIVE)]), folder=tmp_path)
    _accepted(tmp_path, HASHES[1], url="javascript:alert(1)", reason=HOSTILE, by=HOSTILE)
    for page in _pages(history).values():
        assert "javascript:alert(1)" not in page.body
        assert "<img" not in page.body


def test_a_file_that_is_no_run_is_named_and_the_others_have_pages(tmp_path: Path) -> None:
    good = _history(between(HASHES[0], HASHES[1], [Measured(KEEPALIVE)]), folder=tmp_path)
    broken = tmp_path / "runs" / "2026" / f"{HASHES[2]}.jsonl.xz"
    broken.write_bytes(b"half")
    history = replace(good, runs_=(*good.runs_, RunRef(broken, HASHES[2])))
    pages = _pages(history)
    assert run_paths(history)[good.runs_[0]] in pages
    assert run_paths(history)[history.runs_[1]] not in pages
    text = _text(pages[LIST].body)
    assert f"runs/2026/{HASHES[2]}.jsonl.xz" in text
    assert str(tmp_path) not in text


def test_links_of_the_list_lead_to_the_pages(tmp_path: Path) -> None:
    runs = [between(HASHES[place], HASHES[place + 1], [Measured(KEEPALIVE, pairs=6)]) for place in range(3)]
    pages = _pages(_history(*runs, folder=tmp_path))
    found = re.findall(r'<th scope="row"><a href="([^"]+)"', pages[LIST].body)
    assert [f"runs/{name}" for name in found] == [f"runs/{HASHES[place][:12]}.html" for place in (3, 2, 1)]
    assert all(f"runs/{name}" in pages for name in found)


def test_the_list_tells_what_changed_most(tmp_path: Path) -> None:
    measured = [Measured(KEEPALIVE, Sides(cpu=1.05)), Measured(CLOSE, Sides(cpu=0.8)), Measured(case("5.32"))]
    text = _text(_pages(_history(between(HASHES[0], HASHES[1], measured), folder=tmp_path))[LIST].body)
    assert re.search(re.escape(CLOSE.id) + r": CPU per request -20\.\d % \[", text)
    assert KEEPALIVE.id not in text


def test_nothing_has_a_list_that_says_so() -> None:
    assert "There is no run file" in _pages(ExampleHistory(commits_=COMMITS))[LIST].body


def test_files_of_one_commit_have_pages_of_their_own(tmp_path: Path) -> None:
    run = between(HASHES[0], HASHES[1], [Measured(KEEPALIVE, pairs=6)])
    refs = [
        RunRef(write(run, tmp_path / f"{name}.jsonl"), HASHES[1], suite)
        for name, suite in ((HASHES[1], ""), (f"{HASHES[1]}-nightly", "nightly"), ("twice", ""), ("Twice", ""))
    ]
    found = run_paths(ExampleHistory(commits_=COMMITS, runs_=tuple(refs)))
    assert len({path.lower() for path in found.values()}) == 4


# ---------------- strangers


def test_whatever_comes_from_outside_is_text(tmp_path: Path) -> None:
    run, _ = foreign(HOSTILE)
    arms = tuple(replace(arm, commit=HASHES[place]) for place, arm in enumerate(run.header.arms))
    launches = run_of([Measured(KEEPALIVE)]).launches
    cases = (*run.header.cases, KEEPALIVE)
    whole = replace(run, header=replace(run.header, arms=arms, cases=cases), launches=launches)
    body = _body(whole, tmp_path)
    assert "&lt;script&gt;alert(1)" in body
    assert not re.search(r"<(script(?! type=\"application/json\")|img|iframe)", body)
    assert not re.search(r'(?:href|src)="\s*javascript', body)
    assert "\x1b" not in body
