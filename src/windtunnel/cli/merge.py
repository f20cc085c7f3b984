"""`windtunnel merge`: put the run files of shards together."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click

from windtunnel.cli.console import emit, tell
from windtunnel.declare.shards import MATRIX
from windtunnel.errors import ConfigError, StorageError
from windtunnel.sample.merge import merge_runs, missing_shards, write_run
from windtunnel.sample.runfile import Run, RunWriter, check_writable, read_run
from windtunnel.units import Unit, counted, format_value

__all__ = ["merge_command"]


@click.command("merge", short_help="Put the run files of shards together.")
@click.argument("files", nargs=-1, required=True, metavar="RUNFILE...", type=click.Path(path_type=Path))
@click.option(
    "--output",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The run file of the whole.",
)
@click.option(
    "--matrix",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="What `windtunnel plan --shards` printed: its cases are the whole.",
)
@click.option("--require-all", is_flag=True, help="A part that is missing is an error.")
def merge_command(files: tuple[Path, ...], output: Path, matrix: Path | None, require_all: bool) -> None:
    """Make one run file of those of several shards of one comparison; `windtunnel show` then reports the whole.

    \b
    A case lives in one shard. All files must be of the same project, commits,
    threshold and version of windtunnel; CPU models may differ from file to file.

    \b
    Exit codes: 0 merged; 2 usage, or files that do not belong together; 6 the
    output can't be written.
    """
    if output.exists():
        raise ConfigError("exists already; a run file is never overwritten, name another one", file=output)
    runs = _read(files)
    merged = merge_runs(runs)
    merged = replace(merged, header=replace(merged.header, command=("windtunnel", *sys.argv[1:])))
    missing = _missing(merged, _expected(matrix) if matrix else ())
    if missing and require_all:
        raise ConfigError("; ".join(missing) + "; name all run files, or leave out --require-all")
    for text in missing:
        tell(f"warning: {text}; the merged run is incomplete", "yellow")
    _write(output, replace(merged, end={}) if missing else merged)
    emit(
        "\n".join([*(_line(name, run) for name, run in runs.items()), f"merged: {output}"]), kept=f"{output} is whole"
    )


def _read(files: Sequence[Path]) -> Mapping[str, Run]:
    """The runs by file name. A file that is given twice, by whatever name, is refused."""
    seen: dict[Path, Path] = {}
    for path in files:
        if first := seen.get(path.resolve()):
            raise ConfigError(f"is given twice (also as {first}); name each run file once", file=path)
        seen[path.resolve()] = path
    return {str(path): read_run(path) for path in files}


def _expected(matrix: Path) -> tuple[str, ...]:
    """The case ids of a matrix. Raises ConfigError for a file that is not one."""
    try:
        found = json.loads(matrix.read_bytes())
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=matrix) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is not JSON: {error}", file=matrix) from error
    cases = found.get("cases") if isinstance(found, dict) and found.get("format") == MATRIX else None
    if not isinstance(cases, list) or not all(
        isinstance(one, dict) and isinstance(one.get("case"), str) for one in cases
    ):
        raise ConfigError("is not what windtunnel plan --shards prints", file=matrix)
    return tuple(one["case"] for one in cases)


def _missing(merged: Run, expected: Sequence[str]) -> list[str]:
    """What the whole lacks, in words."""
    there = {case.id for case in merged.header.cases} | {failure.case for failure in merged.failures}
    shards = [f"shard {shard} is missing" for shard in missing_shards(merged.header.shards)]
    return shards + [f"{case} is in no run file" for case in expected if case not in there]


def _write(output: Path, merged: Run) -> None:
    """All of it or nothing."""
    check_writable(output)
    try:
        with closing(RunWriter(output)) as writer:
            write_run(writer, merged)
    except StorageError:
        output.unlink(missing_ok=True)
        raise


def _line(name: str, run: Run) -> str:
    """A shard in one line."""
    plan, host = run.header.compare, run.header.host
    label = plan.shard if plan and plan.shard else "shard"
    seconds = run.end.get("seconds")
    parts = [
        counted(len(run.header.cases), "case"),
        counted(len(run.launches), "launch", "launches"),
        "cut short" if not run.complete else format_value(seconds, Unit.SECOND),
        host.cpu_model if host else "",
    ]
    return f"{label}: {', '.join(part for part in parts if part)} ({name})"
