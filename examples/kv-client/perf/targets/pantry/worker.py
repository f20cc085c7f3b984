"""Makes calls of Pantry, as many as it is told, and says what they took. One JSON object a line, in and out."""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from typing import Any

import pantry

PAYLOADS = {"short": b"x" * 100, "page": bytes(range(256)) * 64}
KEY = b"windtunnel"


def calls(client: pantry.Client, op: str, value: bytes, count: int) -> dict[str, Any]:
    """Make `count` calls; a get hits where it brings the value back, a set where the server says it is stored."""
    hits = errors = 0
    started, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        try:
            if op == "get":
                hits += client.get(KEY) == value
            else:
                client.set(KEY, value)
                hits += 1
        except (pantry.Damaged, pantry.Refused):
            errors += 1
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    if op == "set" and client.get(KEY) != value:
        hits = 0
    return {"calls": count, "seconds": seconds, "cpu_seconds": cpu_seconds, "hits": hits, "errors": errors}


def answer(client: pantry.Client, asked: dict[str, Any]) -> dict[str, Any]:
    """What is answered to one line."""
    if "hello" in asked:
        return {"ops": ["get", "set"], "payloads": [*PAYLOADS], "client": "pantry", "version": version("pantry")}
    if "preload" in asked:
        client.set(KEY, PAYLOADS[asked["preload"]["payload"]])
        return {}
    return calls(client, asked["op"], PAYLOADS[asked["payload"]], asked["calls"])


def main() -> None:
    with pantry.Client() as client:
        for line in sys.stdin:
            print(json.dumps(answer(client, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
