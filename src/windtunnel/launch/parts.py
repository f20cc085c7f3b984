"""The containers that a launch can't do without: which of them have ended, in words."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from windtunnel.errors import EngineError
from windtunnel.launch.ending import ended, ending
from windtunnel.ports import Engine

__all__ = ["Part", "ended_parts"]


@dataclass(frozen=True)
class Part:
    """The target's container, a service's, or that of the program that makes the load.

    `name` is what messages call it, `container` its id, `memory` what it may use, in bytes.
    """

    name: str
    container: str
    memory: int


def ended_parts(engine: Engine, parts: Iterable[Part], when: str = "") -> str:
    """Those that have ended, and how (``service memcached ended (exit code 1)``), or "" if all of them run.

    All of them, since one may have ended of another's end. `when` stands after "ended". What the engine does not tell
    is not known to have ended.
    """
    with suppress(EngineError):
        states = [(part, ended(engine, part.container)) for part in parts]
        return ", ".join(f"{part.name} ended{when} ({ending(state, part.memory)})" for part, state in states if state)
    return ""
