"""What `windtunnel run` prints of a program that makes the load: calls, not requests, and nothing of HTTP."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

import material
from windtunnel.model import Case, Launch, Variant, Workload
from windtunnel.report.run import load_words, render_run, run_to_json
from windtunnel.sample.runfile import Run
from windtunnel.units import Missing

WORK = Workload(generator="program", op="get", payload="scalar")
CASE = Case("cache.Client", (("op", "get"),), Variant("client"), WORK)
END = {"exit": 0, "seconds": 2.0, "build_seconds": 0.5}


def _launch(**changes: object) -> Launch:
    nothing = Missing("not reported")
    load = replace(
        material.LOAD,
        concurrency=1,
        requests=4000,
        wall=0.08,
        cpu=0.04,
        body_bytes=nothing,
        total_bytes=nothing,
        status={},
        latency={},
        mean_latency=0.00002,
        generator_share=Missing("the client is what is measured"),
    )
    launch = replace(
        material.LAUNCH,
        case=CASE.id,
        answer=None,
        program="pymemcache 4.0.0",
        time_to_ready=Missing("a client serves nothing"),
        slices=(load, replace(load, role="single")),
    )
    return replace(launch, **changes)


def _run(*launches: Launch, case: Case = CASE) -> Run:
    return Run(replace(material.HEADER, cases=(case,)), launches, (), end=END)


def test_it_reads_well() -> None:
    assert render_run(_run(_launch())).partition("\n\n")[0].splitlines() == [
        "cache.Client(get)   get scalar, one call at a time",
        "  Calls per second   50,000/s",
        "  Time per call      20.00 µs",
        "  CPU per call       10.00 µs    of the target",
        "  Response time      20.00 µs    mean at concurrency 1",
        "  Peak memory       76.29 MiB",
        "  Idle CPU              0.0 %",
        "  Image size        305.2 MiB",
        "  Client                         pymemcache 4.0.0",
        "  Launches                  1",
        "  Slices                    1    of 4,000 calls; 1 of 4,000 at concurrency 1",
        "  Failed calls              0",
    ]


@pytest.mark.parametrize("word", ["GET", "equest", "HTTP", "keepalive", "connection", "Document", "Transfer", "n/a"])
def test_nothing_of_http_is_in_it(word: str) -> None:
    assert word not in render_run(_run(_launch())).partition("\n\nWall time")[0]


def test_latencies_are_told_where_the_program_tells_them() -> None:
    told = replace(_launch().slices[0], latency={1000: 4000})
    text = render_run(_run(_launch(slices=(told,))))
    assert "Latency p99" in text
    assert "Served within" in text


def test_calls_that_failed() -> None:
    bad = replace(_launch().slices[0], failed={"miss": 7, "error": 3}, invalid="10 calls went wrong")
    text = render_run(_run(_launch(slices=(bad,)).failing("invalid", "10 calls went wrong", "Traceback: no")))
    assert re.search(r"Failed calls +10 +error: 3, miss: 7\n", text)
    assert "! 10 calls went wrong" in text
    assert "| Traceback: no" in text


def test_a_server_that_a_program_loads_has_its_time_to_ready() -> None:
    text = render_run(_run(_launch(time_to_ready=0.25)))
    assert "Time to ready" in text


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (WORK, "get scalar, one call at a time"),
        (replace(WORK, payload=""), "get, one call at a time"),
        (replace(WORK, concurrency=10), "get scalar, 10 calls at a time"),
    ],
)
def test_the_load_in_words(work: Workload, words: str) -> None:
    assert load_words(work) == words


def test_several_at_a_time_are_several_clients() -> None:
    case = replace(CASE, workload=replace(WORK, concurrency=4))
    text = render_run(_run(_launch(), case=case))
    assert "for each of 4 clients" in text
    assert "Time per call" in text


def test_json_names_the_client() -> None:
    (case,) = run_to_json(_run(_launch()))["cases"]
    assert case["client"] == "pymemcache 4.0.0"
    (case,) = run_to_json(_run(_launch(program="")))["cases"]
    assert "client" not in case
