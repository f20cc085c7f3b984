"""Which commit of the main branch is to be recorded, and what it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from windtunnel.adapters import git
from windtunnel.adapters.gitprocess import Git
from windtunnel.cli.action.events import Event
from windtunnel.declare.suite import Suite
from windtunnel.errors import ConfigError

__all__ = ["base_of", "check_whole", "first_parents", "head_of", "main_of"]

_EVENTS = ("push", "workflow_dispatch", "schedule")


def main_of(event: Event, suite: Suite) -> str:
    """The name of the main branch: the forge's default branch, else the first one of asv.conf.json."""
    return event.text("repository", "default_branch") or next(iter(suite.branches), "main")


def head_of(event: Event, suite: Suite) -> str:
    """The commit to be recorded: the one that the workflow runs for, in a suite beside its project the project's.

    Raises ConfigError for every event that is not one of the main branch.
    """
    main = main_of(event, suite)
    if event.name not in _EVENTS:
        raise ConfigError(
            f"history is written from the branch {main} only: this workflow runs on {event.name}; "
            f"let it run on push, workflow_dispatch or schedule"
        )
    if event.ref != f"refs/heads/{main}":
        where = event.ref.removeprefix("refs/heads/") or "nothing that is known"
        raise ConfigError(
            f"history is written from the branch {main} only: this workflow runs for {where}; "
            f"filter its events: on: push: branches: [{main}]"
        )
    return git.resolve(suite.repository, "HEAD" if suite.separate else event.sha or "HEAD")


def first_parents(repository: Path, head: str) -> tuple[str, ...]:
    """The commits of the first-parent line before `head`, newest first."""
    lines = Git(repository).run("rev-list", "--first-parent", head, "--").decode("ascii").split()
    return tuple(lines[1:])


def base_of(line: Sequence[str], known: Collection[str], serves: Callable[[str], bool]) -> str:
    """What head is compared with: the last commit of its first-parent line that is recorded and can be launched, else
    its parent; "" where it has none.
    """
    recorded = (commit for commit in line if commit in known)
    return next((commit for commit in recorded if serves(commit)), next(iter(line), ""))


def check_whole(repository: Path, head: str) -> None:
    """Raises ConfigError for a shallow clone: what was recorded last may lie behind its end."""
    if Git(repository).attempt("rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
        raise ConfigError(
            f"this clone is shallow, so what was recorded before {head[:12]} can't be found: check it out with "
            "actions/checkout and fetch-depth: 0",
            file=repository,
        )
