"""What measuring jobs leave: the example comparisons as run files, and zip archives of them."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path

from example_comparisons import BASE, HEAD, RUNS
from windtunnel.sample.merge import write_run
from windtunnel.sample.runfile import Run, RunWriter

__all__ = ["matrix_bytes", "measured_bytes", "run_bytes", "state_of", "zipped"]


def state_of(name: str, *, suite: str = "", shard: str = "", base: str = BASE.commit, head: str = HEAD.commit) -> Run:
    """An example comparison as one of these commits that was measured for a suite, or for a shard of it."""
    run = RUNS[name]
    plan = run.header.compare
    assert plan is not None
    arms = tuple(replace(arm, commit=head if arm.name == "head" else base) for arm in run.header.arms)
    header = replace(run.header, compare=replace(plan, suite=suite, shard=shard), arms=arms)
    return replace(run, header=header)


def run_bytes(run: Run) -> bytes:
    """A run file."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None  # each of its lines is flushed to the disk
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        path = Path(folder) / "run.jsonl"
        with closing(RunWriter(path)) as writer:
            write_run(writer, run)
        return path.read_bytes()


@cache
def measured_bytes(
    name: str, suite: str = "", shard: str = "", base: str = BASE.commit, head: str = HEAD.commit
) -> bytes:
    """The run file of `state_of`."""
    return run_bytes(state_of(name, suite=suite, shard=shard, base=base, head=head))


def matrix_bytes(cases: Sequence[str]) -> bytes:
    """A plan of shards that have these cases together."""
    return json.dumps(
        {"format": "windtunnel-matrix", "version": 1, "cases": [{"case": case} for case in cases]}
    ).encode()


def zipped(content: bytes, name: str = "run.jsonl") -> bytes:
    """An artifact as a forge keeps it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()
