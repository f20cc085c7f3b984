"""Is it the answer that the workload expects? Each part is checked, and the message says which one was wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.launch.answer import mismatch
from windtunnel.model import Answer, Expect

ANSWER = Answer(200, 128, "ab" * 32, "HTTP/1.1", {"content-type": "text/plain", "x-cache": "hit"})


@pytest.mark.parametrize(
    "expect",
    [
        Expect(),
        Expect(length=128),
        Expect(sha256="ab" * 32),
        Expect(sha256="AB" * 32),
        Expect(headers={"content-type": "text/plain"}),
        Expect(headers={"Content-Type": "text/plain", "X-CACHE": "hit"}),
        Expect(200, 128, "ab" * 32, {"X-Cache": "hit"}),
    ],
)
def test_as_expected(expect: Expect) -> None:
    assert not mismatch(ANSWER, expect)


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        (Expect(status=204), "status 200 instead of 204"),
        (Expect(length=129), "128 bytes instead of 129"),
        (Expect(length=0), "128 bytes instead of 0"),
        (Expect(sha256="cd" * 32), "cd" * 32),
        (Expect(headers={"X-Cache": "miss"}), "header X-Cache: 'hit' instead of 'miss'"),
        (Expect(headers={"X-Cache": "Hit"}), "'hit' instead of 'Hit'"),
        (Expect(headers={"X-Other": "a"}), "header X-Other: None instead of 'a'"),
        (Expect(headers={"x-cache": "hit", "content-type": "text/html"}), "content-type"),
    ],
)
def test_what_is_wrong_is_said(expect: Expect, said: str) -> None:
    assert said in mismatch(ANSWER, expect)


def test_an_empty_body_is_not_one_of_any_length() -> None:
    assert mismatch(replace(ANSWER, length=0), Expect(length=128))
    assert not mismatch(replace(ANSWER, length=0), Expect(length=0))


@given(st.integers(100, 599), st.integers(0, 10**9), st.text(max_size=5), st.text(max_size=5))
def test_an_answer_matches_itself_and_no_other(status: int, length: int, digest: str, value: str) -> None:
    answer = Answer(status, length, digest.lower(), "HTTP/2", {"x-a": value})
    expect = Expect(status, length, digest.lower(), {"X-A": value})
    assert not mismatch(answer, expect)
    for other in (
        replace(answer, status=status + 1),
        replace(answer, length=length + 1),
        replace(answer, sha256=answer.sha256 + "0"),
        replace(answer, headers={"x-a": value + "!"}),
        replace(answer, headers={}),
    ):
        assert mismatch(other, expect)
