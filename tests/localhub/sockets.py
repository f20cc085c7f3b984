"""The two servers on loopback: how requests come in, and how answers, or none, go out."""

from __future__ import annotations

import json
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from localhub.wire import PREFIX, Answer, Misbehaviour, Seen, in_json

if TYPE_CHECKING:
    from localhub.server import LocalGitHub

__all__ = ["ApiHandler", "Server", "StorageHandler"]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, handler: type[BaseHTTPRequestHandler], github: LocalGitHub) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.github = github

    def handle_error(self, request: Any, address: Any) -> None:
        """A client that has gone is its own business; anything else is a fault of this server's."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.github.fault(f"the local GitHub itself: {error!r}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self.serve()

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815

    def serve(self) -> None:
        raise NotImplementedError

    def log_message(self, *_: Any) -> None:
        """Nothing: what came in is in `seen`."""

    def send(self, answer: Answer) -> None:
        """In one piece: two would wait for each other's acknowledgement."""
        reason = self.responses.get(answer.status, ("", ""))[0]
        now = self.server.github.state.now
        headers = {
            "Date": now.strftime("%a, %d %b %Y %H:%M:%S GMT"),
            "Server": "local",
            "Content-Length": str(len(answer.body)),
            **answer.headers,
        }
        lines = [
            f"HTTP/1.1 {answer.status} {reason}",
            *(f"{name}: {value}" for name, value in headers.items() if value is not None),
            "",
            "",
        ]
        self.wfile.write("\r\n".join(lines).encode("latin-1") + answer.body)

    def lose(self) -> None:
        """End the connection without a word."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def instead(self, how: Misbehaviour) -> None:
        """The answer, or none, of one that misbehaves."""
        if how.drop:
            self.lose()
            return
        assert how.status is not None
        body = how.body if how.body is not None else {"message": "This one was told to go wrong"}
        if isinstance(body, bytes):
            self.send(Answer(how.status, body, {"Content-Type": "text/html", **how.headers}))
        else:
            self.send(in_json(how.status, body, how.headers))


class ApiHandler(_Handler):
    def serve(self) -> None:
        github, request = self.server.github, self._read()
        if request is None:
            return
        github.seen.append(request)
        how = github.struck(request.method, request.path)
        wrong = how.drop or how.status is not None
        github.hush(0 if how.worked else how.delay)
        answer = github.answer(request) if how.worked or not wrong else None
        github.hush(how.delay if how.worked else 0)
        if wrong:
            self.instead(how)
        elif answer is not None:
            self.send(answer)

    def _read(self) -> Seen | None:
        parts = urlsplit(self.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = parts.path
        if path.startswith(PREFIX + "/"):
            path, headers["x-prefix"] = path.removeprefix(PREFIX), PREFIX
        raw = self.rfile.read(int(headers.get("content-length", 0)))
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            self.server.github.fault(f"{self.command} {path}: the body is not JSON: {raw[:100]!r}")
            self.send(in_json(400, {"message": "Problems parsing JSON"}))
            return None
        return Seen(self.command, path, dict(parse_qsl(parts.query, keep_blank_values=True)), body, headers)


class StorageHandler(_Handler):
    def serve(self) -> None:
        github, parts = self.server.github, urlsplit(self.path)
        github.fetched.append(parts.path)
        if "Authorization" in self.headers:
            github.fault(f"the token was sent to another host, for {parts.path}")
        how = github.struck(self.command, parts.path)
        github.hush(how.delay)
        if how.drop and how.worked:
            self._half(github.stored(parts.path, dict(parse_qsl(parts.query))) or b"")
        elif how.drop or how.status is not None:
            self.instead(how)
        else:
            self._whole(github.stored(parts.path, dict(parse_qsl(parts.query))))

    def _whole(self, content: bytes | None) -> None:
        if content is None:
            self.send(Answer(403, b"<Error>AuthenticationFailed</Error>", {"Content-Type": "application/xml"}))
        else:
            self.send(Answer(200, content, {"Content-Type": "application/zip"}))

    def _half(self, content: bytes) -> None:
        """Lost in the middle."""
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Length: {len(content)}\r\n\r\n"
        self.wfile.write(head.encode() + content[: len(content) // 2])
        time.sleep(0.05)
        self.lose()
