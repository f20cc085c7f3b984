"""Launches on a real engine: what the pieces around the target see and do."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.project import labels_for
from windtunnel.errors import InvalidLoad, LaunchFailed
from windtunnel.launch.launch import LaunchContext, Running, launched
from windtunnel.launch.reap import reap_group
from windtunnel.launch.setup import open_context
from windtunnel.launch.slices import SliceRequest
from windtunnel.model import Case, Expect, Launch, LaunchPlan, Ready, ResolvedLaunch, Slice, Variant, Workload
from windtunnel.ports import LABEL
from windtunnel.sample.measure import Job, Measurement
from windtunnel.sample.summary import launch_metrics
from windtunnel.units import Missing

pytestmark = pytest.mark.engine

SERVER = """
import http.server, os, socket, sys, time
need = os.environ.get("NEED")
if need:
    socket.create_connection(("127.0.0.1", int(need)), 1).close()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # one write an answer: two would wait for a delayed acknowledgement
    def do_GET(self):
        body = b"x" * 100
        if self.path == "/net":
            body = ",".join(sorted(os.listdir("/sys/class/net"))).encode()
        self.send_response(200)
        wish = self.headers.get("Connection", "").lower()
        if wish in ("close", "keep-alive"):  # HTTP/1.0 clients (ab) want to hear the one, h2load and wrk the other
            self.send_header("Connection", wish)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"])), self.headers.get("X-Test")
        if asked == (b'{"a": "\\u00e4"}', "yes"):
            self.do_GET()
        else:
            self.send_error(400, repr(asked))
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("0.0.0.0", int(os.environ["PORT"])), Handler).serve_forever()
"""

H2_SERVER = """
import os, socketserver
import h2.config, h2.connection, h2.events
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        connection = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        connection.initiate_connection()
        self.request.sendall(connection.data_to_send())
        while data := self.request.recv(65536):
            for event in connection.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    connection.send_headers(event.stream_id, [(":status", "200"), ("content-length", "100")])
                    connection.send_data(event.stream_id, b"x" * 100, end_stream=True)
            self.request.sendall(connection.data_to_send())
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server(("0.0.0.0", int(os.environ["PORT"])), Handler).serve_forever()
"""


class Silent:
    """Nobody watches."""

    def starting(self, jobs: object) -> None:
        """Not told."""

    def loading(self, jobs: object, number: int) -> None:
        """Not told."""

    def done(self, launch: object) -> None:
        """Not told."""


@pytest.fixture(scope="module")
def context() -> Iterator[LaunchContext]:
    labels = labels_for(f"test-launches-{os.getpid()}-{secrets.token_hex(3)}")
    engine = DockerEngine()
    try:
        yield open_context(engine, labels, lambda _: None)
    finally:
        reap_group(engine, labels[LABEL])


def server(context: LaunchContext, name: str = "web", port: int = 8080, **env: str) -> ResolvedLaunch:
    """A small server in the load image: it has a Python, and every machine that measures has it."""
    return ResolvedLaunch(
        name,
        context.load_image,
        "no digest",
        port,
        env=(("PORT", str(port)), *env.items()),
        command=("python3", "-u", "-c", SERVER),
        ready=Ready(timeout=10.0),
    )


def case(**workload: object) -> Case:
    return Case("bench.Web", (), Variant("web"), replace(Workload(expect=Expect(length=100)), **workload))


def load(running: Running, requests: int = 200, concurrency: int = 4) -> Slice:
    return running.load(SliceRequest("load", requests, concurrency, 20.0))


def test_a_launch_is_alone_with_its_loopback(context: LaunchContext) -> None:
    work = case(path="/net", expect=Expect(length=2))  # "lo"
    with launched(context, work, server(context)) as running:
        assert running.answer.length == 2


def test_target_and_generator_run_where_they_were_pinned(context: LaunchContext) -> None:
    with launched(context, case(), server(context)) as running:
        _, cpusets = running.sidecar.watch([running.target, running.holder])
    if running.pinning.server:
        assert cpusets == (running.pinning.server, running.pinning.generator)
        assert running.pinning.server != running.pinning.generator
    else:
        assert running.pinning.note in running.warnings


def test_cpu_comes_from_the_cgroup_and_from_the_engine_where_that_is_hidden(context: LaunchContext) -> None:
    with launched(context, case(), server(context)) as running:
        read = load(running, 2000)
    blind = replace(context, mounts={})
    with launched(blind, case(), server(context)) as running:
        asked = load(running, 2000)
        assert any("engine's statistics" in warning for warning in running.warnings)
        assert isinstance(running.memory()[0], Missing)
    assert read.invalid == asked.invalid == ""
    assert isinstance(read.cpu, float)
    assert isinstance(asked.cpu, float)
    # The same work on the same machine: the coarse way must tell the same order of size, or it reads something else.
    assert read.cpu / 4 < asked.cpu < read.cpu * 4


def test_services_are_up_before_the_target(context: LaunchContext) -> None:
    backend = server(context, "backend", 9000)
    target = replace(server(context, NEED="9000"), services=(backend,))
    with launched(context, case(), target) as running:
        assert load(running).invalid == ""


def test_without_its_service_the_same_target_does_not_start(context: LaunchContext) -> None:
    with (
        pytest.raises(LaunchFailed, match=r"web ended \(exit code 1\)") as caught,
        launched(context, case(), server(context, NEED="9000")),
    ):
        pass
    assert "ConnectionRefusedError" in caught.value.detail


def test_a_service_that_never_listens_is_named(context: LaunchContext) -> None:
    deaf = replace(server(context, "backend", 9000), command=("sleep", "60"), ready=Ready(timeout=1.0))
    target = replace(server(context), services=(deaf,))
    with (
        pytest.raises(LaunchFailed, match="service backend does not listen on port 9000"),
        launched(context, case(), target),
    ):
        pass


def test_a_wrong_answer_is_found_before_any_load(context: LaunchContext) -> None:
    work = case(expect=Expect(length=99))
    with pytest.raises(InvalidLoad, match="100 bytes instead of 99"), launched(context, work, server(context)):
        pass


def test_a_target_that_does_not_close_connections_is_not_measured_as_if_it_did(context: LaunchContext) -> None:
    deaf = SERVER.replace('self.headers.get("Connection", "").lower()', '""').replace(
        "def do_GET(self):", "def do_GET(self):\n        self.close_connection = False"
    )
    resolved = replace(server(context), command=("python3", "-u", "-c", deaf))
    with (
        pytest.raises(InvalidLoad, match="leaves the connection open after an answer to Connection: close"),
        launched(context, case(keepalive=False), resolved),
    ):
        pass
    with launched(context, case(keepalive=True), resolved) as running:
        assert load(running).invalid == ""


def test_too_few_workers_are_warned_of(context: LaunchContext) -> None:
    with launched(context, case(concurrency=8), replace(server(context), workers=2)) as running:
        assert any("8 kept-alive connections on 2 workers" in warning for warning in running.warnings)


@pytest.mark.parametrize("generator", ["h2load", "ab", "wrk"])
@pytest.mark.parametrize("keepalive", [True, False])
def test_every_generator_measures(context: LaunchContext, generator: str, keepalive: bool) -> None:
    work = case(generator=generator, keepalive=keepalive, concurrency=2)
    kept = []
    measuring = Measurement(context, LaunchPlan(slices=2, single_slices=1), kept.append, Silent(), "seed")
    (launch,) = measuring.batch([(Job(work, "head", server(context)), 1)])
    assert (launch.outcome, launch.reason) == ("ok", "")
    assert kept == [launch]
    metrics = launch_metrics(launch)
    for name in (
        "cpu_per_request",
        "time_per_request",
        "response_time",
        "throughput",
        "time_to_ready",
        "peak_memory",
    ):
        value = metrics[name]
        assert isinstance(value, float), (name, value)
        assert value > 0
    assert sum(one.requests for one in launch.slices if one.role != "warmup") > 0


def _in_turn(context: LaunchContext, **expected: Expect) -> dict[str, Launch]:
    """Launches of one group, by the name of their case; the cases differ in what they expect."""
    group = [
        (Job(replace(case(concurrency=2, expect=expect), params=(("name", name),)), "head", server(context)), 1)
        for name, expect in expected.items()
    ]
    kept: list[Launch] = []
    measuring = Measurement(context, LaunchPlan(slices=4, single_slices=2), kept.append, Silent(), "seed")
    launches = measuring.groups([group])
    assert kept == list(launches)
    return dict(zip(expected, launches, strict=True))


def test_cases_that_are_set_against_each_other_are_loaded_in_turn(context: LaunchContext) -> None:
    same = Expect(length=100)
    found = _in_turn(context, one=same, two=same, three=same)
    assert [launch.outcome for launch in found.values()] == ["ok"] * 3
    slices = {name: [one for one in launch.slices if one.role != "warmup"] for name, launch in found.items()}
    order = [name for _, name in sorted((one.started, name) for name in slices for one in slices[name])]
    turns = [order[start : start + 3] for start in range(0, len(order), 3)]
    assert len(turns) == 6
    assert all(sorted(turn) == ["one", "three", "two"] for turn in turns)
    assert all(turn == other[::-1] for turn, other in pairwise(turns))
    for role in ("load", "single"):
        sizes = {one.requests for some in slices.values() for one in some if one.role == role}
        # on a machine that is busy with other things the same server may look three times as slow as a moment ago
        assert len(sizes) == 1 or max(sizes) > 3 * min(sizes)


def test_a_case_that_proves_nothing_does_not_hold_the_others_up(context: LaunchContext) -> None:
    found = _in_turn(context, one=Expect(length=100), wrong=Expect(length=99), two=Expect(length=100))
    assert {name: launch.outcome for name, launch in found.items()} == {"one": "ok", "wrong": "invalid", "two": "ok"}
    assert "100 bytes instead of 99" in found["wrong"].reason
    assert found["wrong"].slices == ()
    assert all(len(found[name].slices) >= 6 for name in ("one", "two"))


@pytest.mark.parametrize("generator", ["h2load", "ab"])
def test_method_headers_and_body_arrive_as_declared(context: LaunchContext, generator: str) -> None:
    work = case(generator=generator, method="POST", headers={"X-Test": "yes"}, body='{"a": "\\u00e4"}')
    with launched(context, work, server(context)) as running:
        seen = load(running, 50, 2)
    assert seen.invalid == ""


def test_a_server_that_speaks_only_http2_is_measured(context: LaunchContext) -> None:
    resolved = replace(server(context), command=("python3", "-u", "-c", H2_SERVER))
    work = case(h2=True, concurrency=2)
    with launched(context, work, resolved) as running:
        assert running.answer.http_version == "HTTP/2"
        seen = load(running, 200, 2)
    assert (seen.invalid, seen.status, seen.body_bytes) == ("", {"200": 200}, 20_000)


def test_nothing_is_left_behind(context: LaunchContext) -> None:
    with launched(context, case(), server(context)):
        pass
    left = context.engine.containers(f"{LABEL}={context.labels[LABEL]}")
    assert left == ()
