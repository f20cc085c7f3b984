"""Which commit is recorded, and what it is compared with."""

from __future__ import annotations

from pathlib import Path

import payloads
import pytest
from checkouts import Checkout, Origin
from projects import suite_files

from windtunnel.cli.action.events import Event
from windtunnel.cli.action.mainline import base_of, check_whole, first_parents, head_of, main_of
from windtunnel.declare.suite import Suite, find_suite
from windtunnel.errors import ConfigError


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path / "origin", suite_files())


def _at(origin: Origin, tmp_path: Path, name: str = "job") -> tuple[Checkout, Suite]:
    checkout = origin.checkout(tmp_path / name, "refs/heads/main")
    return checkout, find_suite(checkout.path)


@pytest.mark.parametrize("name", ["push", "workflow_dispatch", "schedule"])
def test_the_commit_that_the_workflow_runs_for(origin: Origin, tmp_path: Path, name: str) -> None:
    checkout, suite = _at(origin, tmp_path)
    payload = payloads.push("", checkout.sha) if name == "push" else payloads.dispatch()
    assert head_of(checkout.event(name, payload), suite) == checkout.sha


@pytest.mark.parametrize("name", ["pull_request", "pull_request_target", "workflow_run", "merge_group", "release"])
def test_no_other_event_writes_history(origin: Origin, tmp_path: Path, name: str) -> None:
    checkout, suite = _at(origin, tmp_path)
    event = Event(name, payloads.push("", checkout.sha), "o/p", checkout.sha, "refs/heads/main")
    with pytest.raises(ConfigError, match=f"from the branch main only: .* {name}; let it run on push"):
        head_of(event, suite)


@pytest.mark.parametrize("ref", ["refs/heads/topic", "refs/tags/v1", "refs/heads/main/x", ""])
def test_no_other_branch_does(origin: Origin, tmp_path: Path, ref: str) -> None:
    checkout, suite = _at(origin, tmp_path)
    event = Event("push", payloads.push("", checkout.sha, ref), "o/p", checkout.sha, ref)
    with pytest.raises(ConfigError, match=r"from the branch main only: .*branches: \[main\]"):
        head_of(event, suite)


def test_main_is_what_the_forge_calls_its_default_branch(origin: Origin, tmp_path: Path) -> None:
    checkout, suite = _at(origin, tmp_path)
    trunk = Event("push", payloads.push("", checkout.sha, "refs/heads/trunk", "trunk"), "o/p", checkout.sha, "")
    assert main_of(trunk, suite) == "trunk"
    assert main_of(Event("schedule", {}, "o/p", checkout.sha, ""), suite) == "main"


def test_a_commit_that_is_not_there(origin: Origin, tmp_path: Path) -> None:
    checkout, suite = _at(origin, tmp_path)
    with pytest.raises(ConfigError, match="does not name a commit"):
        head_of(Event("push", payloads.push("", "f" * 40), "o/p", "f" * 40, "refs/heads/main"), suite)
    del checkout


def test_the_line_of_first_parents(origin: Origin, tmp_path: Path) -> None:
    first = origin.hash("main")
    origin.switch("topic", "main")
    side = origin.commit("on a branch")
    origin.switch("main")
    second = origin.commit("second")
    merged = origin.merge("topic")
    checkout, _ = _at(origin, tmp_path)
    assert first_parents(checkout.path, merged) == (second, first)
    assert side not in first_parents(checkout.path, merged)
    assert first_parents(checkout.path, first) == ()


def test_base_is_the_last_that_is_recorded_and_serves() -> None:
    line = ("d", "c", "b", "a")
    assert base_of(line, set(), lambda _: True) == "d"
    assert base_of(line, {"b", "a", "x"}, lambda _: True) == "b"
    assert base_of(line, {"b", "a"}, lambda commit: commit != "b") == "a"
    assert base_of(line, {"b"}, lambda _: False) == "d"
    assert base_of((), {"b"}, lambda _: True) == ""


def test_a_shallow_clone_is_told(origin: Origin, tmp_path: Path) -> None:
    origin.commit("second")
    whole = origin.checkout(tmp_path / "whole", "refs/heads/main")
    check_whole(whole.path, whole.sha)
    shallow = origin.checkout(tmp_path / "shallow", "refs/heads/main", depth=1)
    with pytest.raises(ConfigError, match="fetch-depth: 0"):
        check_whole(shallow.path, shallow.sha)
