"""The front of a comparison as Markdown: what came of it, what to do, and what a forge adds to it. Pure."""

from __future__ import annotations

import datetime
import re

from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import Comparison
from windtunnel.report.around import Acceptance, Around
from windtunnel.report.comparison_origin import arm_of, full_commit
from windtunnel.report.comparison_words import advice, headline
from windtunnel.report.pieces import code, linked, prose
from windtunnel.sample.runfile import Run

__all__ = ["accepted", "commit", "opening"]

_REMARKS = 3
_REPOSITORY = re.compile(r"https?://[A-Za-z0-9._:/-]{1,150}")


def opening(run: Run, comparison: Comparison, around: Around) -> str:
    """The first lines; at most about 4,000 characters, whatever is in them."""
    blocks = [_outdated(run, around), _told(run, comparison, around)]
    if around.acceptance is not None and accepted(comparison, around):
        blocks.append(_acceptance(around.acceptance, around))
    blocks += [f"Note: {prose(remark)}" for remark in around.remarks[:_REMARKS]]
    return "\n\n".join(block for block in blocks if block) + "\n"


def accepted(comparison: Comparison, around: Around) -> bool:
    """Whether something got slower, and somebody has accepted that."""
    return around.acceptance is not None and bool(comparison.having(Verdict.REGRESSION))


def _told(run: Run, comparison: Comparison, around: Around) -> str:
    said = headline(run, comparison)
    if around.suite:
        said = f"Suite {code(around.suite, most=60)}: {said[:1].lower()}{said[1:]}"
    return f"**{said}.** {advice(run, comparison, accepted=accepted(comparison, around))}"


def _outdated(run: Run, around: Around) -> str:
    """The comparison is of a commit that the pull request has left behind."""
    if not around.newer_head:
        return ""
    head = arm_of(run, "head")
    here = commit(full_commit(head), around) or "an older commit"
    newer = commit(around.newer_head, around) or code(around.newer_head, most=64)
    return f"**Outdated: this is of {here}.** The pull request is at {newer} now{_newer_run(around)}."


def _newer_run(around: Around) -> str:
    if around.newer_run_url is None:
        return ""
    url = around.newer_run_url
    return f", which {linked('is being measured', url)}" if url else ", and nothing measures that yet"


def commit(sha: str, around: Around) -> str:
    """A full commit in short, linked to the project's own repository where that is known; "" for what is none."""
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", sha):
        return ""
    shown = code(sha[:10])
    return linked(shown, f"{around.repository_url}/commit/{sha}") if _own(around) else shown


def _own(around: Around) -> bool:
    return _REPOSITORY.fullmatch(around.repository_url) is not None


def _acceptance(one: Acceptance, around: Around) -> str:
    how = f" with the label {code(one.label, most=60)}" if one.label else ""
    if _own(around) and one.url.startswith(f"{around.repository_url}/"):
        how += f" ({linked('comment', one.url)})"
    when = one.created.astimezone(datetime.UTC) if one.created.tzinfo is not None else one.created
    told = f"Accepted by {code(one.by, most=60)} on {when:%Y-%m-%d}{how}"
    return f"{told}:\n\n> {code(one.reason)}" if one.reason else f"{told}."
