"""What goes over the wire: requests as they came, answers as they go, and how to go wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from localhub.state import State

__all__ = ["PREFIX", "Answer", "Misbehaviour", "Seen", "in_json"]

PREFIX = "/api/v3"
"""Where the API of an Enterprise server is; the local one has it there too."""


@dataclass(frozen=True)
class Seen:
    """A request that came in. `body` is what was read from JSON, None where there was none."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    headers: Mapping[str, str]


@dataclass
class Misbehaviour:
    """See `LocalGitHub.misbehave`."""

    method: str
    path: str
    skip: int
    times: int
    status: int | None = None
    headers: Mapping[str, str | None] = field(default_factory=dict)
    body: Any = None
    delay: float = 0
    drop: bool = False
    worked: bool = False
    first: Callable[[State], object] | None = None

    def strikes(self, method: str, path: str, *, taken: bool) -> bool:
        """Whether this request is one of those; each call counts, unless another misbehaviour has `taken` it."""
        if self.times <= 0 or self.method not in ("*", method) or not re.search(self.path, path):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.times -= 0 if taken else 1
        return not taken


@dataclass(frozen=True)
class Answer:
    """A whole answer. A header that is None is left out."""

    status: int
    body: bytes
    headers: Mapping[str, str | None] = field(default_factory=dict)


def in_json(status: int, body: Any, headers: Mapping[str, str | None] | None = None) -> Answer:
    """An answer in JSON; None is no body."""
    content = b"" if body is None else json.dumps(body).encode()
    return Answer(status, content, {"Content-Type": "application/json; charset=utf-8", **(headers or {})})
