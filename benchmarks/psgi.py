"""PSGI servers: the same small application, one perl against the next."""

from __future__ import annotations

from windtunnel import Expect, HTTPBenchmark, Workload


class Starlet(HTTPBenchmark):
    """Starlet, 128 bytes behind an access log: does a newer perl serve it faster?"""

    target = "starlet"
    params = (["5.32", "5.36", "5.40"], ["close", "keepalive"])
    param_names = ("perl", "connection")

    def workload(self, perl: str, connection: str) -> Workload:
        return Workload(
            axes={"perl": perl},
            keepalive=connection == "keepalive",
            concurrency=40,
            expect=Expect(status=200, length=128),
        )
