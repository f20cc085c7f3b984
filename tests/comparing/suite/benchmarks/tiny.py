"""One server, asked in two ways."""

from __future__ import annotations

from windtunnel import Expect, HTTPBenchmark, Workload


class Page(HTTPBenchmark):
    """A page: what does it cost?"""

    target = "tiny"
    params = ([2, 4],)
    param_names = ("connections",)

    def workload(self, connections: int) -> Workload:
        return Workload(path="/page", concurrency=connections, expect=Expect(status=200, length=64))
