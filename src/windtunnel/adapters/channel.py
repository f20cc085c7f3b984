"""The standard streams of a container over the engine's attach call, by lines.

The engine multiplexes stdout and stderr into frames: one byte stream number, three bytes of nothing, four bytes
length (big endian), then the payload. Nothing of the machine that runs the engine is needed but that connection.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from typing import Any

from windtunnel.errors import SidecarLost

__all__ = ["AttachedChannel"]

_HEADER = struct.Struct(">BxxxL")
_STDERR = 2
_ERRORS_KEPT = 16_384
_LONGEST = 64 << 20
"""Bytes of a line that has no end yet, after which none is waited for: it would fill our memory."""


class AttachedChannel:
    """Implements `windtunnel.ports.Channel` on the socket that an attach call returned.

    `owner` is kept alive as long as the channel, since closing the response would close the socket. `name` is what
    errors call whoever is at the other end.
    """

    def __init__(self, stream: Any, owner: Any = None, name: str = "the load side-car") -> None:
        self._sock: socket.socket = getattr(stream, "_sock", stream)
        self._stream = stream
        self._owner = owner
        self._name = name
        self._searched = 0
        self._raw = bytearray()
        self._out = bytearray()
        self._err = bytearray()
        self._ended = False

    def send(self, line: bytes) -> None:
        """Write one line; raises SidecarLost when nobody reads any more."""
        try:
            self._sock.settimeout(10.0)
            self._sock.sendall(line + b"\n")
        except OSError as error:
            raise SidecarLost(f"{self._name} no longer reads ({error})", detail=self.errors()) from error

    def receive(self, timeout: float) -> bytes:
        """The next line of standard output, without its newline."""
        deadline = time.monotonic() + timeout
        while True:
            end = self._out.find(b"\n", self._searched)
            if end >= 0:
                return self._taken(end)
            self._searched = len(self._out)  # a long line comes in many pieces: each is looked at once
            if self._searched > _LONGEST:
                wrote = f"{self._name} wrote {_LONGEST >> 20} MiB without the end of a line"
                raise SidecarLost(wrote, detail=self.errors())
            if self._ended:
                raise SidecarLost(f"{self._name} ended", detail=self.errors())
            self._fill(deadline - time.monotonic())

    def _taken(self, end: int) -> bytes:
        """The line that ends there, which is gone from what is to be read."""
        line = bytes(self._out[:end])
        del self._out[: end + 1]
        self._searched = 0
        return line

    def errors(self) -> str:
        """What came on standard error, its last 16 KiB."""
        return self._err.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the connection; a worker that reads standard input sees its end."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        for thing in (self._stream, self._owner):
            with contextlib.suppress(Exception):
                thing.close()

    def _fill(self, timeout: float) -> None:
        if timeout <= 0:
            raise TimeoutError
        self._sock.settimeout(timeout)
        try:
            data = self._sock.recv(1 << 16)
        except TimeoutError:
            raise
        except OSError as error:
            raise SidecarLost(f"the connection to {self._name} broke ({error})", detail=self.errors()) from error
        if not data:
            self._ended = True
        self._raw += data
        self._demultiplex()

    def _demultiplex(self) -> None:
        offset = 0
        while len(self._raw) - offset >= _HEADER.size:
            stream, length = _HEADER.unpack_from(self._raw, offset)
            end = offset + _HEADER.size + length
            if len(self._raw) < end:
                break
            payload = self._raw[offset + _HEADER.size : end]
            if stream == _STDERR:
                self._err = (self._err + payload)[-_ERRORS_KEPT:]
            else:
                self._out += payload
            offset = end
        del self._raw[:offset]
