"""Programs that make the load, in real containers: a client with its service, a worker beside a server, and what they
do wrong.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from dataclasses import replace

import pytest

from containers import docker
from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.project import labels_for
from windtunnel.errors import InvalidLoad, LaunchFailed
from windtunnel.launch.launch import LaunchContext, Running, launched
from windtunnel.launch.reap import reap_group
from windtunnel.launch.setup import open_context
from windtunnel.launch.slices import SliceRequest
from windtunnel.model import Case, Launch, LaunchPlan, Ready, ResolvedLaunch, Slice, Variant, Workload
from windtunnel.ports import LABEL
from windtunnel.sample.measure import Job, Measurement
from windtunnel.sample.summary import launch_metrics
from windtunnel.units import Missing

pytestmark = pytest.mark.engine

# Echoes lines; over HTTP, too, so that it can be waited for.
SERVER = """
import os, socket, threading
def serve(connection):
    lines = connection.makefile("rwb")
    for line in lines:
        if line.startswith(b"GET"):
            while lines.readline().strip():
                pass
            line = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok"
        lines.write(line)
        lines.flush()
listener = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

# Sends lines to it and looks whether they come back. MODE is what it does wrong, from the AFTER-th call on.
WORKER = """
import json, os, socket, sys, time
mode, after, made = os.environ.get("MODE", ""), int(os.environ.get("AFTER", "2")), 0
if mode == "mute":
    time.sleep(3600)
if mode == "no-module":
    import no_such_module
server = None
def call():
    global made
    made += 1
    server.write(b"hello\\n")
    server.flush()
    return server.readline() == b"hello\\n"
def calls(count):
    bad = made >= after
    if bad and mode == "dies":
        sys.exit("as told")
    if bad and mode == "hangs":
        time.sleep(3600)
    if bad and mode == "garbage":
        print("a line of no meaning", flush=True)
    if bad and mode == "endless":
        while True:
            print("x" * 65536, end="")
    if bad and mode == "eats":
        kept = ["x" * (1 << 20) for _ in range(100_000)]
    began, cpu = time.perf_counter(), time.process_time()
    hits = sum(call() for _ in range(count))
    told = {"calls": count, "seconds": time.perf_counter() - began, "hits": hits, "errors": count - hits}
    told["cpu_seconds"] = time.process_time() - cpu
    if bad and mode == "works-aside":
        until = time.process_time() + 0.3
        while time.process_time() < until:
            pass
    wrong = {
        "misses": {"hits": hits - 1},
        "lies": {"hits": hits + 1},
        "slow-clock": {"seconds": told["seconds"] * 1000},
        "short": {"calls": count - 1},
        "fails": {"hits": 0, "errors": count},
        "says-no": {"error": "the connection was refused"},
    }
    return {**told, **wrong.get(mode, {})} if bad else told
for line in sys.stdin:
    asked = json.loads(line)
    if "hello" in asked:
        told = {"ops": ["echo"], "payloads": [], "client": "echo", "version": "1"}
    elif "preload" in asked:
        server = socket.create_connection(("127.0.0.1", int(os.environ["PORT"]))).makefile("rwb")
        told = {}
    else:
        told = calls(asked["calls"])
    print(json.dumps(told), flush=True)
"""

ECHO = Workload(generator="program", op="echo")
CASE = Case("bench.Echo", (), Variant("echo"), ECHO)


@pytest.fixture(scope="module")
def context() -> Iterator[LaunchContext]:
    labels = labels_for(f"test-programs-{os.getpid()}-{secrets.token_hex(3)}")
    engine = DockerEngine()
    try:
        yield open_context(engine, labels, lambda _: None)
    finally:
        reap_group(engine, labels[LABEL])


def _python(context: LaunchContext, name: str, program: str, **env: str) -> ResolvedLaunch:
    """A program in the load image: it has a Python, and every machine that measures has it."""
    return ResolvedLaunch(
        name,
        context.load_image,
        "no digest",
        None,
        env=tuple({"PORT": "7000", **env}.items()),
        command=("python3", "-u", "-c", program),
        ready=Ready(timeout=5.0),
    )


