"""What a report says where there is nothing to judge, and every form in which a suite is told. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.publish.forge import WorkflowRun
from windtunnel.publish.judging import Judged, Offer
from windtunnel.report.around import Around
from windtunnel.report.markdown import LEAST, comparison_markdown
from windtunnel.report.pieces import code

__all__ = ["COMMENT", "Told", "bounded_markdown", "summary_markdown", "told_markdown", "why_nothing"]

COMMENT = 60_000
"""The most characters of a comment: GitHub takes 65,536."""

_FAULT = 600
_ENDED = {
    "failure": "The measuring run failed before it left a run file.",
    "timed_out": "The measuring run took too long and was ended.",
    "cancelled": "The measuring run was cancelled before it left a run file.",
    "skipped": "The measuring run was skipped.",
    "action_required": "The measuring run waits for somebody to approve it.",
}
_COMMIT = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True)
class Told:
    """A suite, its surroundings, and the commit that it is about."""

    judged: Judged
    around: Around
    head: str


def why_nothing(workflow: WorkflowRun, offer: Offer) -> str:
    """Why a run has left nothing that could be reported, in a sentence."""
    if offer.undeclared:
        names = ", ".join(code(name, most=60) for name in offer.undeclared[:5])
        return (
            f"The default branch's windtunnel.toml does not declare the suite {names}; it is reported once it does."
        )
    if offer.expired:
        return "What the measuring run has left is kept no longer; run it again."
    if offer.others:
        return "The measuring run has left run files of other folders only."
    return _ENDED.get(workflow.conclusion, "The measuring run left no run file.")


def told_markdown(told: Told, *, limit: int, marker: str = "") -> str:
    """A suite's report as Markdown of at most `limit` characters; `marker` goes to its very beginning, hidden."""
    judged = told.judged
    if judged.run is None or judged.comparison is None:
        return _nothing(told, marker)
    return comparison_markdown(judged.run, judged.comparison, limit=limit, marker=marker, around=told.around)


def _nothing(told: Told, marker: str) -> str:
    around, fault = told.around, told.judged.fault
    said = f"nothing was measured for {_commit(told)}"
    said = f"Suite {code(around.suite, most=60)}: {said}" if around.suite else f"{said[:1].upper()}{said[1:]}"
    lines = [f"<!-- {marker} -->"] if marker else []
    lines += [f"**{said}.**", "", code(fault, most=_FAULT) if told.judged.foreign else fault]
    lines += [f"\n{remark}" for remark in around.remarks]
    if around.run_url and around.repository_url and around.run_url.startswith(f"{around.repository_url}/"):
        lines += ["", f"[The measuring run]({around.run_url})"]
    return "\n".join(lines) + "\n"


def _commit(told: Told) -> str:
    """The commit, linked within the own repository."""
    head, place = told.head, told.around.repository_url
    if not _COMMIT.fullmatch(head):
        return code(head, most=64)
    return f"[`{head[:10]}`]({place}/commit/{head})" if place else f"`{head[:10]}`"


# ---------------- the summary of a job


def summary_markdown(told: Sequence[Told], most: int) -> str:
    """All suites one after the other, in at most `most` bytes of UTF-8, each with the same share."""
    if not told:
        return ""
    share = most // len(told)
    return "\n".join(bounded_markdown(one, share - 1) for one in told)


def bounded_markdown(told: Told, most: int) -> str:
    """A suite's report in at most `most` bytes of UTF-8 (a character may take several); "" if they are too few."""
    limit = max(most, LEAST)
    text = told_markdown(told, limit=limit)
    while (size := len(text.encode(errors="replace"))) > most and limit > LEAST:
        limit = max(LEAST, int(limit * most / size) - 1)
        text = told_markdown(told, limit=limit)
    return text if size <= most else ""
