"""Connections, and the conversation with the application."""

from __future__ import annotations

import asyncio
import signal
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote_to_bytes

from lantern.http1 import BadRequest, Request, parse, response

Message = dict[str, Any]
Application = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]

_VERSIONS = {"version": "3.0", "spec_version": "2.3"}


async def serve(application: Application, host: str, port: int) -> None:
    """Serve until SIGTERM or SIGINT."""
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    lifespan = await _started(application, ended)

    async def converse(reader: StreamReader, writer: StreamWriter) -> None:
        await _Connection(application, reader, writer).run()

    async with await asyncio.start_server(converse, host, port, backlog=1024):
        await ended.wait()
    await lifespan


async def _started(application: Application, ended: asyncio.Event) -> asyncio.Task[None]:
    """The application's lifespan, which goes on until `ended`."""
    ready = asyncio.Event()

    async def receive() -> Message:
        if not ready.is_set():
            return {"type": "lifespan.startup"}
        await ended.wait()
        return {"type": "lifespan.shutdown"}

    async def send(message: Message) -> None:
        if message["type"].startswith("lifespan.startup"):
            ready.set()

    async def live() -> None:
        try:
            await application({"type": "lifespan", "asgi": _VERSIONS}, receive, send)
        except Exception:  # noqa: BLE001 - an application that knows no lifespan says so by failing
            ready.set()

    task = asyncio.create_task(live())
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    return task


class _Connection:
    """One connection: request after request, until either side has had enough."""

    def __init__(self, application: Application, reader: StreamReader, writer: StreamWriter) -> None:
        self._application = application
        self._reader, self._writer = reader, writer

    async def run(self) -> None:
        try:
            while await self._answer():
                pass
        except BadRequest as error:
            body = str(error).encode()
            headers = [(b"content-length", str(len(body)).encode())]
            self._write([*response(400, headers, keep_alive=False), body])
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._writer.close()

    async def _answer(self) -> bool:
        """Answer one request; whether another may follow."""
        try:
            request = parse(await self._reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            raise BadRequest("its head is too long") from None
        exchange = _Exchange(request, self._reader, self._write)
        await self._application(_scope(request), exchange.receive, exchange.send)
        await self._writer.drain()
        await exchange.finish()
        return exchange.keep_alive

    def _write(self, pieces: list[bytes]) -> None:
        self._writer.write(b"".join(pieces))


class _Exchange:
    """One request and its response, as the application sees them."""

    def __init__(self, request: Request, reader: StreamReader, write: Callable[[list[bytes]], None]) -> None:
        self.keep_alive = request.keep_alive
        self._request, self._reader, self._write = request, reader, write
        self._unread = request.length
        self._head: list[bytes] = []

    async def receive(self) -> Message:
        body = await self._reader.read(min(self._unread, 65536)) if self._unread else b""
        if self._unread and not body:
            return {"type": "http.disconnect"}
        self._unread -= len(body)
        return {"type": "http.request", "body": body, "more_body": self._unread > 0}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            # without a length only the end of the connection tells the end of the body
            self.keep_alive = self.keep_alive and any(name.lower() == b"content-length" for name, _ in headers)
            self._head = response(message["status"], headers, keep_alive=self.keep_alive)
        else:
            body = b"" if self._request.method == "HEAD" else message.get("body", b"")
            self._write([*self._head, body])
            self._head = []

    async def finish(self) -> None:
        """Read what the application has left of the body."""
        await self._reader.readexactly(self._unread)


def _scope(request: Request) -> Message:
    return {
        "type": "http",
        "asgi": _VERSIONS,
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote_to_bytes(request.path).decode("utf-8", "replace"),
        "raw_path": request.path,
        "query_string": request.query,
        "headers": request.headers,
    }
