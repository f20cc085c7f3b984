"""Cache clients: what a call costs, one client against the next, and one interpreter against the next."""

from __future__ import annotations

from windtunnel import CacheBenchmark, Workload

PERL = ["Cache::Memcached", "Cache::Memcached::Fast", "Cache::Memcached::libmemcached"]
PYTHON = ["pymemcache", "python-memcached", "pylibmc", "aiomcache"]
OPS = ["get", "set"]


class Memcached(CacheBenchmark):
    """memcached clients: how many times faster than Perl's plain one are those in C, how do Python's compare, and
    does that hold for a hash that is serialized and for 70,000 bytes that are compressed?
    """

    target = "memcached-clients"
    params = (PERL + PYTHON, OPS, ["scalar", "serialized", "compressed"])
    param_names = ("client", "op", "payload")

    def workload(self, client: str, op: str, payload: str) -> Workload:
        axes = {"suite": "trixie", "client": client}
        return Workload(axes=axes, generator="program", op=op, payload=payload)


class MemcachedInterpreter(CacheBenchmark):
    """A memcached client that is written in Perl or Python alone: do newer perls and Pythons make it faster?"""

    target = "memcached-clients"
    params = (["Cache::Memcached", "python-memcached"], ["bullseye", "bookworm", "trixie"])
    param_names = ("client", "suite")
    nightly = True

    def workload(self, client: str, suite: str) -> Workload:
        axes = {"suite": suite, "client": client}
        return Workload(axes=axes, generator="program", op="get", payload="serialized")


class Redis(CacheBenchmark):
    """redis-py: what is hiredis worth, for a short value, a hash of twenty fields, and 70,000 bytes?"""

    target = "redis-clients"
    params = (["python", "hiredis"], OPS, ["scalar", "hash", "large"])
    param_names = ("parser", "op", "payload")

    def workload(self, parser: str, op: str, payload: str) -> Workload:
        return Workload(axes={"parser": parser}, generator="program", op=op, payload=payload)
