"""The suite's own first target: does it hold what its benchmark asks for?"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers import docker, running
from windtunnel.declare.cases import discover
from windtunnel.declare.suite import Suite, load_suite
from windtunnel.declare.target import parse_target
from windtunnel.declare.workload import case_variant
from windtunnel.model import Case, Target

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "targets" / "starlet"
BENCHMARK = "psgi.Starlet"

# asked from inside the container, which has no other network than its loopback interface
ASK = """
use HTTP::Tiny;
my $http = HTTP::Tiny->new(keep_alive => $ARGV[1]);
print join(" ", map { my $answer = $http->get($ARGV[0]); "$answer->{status}:" . length $answer->{content} } 1 .. 3);
"""


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(ROOT / "asv.conf.json")


@pytest.fixture(scope="module")
def target() -> Target:
    text = (FOLDER / "target.toml").read_text("utf-8")
    exists = [path.relative_to(ROOT).as_posix() for path in FOLDER.iterdir()].__contains__
    return parse_target(text, name="starlet", folder="targets/starlet", file="target.toml", exists=exists)


@pytest.fixture(scope="module")
def cases(suite: Suite) -> tuple[Case, ...]:
    return tuple(case for case in discover(suite).cases if case.benchmark == BENCHMARK)


def test_every_perl_is_asked_for_over_both_kinds_of_connection(cases: tuple[Case, ...], target: Target) -> None:
    asked = {(dict(case_variant(target, case.workload).axes)["perl"], case.workload.keepalive) for case in cases}

    assert asked == {(perl, keepalive) for perl in target.axes["perl"] for keepalive in (True, False)}


def test_no_connection_waits_for_a_worker(cases: tuple[Case, ...], target: Target) -> None:
    command = (FOLDER / "Dockerfile").read_text("utf-8")

    assert f'"--max-workers", "{target.workers}"' in command
    assert target.workers is not None
    assert all(case.workload.concurrency <= target.workers for case in cases)


@pytest.fixture(
    scope="module",
    params=["5.36", *(pytest.param(perl, marks=pytest.mark.nightly) for perl in ("5.32", "5.40"))],
)
def started(request: pytest.FixtureRequest, target: Target) -> Iterator[tuple[str, str]]:
    """A version of perl and a container that serves with it, started as windtunnel does: no network, an init."""
    value = target.axes["perl"][request.param]
    arguments = [word for name, text in value.build_args.items() for word in ("--build-arg", f"{name}={text}")]
    image = f"windtunnel-test-starlet:{request.param}"
    docker("build", "--quiet", "--tag", image, *arguments, str(FOLDER))
    with running(image) as container:
        yield request.param, container
    docker("rmi", image)


def _answers(container: str, port: int, *, keepalive: bool) -> str:
    """What three requests are answered with, as soon as the port is open."""
    url = f"http://127.0.0.1:{port}/"
    for _ in range(100):
        answers = docker("exec", "-i", container, "perl", "-", url, str(int(keepalive)), stdin=ASK)
        if "599" not in answers:
            return answers
        time.sleep(0.1)
    raise AssertionError(docker("logs", container))


@pytest.mark.engine
def test_each_image_has_its_perl_and_answers_128_bytes(
    started: tuple[str, str], target: Target, cases: tuple[Case, ...]
) -> None:
    version, container = started
    (length,) = {case.workload.expect.length for case in cases}

    for keepalive in (True, False):
        assert _answers(container, target.port, keepalive=keepalive) == " ".join([f"200:{length}"] * 3)
    assert docker("exec", container, "perl", "-e", 'printf "%vd", $^V').startswith(f"{version}.")
    # without it Plack parses requests in Perl, and the axis would compare something else
    assert docker("exec", container, "perl", "-MHTTP::Parser::XS", "-e", "print 1") == "1"


@pytest.mark.engine
def test_it_ends_at_the_first_signal_and_takes_its_workers_along(started: tuple[str, str], target: Target) -> None:
    _, container = started
    _answers(container, target.port, keepalive=False)

    docker("kill", "--signal=TERM", container)
    code = docker("wait", container)

    state = json.loads(docker("inspect", container))[0]["State"]
    assert (code, state["Running"], state["OOMKilled"]) == ("0", False, False)
