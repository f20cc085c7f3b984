"""Small HTTP daemons in Perl, two connections at a time: Mojo's against the one that HTTP::Engine ran on."""

from __future__ import annotations

import hashlib

from windtunnel import Expect, HTTPBenchmark, Workload

_PAGE = b"Congratulations, your Mojo is working!"
_EXPECT = Expect(status=200, length=len(_PAGE), sha256=hashlib.sha256(_PAGE).hexdigest())


def _workload(perl: str, server: str) -> Workload:
    """A connection for each request: HTTP::Server::Simple knows nothing else."""
    axes = {"perl": perl, "server": server}
    return Workload(axes=axes, keepalive=False, concurrency=2, expect=_EXPECT)


class Daemons(HTTPBenchmark):
    """38 bytes from Mojo's daemon or from HTTP::Server::Simple: which has them sooner?"""

    target = "daemons"
    params = (["Mojo", "HTTP-Server-Simple"],)
    param_names = ("server",)

    def workload(self, server: str) -> Workload:
        return _workload("5.40", server)


class Engine(HTTPBenchmark):
    """HTTP::Engine on top of HTTP::Server::Simple: what does it add, and is it still ahead of Mojo?"""

    target = "daemons"
    nightly = True
    params = (["Mojo", "HTTP-Server-Simple", "HTTP-Engine"],)
    param_names = ("server",)

    def workload(self, server: str) -> Workload:
        return _workload("5.40", server)


class DaemonPerls(HTTPBenchmark):
    """The same daemons on one perl after the other: does a newer perl help them?"""

    target = "daemons"
    nightly = True
    params = (["5.32", "5.36", "5.40"], ["Mojo", "HTTP-Server-Simple"])
    param_names = ("perl", "server")

    def workload(self, perl: str, server: str) -> Workload:
        return _workload(perl, server)
