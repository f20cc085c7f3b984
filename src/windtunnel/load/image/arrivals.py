"""An open loop over HTTP/1.1: requests are sent when they are due, whether or not earlier ones have been answered.

It runs inside the load image, started by the worker for each slice with its plan as JSON in its one argument:

    {"port": 80, "rate": 1000, "requests": 1000, "connections": 40, "keepalive": true, "head": ["GET / HTTP/1.1"],
     "body": null, "length": false, "bodiless": false, "log": "/dev/shm/requests.log"}

Request i is due i / rate seconds after the first one. It goes out at that moment if one of the connections is free,
else as soon as one is: the schedule waits for nobody. The log has a line per request, with times in microseconds
after the first was due: due, sent, answered, how much of its delay was this program's own doing, status (-1: no whole
answer), bytes of its body. At the end a line of JSON sums up. Only the standard library, and one thread.
"""

from __future__ import annotations

import gc
import json
import select
import socket
import sys
import time
from collections import Counter, deque
from contextlib import suppress
from pathlib import Path
from typing import Any

_CHUNK = 1 << 16
_LEAD = 2_000_000
"""Nanoseconds from the end of the preparations to the first request."""

_PATIENCE = 5.0
"""Seconds for connecting beforehand; what is not connected then is so when it is needed, or fails then."""

clock = time.monotonic_ns


class Broken(Exception):
    """An answer that is none; its text is the kind of failure."""


class Reply:
    """One answer, read as it comes in. `bodiless` answers (to HEAD) end with their head."""

    __slots__ = ("_bodiless", "_chunked", "_head", "_left", "_pending", "body", "keep", "status", "total")

    def __init__(self, bodiless: bool) -> None:
        self._bodiless = bodiless
        self._pending = b""
        self._head = False
        self._chunked = False
        self._left: int | None = 0
        self.keep = True
        self.status = self.body = self.total = 0

    def feed(self, data: bytes) -> bool:
        """Whether it is whole now. Raises Broken for what is no HTTP/1."""
        self.total += len(data)
        while not self._head:
            self._pending += data
            head, found, data = self._pending.partition(b"\r\n\r\n")
            if not found:
                if len(self._pending) > _CHUNK:
                    raise Broken("error")
                return False
            self._pending = b""
            self._read_head(head)
        return self._read_body(data)

    def ended(self) -> bool:
        """The connection has ended: whether that is how this answer ends."""
        return self._head and self._left is None and not self._chunked

    def _read_head(self, head: bytes) -> None:
        """The head of the answer; one of an interim answer (100 Continue) is passed over."""
        version, _, rest = head.partition(b" ")
        if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
            raise Broken("error")
        self.status = int(rest[:3])
        if self.status < 200:
            return
        self._head = True
        lines = head.lower().split(b"\r\n")[1:]
        fields = {name: value.strip() for name, _, value in (line.partition(b":") for line in lines)}
        connection = fields.get(b"connection", b"")
        self.keep = b"close" not in connection and (version != b"HTTP/1.0" or b"keep-alive" in connection)
        self._chunked = b"chunked" in fields.get(b"transfer-encoding", b"")
        if self._bodiless or self.status in {204, 304}:
            self._chunked, self._left = False, 0
        elif not self._chunked:
            self._left = _length(fields.get(b"content-length"))
            self.keep = self.keep and self._left is not None

    def _read_body(self, data: bytes) -> bool:
        if self._chunked:
            return self._read_chunks(data)
        self.body += len(data)
        if self._left is None:
            return False
        self._left -= len(data)
        if self._left < 0:  # bytes that nobody announced: they count, and what comes next can't be told from them
            self.keep = False
        return self._left <= 0

    def _read_chunks(self, data: bytes) -> bool:
        """`_left` is what is still to come of a chunk and the line's end behind it; None within the trailer."""
        self._pending += data
        while True:
            if self._left:
                taken = min(self._left, len(self._pending))
                self.body += max(0, min(taken, self._left - 2))
                self._pending, self._left = self._pending[taken:], self._left - taken
            line, found, rest = self._pending.partition(b"\r\n")
            if not found:
                return False
            self._pending = rest
            if self._left is None:
                if not line:
                    return True
                continue
            size = _size(line)
            self._left = size + 2 if size else None