def client(context: LaunchContext, mode: str = "", **env: str) -> ResolvedLaunch:
    """The worker as a client, the server as its service."""
    service = replace(_python(context, "server", SERVER), port=7000)
    target = _python(context, "client", WORKER, MODE=mode, **env)
    return replace(target, worker=target.command, services=(service,))


def server(context: LaunchContext, mode: str = "", **env: str) -> ResolvedLaunch:
    """The server as the target, the worker beside it."""
    target = _python(context, "server", SERVER, MODE=mode, **env)
    return replace(target, port=7000, worker=("python3", "-u", "-c", WORKER))


def load(running: Running, calls: int = 200, deadline: float = 60.0) -> Slice:
    return running.load(SliceRequest("load", calls, 1, deadline))


def measured(context: LaunchContext, resolved: ResolvedLaunch, **plan: float) -> Launch:
    class Silent:
        starting = loading = done = lambda *_: None

    measuring = Measurement(context, LaunchPlan(slices=2, single_slices=1, **plan), lambda _: None, Silent(), "seed")
    (launch,) = measuring.batch([(Job(CASE, "head", resolved), 1)])
    return launch


def left(context: LaunchContext) -> tuple[object, ...]:
    return context.engine.containers(f"{LABEL}={context.labels[LABEL]}")


# ---------------- what is right


def test_a_client_is_measured(context: LaunchContext) -> None:
    launch = measured(context, client(context))

    assert (launch.outcome, launch.reason) == ("ok", "")
    assert launch.program == "echo 1"
    assert launch.answer is None
    metrics = launch_metrics(launch)
    cpu, wall = metrics["cpu_per_request"], metrics["time_per_request"]
    assert isinstance(cpu, float)
    assert isinstance(wall, float)
    assert 0 < cpu < wall  # the server's share of the time is none of the client's CPU
    assert isinstance(metrics["response_time"], float)
    assert isinstance(metrics["peak_memory"], float)
    assert isinstance(metrics["latency_p50"], Missing)
    assert isinstance(metrics["time_to_ready"], Missing)
    assert not left(context)


def test_client_and_service_share_a_processor_and_nobody_else_has_it(context: LaunchContext) -> None:
    with launched(context, CASE, client(context)) as running:
        service = running.parts[1].container
        _, cpusets = running.sidecar.watch([running.target, service, running.holder])
    if running.pinning.server:
        assert cpusets == (running.pinning.server, running.pinning.server, running.pinning.generator)


def test_the_client_is_what_is_read_and_not_its_server(context: LaunchContext) -> None:
    """With a server that works hard for each line the calls take long, and cost the client no more."""
    hard = SERVER.replace("lines.write(line)", "sum(range(60_000)); lines.write(line)")
    assert hard != SERVER
    resolved = client(context)
    slow = replace(resolved.services[0], command=("python3", "-u", "-c", hard))
    with launched(context, CASE, replace(resolved, services=(slow,))) as running:
        seen = load(running, 100)
    assert seen.invalid == ""
    assert isinstance(seen.cpu, float)
    assert isinstance(seen.wall, float)
    assert seen.cpu < seen.wall / 2


def test_a_program_beside_a_server_loads_it(context: LaunchContext) -> None:
    with launched(context, CASE, server(context)) as running:
        seen = load(running, 500)
        memory, _ = running.memory()
    assert seen.invalid == ""
    assert isinstance(running.time_to_ready, float)
    assert isinstance(seen.cpu, float)
    assert isinstance(seen.generator_share, float)  # what the worker tells of itself
    assert 0 < seen.generator_share <= 1
    assert isinstance(memory, float)
    assert not left(context)


@pytest.mark.nightly
def test_where_no_cgroup_can_be_read_the_engine_tells(context: LaunchContext) -> None:
    with launched(replace(context, mounts={}), CASE, client(context)) as running:
        seen = load(running, 3000)
    assert seen.invalid == ""
    assert isinstance(seen.cpu, float)
    assert seen.cpu > 0


# ---------------- what is wrong before the first call


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        (
            "no-module",
            r"client ended \(exit code 1\); the worker of client does not answer hello: it (ended|no longer)",
        ),
        ("mute", r"the worker of client does not answer hello: no answer after 5 s"),
    ],
)
def test_a_client_that_does_not_come_up_has_failed(context: LaunchContext, mode: str, said: str) -> None:
    with pytest.raises(LaunchFailed, match=said) as caught, launched(context, CASE, client(context, mode)):
        pass
    if mode == "no-module":
        assert "ModuleNotFoundError" in caught.value.detail
    assert not left(context)


