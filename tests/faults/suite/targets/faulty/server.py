"""A small HTTP server that misbehaves in the way the environment variable MODE names.

What goes wrong goes wrong on /load from the 40th request on (where not said otherwise), so that the launch is up,
checked and under load by then.
"""

import contextlib
import os
import socket
import sys
import threading
import time

MODE = os.environ.get("MODE", "ok")
BODY = b"x" * 128
FROM = 40


class Requests:
    """How many there were so far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def another(self) -> int:
        with self._lock:
            self._count += 1
            return self._count


loads, all_requests = Requests(), Requests()


def eat() -> None:
    print("eating all memory", flush=True)
    held = []
    while True:
        held.append(bytearray(b"y" * (1 << 20)))


def answer(connection: socket.socket, status: str, body: bytes) -> None:
    head = f"HTTP/1.1 {status}\r\nServer: faulty\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)


def dribble(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 128\r\n\r\n")
    for _ in range(128):
        connection.sendall(b"x")
        time.sleep(0.5)


def endless(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)
        time.sleep(0.001)


def misbehave(connection: socket.socket, number: int) -> None:
    """The answer to a request for /load."""
    if MODE == "tenth" and number % 10 == 0:
        answer(connection, "500 Internal Server Error", BODY)
    elif MODE == "dribbles":
        dribble(connection)
    elif MODE == "endless":
        endless(connection)
    elif number < FROM or MODE in ("ok", "tenth", "lazy", "slow-start", "helper-eats"):
        answer(connection, "200 OK", BODY)
    elif MODE == "grows":
        answer(connection, "200 OK", BODY + b"x")
    elif MODE == "dies":
        print(f"ending at request {number}, as told", flush=True)
        os._exit(3)
    elif MODE == "stalls":
        time.sleep(3600)
    elif MODE in ("eats", "fork-eats"):
        eat()


def serve(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    waiting = b""
    with connection:
        while True:
            while b"\r\n\r\n" not in waiting:
                data = connection.recv(65536)
                if not data:
                    return
                waiting += data
            request, _, waiting = waiting.partition(b"\r\n\r\n")
            if MODE == "mute" or (MODE == "sulks" and all_requests.another() > 1):
                time.sleep(3600)
            if MODE == "sulks":
                answer(connection, "503 Service Unavailable", BODY)
                continue
            if MODE == "lazy" and all_requests.another() == 1:
                time.sleep(1.3)
            if b" /load " not in request.split(b"\r\n")[0]:
                answer(connection, "200 OK", BODY)
                continue
            misbehave(connection, loads.another())


def quietly(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        serve(connection)


def main() -> None:
    print(f"mode {MODE}", flush=True)
    if MODE == "deaf":
        time.sleep(3600)
    if MODE == "exits":
        print("no configuration, giving up", file=sys.stderr, flush=True)
        sys.exit(9)
    if MODE == "eats-at-start":
        eat()
    if MODE == "helper-eats" and not os.fork():  # a process beside the one that serves
        eat()
    if MODE == "slow-start":
        time.sleep(1.5)
    if MODE == "fork-eats":
        while os.fork():  # the parent lives, and starts the worker that memory has killed anew
            os.wait()
    with socket.create_server(("0.0.0.0", 8080), backlog=256) as server:
        while True:
            connection, _ = server.accept()
            threading.Thread(target=quietly, args=(connection,), daemon=True).start()


main()