def _length(text: bytes | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit():
        raise Broken("error")
    return int(text)


def _size(line: bytes) -> int:
    try:
        return int(line.partition(b";")[0], 16)
    except ValueError:
        raise Broken("error") from None


class Connection:
    """One of the connections: free, or with one request under way. `free` is since when (ns)."""

    __slots__ = ("due", "free", "out", "own", "reply", "sent", "socket")

    def __init__(self) -> None:
        self.socket: socket.socket | None = None
        self.reply: Reply | None = None
        self.out = memoryview(b"")
        self.free = self.due = self.sent = self.own = 0


class OpenLoop:
    """One run: a schedule, some connections, and what became of every request."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.address = ("127.0.0.1", int(plan["port"]))
        self.gap = 1e9 / float(plan["rate"])
        self.requests = int(plan["requests"])
        self.keepalive = bool(plan["keepalive"])
        self.bodiless = bool(plan["bodiless"])
        self.message = _message(plan)
        self.poll = select.epoll()
        self.connections = [Connection() for _ in range(int(plan["connections"]))]
        self.free = deque(self.connections)
        self.open: dict[int, Connection] = {}
        self.rows: list[tuple[int, int, int, int, int, int]] = []
        self.failed: Counter[str] = Counter()
        self.begin = self.next = self.closed = self.body = self.total = 0

    def run(self) -> None:
        """From the first request to the last answer."""
        if self.keepalive:
            for one in self.connections:
                self._connect_ahead(one)
        self.begin = clock() + _LEAD
        for one in self.connections:
            one.free = self.begin
        while len(self.rows) < self.requests:
            self._send_due()
            for descriptor, events in self._wait():
                if descriptor in self.open:
                    self._event(self.open[descriptor], events)

    # ---------------- the schedule

    def _due(self) -> int:
        return self.begin + round(self.next * self.gap)

    def _send_due(self) -> None:
        """Everything that is due and finds a connection. The one that was free longest is taken: all are used."""
        while self.free and self.next < self.requests and (due := self._due()) <= clock():
            one = self.free.popleft()
            one.due, self.next = due, self.next + 1
            self._begin(one)

    def _wait(self) -> list[tuple[int, int]]:
        """Until something comes in or the next request is due: by `select`, since epoll rounds to milliseconds."""
        if len(self.rows) >= self.requests:  # the last ones could not even be sent
            return []
        if not self.free or self.next >= self.requests:
            return self.poll.poll()
        pause = (self._due() - clock()) / 1e9
        if pause > 0:
            select.select([self.poll], [], [], pause)
        return self.poll.poll(0)

    # ---------------- one request

    def _begin(self, one: Connection) -> None:
        one.reply, one.out = Reply(self.bodiless), memoryview(self.message)
        one.sent = clock()
        one.own = max(0, one.sent - max(one.due, one.free))
        try:
            if one.socket is None:
                self._connect(one)
            self._write(one)
        except (BrokenPipeError, ConnectionResetError):
            self._finish(one, "write")
        except OSError:
            self._finish(one, "connect")

    def _write(self, one: Connection) -> None:
        """As much as goes out now; the rest when the socket is ready for it (not even connected yet, perhaps)."""
        assert one.socket is not None
        with suppress(BlockingIOError):
            one.out = one.out[one.socket.send(one.out) :]
        if one.out:
            self.poll.modify(one.socket, select.EPOLLIN | select.EPOLLOUT)

    def _write_on(self, one: Connection) -> None:
        self._write(one)
        if not one.out:
            assert one.socket is not None
            self.poll.modify(one.socket, select.EPOLLIN)

    def _event(self, one: Connection, events: int) -> None:
        if one.reply is None:  # it is free: nothing but its end can come
            self.closed += 1
            self._drop(one)
            return
        try:
            if one.out and events & select.EPOLLOUT:
                self._write_on(one)
            if events & ~select.EPOLLOUT:
                self._read(one, one.reply)
        except ConnectionRefusedError:
            self._finish(one, "connect")
        except OSError:
            self._finish(one, "read")
        except Broken as broken:
            self._finish(one, str(broken))

    def _read(self, one: Connection, reply: Reply) -> None:
        assert one.socket is not None
        try:
            data = one.socket.recv(_CHUNK)
        except BlockingIOError:
            return
        if data:
            if reply.feed(data):
                self._finish(one, "")
        else:
            reply.keep = False
            self._finish(one, "" if reply.ended() else "read")

    def _finish(self, one: Connection, failure: str) -> None:
        """Note what became of it; the connection is free again, or is made anew for its next request."""
        reply, now = one.reply, clock()
        assert reply is not None
        status = -1 if failure else reply.status
        times = (one.due - self.begin, one.sent - self.begin, now - self.begin, one.own)
        self.rows.append((*times, status, reply.body))
        self.body += reply.body
        self.total += reply.total
        if failure:
            self.failed[failure] += 1
        if failure or not self.keepalive or not reply.keep:
            self.closed += not failure
            self._drop(one)
        one.reply, one.free = None, now
        self.free.append(one)

    # ---------------- connections

    def _connect_ahead(self, one: Connection) -> None:
        with suppress(OSError):
            made = socket.create_connection(self.address, _PATIENCE)
            self._adopt(one, made)

    def _connect(self, one: Connection) -> None:
        """Begin to; on loopback it is done by the next event at the latest, unless the server's queue is full."""
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._adopt(one, made)
        with suppress(BlockingIOError):
            made.connect(self.address)

    def _adopt(self, one: Connection, made: socket.socket) -> None:
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        one.socket = made
        self.open[made.fileno()] = one
        self.poll.register(made, select.EPOLLIN)

    def _drop(self, one: Connection) -> None:
        if one.socket is not None:
            del self.open[one.socket.fileno()]
            self.poll.unregister(one.socket)
            one.socket.close()
            one.socket = None

    # ---------------- what is said of it

    def log(self) -> str:
        """A line per request, in the order they were due."""
        lines = []
        for due, sent, end, own, status, size in sorted(self.rows):
            lines.append(f"{due // 1000}\t{sent // 1000}\t{end // 1000}\t{own // 1000}\t{status}\t{size}\n")
        return "".join(lines)

    def summary(self) -> dict[str, object]:
        """What the whole came to; `seconds` from when the first was due to the last answer."""
        return {
            "requests": self.requests,
            "keepalive": self.keepalive,
            "seconds": max((row[2] for row in self.rows), default=0) / 1e9,
            "failed": dict(self.failed),
            "closed": self.closed,
            "body": self.body,
            "total": self.total,
        }


def _message(plan: dict[str, Any]) -> bytes:
    body = Path(plan["body"]).read_bytes() if plan["body"] else b""
    lines = [*plan["head"], *([f"Content-Length: {len(body)}"] if plan["length"] else [])]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def main() -> None:
    """Run the plan in the first argument."""
    plan = json.loads(sys.argv[1])
    # Sleeping ends when it should, not up to 50 us later.
    with suppress(OSError):
        Path("/proc/self/timerslack_ns").write_text("1")
    loop = OpenLoop(plan)
    gc.disable()
    loop.run()
    if plan["log"]:
        Path(plan["log"]).write_text(loop.log())
    print(json.dumps(loop.summary()), flush=True)


if __name__ == "__main__":
    main()
