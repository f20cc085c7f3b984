"""The conversation with a target's own program, over the standard streams of the container that it runs in."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from windtunnel.errors import InvalidLoad, LaunchFailed, SidecarLost
from windtunnel.load import program
from windtunnel.load.program import Answered, Hello
from windtunnel.model import Workload
from windtunnel.ports import Channel

__all__ = ["CALLED", "Called", "Program"]

CALLED = "it"
"""What the channel to a program calls it: messages have named it before."""


@dataclass(frozen=True)
class Called:
    """What a number of calls came to: the program's answer, seconds until we had it, and when they began (epoch)."""

    answered: Answered
    wall: float
    started: float


class _Silent(Exception):
    """The program did not answer in time, or ended."""


class Program:
    """One program, one question at a time. `name` is what messages call its target."""

    def __init__(self, channel: Channel, name: str) -> None:
        self._channel = channel
        self._name = name
        self.hello = Hello((), ())

    def close(self) -> None:
        """Let go of its streams; it ends at the end of its standard input."""
        self._channel.close()

    def errors(self) -> str:
        """What it has written to standard error."""
        return self._channel.errors()

    def prepare(self, workload: Workload, timeout: float) -> None:
        """Say hello, see whether it can do the workload, put everything in place, and make one call of it.

        Raises:
            LaunchFailed: it ended, is silent, or can't do the workload.
            InvalidLoad: its first call found or stored nothing.
        """
        self.hello = self._greet(timeout)
        if lacking := self.hello.lacks(workload):
            raise LaunchFailed(f"{self._name}: {lacking}", detail=self.errors())
        try:
            self._ask(program.preload(workload), timeout)
        except (_Silent, ValueError) as error:
            message = f"the worker of {self._name} can't preload {_named(workload)}: {error}"
            raise LaunchFailed(message, detail=self.errors()) from error
        called = self.call(workload, 1, 1, timeout)
        if wrong := program.judge(called.answered, 1, called.wall):
            raise InvalidLoad(f"the first {_named(workload)} of {self._name}: {wrong}", detail=self.errors())

    def _greet(self, timeout: float) -> Hello:
        try:
            return program.parse_hello(self._ask(program.hello(), timeout))
        except (_Silent, ValueError) as error:
            hint = " (does it flush its standard output?)" if isinstance(error.__cause__, TimeoutError) else ""
            message = f"the worker of {self._name} does not answer hello: {error}{hint}"
            raise LaunchFailed(message, detail=self.errors()) from error

    def call(self, workload: Workload, count: int, concurrency: int, deadline: float) -> Called:
        """Make `count` calls. Raises InvalidLoad where it says that it can't, or says nothing within `deadline` s."""
        began, before = time.time(), time.monotonic()
        try:
            found = self._ask(program.calls(workload, count, concurrency), deadline)
            wall = time.monotonic() - before
            return Called(program.parse(found, count), wall, began)
        except (_Silent, ValueError) as error:
            message = f"{count:,} x {_named(workload)} of {self._name}: {error}"
            raise InvalidLoad(message, detail=self.errors()) from error

    def _ask(self, line: bytes, patience: float) -> Mapping[str, Any]:
        try:
            self._channel.send(line)
            return program.answer(self._channel.receive(patience))
        except TimeoutError as error:
            raise _Silent(f"no answer after {patience:g} s") from error
        except SidecarLost as error:
            last = [program.shown(line) for line in self.errors().strip().splitlines()[-1:]]
            raise _Silent(": ".join([str(error), *last])) from error


def _named(workload: Workload) -> str:
    return " ".join(part for part in (workload.op, workload.payload) if part)
