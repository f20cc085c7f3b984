"""PSGI servers with one small application: server against server, and perl against perl."""

from __future__ import annotations

import hashlib

from windtunnel import Expect, HTTPBenchmark, Workload

_PERLS = ["5.32", "5.36", "5.40"]
_CONNECTIONS = ["close", "keepalive"]
_SERVERS = ["Starlet", "Starman", "Twiggy", "uWSGI"]
_EXPECT = Expect(status=200, length=128, sha256=hashlib.sha256(b"x" * 128).hexdigest())


def _workload(connection: str, **axes: str) -> Workload:
    """40 connections, as many as there were in the comparison that asked first."""
    return Workload(axes=axes, keepalive=connection == "keepalive", concurrency=40, expect=_EXPECT)


def _served(perl: str, server: str, connection: str) -> Workload:
    """uWSGI has one socket for each kind of connection. Raises NotImplementedError where a server keeps none."""
    if (server, connection) == ("Twiggy", "keepalive"):
        raise NotImplementedError("Twiggy closes every connection")
    own = {("uWSGI", "keepalive"): "uWSGI-http11"}
    return _workload(connection, perl=perl, server=own.get((server, connection), server))


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


class Servers(HTTPBenchmark):
    """Starlet, Starman, Twiggy and uWSGI on one perl: which server is the fastest?"""

    target = "psgi"
    params = (_SERVERS, _CONNECTIONS)
    param_names = ("server", "connection")

    def workload(self, server: str, connection: str) -> Workload:
        return _served("5.40", server, connection)


class ServerPerls(HTTPBenchmark):
    """The servers on one perl after the other: is a newer perl faster, whichever the server?"""

    target = "psgi"
    nightly = True
    params = (_PERLS, _SERVERS, _CONNECTIONS)
    param_names = ("perl", "server", "connection")

    def workload(self, perl: str, server: str, connection: str) -> Workload:
        return _served(perl, server, connection)


class Threads(HTTPBenchmark):
    """One perl built with threads and without, Starlet on it: what do threads cost that nobody uses?"""

    target = "perl-threads"
    nightly = True
    params = (["without", "with"], _CONNECTIONS)
    param_names = ("threads", "connection")

    def workload(self, threads: str, connection: str) -> Workload:
        return _workload(connection, threads=threads)


class OldPerls(HTTPBenchmark):
    """Perls that Debian no longer has, from images of their own: how much faster is Starlet on a new one?"""

    target = "perl-image"
    nightly = True
    params = (["5.16", "5.16-threaded", "5.40"], _CONNECTIONS)
    param_names = ("perl", "connection")

    def workload(self, perl: str, connection: str) -> Workload:
        return _workload(connection, perl=perl)
