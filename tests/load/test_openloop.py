"""The open loop: what its log says, by hand and by hypothesis, and the program itself against servers on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talk import PAGE, serving

import windtunnel.load
from windtunnel.errors import ConfigError
from windtunnel.load import openloop
from windtunnel.load.check import judge
from windtunnel.load.openloop import Arrival, argv, arrivals, falls_behind, parse
from windtunnel.load.output import Output
from windtunnel.model import Expect, LoadResult, Workload
from windtunnel.units import Missing

PROGRAM = Path(windtunnel.load.__file__).parent / "image" / "arrivals.py"
WORK = Workload(rate=100.0, concurrency=2)


def _output(summary: object, rows: str, **changes: Any) -> Output:
    said = Output(json.dumps(summary) + "\n", "", 0, rows, False, 1.0, requested=3)
    return replace(said, **changes)


SUMMARY = {"requests": 3, "keepalive": True, "seconds": 0.06, "failed": {}, "closed": 0, "body": 36, "total": 300}
ROWS = "0\t0\t5000\t0\t200\t12\n10000\t10100\t60000\t100\t200\t12\n20000\t60000\t62000\t50\t404\t12\n"


# ---------------- asking


def _plan(workload: Workload, **changes: Any) -> dict[str, Any]:
    asked = {"port": 80, "requests": 100, "concurrency": 2, "log": "/log", **changes}
    program, *module, plan = argv(workload, **asked)
    assert (program, *module) == ("python3", "-m", "arrivals")
    return dict(json.loads(plan))


def test_the_plan_has_the_rate_and_everything_of_the_request() -> None:
    plan = _plan(replace(WORK, path="/a?b=1", headers={"X-One": "1", "Host": "example"}, keepalive=False))
    assert (plan["rate"], plan["requests"], plan["connections"], plan["log"]) == (100.0, 100, 2, "/log")
    assert plan["head"][0] == "GET /a?b=1 HTTP/1.1"
    assert [line for line in plan["head"] if line.lower().startswith("host:")] == ["Host: example"]
    assert {"X-One: 1", "Connection: close"} <= set(plan["head"])
    assert (plan["body"], plan["length"]) == (None, False)


def test_a_body_is_announced_and_so_is_its_absence() -> None:
    assert _plan(replace(WORK, method="POST", body="x"))["body"]
    empty = _plan(replace(WORK, method="POST"))
    assert (empty["body"], empty["length"]) == (None, True)


@pytest.mark.parametrize(("changes", "said"), [({"rate": None}, "needs a rate"), ({"h2": True}, "HTTP/2")])
def test_what_it_cannot_do_is_said_before(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _plan(replace(WORK, **changes))


# ---------------- what the log says


def test_latency_runs_from_the_moment_a_request_was_due() -> None:
    result = parse(_output(SUMMARY, ROWS))
    # answered at 5 ms; due at 10, 0.1 ms of delay by the generator, answered at 60; due at 20, answered at 62
    assert result.latencies == pytest.approx((0.005, 0.0499, 0.04195))
    assert (result.completed, result.seconds, result.body_bytes, result.total_bytes) == (3, 0.06, 36, 300)
    assert result.status == {"200": 2, "404": 1}
    assert result.failed == {}
    assert result.late == pytest.approx(50e-6)
    assert openloop.WAITED in result.warnings


def test_what_broke_has_neither_status_nor_latency() -> None:
    rows = ROWS.replace("200\t12\n10000", "-1\t3\n10000")
    result = parse(_output({**SUMMARY, "failed": {"read": 1}}, rows))
    assert (result.completed, len(result.latencies), result.failed) == (2, 2, {"read": 1})


def test_a_target_that_closes_is_told_of() -> None:
    assert openloop.CLOSED in parse(_output({**SUMMARY, "closed": 3}, ROWS)).warnings
    assert openloop.CLOSED not in parse(_output({**SUMMARY, "closed": 3, "keepalive": False}, ROWS)).warnings


@pytest.mark.parametrize(
    "changes",
    [
        {"stdout": ""},
        {"stdout": "{}\n"},
        {"stdout": '{"requests": 3}\n'},
        {"log": None},
        {"log": ROWS[:-5]},  # the last line is torn
        {"stdout": "", "log": None, "timed_out": True, "exit_code": -9},
    ],
)
def test_without_a_whole_report_there_is_no_time(changes: dict[str, Any]) -> None:
    result = parse(_output(SUMMARY, ROWS, **changes))
    assert isinstance(result.seconds, Missing)
    assert not result.latencies
    assert sum(result.failed.values()) == 3 - result.completed or result.completed == 3
    assert _judged(result)


@given(st.text(), st.text(), st.none() | st.text())
def test_it_reads_anything(stdout: str, stderr: str, log: str | None) -> None:
    parse(Output(stdout, stderr, 0, log, False, 1.0, requested=3))


_WRONG = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda one: st.lists(one, max_size=2) | st.dictionaries(st.text(max_size=3), one, max_size=2),
    max_leaves=3,
)


@given(st.sampled_from(sorted(SUMMARY)), _WRONG)
def test_no_value_of_a_summary_is_trusted(key: str, value: object) -> None:
    parse(_output({**SUMMARY, key: value}, ROWS))


# ---------------- what the schedule tells


def _queue(count: int, gap: float, service: Callable[[int], float]) -> list[Arrival]:
    """One server that takes `service(i)` seconds for request i, asked every `gap` seconds, one after the other."""
    free, rows = 0.0, []
    for number in range(count):
        due = number * gap
        sent = max(due, free)
        free = sent + service(number)
        rows.append(Arrival(due, sent, free, 0.0, 200))
    return rows


@given(st.floats(1.5, 20), st.integers(100, 2000))
def test_a_server_that_is_too_slow_falls_behind(factor: float, count: int) -> None:
    assert falls_behind(_queue(count, 0.001, lambda _: 0.001 * factor))


@given(st.floats(0.05, 0.9), st.integers(900, 2000), st.integers(0, 1999))
def test_one_that_stalls_for_a_fifth_of_the_time_does_not(share: float, count: int, at: int) -> None:
    stalled = at % count
    assert not falls_behind(_queue(count, 0.001, lambda number: 0.2 if number == stalled else 0.001 * share))


@given(st.floats(0.05, 0.95), st.integers(1, 2000))
def test_one_that_keeps_up_does_not(share: float, count: int) -> None:
    assert not falls_behind(_queue(count, 0.001, lambda _: 0.001 * share))


def test_a_stall_is_many_slow_requests_and_not_one() -> None:
    rows = _queue(1000, 0.001, lambda number: 0.2 if number == 500 else 0.0001)
    assert sum(row.latency > 0.05 for row in rows) > 140
    assert sum(row.end - row.sent > 0.05 for row in rows) == 1  # as a closed loop has it


def test_what_the_generator_was_late_is_its_own() -> None:
    row = Arrival(due=1.0, sent=1.005, end=1.007, own=0.005, status=200)
    assert row.latency == pytest.approx(0.002)
    assert row.waited == 0.0


def _judged(result: LoadResult, length: int | None = None) -> str:
    return judge(result, requests=result.requested, concurrency=None, expect=Expect(), length=length, keepalive=True)[
        0
    ]


def _late(own: Callable[[int], int]) -> LoadResult:
    """A hundred requests, one in ten milliseconds; the generator sent number n `own(n)` microseconds late."""
    rows = [
        f"{10_000 * n}\t{10_000 * n + own(n)}\t{10_000 * n + own(n) + 50}\t{own(n)}\t200\t12\n" for n in range(100)
    ]
    return parse(_output({**SUMMARY, "requests": 100, "body": 1200}, "".join(rows), requested=100))


def test_a_generator_that_can_not_make_the_rate_proves_nothing() -> None:
    result = _late(lambda number: 1000 * number)  # it makes nine tenths of the rate
    assert result.late == pytest.approx(0.087)
    assert "the generator itself fell behind the rate" in _judged(result, 12)


def test_one_that_was_held_up_and_caught_up_is_told_of_and_that_is_all() -> None:
    result = _late(lambda number: 300_000 - 10_000 * (number - 40) if 40 <= number < 70 else 0)
    assert openloop.LATE in result.warnings
    assert result.late == 0
    assert result.latencies == pytest.approx([0.00005] * 100)
    assert _judged(result, 12) == ""


# ---------------- the program itself


def _run(work: Workload, port: int, requests: int, folder: Path, deadline: float = 60) -> Output:
    """The program, run as the side-car does, only by another interpreter."""
    log, body = folder / "log", folder / "body"
    plan = json.loads(argv(work, port=port, requests=requests, concurrency=work.concurrency, log=str(log))[-1])
    if work.body:
        body.write_text(work.body)
        plan["body"] = str(body)
    done = subprocess.run(
        [sys.executable, str(PROGRAM), json.dumps(plan)],
        capture_output=True,
        text=True,
        timeout=deadline,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Output(done.stdout, done.stderr, 0, log.read_text(), False, 1.0, requested=requests)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving() as made:
        yield made


@pytest.mark.parametrize("keepalive", [True, False])
def test_every_request_is_made_and_every_byte_counted(port: int, keepalive: bool, tmp_path: Path) -> None:
    result = parse(_run(replace(WORK, rate=400.0, concurrency=4, keepalive=keepalive), port, 120, tmp_path))
    assert (result.completed, result.status, result.failed) == (120, {"200": 120}, {})
    assert result.body_bytes == 120 * len(PAGE)
    assert len(result.latencies) == 120
    assert result.kept == (120 if keepalive else 0)


def test_requests_are_due_at_even_distances_from_the_first(port: int, tmp_path: Path) -> None:
    rows = arrivals(_run(replace(WORK, rate=250.0, concurrency=4), port, 50, tmp_path).log)
    assert [row.due for row in rows] == pytest.approx([number / 250 for number in range(50)], abs=2e-6)
    assert all(row.sent >= row.due and row.end >= row.sent for row in rows)


def test_head_a_status_and_a_body_that_is_sent(port: int, tmp_path: Path) -> None:
    head = parse(_run(replace(WORK, method="HEAD"), port, 10, tmp_path))
    assert (head.status, head.body_bytes) == ({"200": 10}, 0)
    missing = parse(_run(replace(WORK, path="/404"), port, 10, tmp_path))
    assert missing.status == {"404": 10}
    echo = parse(_run(replace(WORK, method="POST", path="/echo", body="hello"), port, 10, tmp_path))
    assert echo.status == {"200": 10}
    assert isinstance(echo.body_bytes, int)
    assert echo.body_bytes >= 10 * len('"body": "hello"')


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        result = parse(_run(WORK, holder.getsockname()[1], 10, tmp_path))
    assert (result.completed, result.failed) == (0, {"connect": 10})


@contextmanager
def _answering(answer: Callable[[socket.socket, int], bool]) -> Iterator[int]:
    """A server of one connection after the other; `answer` gets each request's number, and says whether to go on."""
    served = iter(range(1 << 30))

    def serve(connection: socket.socket) -> None:
        waiting = b""
        with connection, suppress(OSError):
            while data := connection.recv(65536):
                waiting += data
                while b"\r\n\r\n" in waiting:
                    waiting = waiting.partition(b"\r\n\r\n")[2]
                    if not answer(connection, next(served)):
                        return

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = server.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]


_OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (_OK + b"Content-Length: 5\r\n\r\nhello", 5),
        (_OK + b"Content-Length: 0\r\n\r\n", 0),
        (_OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n", 11),
        (_OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nTrailer: 1\r\n\r\n", 1),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 0),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + _OK + b"Content-Length: 2\r\n\r\nhi", 2),
    ],
)
@pytest.mark.parametrize("pieces", [1, 7])
def test_answers_of_every_shape_and_in_any_pieces(answer: bytes, body: int, pieces: int, tmp_path: Path) -> None:
    def send(connection: socket.socket, _: int) -> bool:
        size = -(-len(answer) // pieces)
        for start in range(0, len(answer), size):
            connection.sendall(answer[start : start + size])
            time.sleep(0.002 if pieces > 1 else 0)
        return True

    with _answering(send) as place:
        result = parse(_run(replace(WORK, rate=200.0), place, 12, tmp_path))
    assert (result.completed, result.failed, result.kept) == (12, {}, 12)
    assert result.body_bytes == 12 * body


def test_a_body_may_end_with_its_connection(tmp_path: Path) -> None:
    def send(connection: socket.socket, _: int) -> bool:
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nuntil the end")
        return False

    with _answering(send) as place:
        result = parse(_run(WORK, place, 12, tmp_path))
    assert (result.completed, result.body_bytes, result.kept) == (12, 12 * len("until the end"), 0)
    assert openloop.CLOSED in result.warnings


def test_stray_bytes_are_counted(tmp_path: Path) -> None:
    def send(connection: socket.socket, number: int) -> bool:
        connection.sendall(_OK + b"Content-Length: 5\r\n\r\nhello" + b"!" * (number == 4))
        return True

    with _answering(send) as place:
        result = parse(_run(replace(WORK, concurrency=1), place, 12, tmp_path))
    assert "1 byte more than 12 x 5" in _judged(result, 5)


@pytest.mark.parametrize(
    ("said", "kind"), [(b"", "read"), (_OK + b"Content-Length: 9\r\n\r\nhalf", "read"), (b"hello\r\n\r\n", "error")]
)
def test_an_answer_that_breaks_off_fails_and_the_schedule_goes_on(said: bytes, kind: str, tmp_path: Path) -> None:
    def send(connection: socket.socket, number: int) -> bool:
        whole = number % 4 != 3
        connection.sendall(_OK + b"Content-Length: 5\r\n\r\nhello" if whole else said)
        return whole

    with _answering(send) as place:
        result = parse(_run(replace(WORK, concurrency=1), place, 12, tmp_path))
    assert (result.completed, result.failed) == (9, {kind: 3})
    assert f"failed: 3 {kind}" in _judged(result, 5)


def test_a_stall_is_seen_by_all_that_were_due_meanwhile(tmp_path: Path) -> None:
    """One of 200 requests is answered 0.4 s late: of the 80 that are due meanwhile most wait for long."""

    def send(connection: socket.socket, number: int) -> bool:
        if number == 50:
            time.sleep(0.4)
        connection.sendall(_OK + b"Content-Length: 5\r\n\r\nhello")
        return True

    with _answering(send) as place:
        output = _run(replace(WORK, rate=200.0, concurrency=1), place, 200, tmp_path)
    rows, result = arrivals(output.log), parse(output)
    slow = sum(one > 0.1 for one in result.latencies)
    by_themselves = sum(row.end - row.sent > 0.1 for row in rows)
    assert slow >= 40
    assert by_themselves < slow / 10
    assert openloop.WAITED in result.warnings
    assert openloop.BEHIND not in result.warnings


def test_a_server_that_is_too_slow_is_said_to_be(tmp_path: Path) -> None:
    def send(connection: socket.socket, _: int) -> bool:
        time.sleep(0.01)
        connection.sendall(_OK + b"Content-Length: 5\r\n\r\nhello")
        return True

    with _answering(send) as place:
        result = parse(_run(replace(WORK, rate=1000.0, concurrency=1), place, 100, tmp_path))
    assert _judged(result, 5) == ""  # it is honest all the same
    assert openloop.BEHIND in result.warnings
    assert isinstance(result.seconds, float)
    assert result.seconds > 0.9  # a hundred in a tenth of a second were asked for
