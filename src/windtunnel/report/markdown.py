"""A comparison as GitHub Markdown: the comment on a pull request, the summary of a job or of a check. Pure.

Every string from outside stands in a code span or a fence, and nowhere else: there is no mention, link, reference,
HTML or emphasis within one, neither for Markdown nor for what GitHub does to the HTML afterwards. Links lead to the
project's own commits and to the run that measured, and only where `Around` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from windtunnel.compare.verdict import CaseResult, Comparison
from windtunnel.report.around import Around
from windtunnel.report.comparison_origin import arm_of, full_commit, origin
from windtunnel.report.comparison_words import grouped, shared_notes
from windtunnel.report.markdown_cases import RANKS, Telling, changed, inconclusive
from windtunnel.report.markdown_grid import matrix_sections
from windtunnel.report.markdown_opening import accepted, commit, opening
from windtunnel.report.markdown_together import broken, first, listed, unchanged
from windtunnel.report.pieces import Part, Section, code, fitted, folded, linked
from windtunnel.sample.runfile import Run

__all__ = ["LEAST", "comparison_markdown"]

LEAST = 6_000
"""The smallest limit (characters) that is taken: the first lines and the word on what was left out need it."""

_NOWHERE = Around()


def comparison_markdown(
    run: Run, comparison: Comparison, *, limit: int = 60_000, marker: str = "", around: Around = _NOWHERE
) -> str:
    """The whole report as GitHub Markdown, never longer than `limit` characters: what is left out is said.

    A comment or the summary of a check holds 65,535 characters; the summary of a job 1 MiB, of which a character
    takes up to four bytes.

    Args:
        run, comparison: what to tell.
        limit: characters, at least `LEAST`.
        marker: goes into an HTML comment before everything else, by which a later run finds this text again. With
            one it is the comment on a pull request: there a reader is told how to accept what got slower.
        around: what is known of the pull request.

    Raises ValueError for a limit below `LEAST`, and for a marker that does not fit into such a comment.
    """
    if limit < LEAST or not re.fullmatch(r"[\w:. /=-]{0,200}", marker, re.ASCII) or "--" in marker:
        raise ValueError(f"the limit is at least {LEAST}; a marker has up to 200 letters, digits and :._/=- in it")
    before = f"<!-- {marker} -->\n" if marker else ""
    triage = bool(marker) and run.complete and not around.newer_head and not accepted(comparison, around)
    sections = _sections(run, comparison, triage=triage)
    sections.append(_origin(run, comparison, around))
    return fitted(before + opening(run, comparison, around), sections, limit, _elsewhere(around))


_Builder = Callable[[Telling, Sequence[CaseResult], str], Section]
_BUILDERS: Mapping[str, _Builder] = {
    "regression": changed,
    "failed": broken,
    "invalid": broken,
    "improvement": changed,
    "inconclusive": inconclusive,
    "first": first,
    "unmeasured": listed,
    "unchanged": unchanged,
    "skipped": listed,
}
_CLOSED = ("folded matrix", "unmeasured", "unchanged", "skipped")
_ORDER = ("regression", "failed", "invalid", "improvement", "matrix", "inconclusive", "first", *_CLOSED)
"""What a reader is to see at once, then what is closed."""


def _sections(run: Run, comparison: Comparison, *, triage: bool) -> list[Section]:
    groups = grouped(comparison)
    tables = [name for name in ("regression", "improvement", "inconclusive") if groups[name]]
    telling = Telling(run, shared_notes(comparison), triage, next(iter(tables), ""))
    matrices, closed = matrix_sections(comparison.cases, RANKS["matrix"], RANKS["folded matrix"])
    told = {name: [build(telling, groups[name], name)] for name, build in _BUILDERS.items() if groups[name]}
    told |= {"matrix": matrices, "folded matrix": closed}
    return [section for name in _ORDER for section in told.get(name, [])]


def _elsewhere(around: Around) -> str:
    if around.run_url:
        return f"The {linked('summary of the measuring job', around.run_url)} has all of it."
    return "`windtunnel show --json RUNFILE` has all of it."


def _origin(run: Run, comparison: Comparison, around: Around) -> Section:
    """Commits, rule, machine: closed."""
    links = {name: commit(full_commit(arm_of(run, name)), around) for name in ("base", "head")}
    rows = [f"- {name}: {_linked_words(words, links.get(name, ''))}" for name, words in origin(run, comparison)]
    rows += [f"- measured by {linked('this workflow run', around.run_url)}"] if around.run_url else []
    body = folded("How windtunnel measured this: commits, rule, machine, time", "\n".join(rows))
    return Section("", (Part("commits, rule and machine", body, rank=RANKS["origin"]),))


def _linked_words(words: str, link: str) -> str:
    """An arm's words, the commit at their front as a link."""
    if not link.startswith("["):
        return code(words)
    _, _, others = words.partition("  ")
    return f"{link} {code(others)}" if others else link
