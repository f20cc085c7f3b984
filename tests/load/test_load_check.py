"""The judge on results made by hand: what is good, and that every single fault is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.load.check import judge
from windtunnel.load.output import CLOSED
from windtunnel.model import Expect, LoadResult
from windtunnel.units import Missing

GOOD = LoadResult(
    requested=1000,
    completed=1000,
    seconds=0.1,
    status={"200": 1000},
    body_bytes=2_836_000,
    total_bytes=3_000_000,
    mean_latency=0.0016,
)
KINDS = ("connect", "timeout", "length", "read", "write", "error")


def verdict(result: LoadResult, **changes: object) -> tuple[str, tuple[str, ...]]:
    plan: dict[str, object] = {
        "requests": 1000,
        "concurrency": 16,
        "expect": Expect(),
        "length": 2836,
        "keepalive": True,
    }
    return judge(result, **{**plan, **changes})  # type: ignore[arg-type]


def test_a_good_slice() -> None:
    assert verdict(GOOD) == ("", ())


@given(st.integers(-1000, 1000).filter(bool))
def test_every_byte_counts(off: int) -> None:
    reason, _ = verdict(replace(GOOD, body_bytes=2_836_000 + off))
    unit = "byte" if abs(off) == 1 else "bytes"
    assert reason == f"{abs(off):,} {unit} {'more' if off > 0 else 'less'} than 1,000 x 2,836"


@given(st.integers(1, 3000).filter(lambda count: count != 1000))
def test_every_request_counts(completed: int) -> None:
    result = replace(GOOD, completed=completed, status={"200": completed}, body_bytes=completed * 2836)
    assert verdict(result)[0] == f"{completed:,} of 1,000 requests were answered"


@given(st.sampled_from(KINDS), st.integers(1, 10**6))
def test_every_failure_counts(kind: str, count: int) -> None:
    assert verdict(replace(GOOD, failed={kind: count}))[0] == f"failed: {count:,} {kind}"


@given(st.integers(100, 599).filter(lambda status: status != 200), st.integers(1, 1000))
def test_every_other_status_counts(status: int, count: int) -> None:
    statuses = {"200": 1000 - count, str(status): count}
    assert verdict(replace(GOOD, status=statuses))[0] == f"status {count:,} x {status} instead of 200"


@given(st.integers(0, 999))
def test_every_status_has_to_be_known(known: int) -> None:
    reason, _ = verdict(replace(GOOD, status={"200": known}))
    assert reason == f"the status of {1000 - known:,} answers is not known"


def test_no_time_proves_nothing() -> None:
    assert verdict(replace(GOOD, seconds=Missing("ab printed no time")))[0] == "no time: ab printed no time"
    assert verdict(replace(GOOD, seconds=0.0))[0].startswith("no time")


def test_unknown_bytes_prove_nothing_where_a_length_is_wanted() -> None:
    unknown = replace(GOOD, body_bytes=Missing("cut off"))
    assert verdict(unknown)[0] == "the length of bodies is not known: cut off"
    assert verdict(unknown, length=None)[0] == ""
    assert verdict(unknown, requests=None)[0] == ""


def test_faults_are_told_together() -> None:
    bad = replace(GOOD, failed={"length": 3}, status={"200": 999, "500": 1}, body_bytes=2_836_264)
    assert verdict(bad)[0] == ("failed: 3 length; status 1 x 500 instead of 200; 264 bytes more than 1,000 x 2,836")


def test_the_seen_length_goes_before_the_declared_one() -> None:
    assert verdict(GOOD, length=None, expect=Expect(length=2836))[0] == ""
    assert verdict(GOOD, length=None, expect=Expect(length=2835))[0] == "1,000 bytes more than 1,000 x 2,835"
    assert verdict(GOOD, length=2836, expect=Expect(length=1))[0] == ""
    assert verdict(GOOD, length=None, expect=Expect())[0] == ""
    assert verdict(replace(GOOD, body_bytes=1), length=0)[0] == "1 byte more than 1,000 x 0"


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("404", (404,), (400, 200, 40)),
        ("2xx", (200, 204, 299), (199, 300, 404)),
        ("2xx-3xx", (200, 302), (100, 404, 500)),
        ("4xx-5xx", (400, 503), (200, 302)),
        ("non-2xx", (302, 404, 500), (200, 204)),
        ("-1", (), (200, 404)),
        ("nonsense", (), (200, 404)),
    ],
)
def test_classes_hold_what_they_may(key: str, good: tuple[int, ...], bad: tuple[int, ...]) -> None:
    result = replace(GOOD, status={key: 1000}, failed={"status": 1000})
    assert [verdict(result, expect=Expect(status=status))[0] for status in good] == [""] * len(good)
    assert all(verdict(result, expect=Expect(status=status))[0] for status in bad)


# ---------------- doubts


@given(st.floats(0.05, 4.0))
def test_littles_law(share: float) -> None:
    """1,000 requests in 0.1 s, 16 at once: 1.6 ms each."""
    reason, warnings = verdict(replace(GOOD, mean_latency=0.0016 * share))
    assert reason == ""
    if abs(share - 1) < 0.249:
        assert warnings == ()
    elif abs(share - 1) > 0.251:
        (warning,) = warnings
        assert ("below" if share < 1 else "above") in warning
        assert "concurrency of 16" in warning


def test_littles_law_is_asked_only_where_it_holds() -> None:
    odd = replace(GOOD, mean_latency=0.0001)
    assert verdict(odd)[1] != ()
    assert verdict(odd, keepalive=False)[1] == ()
    assert verdict(replace(odd, failed={"read": 1}))[1] == ()
    assert verdict(replace(GOOD, mean_latency=Missing("not printed")))[1] == ()


def test_littles_warning_is_the_same_for_every_slice() -> None:
    first, second = (verdict(replace(GOOD, mean_latency=mean))[1] for mean in (0.0001, 0.00011))
    assert first == second


def test_connections_that_hang_are_seen_where_a_generator_runs_for_a_time() -> None:
    running = replace(GOOD, mean_latency=0.0007)
    assert verdict(running, requests=None)[0] == "only 7.0 of 16 connections were served at a time: the others hung"
    assert verdict(replace(GOOD, mean_latency=0.0009), requests=None)[0] == ""
    nothing = replace(GOOD, completed=0, status={}, mean_latency=Missing("none"), body_bytes=Missing("not counted"))
    assert verdict(nothing, requests=None)[0] == "no request was answered"


def test_closed_connections_are_told_where_they_were_to_be_kept() -> None:
    closed = replace(GOOD, total_bytes=CLOSED)
    assert verdict(closed)[1] == ("the target closed connections although they were to be kept alive",)
    assert verdict(closed, keepalive=False)[1] == ()


def test_the_generators_own_warnings_come_first() -> None:
    assert verdict(replace(GOOD, warnings=("a", "b"), mean_latency=0.0001))[1][:2] == ("a", "b")
