"""Python's servers, WSGI and ASGI, with 128 bytes to give; and nginx, for what there is to be had."""

from __future__ import annotations

import hashlib

from windtunnel import Expect, HTTPBenchmark, Workload

_EXPECT = Expect(status=200, length=128, sha256=hashlib.sha256(b"x" * 128).hexdigest())


class PythonServers(HTTPBenchmark):
    """Python's servers, 128 bytes on one core: which gives them fastest, and does a newer Debian's python help?

    Every server is Debian's own, so with the python its version changes as well.
    """

    nightly = True
    target = "python-servers"
    params = (
        ["gunicorn-sync", "gunicorn-gthread", "waitress", "uwsgi", "uvicorn", "uvicorn-httptools", "hypercorn"],
        ["3.9", "3.11", "3.13"],
        ["close", "keepalive"],
    )
    param_names = ("server", "python", "connection")

    def workload(self, server: str, python: str, connection: str) -> Workload:
        if server == "gunicorn-sync" and connection == "keepalive":
            raise NotImplementedError("gunicorn's sync worker ends every connection after its answer")
        if (server, python, connection) == ("uvicorn-httptools", "3.9", "close"):
            raise NotImplementedError("uvicorn 0.13 with httptools keeps a connection that the client wants closed")
        own = {("uwsgi", "keepalive"): "uwsgi-http11"}  # it has a socket for each kind of connection
        return Workload(
            axes={"server": own.get((server, connection), server), "python": python},
            keepalive=connection == "keepalive",
            concurrency=40,
            expect=_EXPECT,
        )


class Nginx(HTTPBenchmark):
    """nginx and a file of 128 bytes: how much would a server be given here that has next to nothing to do?

    It is the ceiling of all the others, and it stays as it is from commit to commit: where its figures move, the
    machine did.
    """

    target = "nginx"
    params = (["close", "keepalive"],)
    param_names = ("connection",)

    def workload(self, connection: str) -> Workload:
        return Workload(keepalive=connection == "keepalive", concurrency=40, expect=_EXPECT)
