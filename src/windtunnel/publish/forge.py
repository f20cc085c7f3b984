"""What reporting needs from the place where pull requests live, as a protocol; `adapters.github` is the real one.

Everything that comes back from there is data about people's work and may have been written by anyone: texts are
never trusted, identities (`Comment.ours`, `Forge.permission`) are what the forge itself says.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from windtunnel.errors import WindtunnelError

__all__ = [
    "Artifact",
    "CheckReport",
    "CheckRun",
    "Comment",
    "Conclusion",
    "Forge",
    "ForgeDenied",
    "ForgeError",
    "ForgeGone",
    "LabelEvent",
    "Permission",
    "PullRequest",
    "WorkflowRun",
]

Conclusion = Literal["success", "neutral", "failure"]
Permission = Literal["admin", "write", "read", "none"]


class ForgeError(WindtunnelError):
    """The forge can't be reached, or refused; what could be tried again has been."""


class ForgeDenied(ForgeError):
    """The token may not do that. The message names the permission that the workflow lacks."""


class ForgeGone(ForgeError):
    """What was asked for is not there (any more)."""


@dataclass(frozen=True)
class PullRequest:
    """A pull request. `head_repository` is "OWNER/NAME", or "" where the fork was deleted."""

    number: int
    open: bool
    author: str
    head_sha: str
    head_branch: str
    head_repository: str
    base_branch: str
    base_sha: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorkflowRun:
    """One run of a workflow: the event that began it, and the commit it was for. `created` is the forge's clock."""

    id: int
    name: str
    event: str
    head_sha: str
    head_branch: str
    head_repository: str
    created: datetime.datetime
    url: str
    conclusion: str = ""
    attempt: int = 1


@dataclass(frozen=True)
class Artifact:
    """A file that a workflow run has left; `size` in bytes, as the forge has it."""

    id: int
    name: str
    size: int
    created: datetime.datetime
    expired: bool = False


@dataclass(frozen=True)
class Comment:
    """A comment on a pull request; `ours` when it was written by the very identity that we act as."""

    id: int
    body: str
    author: str
    ours: bool
    created: datetime.datetime
    url: str = ""


@dataclass(frozen=True)
class LabelEvent:
    """Somebody put a label on a pull request, or took it off."""

    label: str
    actor: str
    added: bool
    created: datetime.datetime


@dataclass(frozen=True)
class CheckRun:
    """A check that is there already. `external_id` is what its maker gave it."""

    id: int
    name: str
    head_sha: str
    external_id: str


@dataclass(frozen=True)
class CheckReport:
    """What a check is to say. `summary` and `text` are Markdown, of up to 65,535 characters each."""

    name: str
    head_sha: str
    external_id: str
    conclusion: Conclusion
    title: str
    summary: str
    text: str = ""
    details_url: str = ""


class Forge(Protocol):
    """One repository on a forge, as one identity sees it.

    Every method raises ForgeDenied, ForgeGone or ForgeError; passing faults (429, 5xx, a lost connection) have been
    tried again before that, for as long as the forge asks for, within bounds.
    """

    repository: str
    """OWNER/NAME."""

    def pull(self, number: int) -> PullRequest:
        """One pull request. Raises ForgeGone."""

    def open_pulls(self, owner: str, branch: str) -> tuple[PullRequest, ...]:
        """Every open pull request from that branch of that owner's fork (or of this repository), oldest first."""

    def pulls_of_commit(self, sha: str) -> tuple[PullRequest, ...]:
        """The pull requests that brought a commit of this repository's own branches in; () for a fork's commits."""

    def merge_base(self, base: str, head: str) -> str:
        """The best common ancestor of two commits (full hashes; `base` may be a branch). Raises ForgeGone."""

    def workflow_run(self, run: int) -> WorkflowRun:
        """One run. Raises ForgeGone."""

    def workflow_runs(self, head_sha: str, event: str) -> tuple[WorkflowRun, ...]:
        """Every run for a commit that such an event began, newest first."""

    def artifacts(self, run: int) -> tuple[Artifact, ...]:
        """What a run has left, oldest first."""

    def download(self, artifact: Artifact, path: Path, most: int) -> None:
        """Write the artifact's zip to `path`. Raises ForgeError as soon as it has more than `most` bytes."""

    def comments(self, pull: int) -> tuple[Comment, ...]:
        """All comments of the conversation, oldest first."""

    def create_comment(self, pull: int, body: str) -> Comment: ...

    def update_comment(self, comment: int, body: str) -> Comment:
        """Raises ForgeGone when somebody has deleted it."""

    def delete_comment(self, comment: int) -> None:
        """One that is gone already is fine."""

    def permission(self, user: str) -> Permission:
        """What a user may do with the repository; "none" for strangers and for names that nobody has."""

    def label_events(self, pull: int) -> tuple[LabelEvent, ...]:
        """Who put which label on and off, oldest first."""

    def checks(self, sha: str, name: str) -> tuple[CheckRun, ...]:
        """The checks of that name on a commit that this identity made, oldest first."""

    def create_check(self, report: CheckReport) -> CheckRun: ...

    def update_check(self, check: int, report: CheckReport) -> CheckRun: ...
