"""The worker of the load side-car as a process of its own over pipes, and servers for it to ask."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import windtunnel.load

WORKER = Path(windtunnel.load.__file__).parent / "image" / "worker.py"

_BOOT = """
import importlib.util, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("worker", sys.argv[1])
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)
# In its image these are the side-car's own; here they must not be anybody else's.
worker.CGROUP_ROOT, worker.SCRATCH, worker.BODY = Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[3]) / "body"
worker.Cgroup.find.__func__.__defaults__ = (worker.CGROUP_ROOT,)
worker.main()
"""


def module() -> Any:
    """The worker's file as a module, for what can be called directly."""
    spec = importlib.util.spec_from_file_location("windtunnel_worker", WORKER)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


class Talk:
    """A conversation, one line each way."""

    def __init__(self, process: subprocess.Popen[bytes], scratch: Path) -> None:
        self.process = process
        self.scratch = scratch
        self._read = b""

    def say(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        while b"\n" not in self._read:
            readable, _, _ = select.select([self.process.stdout], [], [], 30)
            assert readable, "no answer within 30 s"
            piece = os.read(self.process.stdout.fileno(), 1 << 20)
            assert piece, "the worker has ended"
            self._read += piece
        line, _, self._read = self._read.partition(b"\n")
        return dict(json.loads(line))

    def ask(self, operation: str, **arguments: object) -> dict[str, Any]:
        """The answer to one request, good or not."""
        self.say(json.dumps({"op": operation, **arguments}).encode())
        return self.hear()

    def load(self, program: str, *arguments: str, **options: object) -> dict[str, Any]:
        """Load with a generator that is a line of Python."""
        argv = [sys.executable, "-c", program, *arguments]
        answer = self.ask("load", **{"argv": argv, "log": None, "body": None, "deadline": 20, **options})
        assert answer.pop("ok"), answer
        return answer

    def check(self, port: int, **changes: object) -> dict[str, Any]:
        request: dict[str, object] = {
            "method": "GET",
            "path": "/",
            "headers": {},
            "body": None,
            "h2": False,
            "timeout": 5,
        }
        return self.ask("check", port=port, **{**request, **changes})


@contextmanager
def talking(scratch: Path, cgroups: Path | None = None) -> Iterator[Talk]:
    """A worker whose cgroups are below `cgroups`; it has ended after the block."""
    scratch.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-c", _BOOT, WORKER, cgroups or scratch / "none", scratch],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with process:
        try:
            yield Talk(process, scratch)
        finally:
            process.kill()


PAGE = b"hello, world\n" * 100


class _Pages(BaseHTTPRequestHandler):
    """`/`, a page; `/STATUS`, one with that status; `/echo`, what was asked; `/drip`, a body that never ends."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Nobody reads it."""

    def _page(self) -> None:
        name = self.path.strip("/")
        if name == "mute":
            time.sleep(20)
        elif name == "drip":
            self._drip()
        elif name == "echo":
            length = int(self.headers.get("Content-Length", 0))
            asked = {"method": self.command, "headers": {k.lower(): v for k, v in self.headers.items()}}
            self._send(200, json.dumps({**asked, "body": self.rfile.read(length).decode()}).encode())
        elif not name and "gzip" in self.headers.get("Accept-Encoding", ""):
            self._send(200, gzip.compress(PAGE, mtime=0), {"Content-Encoding": "gzip"})
        else:
            self._send(int(name or 200), b"" if name == "204" else PAGE, {"X-Odd": "\xfc"})

    do_GET = do_POST = do_HEAD = do_DELETE = _page  # noqa: N815

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _drip(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        with suppress(OSError):
            for _ in range(400):
                self.wfile.write(b".")
                self.wfile.flush()
                time.sleep(0.05)


@contextmanager
def serving(port: int = 0) -> Iterator[int]:
    """A server on the loopback interface; the port it listens on."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _Pages)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
