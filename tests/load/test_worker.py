"""The worker of the load side-car, spoken to as the side-car is: real process, real pipes, real server."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from talk import PAGE, Talk, serving, talking

import windtunnel.launch.sidecar
from windtunnel.launch.sidecar import Sidecar
from windtunnel.model import Host, Workload
from windtunnel.ports import EngineInfo


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """One worker for all of these, as it is one for all slices of a launch."""
    with talking(tmp_path_factory.mktemp("worker")) as made:
        yield made


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving() as made:
        yield made


@contextlib.contextmanager
def _free_port() -> Iterator[int]:
    """One that nobody listens on, kept by a socket that is bound and does not listen."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


# ---------------- the conversation


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"op": "dance"}', "unknown operation 'dance'"),
        (b'{"port": 80}', "unknown operation None"),
        (b'{"op": "listens"}', "port"),
        (b'{"op": "listens", "port": 1, "timeout": 0, "more": 1}', "more"),
        (b'{"op": "load", "argv": [], "log": null, "body": null, "deadline": 1}', ""),
        (b"[1, 2]", ""),
        (b"3", ""),
        (b"hello", "JSON"),
        (b"\xff\xfe\x80", ""),
        (b'{"op": ["load"]}', ""),
    ],
)
def test_what_cannot_be_done_is_answered_and_the_worker_goes_on(talk: Talk, line: bytes, said: str) -> None:
    talk.say(line)
    answer = talk.hear()
    assert answer["ok"] is False
    assert said in answer["error"]
    assert talk.ask("read")["ok"] is True


def test_answers_come_in_the_order_of_the_requests(talk: Talk) -> None:
    for number in range(20):
        talk.say(json.dumps({"op": f"number {number}"}).encode())
        talk.say(b"")
    assert [talk.hear()["error"].split()[-1] for _ in range(20)] == [f"{number}'" for number in range(20)]


def test_it_ends_with_its_input(tmp_path: Path) -> None:
    with talking(tmp_path / "scratch") as talk:
        talk.ask("read")
        assert talk.process.stdin is not None
        talk.process.stdin.close()
        assert talk.process.wait(20) == 0


def test_it_is_what_the_typed_side_expects(talk: Talk, port: int) -> None:
    """`Sidecar` on one end, the worker on the other: names of keys and arguments agree."""

    class Pipe:
        def send(self, line: bytes) -> None:
            talk.say(line)

        def receive(self, timeout: float) -> bytes:
            return json.dumps(talk.hear()).encode()

        def errors(self) -> str:
            return ""

        def close(self) -> None:
            pass

    sidecar = Sidecar(Pipe())
    engine = EngineInfo("Engine", "1", "1", 1, 1, "k", "v2", "overlay2", (), local=True)
    host = sidecar.probe(engine)
    assert isinstance(host, Host)
    assert set(host.online) == os.sched_getaffinity(0)
    assert set(host.online) <= {cpu for group in host.siblings for cpu in group}
    assert (host.memory > 1 << 20, host.kernel, host.engine) == (True, os.uname().release, "Engine")
    assert sidecar.watch(["0" * 64]) == (None, (None,))
    assert sidecar.listens(port, 5)
    answer, sample, kept = sidecar.check(port, Workload(), 5.0)
    assert answer is not None
    assert (answer.status, answer.length, sample, kept) == (200, len(PAGE), PAGE[:400].decode(), False)
    seen = sidecar.load(["true"], str(talk.scratch / "log"), Workload(), (10, 5.0))
    assert (seen.output.exit_code, seen.output.requested, seen.cpu) == (0, 10, None)
    assert windtunnel.launch.sidecar.Reading(None, None, 0.0).cpu == sidecar.read().cpu


# ---------------- connections that are to be closed


@contextlib.contextmanager
def _answering(header: bytes, *, closes: bool) -> Iterator[tuple[int, list[bytes]]]:
    """A server that answers every request alike, whatever it asks for; and what it was asked."""
    asked: list[bytes] = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while data := self.request.recv(65536):
                asked.append(data)
                self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + header + b"\r\nok")
                if closes:
                    return

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server.server_address[1], asked
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("header", "closes", "kept", "questions"),
    [
        (b"", False, True, 2),
        (b"Connection: keep-alive\r\n", False, True, 2),
        (b"", True, False, 2),
        (b"Connection: close\r\n", True, False, 1),
    ],
)
def test_a_connection_that_is_left_open_is_told(
    talk: Talk, header: bytes, closes: bool, kept: bool, questions: int
) -> None:
    with _answering(header, closes=closes) as (port, asked):
        seen = talk.ask("check", port=port, method="GET", path="/", h2=False, keepalive=False, timeout=5.0)
    assert (seen["answer"]["status"], seen["kept"]) == (200, kept)
    assert len(asked) == questions
    assert all(b"connection: close\r\n" in one.lower() for one in asked)


