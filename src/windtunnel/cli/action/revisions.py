"""Which two commits an event asks to compare, from what it says and from what this clone has.

Base is where head left its base branch, as that branch is in the clone. The payload's own idea of it (`base.sha`) is
the branch's tip when the pull request was last pushed to, or later: a comparison with that would blame head for what
main did meanwhile, or praise it for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.adapters import git
from windtunnel.adapters.gitprocess import Git
from windtunnel.adapters.history import commit_at
from windtunnel.cli.action.events import Event
from windtunnel.errors import ConfigError

__all__ = ["EVENTS", "Asked", "Revisions", "check_event", "revisions_of_event"]

EVENTS = ("pull_request", "merge_group", "push", "workflow_dispatch", "schedule")
"""The events that can be measured for."""

_PRIVILEGED = ("pull_request_target", "workflow_run", "issue_comment")

_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REMEDY = "check it out with actions/checkout and fetch-depth: 0"


@dataclass(frozen=True)
class Asked:
    """What a workflow names itself: revisions, or "" for what the event says.

    `branches` are the project's main branches where the event names no default branch.
    """

    base: str = ""
    head: str = ""
    branches: Sequence[str] = ()


@dataclass(frozen=True)
class Revisions:
    """Full hashes, and in words where base comes from."""

    base: str
    head: str
    why: str


def check_event(event: Event) -> None:
    """Raise ConfigError for an event that nothing is to be measured for."""
    if event.name in _PRIVILEGED:
        raise ConfigError(
            f"nothing is measured on {event.name}: such a workflow holds a token of this repository, and to measure "
            f"is to run what a pull request contains; measure on pull_request, which has no token for forks, and "
            f"report on workflow_run (windtunnel action report)"
        )
    if event.name not in EVENTS:
        raise ConfigError(
            f"there is nothing to compare on the event {event.name[:40]}; measure on {', '.join(EVENTS)}"
        )


def revisions_of_event(event: Event, repository: Path, asked: Asked) -> Revisions:
    """The commits to compare. What is asked for by name wins over what the event says.

    Raises:
        ConfigError: the event is not one of `EVENTS`, a commit is not in this clone (with the way to have it there),
            or there is nothing to compare with.
    """
    check_event(event)
    head = _named(repository, asked.head) if asked.head else _head(event, repository)
    if asked.base:
        return Revisions(_named(repository, asked.base), head, "as asked for")
    if event.name in _BRANCHES:
        return _left(repository, head, _tips(event, repository, head))
    before = _before(event, repository, head) if event.name == "push" and not asked.head else ""
    if before:
        return Revisions(before, head, "what was there before the push")
    return _since_default(repository, head, _default_branches(event, asked))


# ---------------- head


def _head(event: Event, repository: Path) -> str:
    """The commit that the event is about."""
    found = {
        "pull_request": event.text("pull_request", "head", "sha"),
        "merge_group": event.text("merge_group", "head_sha"),
        "push": event.text("after"),
    }.get(event.name, event.sha or "HEAD")
    if found != "HEAD" and not _is_hash(found):
        raise ConfigError(f"the event {event.name} names no commit of its own: a branch or tag that was deleted?")
    try:
        return git.resolve(repository, found)
    except ConfigError as error:
        raise ConfigError(f"head, {found[:12]}, is not in this clone; {_REMEDY}", file=repository) from error


def _is_hash(text: str) -> bool:
    return _HASH.fullmatch(text) is not None and text.strip("0") != ""


def _named(repository: Path, revision: str) -> str:
    """A revision that a workflow names; a branch is there as the remote's only."""
    try:
        return git.resolve(repository, revision)
    except ConfigError:
        for name in (f"refs/remotes/origin/{revision}", f"refs/tags/{revision}"):
            if (found := _resolved(repository, name)) is not None:
                return found
        raise


def _resolved(repository: Path, name: str) -> str | None:
    try:
        return git.resolve(repository, name)
    except ConfigError:
        return None


# ---------------- base, where there is a base branch

