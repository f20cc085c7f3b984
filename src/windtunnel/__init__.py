"""windtunnel: continuous performance tracking for HTTP servers and cache clients, built on asv.

All that a benchmark file needs is here::

    from windtunnel import CacheBenchmark, Expect, HTTPBenchmark, Workload
"""

from typing import Any

from windtunnel.model import Expect, Workload
from windtunnel.version import __version__

__all__ = ["CacheBenchmark", "Expect", "HTTPBenchmark", "Workload", "__version__"]


def __getattr__(name: str) -> Any:
    # The benchmark base classes pull in the engine's client; `import windtunnel` alone must not.
    if name in {"CacheBenchmark", "HTTPBenchmark"}:
        from windtunnel.asv import benchmark

        return getattr(benchmark, name)
    raise AttributeError(f"module 'windtunnel' has no attribute {name!r}")
