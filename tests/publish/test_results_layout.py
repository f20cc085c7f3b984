"""What is where on the results branch, which branches are none, and in which order something is added."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from material import CASE, HEADER, LAUNCH
from windtunnel.errors import ConfigError, Exit, StorageError
from windtunnel.publish.results import (
    FORMAT_FILE,
    PAUSES,
    Addition,
    Layout,
    TryAgain,
    Written,
    add,
    check_branch_name,
    check_format,
    serves,
    signs,
)
from windtunnel.sample.runfile import Failure, Run

COMMIT, OTHER = "ab" * 20, "cd" * 20


# ---------------- paths


def test_the_layout() -> None:
    top, folder = Layout(), Layout("perf-http")
    assert (top.asv, top.calibration) == ("asv", "calibration/calibration.json")
    assert top.run(COMMIT, 2026) == f"runs/2026/{COMMIT}.jsonl.xz"
    assert top.accepted(COMMIT) == f"accepted/{COMMIT}.json"
    assert folder.asv == "directories/perf-http/asv"
    assert folder.run(COMMIT, 2026, "quick") == f"directories/perf-http/runs/2026/{COMMIT}-quick.jsonl.xz"


def test_what_is_recorded_of_one_suite_is_not_recorded_of_another() -> None:
    paths = [
        Layout().run(COMMIT, 2025),
        Layout().run(OTHER, 2026, "quick"),
        Layout("perf").run(OTHER, 2026),
        f"runs/2026/{OTHER}.txt",
        "asv/host/abababab-container.json",
    ]
    assert Layout().recorded(paths) == {COMMIT: paths[0]}
    assert Layout().recorded(paths, "quick") == {OTHER: paths[1]}
    assert Layout("perf").recorded(paths) == {OTHER: paths[2]}
    assert Layout("perf").recorded(paths, "quick") == {}


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=30), st.integers(1970, 2999))
def test_a_suite_of_any_name_is_found_again(suite: str, year: int) -> None:
    path = Layout("a").run(COMMIT, year, suite)
    assert path.count("/") == 4
    assert Layout("a").recorded([path], suite) == {COMMIT: path}
    assert Layout("a").recorded([path]) == {}


@pytest.mark.parametrize("name", ["main", "trunk", "gh-pages"])
def test_a_branch_that_is_something_else_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"windtunnel\.toml: results_branch: .* branch of their own"):
        check_branch_name(name, "trunk" if name == "trunk" else "main")
    check_branch_name("windtunnel-results", "main")


# ---------------- bases


def test_what_failed_at_head_is_no_base() -> None:
    other = replace(CASE, params=(("perl", "5.36"), ("connection", "keepalive")))
    header = replace(HEADER, cases=(CASE, other))
    bad = replace(LAUNCH, outcome="failed")
    unbuilt = Failure(other.id, "head", "failed", "no")
    assert not serves(Run(header, (bad,), (unbuilt,)))
    assert not serves(Run(header, (), (unbuilt, replace(unbuilt, case=CASE.id))))
    assert serves(Run(header, (bad, LAUNCH), (unbuilt,)))
    assert serves(Run(header, (), (unbuilt, Failure(CASE.id, "head", "identical", "the same"))))
    assert serves(Run(header, (), (unbuilt, Failure(CASE.id, "base", "failed", "no"))))


# ---------------- adding


@dataclass
class FakeBranch:
    """A branch that moves, or does not answer, as often as it is told to."""

    name: str = "results"
    tip: str = ""
    content: dict[str, bytes] = field(default_factory=dict)
    faults: int = 0
    deaf: int = 0
    meanwhile: dict[str, bytes] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def fetch(self) -> None:
        self.seen.append("fetch")
        if self.deaf:
            self.deaf -= 1
            raise TryAgain("no answer")
        self.content |= self.meanwhile
        self.tip = "theirs"

    def paths(self) -> tuple[str, ...]:
        return tuple(self.content)

    def read(self, path: str) -> bytes | None:
        return self.content.get(path)

    def append(self, files: Mapping[str, bytes], message: str) -> str:
        self.seen.append("append")
        if self.faults:
            self.faults -= 1
            raise TryAgain("it has moved")
        self.content |= files
        self.tip = message
        return message


SIGNS = {one.path: one.content for one in signs()}
ONE = Addition((Written("a", b"1"),), "one", "a")


def test_the_first_commit_says_what_the_branch_is() -> None:
    branch = FakeBranch()
    assert add(branch, ONE).commit == "one"
    assert branch.content == {**SIGNS, "a": b"1"}
    assert set(SIGNS) == {FORMAT_FILE, "README.md"}


def test_a_readme_that_somebody_has_changed_stays() -> None:
    branch = FakeBranch(tip="0", content={**SIGNS, "README.md": b"ours now"})
    add(branch, ONE)
    assert branch.content["README.md"] == b"ours now"


def test_it_is_tried_again_on_the_new_tip_with_growing_pauses() -> None:
    pauses: list[float] = []
    branch = FakeBranch(faults=4, deaf=1, meanwhile=SIGNS)
    assert add(branch, ONE, pauses.append).commit == "one"
    assert branch.seen == ["append", "fetch"] * 4 + ["append"]
    assert len(pauses) == 4
    assert all(0.5 * wanted <= pause <= 1.5 * wanted for pause, wanted in zip(pauses, PAUSES, strict=False))
    assert list(PAUSES) == sorted(PAUSES)


def test_it_is_given_up_at_some_time() -> None:
    branch = FakeBranch(faults=1000, meanwhile=SIGNS)
    with pytest.raises(StorageError, match=r"9 times .* it has moved; run the job again") as caught:
        add(branch, ONE, lambda _: None)
    assert caught.value.exit is Exit.INFRASTRUCTURE
    assert branch.seen.count("append") == len(PAUSES) + 1


def test_what_somebody_else_has_recorded_meanwhile_is_left_as_it_is() -> None:
    """Also what we pushed ourselves, and never heard that it arrived."""
    branch = FakeBranch(faults=1, meanwhile={**SIGNS, "a": b"theirs"})
    added = add(branch, ONE, lambda _: None)
    assert (added.commit, added.before) == ("theirs", True)
    assert branch.content["a"] == b"theirs"


def test_files_that_both_have_changed_are_merged_with_what_is_there_now() -> None:
    seen: list[tuple[bytes | None, bytes, bytes]] = []

    def merge(before: bytes | None, own: bytes, there: bytes) -> bytes:
        seen.append((before, own, there))
        return there + own

    branch = FakeBranch(tip="0", content={**SIGNS, "list": b"0"}, faults=1, meanwhile={"list": b"0 theirs"})
    add(branch, Addition((Written("list", b" ours", b"0", merge),), "one"), lambda _: None)
    assert branch.content["list"] == b"0 theirs ours"
    assert seen == [(b"0", b" ours", b"0 theirs")]


@pytest.mark.parametrize(
    "content",
    [
        {"index.html": b"<p>"},
        {FORMAT_FILE: b"{"},
        {FORMAT_FILE: b"[" * 100_000},
        {FORMAT_FILE: b"[1]"},
        {FORMAT_FILE: json.dumps({"format": "other", "version": 1}).encode()},
        {FORMAT_FILE: json.dumps({"format": "windtunnel-results", "version": 2}).encode()},
    ],
)
def test_a_branch_that_holds_something_else_is_never_written_to(content: dict[str, bytes]) -> None:
    branch = FakeBranch(tip="0", content=dict(content))
    with pytest.raises(ConfigError, match=r"windtunnel\.toml: results_branch: .* name another branch"):
        check_format(branch)
    with pytest.raises(ConfigError):
        add(branch, ONE)
    assert branch.content == content
    assert branch.seen == []
