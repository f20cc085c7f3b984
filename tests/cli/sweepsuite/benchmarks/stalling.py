"""One server in several moods."""

from __future__ import annotations

from windtunnel import Expect, HTTPBenchmark, Workload


class Page(HTTPBenchmark):
    """A page: how fast, and how long does one wait for it?"""

    target = "stalling"
    params = (["steady", "stalls", "slow"],)
    param_names = ("mood",)

    def workload(self, mood: str) -> Workload:
        requests = 1000 if mood == "stalls" else 40
        expect = Expect(status=200, length=64)
        return Workload(axes={"mood": mood}, concurrency=2, requests=requests, expect=expect)


class Peak(HTTPBenchmark):
    """The same with another generator."""

    target = "stalling"

    def workload(self) -> Workload:
        return Workload(axes={"mood": "steady"}, generator="wrk")


class Arrivals(HTTPBenchmark):
    """A class that asks for a rate by itself."""

    target = "stalling"

    def workload(self) -> Workload:
        return Workload(axes={"mood": "steady"}, concurrency=4, rate=200, expect=Expect(length=64))
