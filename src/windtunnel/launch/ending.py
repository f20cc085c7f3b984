"""How a container ended, in words."""

from __future__ import annotations

import time

from windtunnel.ports import ContainerState, Engine
from windtunnel.units import Unit, format_value

__all__ = ["ended", "ending", "memory_words"]

_PAUSE = 0.05
_EXIT_CODES = {126: "its command is not executable", 127: "its command was not found", 137: "it was killed"}


def ended(engine: Engine, container: str, patience: float = 0.0) -> ContainerState | None:
    """The state of a container that has ended, or None if it still runs after `patience` seconds.

    A dead server is seen by its clients first and by the engine somewhat later.
    """
    deadline = time.monotonic() + patience
    while (state := engine.state(container)).running:
        if time.monotonic() >= deadline:
            return None
        time.sleep(_PAUSE)
    return state


def ending(state: ContainerState, memory: int) -> str:
    """How a container ended that might use `memory` bytes."""
    if state.oom_killed:
        return memory_words(memory)
    why = _EXIT_CODES.get(state.exit_code or 0)
    return f"exit code {state.exit_code}{f': {why}' if why else ''}"


def memory_words(memory: int) -> str:
    """What became of a process that used up its container's memory, and the way out."""
    limit = format_value(float(memory), Unit.BYTE)
    return f"killed for memory, of which it has {limit}: see `memory` under [limits] in target.toml"
