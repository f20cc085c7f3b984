"""What the three command lines have in common: address, headers, and what a generator has to refuse.

A workload that reaches a command line has been checked (`windtunnel.declare.workload`): its headers are sound and
neither Connection nor Content-Length is among them.
"""

from __future__ import annotations

import re
from typing import Never

from windtunnel.errors import ConfigError
from windtunnel.model import Workload

__all__ = ["BODY", "check_counts", "header_lines", "refuse", "url"]

BODY = "/tmp/body"  # noqa: S108 - inside the side-car, which nobody else uses
"""Where the body of a workload is in the side-car; the worker writes it before each slice."""

_PATH = re.compile(r"/[!\"$-~]*")


def url(workload: Workload, port: int) -> str:
    """The address to load: always on loopback, since the generator shares the target's network namespace.

    Raises ConfigError for a path that can't stand in a URL as it is.
    """
    if not _PATH.fullmatch(workload.path):
        raise ConfigError(
            f"{workload.path!r} can't be put into a URL; start it with /, percent-encode what is not printable "
            "ASCII, and leave out the #fragment",
            key="path",
        )
    return f"http://127.0.0.1:{port}{workload.path}"


def header_lines(workload: Workload, *, without: str = "") -> list[str]:
    """The workload's headers as ``Name: value``, except the one named `without` (lower case)."""
    return [f"{name}: {value}" for name, value in workload.headers.items() if name.lower() != without]


def check_counts(requests: int, concurrency: int) -> None:
    """Raises ConfigError unless every connection has at least one request to send: less is refused by the tools."""
    if concurrency < 1 or requests < concurrency:
        raise ConfigError(
            f"{requests} requests over {concurrency} connections; ask for at least one request per connection",
            key="requests",
        )


def refuse(tool: str, what: str, instead: str, *, key: str = "generator") -> Never:
    """Raises ConfigError: `tool` can't do `what`; `instead` is the way out."""
    raise ConfigError(f"{tool} can't {what}; {instead}", key=key)