def test_a_connection_that_is_to_be_kept_may_stay_open(talk: Talk) -> None:
    with _answering(b"", closes=False) as (port, asked):
        seen = talk.ask("check", port=port, method="GET", path="/", h2=False, keepalive=True, timeout=5.0)
    assert seen["kept"] is False
    assert len(asked) == 1
    assert b"connection: close" not in asked[0].lower()


# ---------------- waiting


def test_a_port_that_is_open_listens(talk: Talk, port: int) -> None:
    assert talk.ask("listens", port=port, timeout=0)["ready"] is True


def test_a_port_that_is_closed_is_waited_for_and_then_given_up(talk: Talk) -> None:
    with _free_port() as closed:
        before = time.monotonic()
        assert talk.ask("listens", port=closed, timeout=0.3)["ready"] is False
        assert time.monotonic() - before >= 0.3


def test_a_server_that_comes_later_is_met(talk: Talk) -> None:
    with _free_port() as later:
        pass
    came: list[float] = []

    def come() -> None:
        time.sleep(0.4)
        came.append(time.time())
        with serving(later):
            stop.wait(30)

    stop = threading.Event()
    thread = threading.Thread(target=come)
    thread.start()
    try:
        answer = talk.ask("ready", port=later, path="/", status=200, timeout=20, patience=20)
    finally:
        stop.set()
        thread.join(30)
    assert answer["ready"] is True
    assert answer["at"] >= came[0]
    assert answer["attempts"] > 1


def test_ready_at_once(talk: Talk, port: int) -> None:
    before = time.time()
    answer = talk.ask("ready", port=port, path="/", status=200, timeout=20, patience=20)
    assert (answer["ready"], answer["attempts"], answer["last"]) == (True, 1, "200")
    assert before <= answer["at"] <= time.time()


@pytest.mark.parametrize("path", ["/503", "/404", "/302"])
def test_another_status_is_not_ready_and_is_told(talk: Talk, port: int, path: str) -> None:
    answer = talk.ask("ready", port=port, path=path, status=200, timeout=0.3, patience=1)
    assert (answer["ready"], answer["last"], answer["status"]) == (False, path[1:], path[1:])
    assert talk.ask("ready", port=port, path=path, status=int(path[1:]), timeout=5, patience=5)["ready"] is True


def test_nothing_that_listens_is_not_ready(talk: Talk) -> None:
    with _free_port() as closed:
        answer = talk.ask("ready", port=closed, path="/", status=200, timeout=0.2, patience=1)
    assert (answer["ready"], answer["last"], answer["status"]) == (False, "nothing listens", "")


@pytest.mark.parametrize("path", ["/mute", "/drip"])
def test_a_server_that_never_answers_whole_takes_no_longer_than_it_may(talk: Talk, port: int, path: str) -> None:
    before = time.monotonic()
    answer = talk.ask("ready", port=port, path=path, status=200, timeout=0.2, patience=0.5)
    assert answer["ready"] is False
    assert "imeout" in answer["last"]
    assert 0.5 <= time.monotonic() - before < 10


def test_a_slow_first_answer_is_waited_for_beyond_the_step(talk: Talk, port: int) -> None:
    """The side-car asks in steps, to see whether the target still runs; a question must outlive its step."""
    answer = talk.ask("ready", port=port, path="/drip", status=200, timeout=0.05, patience=1.0)
    assert answer["attempts"] == 1


# ---------------- the answer check


def test_the_whole_answer_is_described(talk: Talk, port: int) -> None:
    answer = talk.check(port)
    seen = answer["answer"]
    assert (seen["status"], seen["length"], seen["http_version"]) == (200, len(PAGE), "HTTP/1.1")
    assert seen["sha256"] == hashlib.sha256(PAGE).hexdigest()
    assert seen["headers"]["content-length"] == str(len(PAGE))
    assert answer["sample"] == PAGE[:400].decode()


