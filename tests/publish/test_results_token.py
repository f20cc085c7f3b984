"""The token of an http remote: git's own server asks for it, and it is nowhere but in that request."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from results_remotes import BRANCH, Bare, make_bare

from windtunnel.adapters.remote import Remote
from windtunnel.adapters.results import open_results
from windtunnel.errors import Exit, StorageError
from windtunnel.publish.results import Addition, TryAgain, Written, add

TOKEN = "a-token-that-is-secret-0123456789"
BASIC = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
ONE = Addition((Written("runs/a", b"x" * 2_000_000),), "Record a\n", "runs/a")


@dataclass
class Server:
    """git over http, for one repository; it wants the token. What it was asked, and what was lying about then."""

    bare: Bare
    scratch: Path
    wanted: str = f"basic {BASIC}"
    refuse: int = 0
    port: int = 0
    headers: list[list[str]] = field(default_factory=list)
    leaks: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/{self.bare.path.name}"

    def look(self) -> None:
        """Whatever has the token in its command line, or in a file."""
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                try:
                    line = (process / "cmdline").read_bytes()
                except OSError:
                    continue
                self.leaks += [line.decode()] if TOKEN.encode() in line or BASIC.encode() in line else []
        for path in self.scratch.rglob("*"):
            try:
                content = path.read_bytes() if path.is_file() else b""
            except OSError:
                continue
            self.leaks += [str(path)] if TOKEN.encode() in content or BASIC.encode() in content else []


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            server.headers.append(self.headers.get_all("Authorization") or [])
            server.look()
            if server.refuse or server.headers[-1] != [server.wanted]:
                code = server.refuse or 401
                self.send_response(code)
                if code == 401:
                    self.send_header("WWW-Authenticate", 'Basic realm="x"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self._answer(self._backend(self._body()))

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b""
            while size := int(self.rfile.readline().strip(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body

        def _backend(self, body: bytes) -> bytes:
            parts = urlsplit(self.path)
            variables = {
                "GIT_PROJECT_ROOT": str(server.bare.path.parent),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": parts.path,
                "QUERY_STRING": parts.query,
                "REQUEST_METHOD": self.command,
                "REMOTE_USER": "somebody",
                "CONTENT_TYPE": self.headers.get("Content-Type") or "",
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
            }
            own = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
            done = subprocess.run(
                ["git", "http-backend"], env={**own, **variables}, input=body, capture_output=True, check=True
            )
            return done.stdout

        def _answer(self, said: bytes) -> None:
            head, _, body = said.partition(b"\r\n\r\n")
            fields = [line.split(": ", 1) for line in head.decode().split("\r\n")]
            status = next((value for key, value in fields if key == "Status"), "200 OK")
            self.send_response(int(status.split()[0]))
            for key, value in fields:
                if key != "Status":
                    self.send_header(key, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    bare = make_bare(tmp_path / "remote.git")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    state = Server(bare, scratch)
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(state)) as running:
        state.port = running.server_address[1]
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield state
        running.shutdown()
        thread.join()


def test_the_token_is_in_every_request_and_nowhere_else(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "http.extraheader")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "AUTHORIZATION: basic of-somebody-else")
    monkeypatch.setenv("GIT_TRACE_CURL", str(server.scratch / "trace"))
    with open_results(Remote(server.url, TOKEN), BRANCH, server.scratch) as branch:
        add(branch, ONE)
        assert branch.read("runs/a") == b"x" * 2_000_000
        server.look()
    assert "runs/a" in server.bare.files()
    assert len(server.headers) > 3
    assert {tuple(found) for found in server.headers} == {(server.wanted,)}
    assert (server.scratch / "trace").stat().st_size
    assert server.leaks == []


def test_a_token_that_lay_about_would_be_seen(server: Server) -> None:
    (server.scratch / "file").write_text(f"before {BASIC} after")
    # A process has no command line for a moment after it was started, so this one says when it runs.
    with subprocess.Popen(
        ["sh", "-c", "echo; read line; exit", TOKEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        server.look()
        process.communicate(b"\n")
    assert sorted(len(one.split("\0")) > 1 for one in server.leaks) == [False, True]


def test_another_host_does_not_get_it(server: Server) -> None:
    variables = Remote(server.url, TOKEN).variables({})
    assert {value for key, value in variables.items() if "KEY" in key} == {
        f"http.http://127.0.0.1:{server.port}/.extraheader"
    }
    assert Remote("file:///x", TOKEN).variables({}) == {}
    assert Remote("git@example.org:a/b", TOKEN).variables({}) == {}
    assert Remote(server.url).variables({}) == {}


@pytest.mark.parametrize("code", [0, 403, 404])
def test_a_token_that_is_not_taken_is_told_with_the_remedy_and_without_the_token(server: Server, code: int) -> None:
    server.refuse = code
    wrong = Remote(server.url.replace("//", "//user:password@"), "not-" + TOKEN)
    with pytest.raises(StorageError, match="contents: write") as caught, open_results(wrong, BRANCH, server.scratch):
        pass
    assert caught.value.exit is Exit.INFRASTRUCTURE
    said = f"{caught.value}\n{caught.value.detail}"
    assert TOKEN not in said
    assert "password" not in said
    assert base64.b64encode(f"x-access-token:not-{TOKEN}".encode()).decode() not in said
    assert f"127.0.0.1:{server.port}" in said


def test_a_remote_that_fails_for_a_while_is_asked_again(server: Server) -> None:
    with open_results(Remote(server.url, TOKEN), BRANCH, server.scratch) as branch:
        server.refuse = 503

        def pause(_: float) -> None:
            server.refuse = 0

        add(branch, ONE, pause)
    assert "runs/a" in server.bare.files()


def test_a_remote_that_goes_on_failing(server: Server) -> None:
    with open_results(Remote(server.url, TOKEN), BRANCH, server.scratch) as branch:
        server.refuse = 502
        with pytest.raises(StorageError, match="run the job again") as caught:
            add(branch, ONE, lambda _: None)
        with pytest.raises(TryAgain):
            branch.fetch()
    assert TOKEN not in str(caught.value)