@pytest.mark.nightly
def test_a_client_without_its_server_can_not_preload(context: LaunchContext) -> None:
    with (
        pytest.raises(
            LaunchFailed, match=r"client ended \(exit code 1\).*can't preload echo: it ended: ConnectionRefused"
        ),
        launched(context, CASE, replace(client(context), services=())),
    ):
        pass


@pytest.mark.nightly
def test_an_operation_that_it_does_not_have(context: LaunchContext) -> None:
    other = replace(CASE, workload=replace(ECHO, op="get"))
    with pytest.raises(LaunchFailed, match="no op 'get'; it has echo"), launched(context, other, client(context)):
        pass


def test_a_first_call_that_misses_is_an_invalid_load(context: LaunchContext) -> None:
    wrong = client(context, "fails", AFTER="0")
    with (
        pytest.raises(InvalidLoad, match="the first echo of client: failed: 1 error"),
        launched(context, CASE, wrong),
    ):
        pass


@pytest.mark.nightly
def test_a_command_that_is_not_there(context: LaunchContext) -> None:
    nothing = ("no-such-program",)
    wrong = replace(client(context), command=nothing, worker=nothing)
    with pytest.raises(LaunchFailed, match=r"no-such-program|exit code 127"), launched(context, CASE, wrong):
        pass
    assert not left(context)


# ---------------- what is wrong under load

FAULTS = {
    "dies": r"client ended under load \(exit code 1\): .* it (ended|no longer reads).*as told",
    "hangs": r"no answer after 2 s",
    "garbage": r"something else than JSON on its standard output: 'a line of no meaning'",
    "endless": r"it wrote 64 MiB without the end of a line",
    "eats": r"client (ended|lost a process) under load \(killed for memory, of which it has 64",
    "works-aside": r"it was busy for .* what is no call belongs into the preload",
    "misses": r"1 of 200 calls missed",
    "lies": r"201 hits and 0 errors of 200 calls can't be",
    "slow-clock": r"by its own clock, yet its answer came after",
    "short": r"199 of 200 calls were made",
    "fails": r"failed: 200 errors",
    "says-no": r"200 x echo of client: the connection was refused",
}


NIGHTLY = pytest.mark.nightly
MODES = [mode if mode in {"dies", "garbage", "misses"} else pytest.param(mode, marks=NIGHTLY) for mode in FAULTS]


@pytest.mark.parametrize("mode", MODES)
def test_a_client_that_goes_wrong_under_load_proves_nothing(context: LaunchContext, mode: str) -> None:
    resolved = client(context, mode)
    resolved = replace(resolved, limits=replace(resolved.limits, memory=64 << 20))
    with launched(context, CASE, resolved) as running:
        assert load(running, 2).invalid == ""
        seen = load(running, deadline=2.0 if mode == "hangs" else 60.0)
        error = running.failure(seen)
    assert seen.invalid
    assert re.search(FAULTS[mode], str(error)), error
    assert not left(context)


def test_a_service_that_is_killed_is_named(context: LaunchContext) -> None:
    with launched(context, CASE, client(context)) as running:
        assert load(running).invalid == ""
        docker("kill", running.parts[1].container)
        error = running.failure(load(running))
    assert "service server ended under load (exit code 137: it was killed)" in str(error)
    assert not left(context)


def test_a_worker_beside_a_server_that_dies_is_named(context: LaunchContext) -> None:
    with launched(context, CASE, server(context, "dies")) as running:
        assert load(running, 2).invalid == ""
        error = running.failure(load(running))
    assert "the worker of server ended under load (exit code 1)" in str(error)
    assert "as told" in error.detail


def test_a_launch_that_went_wrong_is_recorded_as_invalid(context: LaunchContext) -> None:
    launch = measured(context, client(context, "misses", AFTER="300"))
    assert launch.outcome == "invalid"
    assert "calls missed" in launch.reason
    assert all(isinstance(value, Missing) for value in launch_metrics(launch).values())
