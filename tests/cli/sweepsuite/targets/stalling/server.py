"""Serves one request at a time, whatever the number of connections. Its mood decides how long that takes.

steady: no time. stalls: for every 250th request 200 ms, in which nothing else is served. slow: 2 ms each.
"""

import contextlib
import os
import socket
import threading
import time

MOOD = os.environ["MOOD"]
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + b"x" * 64

turn = threading.Lock()
served = iter(range(1, 1 << 62))


def pause(number: int) -> float:
    if MOOD == "slow":
        return 0.002
    return 0.2 if MOOD == "stalls" and number % 250 == 0 else 0.0


def serve(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    waiting = b""
    with connection, contextlib.suppress(OSError):
        while data := connection.recv(65536):
            waiting += data
            while b"\r\n\r\n" in waiting:
                waiting = waiting.partition(b"\r\n\r\n")[2]
                with turn:
                    if seconds := pause(next(served)):
                        time.sleep(seconds)
                    connection.sendall(ANSWER)


with socket.create_server(("0.0.0.0", 8080), backlog=256) as server:
    while True:
        accepted, _ = server.accept()
        threading.Thread(target=serve, args=(accepted,), daemon=True).start()
