"""A small HTTP server. What it costs, and what goes wrong, is in settings.py, which differs from commit to commit."""

import contextlib
import socket
import sys
import threading
import time

import settings

BODY = b"x" * 64
WORK: int = settings.WORK
"""Steps of a loop that each request takes."""
WRONG: bool = getattr(settings, "WRONG", False)
"""Answers are too long from the 40th on."""
EXITS: bool = getattr(settings, "EXITS", False)
DEAF: bool = getattr(settings, "DEAF", False)

served = iter(range(1, 1 << 62))


def answer(connection: socket.socket) -> None:
    for _ in range(WORK):
        pass
    body = BODY + b"y" if WRONG and next(served) > 40 else BODY
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def serve(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    waiting = b""
    with connection, contextlib.suppress(OSError):
        while data := connection.recv(65536):
            waiting += data
            while b"\r\n\r\n" in waiting:
                _, _, waiting = waiting.partition(b"\r\n\r\n")
                answer(connection)


if EXITS:
    sys.exit("no configuration, giving up")
if DEAF:
    time.sleep(3600)
with socket.create_server(("0.0.0.0", 8080), backlog=256) as server:
    while True:
        accepted, _ = server.accept()
        threading.Thread(target=serve, args=(accepted,), daemon=True).start()
