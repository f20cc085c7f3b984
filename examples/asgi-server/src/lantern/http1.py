"""HTTP/1.1 as bytes: requests are read, heads of responses written. No I/O in here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

Headers = list[tuple[bytes, bytes]]

REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}


class BadRequest(ValueError):
    """What came is no request that this server takes."""


@dataclass(frozen=True)
class Request:
    """The head of a request. `length` is how many bytes of body follow."""

    method: str
    path: bytes
    query: bytes
    headers: Headers
    length: int
    keep_alive: bool


def parse(head: bytes) -> Request:
    """A request from its head, up to and with the empty line."""
    first, *lines = head[:-4].split(b"\r\n")
    try:
        method, target, version = first.split(b" ")
        name = method.decode("ascii")
    except ValueError:
        raise BadRequest("no request line") from None
    headers = [_field(line) for line in lines]
    known = dict(headers)
    if b"transfer-encoding" in known:
        raise BadRequest("bodies need a Content-Length")
    length = known.get(b"content-length", b"0")
    if not length.isdigit():
        raise BadRequest("Content-Length is no number")
    path, _, query = target.partition(b"?")
    wanted = known.get(b"connection", b"").lower()
    keep_alive = wanted != b"close" if version == b"HTTP/1.1" else wanted == b"keep-alive"
    return Request(name, path, query, headers, int(length), keep_alive)


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not name or name != name.strip():
        raise BadRequest("a line of the head is no header")
    return name.lower(), value.strip(b" \t")


def response(status: int, headers: Iterable[tuple[bytes, bytes]], *, keep_alive: bool) -> list[bytes]:
    """The head of a response, line by line."""
    lines = [b"HTTP/1.1 %d %s\r\n" % (status, REASONS.get(status, b""))]
    lines += [b"%s: %s\r\n" % header for header in headers]
    lines.append(b"connection: keep-alive\r\n\r\n" if keep_alive else b"connection: close\r\n\r\n")
    return lines
