"""Reads the captures in tests/data/load: what real generators said of real servers."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from windtunnel.load import Generator, Output, generator
from windtunnel.model import LoadResult

__all__ = ["FOLDER", "Capture", "capture", "names", "read"]

FOLDER = Path(__file__).parent.parent / "data" / "load"
_SECTIONS = ("stdout", "stderr", "log")


@dataclass(frozen=True)
class Capture:
    """One capture: how it was asked for, and the output."""

    head: dict[str, Any]
    output: Output

    @property
    def tool(self) -> Generator:
        """The generator that made it."""
        return generator(self.head["argv"][0])

    def parse(self, **changes: Any) -> LoadResult:
        """Its result, after `changes` to the output."""
        return self.tool.parse(replace(self.output, **changes))


def names(prefix: str = "") -> list[str]:
    """The names of all captures, or of those that start with `prefix`."""
    return sorted(path.stem for path in FOLDER.glob(f"{prefix}*.txt"))


def capture(name: str) -> Capture:
    """The capture of that name."""
    return read((FOLDER / f"{name}.txt").read_text())


def read(text: str) -> Capture:
    """The capture in this text, as capture.py wrote it."""
    head: dict[str, Any] = {}
    parts: dict[str, list[str]] = {}
    section = ""
    for line in text.splitlines(keepends=True):
        if line.startswith("=== ") and line[4:].strip() in _SECTIONS:
            section = line[4:].strip()
            parts[section] = []
        elif section:
            parts[section].append(line)
        else:
            key, _, value = line.partition(": ")
            head[key] = json.loads(value)
    texts = {key: "".join(lines).removesuffix("\n") for key, lines in parts.items()}
    output = Output(
        stdout=texts["stdout"],
        stderr=texts["stderr"],
        exit_code=head["exit_code"],
        log=texts.get("log"),
        timed_out=head["timed_out"],
        wall=head["wall"],
        requested=head["requested"],
    )
    return Capture(head, output)
