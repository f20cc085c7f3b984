"""What the middleware adds to an answer."""

from __future__ import annotations

from windtunnel import Expect, HTTPBenchmark, Workload


class Fingerprint(HTTPBenchmark):
    """2,048 bytes behind Fingerprint, on each perl: did an answer get dearer?"""

    target = "fingerprint"
    params = (["5.36", "5.40"],)
    param_names = ("perl",)

    def workload(self, perl: str) -> Workload:
        return Workload(axes={"perl": perl}, concurrency=16, expect=Expect(status=200, length=2048))
