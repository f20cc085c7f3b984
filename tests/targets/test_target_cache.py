"""Cache clients: every client does what its benchmark asks for, and one that does less is never a fast one."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from ownsuite import ROOT, Measured, copied, measured, spoilt

from windtunnel.declare.cases import discover
from windtunnel.declare.suite import load_suite
from windtunnel.declare.target import parse_target
from windtunnel.model import Case, Target

WORKER_PL = "targets/memcached-clients/worker.pl"
WORKER_PY = "targets/memcached-clients/worker.py"
ONE_OF_EACH = (
    "cache.Memcached(Cache::Memcached::Fast, set, serialized)",
    "cache.Memcached(pymemcache, get, compressed)",
    "cache.Redis(hiredis, get, hash)",
)


def target(name: str) -> Target:
    text = (ROOT / "targets" / name / "target.toml").read_text("utf-8")
    return parse_target(text, name=name, folder=f"targets/{name}", file="target.toml", exists=lambda _: True)


def cases(pattern: str) -> tuple[Case, ...]:
    return discover(load_suite(ROOT / "asv.conf.json"), [pattern]).cases


def exactly(*names: str) -> tuple[str, ...]:
    return tuple(f"^{re.escape(name)}$" for name in names)


# ---------------- what is asked


def test_every_client_is_asked_for_every_operation_on_every_payload() -> None:
    asked = {
        (one.workload.axes["client"], one.workload.op, one.workload.payload) for one in cases(r"cache\.Memcached\(")
    }

    clients = target("memcached-clients").axes["client"]
    assert asked == set(product(clients, ("get", "set"), ("scalar", "serialized", "compressed")))


def test_redis_is_asked_for_with_both_parsers() -> None:
    asked = {(one.workload.axes["parser"], one.workload.op, one.workload.payload) for one in cases(r"cache\.Redis\(")}

    parsers = target("redis-clients").axes["parser"]
    assert asked == set(product(parsers, ("get", "set"), ("scalar", "hash", "large")))


def test_every_suite_is_asked_for_with_a_client_of_each_language() -> None:
    asked = {
        (one.workload.axes["client"], one.workload.axes["suite"]) for one in cases(r"cache\.MemcachedInterpreter")
    }

    axes = target("memcached-clients").axes
    assert {suite for _, suite in asked} == set(axes["suite"])
    for suite in axes["suite"]:
        commands = {axes["client"][client].command for client, one in asked if one == suite}
        assert {command[0] for command in commands if command} == {"perl", "python3"}


# ---------------- they do it


@pytest.mark.engine
@pytest.mark.slow
def test_one_client_of_each_kind_is_measured(tmp_path: Path) -> None:
    seen = measured(ROOT, tmp_path, *exactly(*ONE_OF_EACH))

    assert (seen.exit, seen.outcomes) == (0, dict.fromkeys(ONE_OF_EACH, "ok")), seen.reasons
    programs = {launch.case: launch.program for launch in seen.launches}
    for case, name in zip(ONE_OF_EACH, ("Cache::Memcached::Fast", "pymemcache", "redis-py"), strict=True):
        assert re.match(rf"{name} \d", programs[case]), programs
    for launch in seen.launches:
        assert all(isinstance(one.cpu, float) for one in launch.slices)
        assert sum(one.requests for one in launch.slices if one.role == "load") > 100
    assert "Calls per second" in seen.report
    assert "pymemcache" in seen.report


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.nightly
def test_every_client_is_measured(tmp_path: Path) -> None:
    seen = measured(ROOT, tmp_path, r"^cache\.")

    assert (seen.exit, set(seen.outcomes.values())) == (0, {"ok"}), seen.reasons
    assert set(seen.outcomes) == {case.id for case in cases(r"^cache\.")}


# ---------------- and where they do not, that is seen


def _spoilt(tmp_path: Path, case: str, path: str, old: str, new: str) -> Measured:
    """The suite with something broken on purpose, measured."""
    targets = ("redis-clients", "valkey") if "redis" in path else ("memcached-clients", "memcached")
    folder = spoilt(copied(tmp_path / "suite", *targets), path, old, new)
    scratch = tmp_path / "scratch"
    return measured(folder, scratch, *exactly(case))


PERL, PYTHON = "cache.Memcached(Cache::Memcached, get, serialized)", "cache.Memcached(pymemcache, get, compressed)"
REDIS = "cache.Redis(hiredis, set, scalar)"
SPOILT = [
    # what is spoilt: case, file, old, new, exit code, what is said
    pytest.param(
        (PYTHON, WORKER_PY, "in range(calls)", "in range(min(calls, 2))"), 4, r"calls missed", id="python-loop"
    ),
    pytest.param(
        (PYTHON, WORKER_PY, "min_compress_len=THRESHOLD", "min_compress_len=0"),
        7,
        r"can't preload get compressed: .*70000 bytes on the server, expected 1000 to 35000",
        id="python-compression",
    ),
    pytest.param(
        (PERL, WORKER_PL, "for (1 .. $calls) {\n", "for (1 .. ($calls > 2 ? 2 : $calls)) {\n"),
        4,
        r"calls missed",
        marks=pytest.mark.nightly,
        id="perl-loop",
    ),
    pytest.param(
        (PERL, WORKER_PL, "$_[0]{key07} eq $hash->{key07}", "$_[0]{key07} eq 'something else'"),
        7,
        r"what was set can't be got back",
        marks=pytest.mark.nightly,
        id="perl-value",
    ),
    pytest.param(
        (PERL, WORKER_PL, "my $json = ", "print 'ready';\nmy $json = "),
        7,
        r"something else than JSON on its standard output: 'ready",
        marks=pytest.mark.nightly,
        id="perl-noise",
    ),
    pytest.param(
        (REDIS, "targets/redis-clients/worker.py", "in range(calls)", "in range(min(calls, 2))"),
        4,
        r"calls missed",
        marks=pytest.mark.nightly,
        id="redis-loop",
    ),
    pytest.param(
        (REDIS, "targets/redis-clients/worker.py", '"hiredis" in parser', '"none" in parser'),
        7,
        r"redis-py has chosen .*, which is not what was asked for",
        marks=pytest.mark.nightly,
        id="redis-parser",
    ),
    pytest.param(
        (PYTHON, "targets/memcached/Dockerfile", '"-m", "64"', '"-I", "1m", "-m", "64", "-o", "no_such_option"'),
        7,
        r"service memcached (ended|does not listen)",
        marks=pytest.mark.nightly,
        id="memcached",
    ),
]


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(("spoil", "code", "said"), SPOILT)
def test_a_client_that_does_not_do_its_work_is_found_out(
    tmp_path: Path, spoil: tuple[str, str, str, str], code: int, said: str
) -> None:
    case, path, old, new = spoil
    seen = _spoilt(tmp_path, case, path, old, new)

    assert seen.outcomes == {case: "invalid" if code == 4 else "failed"}, seen.told
    assert seen.exit == code
    assert re.search(said, seen.reasons), seen.reasons
