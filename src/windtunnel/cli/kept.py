"""Comparisons whose run files are kept where they are found again: the same command goes on where it ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from windtunnel.cli.comparing import Request
from windtunnel.cli.console import emit
from windtunnel.compare.verdict import Comparison, compare, rule_of
from windtunnel.errors import ConfigError, EngineError, StorageError, WindtunnelError
from windtunnel.sample.runfile import Run, read_run

__all__ = ["Measure", "ends_everything", "judged", "kept", "kept_name", "measured", "write_reports"]

Measure = Callable[[Request], Path]
"""`windtunnel.cli.comparing.compare_revisions`, or what stands for it in a test."""


def kept_name(base: str, head: str, note: str = "") -> str:
    """The name of the run file of a comparison of two commits (full hashes)."""
    return f"{base[:12]}..{head[:12]}{note}.jsonl"


def kept(request: Request) -> Run | None:
    """What is at the request's `output` already, finished or not. Its base and head must be full hashes.

    Raises ConfigError where that is no run file, or one of other commits or other cases.
    """
    path = request.output
    if path is None or not path.exists():
        return None
    run = read_run(path)
    plan = run.header.compare
    if plan is None:
        raise ConfigError("is not the run file of a comparison; remove it, or name another folder", file=path)
    found = {**{arm.name: arm.commit for arm in run.header.arms}, "select": plan.select, "suite": plan.suite}
    wanted = {"base": request.base, "head": request.head, "select": request.select, "suite": request.suite}
    for key, value in wanted.items():
        if found.get(key) != value:
            raise ConfigError(
                f"was measured with {_shown(found.get(key))}, this command asks for {_shown(value)}; "
                f"remove it, or name another folder",
                file=path,
                key=key,
            )
    return run


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) or "all" if isinstance(value, tuple) else str(value) or "none"


def measured(request: Request, measure: Measure) -> Run:
    """The finished run of a request: as it is kept, gone on with, or made now."""
    run = kept(request)
    if run is not None and run.complete:
        return run
    go_on = request if run is None else replace(request, output=None, resume=request.output)
    return read_run(measure(go_on))


def judged(run: Run, threshold: float | None) -> Comparison:
    """The run's comparison, by the threshold that is asked for now (None: the one it was measured by)."""
    rule = rule_of(run)
    return compare(run, rule if threshold is None else replace(rule, threshold=threshold))


def ends_everything(error: WindtunnelError) -> bool:
    """Whether no other commit would fare better: the engine or the disk is at fault, not the commit."""
    return isinstance(error, EngineError | StorageError)


def write_reports(text: str, as_json: Mapping[str, Any], json_file: str | None, kept_in: Path) -> None:
    """The text to standard output and the JSON to a file; "-" puts the JSON in the text's place.

    Raises StorageError where a file can't be written.
    """
    dumped = json.dumps(as_json, indent=2, allow_nan=False)
    remedy = f"every comparison is in {kept_in}, and the same command only makes the report again"
    emit(dumped if json_file == "-" else text, kept=remedy)
    if json_file and json_file != "-":
        try:
            Path(json_file).write_text(dumped + "\n", encoding="utf-8")
        except OSError as error:
            raise StorageError(f"cannot write {json_file}: {error.strerror}; {remedy}") from error
