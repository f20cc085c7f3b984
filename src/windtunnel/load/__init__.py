"""Load generators: a command line in, a `LoadResult` out. Pure: starting them is the side-car's business."""

from __future__ import annotations

from typing import Protocol

from windtunnel.errors import ConfigError
from windtunnel.load import ab, h2load, openloop, program, wrk
from windtunnel.load.output import Output
from windtunnel.model import LoadResult, Workload

__all__ = ["OPEN_LOOP", "Generator", "Output", "fixes_count", "generator"]


class Generator(Protocol):
    """What each generator's module offers."""

    @property
    def FIXED_COUNT(self) -> bool:  # noqa: N802 - a module's constant
        """Whether it sends exactly `requests`; else `LoadResult.completed` says how many it was."""

    def argv(
        self, workload: Workload, *, port: int, requests: int, concurrency: int, log: str | None = None
    ) -> tuple[str, ...]:
        """The command line to be run in the side-car.

        `log` is the path of a file that must not exist yet; its contents belong into `Output.log`. Raises ConfigError
        where the generator can't produce this workload.
        """

    def parse(self, output: Output) -> LoadResult:
        """What the process's output says. Never raises."""


_GENERATORS: dict[str, Generator] = {"ab": ab, "h2load": h2load, "wrk": wrk}

OPEN_LOOP: Generator = openloop
"""What loads a workload that has a rate."""


def fixes_count(name: str) -> bool:
    """Whether the generator of that name, or a target's own program, makes exactly the requests it is told to."""
    return program.FIXED_COUNT if name == "program" else generator(name).FIXED_COUNT


def generator(name: str) -> Generator:
    """The generator of that name. Raises ConfigError for any other, and for "program", which has no command line."""
    found = _GENERATORS.get(name)
    if found is None:
        known = ", ".join(f'"{known}"' for known in sorted(_GENERATORS))
        raise ConfigError(f"{name!r} is no generator with a command line; those are {known}", key="generator")
    return found
