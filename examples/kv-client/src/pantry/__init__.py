"""A client of memcached that knows when a value came back damaged."""

from __future__ import annotations

import socket

from pantry import _wire

__all__ = ["Client", "Damaged", "Refused"]

Damaged = _wire.Damaged


class Refused(RuntimeError):
    """The server did not store a value."""


class Client:
    """One connection to one server. Values are bytes; their digest travels in memcached's flags."""

    def __init__(self, host: str = "127.0.0.1", port: int = 11211) -> None:
        self._socket = socket.create_connection((host, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def set(self, key: bytes, value: bytes) -> None:
        """Store a value; raises Refused where the server would not."""
        self._socket.sendall(_wire.store(key, value))
        answer = self._received()
        while not answer.endswith(b"\r\n"):
            answer += self._received()
        if answer != b"STORED\r\n":
            raise Refused(answer.decode("ascii", "replace").strip())

    def get(self, key: bytes) -> bytes | None:
        """The value, or None; raises Damaged where it is not what was stored."""
        self._socket.sendall(b"get %b\r\n" % key)
        answer = self._received()
        while not (found := _wire.value(answer)):
            answer += self._received()
        value: bytes | None = found[0]
        return value

    def _received(self) -> bytes:
        piece = self._socket.recv(1 << 18)
        if not piece:
            raise ConnectionError("the server has closed the connection")
        return piece
