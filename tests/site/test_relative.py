"""The chain of comparisons: products, intervals that widen, gaps that are told."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from example_history import ExampleHistory, commits
from example_runs_on_disk import between, store
from hypothesis import given, settings
from hypothesis import strategies as st

from example_comparisons import CLOSE, IDENTICAL, KEEPALIVE, Measured, Sides, run_of
from windtunnel.history.nouns import RunRef
from windtunnel.sample.runfile import Arm, Failure, Run
from windtunnel.site.page import Around, Page
from windtunnel.site.relative import RELATIVE, Point, Step, chained, relative_pages, steps_of
from windtunnel.site.rundigest import digest
from windtunnel.site.runpages import run_pages

AROUND = Around("https://forge.example/commit/", "example", 0.0)
CPU = "cpu_per_request"
COMMITS = commits(8)
HASHES = [commit.hash for commit in COMMITS]
ratios = st.floats(0.2, 5.0)


def _step(base: int, head: int, ratio: float = 1.0, width: float = 0.01, **more: str) -> Step:
    found = (ratio, ratio * math.exp(-width), ratio * math.exp(width))
    return Step("psgi.Starlet", KEEPALIVE.id, HASHES[base], HASHES[head], f"runs/{head}.html", {CPU: found}, **more)


def _silent(base: int, head: int, why: str) -> Step:
    return replace(_step(base, head), ratios={}, why=why)


def _chains(*steps: Step) -> list[list[Point]]:
    return chained(steps, CPU)


# ---------------- chains


@settings(max_examples=60, deadline=None)
@given(st.lists(ratios, min_size=1, max_size=7))
def test_ratios_multiply_and_the_interval_widens(factors: list[float]) -> None:
    (chain,) = _chains(*(_step(place, place + 1, ratio) for place, ratio in enumerate(factors)))
    assert chain[-1].ratio == pytest.approx(math.prod(factors))
    widths = [math.log(point.high / point.low) for point in chain]
    assert widths[0] == 0
    assert all(later > earlier for earlier, later in pairwise(widths))
    assert widths[-1] == pytest.approx(0.02 * math.sqrt(len(factors)))


def test_the_interval_of_a_chain_holds_as_often_as_those_of_its_links() -> None:
    rng = random.Random(7)
    held = 0
    for _ in range(2000):
        steps = []
        for place in range(6):
            spread = rng.choice((0.01, 0.03))
            steps.append(_step(place, place + 1, math.exp(rng.gauss(0, spread)), 1.96 * spread))
        last = _chains(*steps)[0][-1]
        held += last.low <= 1 <= last.high
    assert 0.935 <= held / 2000 <= 0.965


def test_a_gap_begins_a_new_chain_and_is_told() -> None:
    first, second = _chains(_step(0, 1, 1.1), _step(3, 4, 1.2), _step(4, 5, 1.5))
    assert [point.commit for point in first] == [HASHES[0], HASHES[1]]
    assert [point.commit for point in second] == [HASHES[3], HASHES[4], HASHES[5]]
    assert second[-1].ratio == pytest.approx(1.8)
    assert second[0].why == f"no comparison leads from {HASHES[1][:8]} to {HASHES[3][:8]}"


def test_a_comparison_that_says_nothing_is_a_gap_with_its_reason() -> None:
    _, second = _chains(_step(0, 1), _silent(1, 2, "head: does not build"), _step(2, 3))
    assert "says nothing: head: does not build" in second[0].why


def test_a_comparison_that_reaches_over_a_failed_commit_goes_on() -> None:
    (chain,) = _chains(_step(0, 1, 1.1), _silent(1, 2, "failed"), _step(1, 3, 1.1))
    assert chain[-1].ratio == pytest.approx(1.21)


def test_nothing_makes_no_chain() -> None:
    assert _chains() == []
    assert _chains(_silent(0, 1, "failed")) == []


# ---------------- out of run files


def _ref(run: Run) -> RunRef:
    return RunRef(Path("runs/2026/x.jsonl"), run.header.arms[1].commit, base=run.header.arms[0].commit)


def _steps(run: Run) -> dict[str, Step]:
    return {step.case: step for step in steps_of(_ref(run), digest(run), "runs/x.html")}


def test_a_step_has_the_effect_and_interval_of_the_comparison() -> None:
    run = between(HASHES[0], HASHES[1], [Measured(KEEPALIVE, Sides(cpu=1.05))])
    step = _steps(run)[KEEPALIVE.id]
    ratio, low, high = step.ratios[CPU]
    assert ratio == pytest.approx(1.05, rel=0.01)
    assert low < ratio < high
    assert (step.base, step.head, step.cpu) == (HASHES[0], HASHES[1], "A processor")


def test_identical_images_are_a_link_of_nothing_and_no_gap() -> None:
    run = between(HASHES[0], HASHES[1], [])
    identical = Failure(KEEPALIVE.id, "head", "identical", IDENTICAL)
    run = replace(run, failures=(identical,), header=replace(run.header, cases=(KEEPALIVE,)))
    assert _steps(run)[KEEPALIVE.id].ratios[CPU] == (1.0, 1.0, 1.0)


def test_too_few_pairs_are_no_link() -> None:
    run = between(HASHES[0], HASHES[1], [Measured(KEEPALIVE, pairs=3)])
    step = _steps(run)[KEEPALIVE.id]
    assert step.ratios == {}
    assert step.why


def test_the_working_tree_is_no_commit_of_a_history() -> None:
    run = run_of([Measured(KEEPALIVE)])
    arms = (run.header.arms[0], Arm("head", "worktree", "worktree"))
    run = replace(run, header=replace(run.header, arms=arms))
    assert list(steps_of(RunRef(Path("x"), ""), digest(run), "x.html")) == []


# ---------------- pages


def _pages(runs: Sequence[Run], folder: Path) -> dict[str, Page]:
    history = ExampleHistory(commits_=COMMITS, runs_=store(runs, folder))
    return {page.path: page for page in run_pages(history, AROUND) if isinstance(page, Page)}


def test_the_page_tells_the_product_the_gap_and_the_machine(tmp_path: Path) -> None:
    slower = [Measured(KEEPALIVE, Sides(cpu=1.1))]
    pages = _pages(
        [
            between(HASHES[0], HASHES[1], slower),
            between(HASHES[1], HASHES[2], slower, cpu="Another processor"),
            between(HASHES[4], HASHES[5], [*slower, Measured(CLOSE)]),
        ],
        tmp_path,
    )
    body = pages["relative/psgi.Starlet.html"].body
    text = re.sub(r"<[^>]+>", " ", body)
    assert "Measured on Another processor from here on" in text
    assert f"no comparison leads from {HASHES[2][:8]} to {HASHES[4][:8]}" in text
    assert re.search(r"\+21\.\d %", text)
    assert re.search(r"\+10\.\d % \[[^]]+\]\s+in 1 link since", text)
    assert text.index(KEEPALIVE.id) < text.index(CLOSE.id)  # the longer chain first
    assert body.count('class="wt-shape wt-chain"') >= 4
    assert 'href="psgi.Starlet.html"' in pages[RELATIVE].body
    for target in re.findall(r'href="\.\./(runs/[^"]+)"', body):
        assert target in pages


def test_without_comparisons_there_are_no_pages() -> None:
    assert list(relative_pages(ExampleHistory(commits_=COMMITS), AROUND, [])) == []


def test_two_files_of_one_commit_make_no_gap(tmp_path: Path) -> None:
    history = ExampleHistory(commits_=COMMITS)
    steps = [_step(0, 1), _step(0, 1), _step(1, 2)]
    pages = {page.path: page for page in relative_pages(history, AROUND, steps)}
    assert "Gap" not in pages["relative/psgi.Starlet.html"].body
