"""Makes the calls of redis-py, with hiredis or (HIREDIS=no) without it.

It is asked over standard input and answers on standard output, a line of JSON each: site/cache.md has the protocol.
"""

from __future__ import annotations

import json
import os
import sys
import time

WITH_HIREDIS = os.environ.get("HIREDIS", "yes") == "yes"

KEY = "windtunnel"
SCALAR = b"0123456789" * 10
HASH = {f"key{number:02}".encode(): f"this is value number {number}".encode() for number in range(20)}
LARGE = b"".join(b"%05d This line is one of many.\n" % number for number in range(2_200))[:70_000]
PAYLOADS = {"scalar": SCALAR, "hash": HASH, "large": LARGE}


def imported():
    """redis-py, which chooses its parser when it is imported."""
    if not WITH_HIREDIS:
        sys.modules["hiredis"] = None  # an import of it fails now, as where it is not installed
    import redis.connection

    parser = redis.connection.DefaultParser.__name__
    if ("hiredis" in parser.lower()) != WITH_HIREDIS:
        raise SystemExit(f"redis-py has chosen {parser} for its parser, which is not what was asked for")
    return redis


class Worker:
    """One client, one call at a time."""

    def __init__(self):
        redis = imported()
        self.version = redis.__version__
        self.client = redis.Redis(host="127.0.0.1", port=6379)

    def hello(self):
        parser = "hiredis" if WITH_HIREDIS else "parser in Python"
        version = f"{self.version} ({parser})"
        return {"ops": ["get", "set"], "payloads": sorted(PAYLOADS), "client": "redis-py", "version": version}

    def get(self, payload):
        """The command that gets a payload, and what it has to answer."""
        command = self.client.hgetall if payload == "hash" else self.client.get
        return lambda: command(KEY), PAYLOADS[payload]

    def set(self, payload):
        """The command that stores it, and what it has to answer: 0 where all fields of the hash were there before."""
        value = PAYLOADS[payload]
        if payload == "hash":
            return lambda: self.client.hset(KEY, mapping=value), 0
        return lambda: self.client.set(KEY, value), True

    def preload(self, payload):
        self.client.delete(KEY)
        self.set(payload)[0]()
        self.check(payload)
        return {"keys": self.client.dbsize()}

    def check(self, payload):
        """What is stored is what was to be stored."""
        command, expected = self.get(payload)
        if command() != expected:
            raise RuntimeError(f"what was stored ({payload}) can't be read back")

    def calls(self, op, payload, calls):
        command, expected = getattr(self, op)(payload)
        hits = errors = 0
        cpu, began = time.process_time(), time.perf_counter()
        for _ in range(calls):
            found = command()
            if found == expected:
                hits += 1
            elif found:  # nothing, or an empty hash, is a miss
                errors += 1
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        if op == "set":
            self.check(payload)
        return {"calls": calls, "seconds": seconds, "cpu_seconds": cpu, "hits": hits, "errors": errors}

    def answer(self, asked):
        if "hello" in asked:
            return self.hello()
        if "preload" in asked:
            return self.preload(asked["preload"]["payload"])
        return self.calls(asked["op"], asked["payload"], asked["calls"])


def main():
    worker = Worker()
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is to be told
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