def test_it_asks_what_the_workload_asks(talk: Talk, port: int) -> None:
    got = talk.check(port, method="POST", path="/echo", headers={"X-Name": "a b"}, body="grüße")
    asked = json.loads(got["sample"])
    assert (asked["method"], asked["body"], asked["headers"]["x-name"]) == ("POST", "grüße", "a b")
    assert asked["headers"]["content-length"] == str(len("grüße".encode()))


def test_it_asks_for_no_encoding_that_the_generator_does_not_ask_for(talk: Talk, port: int) -> None:
    """Generators send no Accept-Encoding; a page that is compressed for one and not for the other is two pages."""
    assert "accept-encoding" not in json.loads(talk.check(port, path="/echo")["sample"])["headers"]
    assert "content-encoding" not in talk.check(port)["answer"]["headers"]


def test_a_length_is_that_of_the_bytes_on_the_wire(talk: Talk, port: int) -> None:
    """The generator counts what comes, compressed where the workload asks for that; so must the check."""
    seen = talk.check(port, headers={"Accept-Encoding": "gzip"})["answer"]
    assert seen["headers"]["content-encoding"] == "gzip"
    assert seen["length"] == int(seen["headers"]["content-length"]) != len(PAGE)


@pytest.mark.parametrize(
    ("path", "status", "length"), [("/404", 404, len(PAGE)), ("/302", 302, len(PAGE)), ("/204", 204, 0)]
)
def test_any_status_is_an_answer_and_nothing_is_followed(
    talk: Talk, port: int, path: str, status: int, length: int
) -> None:
    seen = talk.check(port, path=path)["answer"]
    assert (seen["status"], seen["length"]) == (status, length)


def test_head_has_no_body(talk: Talk, port: int) -> None:
    seen = talk.check(port, method="HEAD")["answer"]
    assert (seen["status"], seen["length"], seen["headers"]["content-length"]) == (200, 0, str(len(PAGE)))


def test_no_answer_is_none_with_the_reason(talk: Talk) -> None:
    with _free_port() as closed:
        answer = talk.check(closed)
    assert answer["ok"] is True
    assert answer["answer"] is None
    assert "ConnectError" in answer["why"]


@pytest.mark.parametrize("path", ["/mute", "/drip"])
def test_an_answer_that_does_not_end_in_time_is_none(talk: Talk, port: int, path: str) -> None:
    before = time.monotonic()
    answer = talk.check(port, path=path, timeout=0.4)
    assert answer["answer"] is None
    assert "imeout" in answer["why"]
    assert time.monotonic() - before < 10
    assert talk.check(port)["answer"]["status"] == 200, "and the next one is not hurt by it"


