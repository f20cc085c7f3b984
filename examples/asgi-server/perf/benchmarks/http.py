"""How fast lantern answers over HTTP. One class is one question; its params are the cases."""

from __future__ import annotations

from windtunnel import Expect, HTTPBenchmark, Workload


class Lantern(HTTPBenchmark):
    """Lantern, 128 bytes: did it get slower?"""

    target = "lantern"
    params = (["close", "keepalive"],)
    param_names = ("connection",)

    def workload(self, connection: str) -> Workload:
        return Workload(
            keepalive=connection == "keepalive",
            concurrency=16,
            expect=Expect(status=200, length=128),
        )
