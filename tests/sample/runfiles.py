"""Run files to read and to spoil."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import material
from windtunnel.errors import ConfigError
from windtunnel.model import Launch
from windtunnel.sample.runfile import Arm, ComparePlan, Run, RunWriter, read_run
from windtunnel.units import Missing


@contextmanager
def writer_of(path: Path) -> Iterator[RunWriter]:
    """A writer that is closed in the end."""
    writer = RunWriter(path)
    try:
        yield writer
    finally:
        writer.close()


def write(path: Path, run: Run) -> None:
    """Write all of it."""
    with writer_of(path) as writer:
        writer.header(run.header)
        for case, sizes in run.sizes.items():
            writer.sizes(case, sizes)
        for failure in run.failures:
            writer.failure(failure)
        for launch in run.launches:
            writer.launch(launch)
        if run.end:
            writer.end(**run.end)


@contextmanager
def temporary_file() -> Iterator[Path]:
    """A path of its own for each example."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "run.jsonl"


def three(path: Path) -> list[bytes]:
    """A file of a header, two launches and an end; its lines."""
    two = replace(material.LAUNCH, number=2, idle_cpu=Missing("no cgroup"))
    write(path, Run(material.HEADER, (material.LAUNCH, two), end={"exit": 0, "seconds": 1.5}))
    return path.read_bytes().splitlines(keepends=True)


def whole_run(path: Path) -> Run:
    """What is in a file that has our header."""
    run = read_run(path)
    assert run.header == material.HEADER
    return run


def error_after(path: Path, *lines: bytes) -> ConfigError:
    """What reading says of these lines after a header and a launch."""
    first = three(path)[:2]
    path.write_bytes(b"".join([*first, *(line + b"\n" for line in lines)]))
    with pytest.raises(ConfigError) as caught:
        read_run(path)
    return caught.value


def comparison(*launches: Launch) -> Run:
    """A run of two arms."""
    arms = (Arm("base", "main", "a" * 40), Arm("head", "HEAD", "b" * 40))
    return Run(replace(material.HEADER, arms=arms, compare=ComparePlan(0.02, 40)), launches)


def refused_at(path: Path, key: str, spoil: Callable[[dict[str, Any]], None]) -> None:
    """Write a run file to `path` with its second launch spoilt; it is refused with line and key."""
    lines = three(path)
    launch = json.loads(lines[2])
    spoil(launch)
    path.write_bytes(b"".join([*lines[:2], json.dumps(launch).encode(), b"\n", lines[3]]))
    with pytest.raises(ConfigError) as caught:
        read_run(path)
    assert (caught.value.line, caught.value.key) == (3, key)
    assert str(caught.value).startswith(f"{path}:3: {key}: ")
