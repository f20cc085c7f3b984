"""Which regressions that have come to main somebody has accepted on their pull request, as the history keeps it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from windtunnel.publish.acceptance import acceptance_of
from windtunnel.publish.forge import Forge, ForgeError, PullRequest
from windtunnel.report.around import Acceptance

__all__ = ["FORMAT", "MOST", "VERSION", "Accepted", "accepted_document", "accepted_on_main"]

FORMAT = "windtunnel-accepted"
VERSION = 1

MOST = 30
"""So many commits of one recording are asked for, the newest: each costs the forge some requests."""


@dataclass(frozen=True)
class Accepted:
    """A regression that was accepted.

    Attributes:
        commit: the one that brought the pull request to main.
        pull: the number of the pull request.
        acceptance: by whom, and why.
    """

    commit: str
    pull: int
    acceptance: Acceptance


def accepted_on_main(
    forge: Forge, commits: Sequence[str], main: str, warn: Callable[[str], None]
) -> tuple[Accepted, ...]:
    """What was accepted on the pull requests that these commits (newest first) brought to the branch `main`.

    Where the forge can't be asked that is a warning: it was measured all the same.
    """
    found: list[Accepted] = []
    seen: set[int] = set()
    try:
        for commit in commits[:MOST]:
            for pull in forge.pulls_of_commit(commit):
                if pull.open or pull.base_branch != main or pull.number in seen:
                    continue
                seen.add(pull.number)
                acceptance = _acceptance(forge, pull)
                if acceptance:
                    found.append(Accepted(commit, pull.number, acceptance))
    except ForgeError as error:
        warn(f"whether a regression was accepted is not recorded: {error}")
    if len(commits) > MOST:
        warn(f"{len(commits)} commits came in at once; of the oldest {len(commits) - MOST} no acceptance is recorded")
    return tuple(found)


def _acceptance(forge: Forge, pull: PullRequest) -> Acceptance | None:
    """It counts for what was measured of the head that came in."""
    runs = forge.workflow_runs(pull.head_sha, "pull_request")
    return acceptance_of(forge, pull, min(run.created for run in runs)) if runs else None


def accepted_document(accepted: Accepted, regressions: Sequence[str]) -> bytes:
    """The file that the results branch has of it; `regressions` are the cases that main's own comparison found."""
    given = accepted.acceptance
    document: Mapping[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "commit": accepted.commit,
        "pull_request": accepted.pull,
        "by": given.by,
        "reason": given.reason,
        "created": given.created.isoformat(),
        "url": given.url,
        "label": given.label,
        "regressions": list(regressions),
    }
    return (json.dumps(document, indent=2) + "\n").encode()
