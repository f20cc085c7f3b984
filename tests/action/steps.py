"""The command as a step of a job: the environment that a runner gives it, and what it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acting import outputs_of
from checkouts import Checkout

__all__ = ["Step", "Told"]


@dataclass(frozen=True)
class Told:
    """What a step has said when it has ended: to the log, and to the runner."""

    code: int
    log: str
    outputs: Mapping[str, str]
    summary: str

    def expect(self, code: int) -> Told:
        """It ended so, and nothing that only we understand was said."""
        assert self.code == code, self.log
        assert "Traceback" not in self.log, self.log
        return self

    def commands(self, level: str) -> list[str]:
        """The annotations of a level, as a runner takes them: what is said while it does not listen is none."""
        found: list[str] = []
        mark = ""
        for line in self.log.splitlines():
            if mark:
                mark = "" if line == f"::{mark}::" else mark
            elif line.startswith("::stop-commands::"):
                mark = line.removeprefix("::stop-commands::")
            elif line.startswith(f"::{level}"):
                found.append(line)
        assert not mark, "the runner still does not listen"
        return found


@dataclass
class Step:
    """`windtunnel action ...` in a checkout, on an event."""

    checkout: Checkout
    event: str
    payload: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scratch = self.checkout.path.parent / f"{self.checkout.path.name}-runner"
        self.scratch.mkdir(exist_ok=True)

    @contextmanager
    def running(self, *arguments: str | Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """The step while it runs; its log goes to a file."""
        for name in ("log", "output", "summary"):
            (self.scratch / name).write_text("")
        (self.scratch / "event.json").write_text(json.dumps(self.payload))
        argv = [sys.executable, "-m", "windtunnel", "action", *map(str, arguments)]
        with (self.scratch / "log").open("w") as log:
            process = subprocess.Popen(
                argv,
                cwd=self.checkout.path,
                env={**self._environment(), **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(60)

    def run(self, *arguments: str | Path, **environment: str) -> Told:
        with self.running(*arguments, **environment) as process:
            process.wait(300)
        return self.told(process)

    def told(self, process: subprocess.Popen[str]) -> Told:
        """What it has said so far."""
        log, output, summary = ((self.scratch / name).read_text() for name in ("log", "output", "summary"))
        return Told(process.returncode, log, outputs_of(output), summary)

    def _environment(self) -> dict[str, str]:
        own = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "RUNNER_", "GH_"))}
        return {
            **own,
            **self.environment,
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": self.event,
            "GITHUB_EVENT_PATH": str(self.scratch / "event.json"),
            "GITHUB_OUTPUT": str(self.scratch / "output"),
            "GITHUB_REF": self.checkout.ref,
            "GITHUB_REPOSITORY": "owner/project",
            "GITHUB_RUN_ID": "17",
            "GITHUB_SERVER_URL": "https://forge.example",
            "GITHUB_SHA": self.checkout.sha,
            "GITHUB_STEP_SUMMARY": str(self.scratch / "summary"),
            "GITHUB_WORKSPACE": str(self.checkout.path),
            "RUNNER_ENVIRONMENT": "github-hosted",
        }
