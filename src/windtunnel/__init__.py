"""windtunnel: continuous performance tracking for HTTP servers and cache clients, built on asv.

A benchmark file needs four names, all of them here::

    from windtunnel import Expect, HTTPBenchmark, Workload
"""

from typing import Any

from windtunnel.model import Expect, Workload

__version__ = "0.1.0"

__all__ = ["Expect", "HTTPBenchmark", "Workload", "__version__"]


def __getattr__(name: str) -> Any:
    # The benchmark base class pulls in the engine's client; `import windtunnel` alone must not.
    if name == "HTTPBenchmark":
        from windtunnel.asv.benchmark import HTTPBenchmark

        return HTTPBenchmark
    raise AttributeError(f"module 'windtunnel' has no attribute {name!r}")
