"""What a target's own program is asked, and what its answers are worth: whatever it says, no figure is made up."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.load import program
from windtunnel.load.histogram import build
from windtunnel.load.program import Answered, Hello
from windtunnel.model import Slice, Workload
from windtunnel.sample.plausible import check_numbers
from windtunnel.units import Missing

GET = Workload(generator="program", op="get", payload="scalar")
GOOD: dict[str, Any] = {"calls": 100, "seconds": 0.05, "hits": 100, "errors": 0}
ANSWERED = Answered(calls=100, seconds=0.05, hits=100, errors=0)


def _json(line: bytes) -> Any:
    return json.loads(line)


# ---------------- what is asked


def test_the_questions() -> None:
    assert _json(program.hello()) == {"hello": 1}
    assert _json(program.preload(GET)) == {"preload": {"op": "get", "payload": "scalar"}}
    assert _json(program.calls(GET, 5000, 1)) == {"op": "get", "payload": "scalar", "calls": 5000}
    assert _json(program.calls(GET, 5000, 8))["concurrency"] == 8


@given(st.text(), st.text())
def test_a_question_is_one_line_whatever_is_in_it(op: str, payload: str) -> None:
    asked = replace(GET, op=op, payload=payload)
    for line in (program.preload(asked), program.calls(asked, 1, 1)):
        assert b"\n" not in line
        assert line.isascii()


# ---------------- hello


def test_hello() -> None:
    told = {"ops": ["get"], "payloads": ["scalar"], "client": "pymemcache", "version": "4.0", "concurrency": True}
    hello = program.parse_hello(told)
    assert hello == Hello(("get",), ("scalar",), "pymemcache", "4.0", concurrency=True)
    assert str(hello) == "pymemcache 4.0"
    assert not hello.lacks(replace(GET, concurrency=8))


@pytest.mark.parametrize(
    ("hello", "workload", "said"),
    [
        (Hello(("set",), ("scalar",)), GET, "no op 'get'; it has set"),
        (Hello((), ("scalar",)), GET, "no op 'get'; it has none"),
        (Hello(("get",), ("large",)), GET, "no payload 'scalar'; it has large"),
        (Hello(("get",), ("large",)), replace(GET, payload=""), "no payload ''"),
        (Hello(("get",), ()), GET, "no payload 'scalar'; it has none"),
        (Hello(("get",), ("scalar",)), replace(GET, concurrency=2), "makes one call at a time, not 2"),
        (Hello(("get",), ()), replace(GET, payload=""), ""),
    ],
)
def test_what_a_program_lacks(hello: Hello, workload: Workload, said: str) -> None:
    lacking = hello.lacks(workload)
    assert said in lacking
    assert bool(said) == bool(lacking)


@pytest.mark.parametrize("ops", ["get", {"get": 1}, [1], [""], [["get"]], None, 3])
def test_ops_are_a_list_of_names(ops: object) -> None:
    with pytest.raises(ValueError, match='"ops" in its answer to hello is no list of names'):
        program.parse_hello({"ops": ops, "payloads": []})


def test_what_it_calls_itself_is_short_and_can_be_printed() -> None:
    hello = program.parse_hello({"ops": [], "client": "evil\x1b[2J\n\ud800" + "x" * 10_000, "version": 7})
    assert hello.client.startswith("evil?[2J ?xxx")
    assert len(hello.client) < 100
    assert hello.client.isprintable()
    assert hello.version == "7"


# ---------------- lines


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"", "something else than JSON"),
        (
            b"Warning: no protocols",
            "else than JSON on its standard output: 'Warning: no protocols'",
        ),
        (b"{", "something else than JSON"),
        (b"[" * 100_000, "something else than JSON"),
        (b'{"calls": ' + b"9" * 10_000 + b"}", "something else than JSON"),
        (b"\xff\xfe\x00", "something else than JSON"),
        (b"[1]", "no JSON object"),
        (b"null", "no JSON object"),
        (b'"' + b"x" * 500 + b'"', "x..."),
        (b'{"error": "no connection\\nat line 3"}', "^no connection at line 3$"),
        (b'{"error": ["refused"]}', "refused"),
    ],
)
def test_a_line_that_is_no_answer(line: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        program.answer(line)
    assert len(str(caught.value)) < 300


def test_an_error_is_cut_to_a_readable_length() -> None:
    with pytest.raises(ValueError, match=r"^x+\.\.\.$") as caught:
        program.answer(json.dumps({"error": "x" * 100_000}).encode())
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("line", [b"{}", b'{"error": ""}', b'{"error": null, "calls": 3}', b' {"a": {"b": []}} '])
def test_any_object_is_an_answer(line: bytes) -> None:
    assert isinstance(program.answer(line), dict)


# ---------------- figures


def test_figures() -> None:
    found = program.parse({**GOOD, "cpu_seconds": 0.04, "latencies": [0.0005] * 100}, 100)
    assert found == replace(ANSWERED, cpu=0.04, latencies=(0.0005,) * 100)
    assert isinstance(program.parse(GOOD, 100).cpu, Missing)


COUNTS = [None, "100", 1.5, True, -1, [], 10**16, float("nan")]
TIMES = [None, "0.05", True, -0.05, float("nan"), float("inf"), 1e10, 1e-13, 10**400]


@pytest.mark.parametrize("key", ["calls", "hits", "errors"])
@pytest.mark.parametrize("value", COUNTS)
def test_a_count_is_a_count(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=f'"{key}" in its answer is .*no count'):
        program.parse({**GOOD, key: value}, 100)


@pytest.mark.parametrize("key", ["seconds", "cpu_seconds", "latencies"])
@pytest.mark.parametrize("value", TIMES)
def test_a_time_is_a_time(key: str, value: object) -> None:
    if key == "cpu_seconds" and value is None:
        return  # it need not tell
    with pytest.raises(ValueError, match=f'"{key}" in its answer is .*no time in seconds'):
        program.parse({**GOOD, key: [value] if key == "latencies" else value}, 100)


@pytest.mark.parametrize("key", ["calls", "hits", "errors"])
def test_a_count_that_is_not_there_is_not_0(key: str) -> None:
    with pytest.raises(ValueError, match=f'"{key}" is missing'):
        program.parse({name: value for name, value in GOOD.items() if name != key}, 100)


def test_latencies_are_a_list() -> None:
    with pytest.raises(ValueError, match='"latencies" is no list'):
        program.parse({**GOOD, "latencies": 0.1}, 100)


# ---------------- what they are worth


@pytest.mark.parametrize(
    ("changes", "wall", "busy", "said"),
    [
        ({}, 0.05, 0.05, ""),
        ({}, 0.0496, None, ""),  # clocks differ a little
        ({}, 9.0, 0.0, ""),  # we may have been kept waiting
        ({}, 0.05, Missing("no cgroup"), ""),
        ({"calls": 99, "hits": 99}, 0.05, None, "99 of 100 calls were made"),
        ({"calls": 101, "hits": 101}, 0.05, None, "101 of 100 calls were made"),
        ({"hits": 97}, 0.05, None, "3 of 100 calls missed"),
        ({"hits": 0}, 0.05, None, "100 of 100 calls missed"),
        ({"hits": 99, "errors": 1}, 0.05, None, "failed: 1 error"),
        ({"hits": 90, "errors": 3}, 0.05, None, "failed: 3 errors; 7 of 100 calls missed"),
        ({"hits": 101}, 0.05, None, "101 hits and 0 errors of 100 calls can't be"),
        ({"hits": 100, "errors": 2}, 0.05, None, "failed: 2 errors; 100 hits and 2 errors of 100 calls can't be"),
        ({"seconds": 0.0}, 0.05, None, "no time"),
        ({"seconds": 50.0}, 0.051, None, "its calls took 50 s by its own clock, yet its answer came after 0.051 s"),
        ({"seconds": 0.001}, 0.2, 0.19, "it was busy for 0.19 s, yet tells only 0.001 s"),
        ({"latencies": (0.1,) * 99}, 0.05, None, "99 latencies of 100 calls"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, Any], wall: float, busy: Any, said: str) -> None:
    reason = program.judge(replace(ANSWERED, **changes), 100, wall, busy)
    assert said in reason
    assert bool(said) == bool(reason)


def test_misses_and_errors_are_counted_apart() -> None:
    result = program.load_result(replace(ANSWERED, hits=90, errors=3), 100, 1)
    assert result.failed == {"error": 3, "miss": 7}
    assert program.load_result(ANSWERED, 100, 1).failed == {}


def test_a_mean_latency_is_only_told_where_it_is_known() -> None:
    assert program.load_result(ANSWERED, 100, 1).mean_latency == pytest.approx(0.0005)
    assert isinstance(program.load_result(ANSWERED, 100, 4).mean_latency, Missing)
    told = replace(ANSWERED, latencies=(0.001, 0.003))
    assert program.load_result(told, 100, 4).mean_latency == pytest.approx(0.002)


numbers = st.one_of(
    st.integers(-(10**20), 10**20), st.floats(), st.none(), st.booleans(), st.text(max_size=3), st.just(100)
)


@given(
    st.dictionaries(st.sampled_from(["calls", "seconds", "hits", "errors", "cpu_seconds"]), numbers),
    st.lists(numbers, max_size=3),
    st.integers(1, 200),
)
def test_whatever_it_says_is_refused_or_can_be_kept(found: dict[str, Any], latencies: list[Any], asked: int) -> None:
    """A run file refuses what can't be measured; so nothing of that may get there."""
    try:
        answered = program.parse({**GOOD, **found, "latencies": latencies}, asked)
    except ValueError:
        return
    result = program.load_result(answered, asked, 1)
    kept = Slice(
        role="load",
        concurrency=1,
        requests=asked,
        wall=result.seconds,
        cpu=answered.cpu,
        body_bytes=result.body_bytes,
        total_bytes=result.total_bytes,
        status=result.status,
        failed=result.failed,
        latency=build(result.latencies),
        mean_latency=result.mean_latency,
        generator_share=Missing("-"),
        server_share=Missing("-"),
        started=0.0,
    )
    check_numbers(kept)
    if not program.judge(answered, asked, 1.0):
        assert answered.calls == answered.hits == asked
        assert 0 < answered.seconds <= 1.01
