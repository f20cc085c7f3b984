"""What the page of a workflow run shows of a job: its summary, as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from windtunnel.cli.action.runner import SUMMARY_BYTES
from windtunnel.compare.verdict import Comparison
from windtunnel.errors import WindtunnelError
from windtunnel.report.around import Around
from windtunnel.report.markdown import LEAST, comparison_markdown
from windtunnel.report.pieces import cell, code, fenced
from windtunnel.report.visible import tail
from windtunnel.sample.runfile import Run
from windtunnel.units import Unit, format_value

__all__ = ["comparison_summary", "failure_summary", "plan_summary"]

_ROOM = SUMMARY_BYTES - 20_000
"""For the comparison: what stopped it is told above it."""

_MESSAGE = 2_000


def comparison_summary(run: Run, comparison: Comparison, around: Around, stopped: WindtunnelError | None) -> str:
    """The whole report, as much of it as a summary may hold; `stopped` is what cut the comparison short."""
    limit = _ROOM
    text = comparison_markdown(run, comparison, limit=limit, around=around)
    while (size := len(text.encode(errors="replace"))) > _ROOM and limit > LEAST:
        limit = max(LEAST, limit * _ROOM // size - 1)  # characters, of which some take several bytes
        text = comparison_markdown(run, comparison, limit=limit, around=around)
    return text if stopped is None else f"{failure_summary(stopped, 'Cut short')}\n{text}"


def failure_summary(error: WindtunnelError, opening: str = "Nothing was measured") -> str:
    """What went wrong, and the end of the log that shows it."""
    text = f"**{opening}:** {code(str(error), most=_MESSAGE)}\n"
    return f"{text}\n{fenced(tail(error.detail))}\n" if error.detail else text


def plan_summary(matrix: Mapping[str, Any]) -> str:
    """The parts that a comparison was cut into."""
    parts: Sequence[Mapping[str, Any]] = matrix["include"]
    cases = sum(len(part["cases"]) for part in parts)
    rows = [
        f"| {cell(part['shard'])} | {len(part['cases'])} | {format_value(60 * part['minutes'], Unit.SECOND)} |"
        for part in parts
    ]
    shards = "1 shard" if len(parts) == 1 else f"{len(parts)} shards"
    told = f"**{'1 case' if cases == 1 else f'{cases} cases'} in {shards}.** Building is not in the times.\n"
    return "\n".join([told, "| shard | cases | about |", "|---|--:|--:|", *rows, ""])
