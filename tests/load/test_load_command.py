"""Command lines: each workload exactly, or a refusal that names the way out. test_load_engine.py runs them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.errors import ConfigError, Exit
from windtunnel.load import ab, generator, h2load, wrk
from windtunnel.model import Workload

URL = "http://127.0.0.1:5321/"
GET = Workload()
CLOSE = Workload(keepalive=False)
POST = Workload(method="POST", body="a=1", headers={"Content-Type": "text/x", "X-A": "b"})


def words(tool: str, workload: Workload, log: str | None = None) -> list[str]:
    return list(generator(tool).argv(workload, port=5321, requests=200, concurrency=4, log=log))


H2LOAD = ["h2load", "-n", "200", "-c", "4", "-t", "1", "-m", "1"]
AB = ["ab", "-q", "-S", "-n", "200", "-c", "4", "-s", "30"]
WRK = ["wrk", "-t", "1", "-c", "4", "-d", "1s", "-T", "10s", "--latency"]


@pytest.mark.parametrize(
    ("tool", "workload", "expected"),
    [
        ("h2load", GET, [*H2LOAD, "--h1", URL]),
        ("h2load", CLOSE, [*H2LOAD, "--h1", "-H", "Connection: close", URL]),
        ("h2load", Workload(h2=True), [*H2LOAD, "-p", "h2c", URL]),
        ("h2load", Workload(h2=True, method="HEAD"), [*H2LOAD, "-p", "h2c", "-H", ":method: HEAD", URL]),
        (
            "h2load",
            POST,
            [*H2LOAD, "--h1", "-H", "Content-Type: text/x", "-H", "X-A: b", "-d", "/tmp/body", URL],
        ),
        (
            "h2load",
            replace(GET, method="PUT", body="x"),
            [*H2LOAD, "--h1", "-H", ":method: PUT", "-d", "/tmp/body", URL],
        ),
        (
            "h2load",
            replace(GET, method="POST", body=""),
            [*H2LOAD, "--h1", "-H", ":method: POST", "-H", "Content-Length: 0", URL],
        ),
        ("h2load", replace(GET, method="DELETE"), [*H2LOAD, "--h1", "-H", ":method: DELETE", URL]),
        ("ab", GET, [*AB, "-k", URL]),
        ("ab", CLOSE, [*AB, URL]),
        ("ab", replace(CLOSE, method="HEAD"), [*AB, "-i", URL]),
        ("ab", replace(CLOSE, method="DELETE"), [*AB, "-m", "DELETE", URL]),
        ("ab", POST, [*AB, "-k", "-p", "/tmp/body", "-T", "text/x", "-H", "X-A: b", URL]),
        ("ab", replace(CLOSE, method="PUT", body=""), [*AB, "-u", "/tmp/body", URL]),
        ("wrk", GET, [*WRK, URL]),
        (
            "wrk",
            replace(CLOSE, headers={"Host": "a.test"}),
            [*WRK, "-H", "Host: a.test", "-H", "Connection: close", URL],
        ),
    ],
)
def test_command_line(tool: str, workload: Workload, expected: list[str]) -> None:
    assert words(tool, workload) == expected


def test_the_log_is_asked_for_where_there_is_one() -> None:
    assert "--log-file=/dev/shm/log" in words("h2load", GET, "/dev/shm/log")
    assert words("ab", GET, "/dev/shm/log")[-3:] == ["-e", "/dev/shm/log", URL]
    assert words("wrk", GET, "/dev/shm/log") == words("wrk", GET)


@pytest.mark.parametrize(
    ("tool", "workload", "says", "way_out"),
    [
        ("h2load", Workload(method="HEAD"), "HEAD over HTTP/1.1", 'generator = "ab"'),
        ("h2load", Workload(h2=True, keepalive=False), "close an HTTP/2 connection", "keepalive = True"),
        ("ab", Workload(h2=True), "HTTP/2", 'generator = "h2load"'),
        ("ab", Workload(method="PATCH", body="x"), "PATCH", 'generator = "h2load"'),
        ("wrk", Workload(h2=True), "HTTP/2", 'generator = "h2load"'),
        ("wrk", Workload(method="POST"), "POST", 'generator = "h2load"'),
        ("wrk", Workload(body="x"), "body", 'generator = "h2load"'),
    ],
)
def test_what_a_generator_cannot_do_is_refused(tool: str, workload: Workload, says: str, way_out: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        words(tool, workload)
    assert says in str(refusal.value)
    assert way_out in str(refusal.value)
    assert refusal.value.key in {"generator", "h2"}
    assert refusal.value.exit is Exit.USAGE


@pytest.mark.parametrize("tool", [h2load, ab])
@pytest.mark.parametrize(("requests", "concurrency"), [(3, 4), (0, 1), (5, 0)])
def test_every_connection_needs_a_request(tool: object, requests: int, concurrency: int) -> None:
    with pytest.raises(ConfigError, match="at least one request per connection"):
        tool.argv(GET, port=80, requests=requests, concurrency=concurrency)  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", ["", "a", "//é", "/a b", "/a#b", "/a\nb", "http://other/"])
@pytest.mark.parametrize("tool", ["h2load", "ab", "wrk"])
def test_a_path_that_is_none_is_refused(tool: str, path: str) -> None:
    with pytest.raises(ConfigError, match="percent-encode") as refusal:
        words(tool, Workload(path=path))
    assert refusal.value.key == "path"


@given(st.text("abc/?&=%20;:@!$'()*+,[]~-._", max_size=20))
def test_the_path_is_passed_on_as_it_is(path: str) -> None:
    for tool in ("h2load", "ab", "wrk"):
        assert words(tool, Workload(path=f"/{path}"))[-1] == URL + path


@given(st.integers(1, 10**7), st.one_of(st.none(), st.floats(0.1, 1e6)))
def test_wrk_runs_for_whole_seconds_that_suffice(requests: int, rate: float | None) -> None:
    argv = wrk.argv(GET, port=80, requests=requests, concurrency=1, rate=rate)
    seconds = int(argv[argv.index("-d") + 1].removesuffix("s"))
    assert seconds >= 1
    if rate is None:
        assert seconds == 1
    else:
        assert seconds - 1 < max(1.0, requests / rate) <= seconds


def test_generators_by_name() -> None:
    assert [generator(name).FIXED_COUNT for name in ("h2load", "ab", "wrk")] == [True, True, False]
    for name in ("program", "hey", ""):
        with pytest.raises(ConfigError, match='"ab", "h2load", "wrk"') as refusal:
            generator(name)
        assert refusal.value.key == "generator"
