"""Whom a run is for: the open pull requests that have its commit.

The forge alone says so. The event's own list of pull requests is empty for forks, the commit's is too, and what an
artifact says of itself counts for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.publish.forge import Forge, ForgeGone, PullRequest, WorkflowRun

__all__ = ["Addressee", "addressees", "base_remark", "queued_pull"]

_MOST = 20
"""So many pull requests from one branch are looked at; every one of them costs a request."""

_QUEUE = re.compile(r"gh-readonly-queue/.+/pr-(?P<number>[0-9]{1,9})-[0-9a-f]{40}")
"""How GitHub names the branches of a merge queue, after the last pull request of the group."""


@dataclass(frozen=True)
class Addressee:
    """An open pull request that a run is for.

    Attributes:
        pull: as it is now.
        newer_head: the commit that it has moved on to since, or "".
        merge_bases: where the measured commit left its base branch: as that was at the last push to the pull request,
            and as it is now. They differ where a part of the pull request came in by another one meanwhile. () where
            the forge does not know.
    """

    pull: PullRequest
    newer_head: str = ""
    merge_bases: tuple[str, ...] = ()

    def fits(self, base: str) -> bool:
        """Whether a comparison with that commit is the one that this pull request is about."""
        return base in self.merge_bases


def addressees(forge: Forge, workflow: WorkflowRun) -> tuple[Addressee, ...]:
    """The open pull requests from the branch and repository that a run was for, oldest first.

    Raises ForgeError. A pull request of another repository's branch of the same name is none of them.
    """
    owner, _, name = workflow.head_repository.partition("/")
    if not owner or not name or not workflow.head_branch:
        return ()
    found = forge.open_pulls(owner, workflow.head_branch)
    own = [pull for pull in found if pull.open and _from_there(pull, workflow)]
    return tuple(_addressee(forge, pull, workflow.head_sha) for pull in own[:_MOST])


def _from_there(pull: PullRequest, workflow: WorkflowRun) -> bool:
    same = pull.head_repository.casefold() == workflow.head_repository.casefold()  # GitHub's names have no case
    return same and pull.head_branch == workflow.head_branch


def _addressee(forge: Forge, pull: PullRequest, head: str) -> Addressee:
    found = [_merge_base(forge, base, head) for base in (pull.base_sha, pull.base_branch)]
    known = tuple(dict.fromkeys(base for base in found if base))
    return Addressee(pull, "" if pull.head_sha == head else pull.head_sha, known)


def _merge_base(forge: Forge, base: str, head: str) -> str:
    try:
        return forge.merge_base(base, head)
    except ForgeGone:
        return ""


def base_remark(base: str, addressed: Sequence[Addressee]) -> str:
    """Why a run is nobody's, in a sentence, where its base is none of the pull requests' merge-bases; else ""."""
    if not addressed or any(one.fits(base) for one in addressed):
        return ""
    wanted = ", ".join(dict.fromkeys(map(_words, addressed)))
    return (
        f"The run compares with {base[:10] or 'nothing'}, {wanted}: nothing is decided by it. "
        f"Run the measuring workflow again."
    )


def _words(one: Addressee) -> str:
    known = f"is {one.merge_bases[-1][:10]}" if one.merge_bases else "is not known"
    return f"the merge-base of pull request {one.pull.number} {known}"


def queued_pull(forge: Forge, workflow: WorkflowRun) -> PullRequest | None:
    """The (last) pull request that a group of the merge queue was made for, by the name of its branch."""
    match = _QUEUE.fullmatch(workflow.head_branch)
    if match is None:
        return None
    try:
        return forge.pull(int(match["number"]))
    except ForgeGone:
        return None
