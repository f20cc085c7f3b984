"""One class per kind of fault; the server's behaviour comes from the axis `mode`."""

from __future__ import annotations

from windtunnel import Expect, HTTPBenchmark, Workload

MODES = [
    "ok",
    "tenth",
    "grows",
    "dies",
    "deaf",
    "exits",
    "nothing",
    "eats",
    "fork-eats",
    "helper-eats",
    "eats-at-start",
    "mute",
    "sulks",
    "stalls",
    "dribbles",
    "endless",
    "lazy",
    "slow-start",
]


class Server(HTTPBenchmark):
    """Does what its mode says."""

    target = "faulty"
    params = (MODES,)
    param_names = ("mode",)

    def workload(self, mode: str) -> Workload:
        return Workload(axes={"mode": mode}, path="/load", concurrency=2, expect=Expect(status=200))


class Length(HTTPBenchmark):
    """Expects another length than the server gives."""

    target = "faulty"

    def workload(self) -> Workload:
        return Workload(axes={"mode": "ok"}, concurrency=2, expect=Expect(status=200, length=77))


class Broken(HTTPBenchmark):
    """Its Dockerfile fails."""

    target = "broken"

    def workload(self) -> Workload:
        return Workload(concurrency=2)


class SlowBuild(HTTPBenchmark):
    """Its image takes its time."""

    target = "slowbuild"

    def workload(self) -> Workload:
        return Workload(concurrency=2)
