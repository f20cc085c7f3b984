"""What a call of Pantry costs its user."""

from __future__ import annotations

from windtunnel import CacheBenchmark, Workload


class Pantry(CacheBenchmark):
    """Pantry against memcached, a short value and one of 16 kB: does a call take more CPU?"""

    target = "pantry"
    params = (["get", "set"], ["short", "page"])
    param_names = ("op", "payload")

    def workload(self, op: str, payload: str) -> Workload:
        return Workload(generator="program", op=op, payload=payload)
