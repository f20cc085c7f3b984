"""Makes the calls of one of Python's memcached clients, which is named on the command line.

It is asked over standard input and answers on standard output, a line of JSON each: site/cache.md has the protocol.
Every client is used as it comes, but for two things: it waits for the answer to a set, and it compresses what is
longer than THRESHOLD.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import pickle
import socket
import sys
import time
import zlib

HOST, PORT, KEY, THRESHOLD = "127.0.0.1", 11211, "windtunnel", 10_000

SCALAR = "0123456789" * 10
HASH = {f"key{number:02}": f"this is value number {number}" for number in range(20)}
LINES = (f"{number:05} This line is one of many, and its number is {number * 7919}.\n" for number in range(1_501))
TEXT = "".join(LINES)[:70_000]

# What is stored, and the least and the most bytes that it has to be on the server.
PAYLOADS = {
    "scalar": (SCALAR, 100, 200),
    "serialized": (HASH, 400, 2_000),
    "compressed": (TEXT, 1_000, 35_000),
}


class Pymemcache:
    def __init__(self):
        import pymemcache
        from pymemcache.client.base import Client
        from pymemcache.serde import CompressedSerde

        self.version = pymemcache.__version__
        serde = CompressedSerde(min_compress_len=THRESHOLD)
        client = Client((HOST, PORT), serde=serde, default_noreply=False)
        self.get, self._client = client.get, client

    def set(self, key, value):
        return self._client.set(key, value)


class PythonMemcached:
    def __init__(self):
        import memcache

        self.version = memcache.__version__
        self._client = memcache.Client([f"{HOST}:{PORT}"])
        self.get = self._client.get

    def set(self, key, value):
        return self._client.set(key, value, min_compress_len=THRESHOLD)


class Pylibmc:
    def __init__(self):
        import pylibmc

        self.version = pylibmc.__version__
        self._client = pylibmc.Client([f"{HOST}:{PORT}"])
        self.get = self._client.get

    def set(self, key, value):
        return self._client.set(key, value, min_compress_len=THRESHOLD)


class Aiomcache:
    """Leaves serializing and compressing to whoever uses it, so that is done here, in the way the others do it."""

    def __init__(self):
        import aiomcache

        self.version = aiomcache.__version__
        self._client = aiomcache.Client(HOST, PORT)

    async def get(self, key):
        stored = await self._client.get(key.encode())
        return None if stored is None else loaded(stored)

    async def set(self, key, value):
        return await self._client.set(key.encode(), dumped(value))


def dumped(value):
    plain = value.encode() if isinstance(value, str) else pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    kind = b"s" if isinstance(value, str) else b"p"
    return b"z" + kind + zlib.compress(plain) if len(plain) > THRESHOLD else b"-" + kind + plain


def loaded(stored):
    plain = zlib.decompress(stored[2:]) if stored[:1] == b"z" else stored[2:]
    return plain.decode() if stored[1:2] == b"s" else pickle.loads(plain)  # noqa: S301 - what we have stored


CLIENTS = {
    "pymemcache": Pymemcache,
    "python-memcached": PythonMemcached,
    "pylibmc": Pylibmc,
    "aiomcache": Aiomcache,
}


# ---------------- calls: (hits, errors); a miss is neither


def get(client, value, calls):
    hits = errors = 0
    call = client.get
    for _ in range(calls):
        found = call(KEY)
        if found == value:
            hits += 1
        elif found is not None:
            errors += 1
    return hits, errors


def set_(client, value, calls):
    hits = 0
    call = client.set
    for _ in range(calls):
        if call(KEY, value):
            hits += 1
    return hits, calls - hits


async def async_get(client, value, calls):
    hits = errors = 0
    for _ in range(calls):
        found = await client.get(KEY)
        if found == value:
            hits += 1
        elif found is not None:
            errors += 1
    return hits, errors


async def async_set(client, value, calls):
    hits = 0
    for _ in range(calls):
        if await client.set(KEY, value):
            hits += 1
    return hits, calls - hits


class Worker:
    """One client, one call at a time."""

    def __init__(self, name):
        self.name = name
        self.client = CLIENTS[name]()
        self.ops = {"get": get, "set": set_}
        if inspect.iscoroutinefunction(self.client.get):
            # One loop for all questions: the connection belongs to it.
            loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            self.ops = {"get": awaited(loop, async_get), "set": awaited(loop, async_set)}

    def hello(self):
        return {
            "ops": sorted(self.ops),
            "payloads": sorted(PAYLOADS),
            "client": self.name,
            "version": self.client.version,
        }

    def preload(self, payload):
        """Store the payload, get it back, and look at what the server really has."""
        value, least, most = PAYLOADS[payload]
        if self.ops["set"](self.client, value, 1) != (1, 0):
            raise RuntimeError("set failed")
        if self.ops["get"](self.client, value, 1) != (1, 0):
            raise RuntimeError("what was set can't be got back")
        stored = stored_bytes()
        if not least <= stored <= most:
            why = "compressed or not as it should be?"
            raise RuntimeError(f"{payload}: {stored} bytes on the server, expected {least} to {most} ({why})")
        return {"stored": stored}

    def calls(self, op, payload, calls):
        value = PAYLOADS[payload][0]
        cpu, began = time.process_time(), time.perf_counter()
        hits, errors = self.ops[op](self.client, value, calls)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        # Of sets the last one has to be there; one get among so many calls does not count.
        if op == "set" and hits and self.ops["get"](self.client, value, 1) != (1, 0):
            hits, errors = hits - 1, errors + 1
        return {"calls": calls, "seconds": seconds, "cpu_seconds": cpu, "hits": hits, "errors": errors}

    def answer(self, asked):
        if "hello" in asked:
            return self.hello()
        if "preload" in asked:
            return self.preload(asked["preload"]["payload"])
        return self.calls(asked["op"], asked["payload"], asked["calls"])


def awaited(loop, coroutine):
    return lambda *arguments: loop.run_until_complete(coroutine(*arguments))


def stored_bytes():
    """Bytes that the server has of the value, asked without the client."""
    with socket.create_connection((HOST, PORT), 5) as connection, connection.makefile("rb") as lines:
        connection.sendall(f"get {KEY}\r\n".encode())
        first = lines.readline().split()
    if len(first) < 4 or first[0] != b"VALUE":
        raise RuntimeError("the server does not have the value")
    return int(first[3])


def main():
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is to be told
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
