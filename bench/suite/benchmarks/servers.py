"""Two servers that are as different as Debian has them: preforking perl, one threaded process of python."""

from __future__ import annotations

from windtunnel import Expect, HTTPBenchmark, Workload


class Starlet(HTTPBenchmark):
    """Starlet: 128 bytes behind an access log."""

    target = "starlet"
    params = (["close", "keepalive"],)
    param_names = ("connection",)

    def workload(self, connection: str) -> Workload:
        return Workload(keepalive=connection == "keepalive", concurrency=40, expect=Expect(status=200, length=128))


class Waitress(HTTPBenchmark):
    """waitress: 128 bytes from a WSGI application."""

    target = "waitress"

    def workload(self) -> Workload:
        return Workload(concurrency=4, expect=Expect(status=200, length=128))
