"""What a step tells the GitHub runner: outputs, the job's summary, annotations.

The runner takes lines that begin with ``::`` for commands, whoever has printed them: the log of a build, the name of
a case. So whatever is not ours is printed within `unheard`, and what goes into a command is escaped.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from windtunnel.errors import StorageError
from windtunnel.report.visible import visible

__all__ = ["SUMMARY_BYTES", "Runner"]

SUMMARY_BYTES = 1_000_000
"""A step's summary may have up to 1 MiB; a larger one is dropped as a whole."""

_MESSAGE = 1_000

Level = Literal["notice", "warning", "error"]


@dataclass(frozen=True)
class Runner:
    """The runner's files, by the environment that it gives a step; where it gives none, nothing is written."""

    environ: Mapping[str, str]

    def output(self, **values: object) -> None:
        """Outputs of the step."""
        for name, value in values.items():
            mark = f"end-{secrets.token_hex(16)}"  # nobody can have written it into the value
            self._append("GITHUB_OUTPUT", f"{name}<<{mark}\n{value}\n{mark}\n")

    def summary(self, markdown: str) -> None:
        """Add to the job's summary; the text has to be within `SUMMARY_BYTES`."""
        self._append("GITHUB_STEP_SUMMARY", markdown.rstrip("\n") + "\n")

    def annotate(
        self, level: Level, message: str, *, title: str = "", file: str = "", line: int | None = None
    ) -> None:
        """An annotation of the run (and of a line of a file). The message may come from outside."""
        facts = {"title": visible(title), "file": file, "line": "" if line is None else str(line)}
        told = ",".join(f"{key}={_property(value)}" for key, value in facts.items() if value)
        command = f"::{level} {told}::" if told else f"::{level}::"
        sys.stdout.write(command + _data(visible(message, _MESSAGE)) + "\n")
        sys.stdout.flush()

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Whatever is printed within, also by others, commands nothing."""
        mark = secrets.token_hex(16)
        self._command(f"::stop-commands::{mark}")
        try:
            yield
        finally:
            sys.stderr.flush()
            self._command(f"::{mark}::")

    @staticmethod
    def _command(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def _append(self, variable: str, text: str) -> None:
        path = self.environ.get(variable)
        if not path:
            return
        try:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise StorageError(f"cannot write {path} ({variable}): {error.strerror}; make room") from error


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
