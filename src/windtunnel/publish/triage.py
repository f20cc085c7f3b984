"""Deciding again from what was measured already: a regression was accepted, or is accepted no longer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from windtunnel.publish.forge import PullRequest, WorkflowRun
from windtunnel.publish.judging import Findings, Judged, judge
from windtunnel.publish.pulls import addressees
from windtunnel.publish.reporting import Reported, Reporter

__all__ = ["report_again"]

_MOST = 10
"""So many runs of one commit are looked at."""


@dataclass(frozen=True)
class _Candidate:
    """What a run has found out about a suite. `fits`: it is about this pull request, or about nothing at all."""

    workflow: WorkflowRun
    found: Findings
    judged: Judged
    fits: bool


def report_again(reporter: Reporter, number: int, folder: Path) -> Reported:
    """Report again what was measured of a pull request's head; nothing is measured.

    Of each suite the newest run counts. Where several are for that head, since another pull request has it too, it is
    the newest that compares with this one's merge-base. Raises ForgeError.
    """
    pull = reporter.forge.pull(number)
    if not pull.open:
        reporter.tell(f"pull request {number} is closed: nothing is left to decide")
        return Reported()
    chosen: dict[str, _Candidate] = {}
    for one in _candidates(reporter, pull, folder):
        known = chosen.get(one.judged.suite)
        if known is None or (one.fits and not known.fits):
            chosen[one.judged.suite] = one
    if not chosen:
        reporter.tell(f"nothing was measured for {pull.head_sha[:10]} yet; what was accepted counts from then on")
    reported = Reported()
    for run in dict.fromkeys(one.workflow for one in chosen.values()):
        own = [one for one in chosen.values() if one.workflow == run]
        reported.add(reporter.publish(run, replace(own[0].found, judged=tuple(one.judged for one in own))))
    return reported


def _candidates(reporter: Reporter, pull: PullRequest, folder: Path) -> Iterator[_Candidate]:
    """Every suite of every run for its head, newest first; none further of a suite of which one fits."""
    forge, settled = reporter.forge, set[str]()
    runs = forge.workflow_runs(pull.head_sha, "pull_request")
    own = [run for run in runs if run.head_repository.casefold() == pull.head_repository.casefold()]
    for run in own[:_MOST]:
        found = judge(forge, run, reporter.scope, folder, besides=settled)
        for judged in found.judged:
            fits = judged.run is None or _fits(reporter, pull, run, judged.base)
            settled |= {judged.suite} if fits else set()
            yield _Candidate(run, found, judged, fits)


def _fits(reporter: Reporter, pull: PullRequest, run: WorkflowRun, base: str) -> bool:
    return any(one.fits(base) for one in addressees(reporter.forge, run) if one.pull.number == pull.number)
