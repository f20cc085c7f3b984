"""The tree of errors: one exit code per cause, and which of several counts."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel import errors
from windtunnel.errors import ConfigError, Exit, WindtunnelError, worst

AS_DESIGNED = [2, 7, 6, 10, 4, 5, 3, 0]
"""Which code wins when several hold, most important first; an interruption is above all of them."""

KINDS = [
    getattr(errors, name) for name in errors.__all__ if name not in {"Exit", "Interrupted", "RegistryCause", "worst"}
]


@pytest.mark.parametrize(("stronger", "weaker"), list(itertools.combinations([130, *AS_DESIGNED], 2)))
def test_the_more_important_code_wins_in_any_order(stronger: int, weaker: int) -> None:
    assert worst([Exit(stronger), Exit(weaker)]) == worst([Exit(weaker), Exit(stronger)]) == stronger


@given(st.lists(st.sampled_from(list(Exit)), min_size=1), st.randoms())
def test_worst_is_one_of_them_and_no_order_counts(codes: list[Exit], random: object) -> None:
    shuffled = sorted(codes, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert worst(codes) in codes
    assert worst(codes) is worst(shuffled) is worst([*codes, *codes])


@given(st.lists(st.sampled_from(list(Exit)), min_size=1))
def test_a_partial_failure_never_gives_0(codes: list[Exit]) -> None:
    assert (worst(codes) == Exit.OK) == all(code is Exit.OK for code in codes)


def test_no_outcome_at_all_is_fine() -> None:
    assert worst([]) is Exit.OK


def test_every_code_has_its_place() -> None:
    assert {int(code) for code in Exit} == {*AS_DESIGNED, 130}


def test_1_is_never_an_outcome() -> None:
    assert 1 not in {int(code) for code in Exit}


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_is_a_windtunnel_error_with_a_code_that_is_no_success(kind: type[WindtunnelError]) -> None:
    raised = kind("what, where and the way out")
    assert isinstance(raised, WindtunnelError)
    assert isinstance(raised.exit, Exit)
    assert raised.exit not in {Exit.OK, Exit.REGRESSION}
    assert str(raised) == "what, where and the way out"
    assert not raised.detail


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not ConfigError])
def test_detail_stays_out_of_the_message(kind: type[WindtunnelError]) -> None:
    raised = kind("short", detail="a long log")
    assert (str(raised), raised.detail) == ("short", "a long log")


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ({}, "bad"),
        ({"key": "port"}, "port: bad"),
        ({"file": "target.toml"}, "target.toml: bad"),
        ({"file": Path("a/target.toml"), "line": 3}, "a/target.toml:3: bad"),
        ({"file": "target.toml", "line": 3, "key": "axes.perl"}, "target.toml:3: axes.perl: bad"),
        ({"file": "target.toml", "key": "port"}, "target.toml: port: bad"),
        ({"line": 3, "key": "port"}, "port: bad"),
    ],
)
def test_a_config_error_says_where_as_far_as_it_knows(where: dict[str, object], shown: str) -> None:
    assert str(ConfigError("bad", **where)) == shown  # type: ignore[arg-type]


def test_a_config_error_keeps_its_parts_for_programs() -> None:
    raised = ConfigError("bad", file=Path("a/b.toml"), line=3, key="port")
    assert (raised.file, raised.line, raised.key) == ("a/b.toml", 3, "port")
