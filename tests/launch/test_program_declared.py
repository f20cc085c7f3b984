"""From target.toml to who is started: a client's worker is its container's command, a server's runs beside it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from windtunnel.build.resolve import Image, resolve
from windtunnel.declare.target import parse_target
from windtunnel.declare.workload import Where, check_program, check_workload
from windtunnel.errors import ConfigError
from windtunnel.model import Case, Target, Variant, Workload

IMAGE = Image("windtunnel/client:1", "ab" * 32)
CLIENT = """
kind = "client"
worker = ["perl", "worker.pl"]
[axes.client]
"A" = {}
"B" = { command = ["perl", "worker.pl", "B"] }
"""
SERVER = 'port = 80\nworker = ["python3", "worker.py"]\n'
GET = Workload(generator="program", op="get", payload="scalar")


def _target(text: str) -> Target:
    return parse_target(text, name="app", folder="targets/app", file="target.toml", exists=lambda _: True)


def _case(workload: Workload) -> Case:
    return Case("cache.Client", (), Variant("app"), workload)


def test_a_client_serves_nothing_and_its_command_is_its_worker() -> None:
    plain = resolve(_target(CLIENT), Variant("app", (("client", "A"),)), IMAGE)
    other = resolve(_target(CLIENT), Variant("app", (("client", "B"),)), IMAGE)

    assert (plain.port, plain.command) == (None, ("perl", "worker.pl"))
    assert (other.port, other.command) == (None, ("perl", "worker.pl", "B"))
    assert plain.identity != other.identity


def test_a_server_keeps_its_command_and_has_a_worker_beside_it() -> None:
    with_worker = resolve(_target(SERVER), Variant("app"), IMAGE)
    without = resolve(_target("port = 80\n"), Variant("app"), IMAGE)

    assert (with_worker.port, with_worker.command, with_worker.worker) == (80, None, ("python3", "worker.py"))
    assert without.worker is None
    assert with_worker.identity != without.identity
    assert replace(with_worker, worker=("python3", "other.py")).identity != with_worker.identity


@pytest.mark.parametrize(
    ("text", "workload", "said"),
    [
        (CLIENT, Workload(), "app is a client, which nothing can be asked of; derive the class from CacheBenchmark"),
        (
            "port = 80\n",
            GET,
            'app has no program that makes the load; add worker = ["python3", "worker.py"] to targets',
        ),
    ],
)
def test_who_makes_the_load_has_to_be_there(text: str, workload: Workload, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_program(_target(text), _case(workload))
    assert said in str(caught.value)


@pytest.mark.parametrize(("text", "workload"), [(CLIENT, GET), (SERVER, GET), (SERVER, Workload())])
def test_and_where_it_is_nothing_is_wrong(text: str, workload: Workload) -> None:
    check_program(_target(text), _case(workload))


def test_a_client_needs_a_worker() -> None:
    with pytest.raises(ConfigError, match="worker: missing; a client needs the program that runs its calls"):
        _target('kind = "client"\n')


@pytest.mark.parametrize(
    ("workload", "said"),
    [
        (replace(GET, op=""), "op: found .*, expected what the target's worker is to do"),
        (replace(GET, rate=10.0), "rate"),
        (Workload(op="get"), "only a program of the target's own has them"),
        (Workload(payload="scalar"), "only a program of the target's own has them"),
    ],
)
def test_a_workload_that_can_not_be_meant(workload: Workload, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        check_workload(workload, Where("cache.Client", "benchmarks/cache.py", 3))


def test_a_workload_of_calls_needs_no_more_than_an_operation() -> None:
    check_workload(replace(GET, payload=""), Where("cache.Client", "benchmarks/cache.py"))
