"""Registries of container images on loopback: Debian's own, and some that are not as they should be."""

from __future__ import annotations

import base64
import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engines import TOOLS

__all__ = [
    "HTPASSWD",
    "PASSWORD",
    "USER",
    "Served",
    "answering",
    "configuration",
    "cutting",
    "free_address",
    "login",
    "mute",
    "registry_program",
    "serving",
]

USER, PASSWORD = "ada", "countess-of-lovelace"
HTPASSWD = f"{USER}:$2b$04$Vi/VDfV1RzpmChaCSgxoEu3.ZNQqfVrYyPUSsU66JA5vG0o.nC376\n"

_CONFIG = """
version: 0.1
log: {{level: info, accesslog: {{disabled: true}}}}
storage:
  filesystem: {{rootdirectory: {data}}}
  maintenance:
    uploadpurging: {{enabled: false}}
    readonly: {{enabled: {readonly}}}
http: {{addr: "127.0.0.1:0", secret: none}}
{auth}
"""


@dataclass(frozen=True)
class Served:
    """A registry that runs: its address ("127.0.0.1:4711"), and where it keeps what was pushed."""

    address: str
    data: Path

    def layers(self) -> list[Path]:
        """The files of its layers, the largest first."""
        blobs = [file for file in self.data.rglob("blobs/sha256/*/*/data") if file.read_bytes()[:2] == b"\x1f\x8b"]
        return sorted(blobs, key=lambda file: file.stat().st_size, reverse=True)

    def tags(self, repository: str) -> list[str]:
        """The tags that a repository has."""
        with (
            suppress(urllib.error.HTTPError),
            urllib.request.urlopen(f"http://{self.address}/v2/{repository}/tags/list", timeout=10) as answer,
        ):
            return sorted(json.load(answer)["tags"] or [])
        return []


@pytest.fixture(scope="session")
def registry_program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The registry's program. Fails where it can't be had."""
    folder = TOOLS.parent / "build" / "docker-registry"
    got = subprocess.run([TOOLS / "docker-registry", folder], capture_output=True, text=True, check=False)
    if got.returncode:
        pytest.fail(f"no registry can be had here: {got.stderr.strip()}")
    return got.stdout.strip()


@contextmanager
def serving(program: str, folder: Path, *, readonly: bool = False, htpasswd: str = "") -> Iterator[Served]:
    """A registry that keeps its data in `folder`, which another one may have begun; ended afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    auth = ""
    if htpasswd:
        (folder / "htpasswd").write_text(htpasswd)
        auth = f'auth: {{htpasswd: {{realm: tests, path: "{folder / "htpasswd"}"}}}}'
    config, log = folder / "config.yml", folder / "log"
    config.write_text(_CONFIG.format(data=folder / "data", readonly=str(readonly).lower(), auth=auth))
    with log.open("wb") as output:
        process = subprocess.Popen([program, "serve", str(config)], stdout=output, stderr=output)
    try:
        yield Served(_address(process, log), folder / "data")
    finally:
        process.terminate()
        process.wait(30)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"listening on (127\.0\.0\.1:[1-9]\d*)", log.read_text())
        if found:
            return found[1]
        time.sleep(0.05)
    process.kill()
    pytest.fail(f"the registry does not start: {log.read_text()[-2000:]}")


def configuration(folder: Path, **content: object) -> Path:
    """A configuration of docker's, for DOCKER_CONFIG: nobody's own credentials, but the same plug-ins."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(content))
    plugins = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker") / "cli-plugins"
    if plugins.is_dir() and not (folder / plugins.name).exists():
        (folder / plugins.name).symlink_to(plugins.resolve())
    return folder


def login(folder: Path, address: str, user: str = USER, password: str = PASSWORD) -> Path:
    """A configuration as `docker login` writes it."""
    secret = base64.b64encode(f"{user}:{password}".encode()).decode()
    return configuration(folder, auths={address: {"auth": secret}})


# ---------------- others


@contextmanager
def _http(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        do_HEAD = do_GET  # noqa: N815 - the base class wants it
        do_POST = do_GET  # noqa: N815

        def log_message(self, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def answering(status: int, asked: list[str] | None = None) -> Iterator[str]:
    """Something that answers every request with `status`; what was asked for is noted."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        if asked is not None:
            asked.append(request.path)
        request.send_response(status)
        request.send_header("Content-Length", "0")
        request.end_headers()

    with _http(answer) as address:
        yield address


@contextmanager
def cutting(behind: str) -> Iterator[str]:
    """A registry whose connection breaks in the middle of each layer; all else comes from the one `behind`."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked = urllib.request.Request(f"http://{behind}{request.path}", method=request.command)
        for name in ("Accept", "Range"):
            for value in request.headers.get_all(name, []):
                asked.add_header(name, value)
        try:
            with urllib.request.urlopen(asked, timeout=10) as got:
                status, headers, body = got.status, got.headers, got.read()
        except urllib.error.HTTPError as error:
            status, headers, body = error.code, error.headers, error.read()
        request.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("connection", "date", "transfer-encoding"):
                request.send_header(name, value)
        request.end_headers()
        if request.command == "HEAD":
            return
        layer = "/blobs/" in request.path and body[:2] == b"\x1f\x8b"
        request.wfile.write(body[: len(body) // 2] if layer else body)
        if layer:
            request.wfile.flush()
            with suppress(OSError):
                request.connection.shutdown(socket.SHUT_RDWR)
            request.close_connection = True

    with _http(answer) as address:
        yield address


@contextmanager
def mute() -> Iterator[str]:
    """Something that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def free_address() -> str:
    """An address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"