_BRANCHES = {"pull_request": ("pull_request", "base", "ref"), "merge_group": ("merge_group", "base_ref")}


def _tips(event: Event, repository: Path, head: str) -> Iterator[tuple[str, str]]:
    """What head may have left its base branch from, as it is told and as it is in the clone."""
    branch = event.text(*_BRANCHES[event.name]).removeprefix("refs/heads/")
    found = _branch(repository, branch)
    if found is None:
        raise ConfigError(f"the base branch {branch[:60]} is not in this clone; {_REMEDY}", file=repository)
    yield branch, found
    if before := _before_merge(repository, found, head):
        yield branch, before


def _before_merge(repository: Path, tip: str, head: str) -> str:
    """A job may run once more when head is in its base branch: what the branch was merged into, or ""."""
    run = Git(repository).run
    line, since = (
        run("rev-list", option, tip, f"^{head}", "--").decode("ascii").split()
        for option in ("--first-parent", "--ancestry-path")
    )
    merged = [commit for commit in line if commit in set(since)]
    return next(iter(commit_at(repository, merged[-1]).parents), "") if merged else ""


def _branch(repository: Path, name: str) -> str | None:
    """The tip of a branch: as the remote has it; a workflow's checkout has hardly a branch of its own."""
    if not name:
        return None
    tips = (_resolved(repository, f"{place}/{name}") for place in ("refs/remotes/origin", "refs/heads"))
    return next((one for one in tips if one is not None), None)


def _left(repository: Path, head: str, tips: Iterator[tuple[str, str]]) -> Revisions:
    """Where head left the first of these that it has anything over; else it is compared with itself."""
    seen = (Revisions(_fork(repository, name, tip, head), head, f"where head left {name}") for name, tip in tips)
    return next((one for one in seen if one.base != head), Revisions(head, head, "head has nothing of its own"))


def _fork(repository: Path, name: str, tip: str, head: str) -> str:
    try:
        return git.merge_base(repository, tip, head)
    except ConfigError as error:
        raise ConfigError(
            f"{name} and head, {head[:12]}, have no common ancestor in this clone; {_REMEDY}, or name a base",
            file=repository,
        ) from error


# ---------------- base, where there is none


def _before(event: Event, repository: Path, head: str) -> str:
    """What a push has moved its branch from, if head goes on from there; "" for a new branch and a forced push."""
    before = event.text("before")
    if not _is_hash(before) or before == head or _resolved(repository, before) is None:
        return ""
    leads = Git(repository).attempt("merge-base", "--is-ancestor", before, head).returncode == 0
    return before if leads else ""


def _default_branches(event: Event, asked: Asked) -> Sequence[str]:
    return [name for name in (event.text("repository", "default_branch"), *asked.branches) if name]


def _since_default(repository: Path, head: str, branches: Sequence[str]) -> Revisions:
    """Where head left the default branch, or the commit before it if it is on that branch itself."""
    tips = [(name, tip) for name in branches if (tip := _branch(repository, name))]
    tips += [("origin/HEAD", tip) for tip in [_resolved(repository, "refs/remotes/origin/HEAD")] if tip and not tips]
    if not tips:
        known = f"the default branch {branches[0][:60]}" if branches else "the default branch"
        raise ConfigError(f"{known} is not in this clone; {_REMEDY}, or name a base", file=repository)
    base = _fork(repository, *tips[0], head)
    if base != head:
        return Revisions(base, head, f"where head left {tips[0][0]}")
    return Revisions(_parent(repository, head), head, f"the commit before it on {tips[0][0]}")


def _parent(repository: Path, head: str) -> str:
    parents = commit_at(repository, head).parents
    if parents:
        return parents[0]
    shallow = Git(repository).attempt("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
    if shallow:
        raise ConfigError(f"what came before head, {head[:12]}, is not in this clone; {_REMEDY}", file=repository)
    raise ConfigError(
        f"head, {head[:12]}, is the first commit of the history: there is nothing to compare it with, the next "
        f"commit can be measured",
        file=repository,
    )
