"""Servers as they were released over the years, all on one python: is the newest the fastest?"""

from __future__ import annotations

import hashlib

from windtunnel import Expect, HTTPBenchmark, Workload

_EXPECT = Expect(status=200, length=128, sha256=hashlib.sha256(b"x" * 128).hexdigest())


class Gunicorn(HTTPBenchmark):
    """gunicorn's releases since 2018, 128 bytes: is gunicorn 23 faster than 19?

    Its sync worker ends every connection, its gthread worker keeps them.
    """

    nightly = True
    target = "gunicorn"
    params = (
        [
            "19.9.0",
            "19.10.0",
            "20.0.4",
            "20.1.0",
            "21.2.0",
            "22.0.0",
            "23.0.0",
            "24.1.1",
            "25.3.0",
            "26.2.0",
            "27.0.1",
        ],
        ["sync", "gthread"],
    )
    param_names = ("version", "worker")

    def workload(self, version: str, worker: str) -> Workload:
        if version.startswith("19.") and worker == "gthread":
            raise NotImplementedError("gunicorn 19's gthread worker does not start on Python 3.10 or newer")
        return Workload(
            axes={"version": version, "worker": worker},
            keepalive=worker == "gthread",
            concurrency=40,
            expect=_EXPECT,
        )


class Uvicorn(HTTPBenchmark):
    """uvicorn's releases since 2020 on one h11, 128 bytes over kept connections: what did its own code gain?"""

    nightly = True
    target = "uvicorn"
    params = (
        [
            "0.12.3",
            "0.13.4",
            "0.15.0",
            "0.17.6",
            "0.20.0",
            "0.23.2",
            "0.27.1",
            "0.30.6",
            "0.34.3",
            "0.40.0",
            "0.47.0",
            "0.54.0",
        ],
    )
    param_names = ("version",)

    def workload(self, version: str) -> Workload:
        return Workload(axes={"version": version}, concurrency=40, expect=_EXPECT)


class Waitress(HTTPBenchmark):
    """waitress's releases since 2016, 128 bytes over kept connections: what did it cost to become stricter?"""

    nightly = True
    target = "waitress"
    params = (["0.9.0", "1.0.2", "1.1.0", "1.2.1", "1.3.1", "1.4.4", "2.0.0", "2.1.2", "3.0.0", "3.0.2"],)
    param_names = ("version",)

    def workload(self, version: str) -> Workload:
        return Workload(axes={"version": version}, concurrency=40, expect=_EXPECT)
