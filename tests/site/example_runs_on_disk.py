"""Run files of a history, written to disk as the results branch has them."""

from __future__ import annotations

import lzma
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from example_comparisons import Measured, run_of
from windtunnel.history.nouns import RunRef
from windtunnel.sample.runfile import Arm, Run, RunWriter

__all__ = ["between", "store", "write"]


def between(base: str, head: str, measured: Sequence[Measured], *, cpu: str = "A processor") -> Run:
    """A comparison of two commits (40 letters each)."""
    run = run_of(measured)
    host = replace(run.header.host, cpu_model=cpu) if run.header.host else None
    arms = (Arm("base", "main", base, "2026-11-28"), Arm("head", "HEAD", head, "2026-11-29", "A change"))
    return replace(run, header=replace(run.header, arms=arms, host=host))


def write(run: Run, path: Path) -> Path:
    """The run as a file; packed where its name ends in xz."""
    plain = path.with_suffix("") if path.suffix == ".xz" else path
    writer = RunWriter(plain)
    writer.header(run.header)
    for launch in run.launches:
        writer.launch(launch)
    for failure in run.failures:
        writer.failure(failure)
    if run.complete:
        writer.end(**run.end)
    writer.close()
    if plain != path:
        path.write_bytes(lzma.compress(plain.read_bytes(), preset=0))
        plain.unlink()
    return path


def store(runs: Sequence[Run], folder: Path) -> tuple[RunRef, ...]:
    """All of them below `runs/2026`, and what a history has of them."""
    found = []
    for run in runs:
        base, head = (arm.commit for arm in run.header.arms[:2])
        path = write(run, folder / "runs" / "2026" / f"{head}.jsonl.xz")
        found.append(RunRef(path, head, base=base))
    return tuple(found)