@pytest.mark.parametrize(
    "said", [b"", b"\x00\x01\x02\r\n\r\n", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-"]
)
def test_a_server_that_does_not_speak_http_is_none_with_the_reason(talk: Talk, said: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer_all() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(1000)
                        connection.sendall(said)

        threading.Thread(target=answer_all, daemon=True).start()
        answer = talk.check(listener.getsockname()[1])
    assert (answer["ok"], answer["answer"]) == (True, None)
    assert answer["why"]


def test_the_environments_proxy_is_not_asked(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with _free_port() as closed:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{closed}")
        with talking(tmp_path / "scratch") as talk:
            assert talk.check(port)["answer"]["status"] == 200


# ---------------- the load


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_what_a_generator_prints_and_how_it_ends(talk: Talk, code: int) -> None:
    seen = talk.load(f"import sys; print('out'); print('err', file=sys.stderr); sys.exit({code})")
    assert (seen["stdout"], seen["stderr"], seen["exit"], seen["timed_out"]) == ("out\n", "err\n", code, False)


def test_a_generator_that_crashes(talk: Talk) -> None:
    seen = talk.load("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert (seen["exit"], seen["timed_out"]) == (-signal.SIGSEGV, False)


def test_one_that_hangs_is_killed_at_the_deadline(talk: Talk) -> None:
    program = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    seen = talk.load(program, deadline=1.0)
    assert (seen["exit"], seen["timed_out"]) == (-signal.SIGKILL, True)
    assert 1.0 <= seen["wall"] < 20
    assert _gone(int(seen["stdout"]))


def test_one_that_ignores_a_polite_end_is_killed_too(talk: Talk) -> None:
    program = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (2, 15)]; time.sleep(60)"
    assert talk.load(program, deadline=0.5)["timed_out"] is True


def test_nothing_is_left_over_from_the_generator_before(talk: Talk) -> None:
    log = str(talk.scratch / "requests.log")
    first = talk.load("import sys; print('long ' * 1000); open(sys.argv[1], 'a').write('one\\n')", log, log=log)
    assert first["log"] == "one\n"
    second = talk.load("import sys; print('short'); open(sys.argv[1], 'a').write('two\\n')", log, log=log)
    assert (second["stdout"], second["log"]) == ("short\n", "two\n")
    assert talk.load("pass", log=log)["log"] is None
    assert talk.load("pass")["log"] is None


def test_the_body_stands_in_its_file_and_in_no_encoding_but_utf_8(talk: Talk) -> None:
    program = "import sys; sys.stdout.write(open(sys.argv[1], 'rb').read().hex())"
    where = str(talk.scratch / "body")
    assert talk.load(program, where, body="grüße\r\n")["stdout"] == "grüße\r\n".encode().hex()
    assert not talk.load(program, where, body="")["stdout"]


def test_a_generator_has_no_input(talk: Talk) -> None:
    """Else it would read the requests that are meant for the worker."""
    assert talk.load("import sys; print(repr(sys.stdin.read()))")["stdout"] == "''\n"
    assert talk.ask("read")["ok"] is True


def test_much_output_in_any_bytes(talk: Talk) -> None:
    seen = talk.load("import sys; sys.stdout.buffer.write(b'\\xff\\x00x' * 500_000)")
    assert len(seen["stdout"]) == 1_500_000
    assert seen["stdout"].startswith("\ufffd\0x")


def test_a_generator_that_is_not_there_is_an_error_with_its_name(talk: Talk) -> None:
    answer = talk.ask("load", argv=["no-such-generator"], log=None, body=None, deadline=5)
    assert answer["ok"] is False
    assert "no-such-generator" in answer["error"]
    assert talk.load("print('here')")["stdout"] == "here\n"


def test_the_generators_own_processor_time_is_read(talk: Talk) -> None:
    program = (
        "import time, resource\n"
        "while time.process_time() < 0.3: pass\n"
        "usage = resource.getrusage(resource.RUSAGE_SELF); print(usage.ru_utime + usage.ru_stime)\n"
    )
    seen = talk.load(program)
    assert float(seen["stdout"]) == pytest.approx(seen["generator_cpu"], abs=0.1)
    assert 0.3 <= seen["generator_cpu"] <= seen["wall"] * 1.05
    assert talk.load("pass")["generator_cpu"] < 0.3, "each time anew"


def test_waiting_for_a_generator_takes_no_processor_time(talk: Talk) -> None:
    """The worker shares its processor with the generator."""

    def used() -> float:
        fields = Path(f"/proc/{talk.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    talk.load("pass")
    before = used()
    talk.load("import time; time.sleep(1)")
    assert used() - before < 0.1


def test_times_of_a_slice(talk: Talk) -> None:
    before = time.time()
    seen = talk.load("import time; time.sleep(0.2)")
    assert 0.2 <= seen["wall"] <= time.time() - before
    assert before <= seen["started"] <= time.time() - 0.2


def test_where_no_cgroup_is_read_processor_time_is_not_known_rather_than_0(talk: Talk) -> None:
    assert talk.load("pass")["cpu"] is None
    assert talk.ask("watch", containers=["f" * 64]) == {"ok": True, "cgroup": None, "cpusets": [None]}
    assert talk.load("pass")["cpu"] is None
    answer = talk.ask("read")
    assert (answer["cpu"], answer["memory"], answer["memory_kills"]) == (None, None, None)


# ---------------- the machine


@pytest.mark.parametrize(
    ("folder", "version"),
    [(None, "unreadable"), ("cpuacct", "v1"), ("cpu,cpuacct", "v1"), ("cgroup.controllers", "v2")],
)
def test_the_version_of_cgroups_is_told(tmp_path: Path, folder: str | None, version: str) -> None:
    root = tmp_path / "cgroup"
    root.mkdir()
    if folder is not None:
        (root / folder).mkdir()
    with talking(tmp_path / "scratch", root) as talk:
        assert talk.ask("probe")["cgroup"] == version
