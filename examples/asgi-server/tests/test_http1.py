"""Lantern's own tests."""

from __future__ import annotations

import pytest
from lantern.http1 import BadRequest, parse, response


def test_a_request_is_read() -> None:
    request = parse(b"POST /a?b=c HTTP/1.1\r\nHost: example.org\r\nContent-Length: 3\r\n\r\n")

    assert (request.method, request.path, request.query, request.length) == ("POST", b"/a", b"b=c", 3)
    assert request.headers == [(b"host", b"example.org"), (b"content-length", b"3")]


@pytest.mark.parametrize(
    ("line", "kept"),
    [("1.1\r\n", True), ("1.1\r\nConnection: close\r\n", False), ("1.0\r\n", False)],
)
def test_a_connection_is_kept_where_the_client_wants_it(line: str, kept: bool) -> None:
    assert parse(f"GET / HTTP/{line}\r\n".encode()).keep_alive is kept


@pytest.mark.parametrize("text", ["GET /\r\n", "GET / HTTP/1.1\r\nno header\r\n", "GET / HTTP/1.1\r\n: x\r\n"])
def test_what_is_no_request_is_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        parse(f"{text}\r\n".encode())


def test_the_head_of_a_response() -> None:
    head = b"".join(response(204, [(b"x", b"y")], keep_alive=False))

    assert head == b"HTTP/1.1 204 No Content\r\nx: y\r\nconnection: close\r\n\r\n"
