"""GitHub's JSON as the nouns of `windtunnel.publish.forge`. Pure.

Whatever the documentation allows to be null may be: the head's repository of a deleted fork, the author of a comment
who has left. Each function raises ForgeError for an answer that is otherwise than documented.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from windtunnel.adapters.github_faults import unlike_documented
from windtunnel.publish.forge import (
    Artifact,
    CheckRun,
    Comment,
    LabelEvent,
    Permission,
    PullRequest,
    WorkflowRun,
)

__all__ = [
    "ACTIONS_BOT",
    "Identity",
    "artifact",
    "check_run",
    "comment",
    "head_owner",
    "label_event",
    "merge_base",
    "permission",
    "pull_request",
    "workflow_run",
]

ACTIONS_BOT = "github-actions[bot]"
"""Whom a workflow's own token acts as; only GitHub itself can make a name with brackets."""

_BOT = "[bot]"
_ROLES: Mapping[str, Permission] = {
    "admin": "admin",
    "maintain": "write",
    "write": "write",
    "triage": "read",
    "read": "read",
    "none": "none",
}

_Noun = TypeVar("_Noun")


def _documented(parse: Callable[..., _Noun]) -> Callable[..., _Noun]:
    @functools.wraps(parse)
    def wrapper(data: Any, *more: Any) -> _Noun:
        try:
            return parse(data, *more)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = parse.__name__.replace("_", " ")
            raise unlike_documented(f"a {what}", f"{type(error).__name__} {error}") from error

    return wrapper


@dataclass(frozen=True)
class Identity:
    """Who we act as. An app's bot has a login that ends in "[bot]"."""

    login: str

    @property
    def app(self) -> str:
        """The slug of the app that we are, or "" for a person."""
        return self.login.removesuffix(_BOT) if self.login.endswith(_BOT) else ""

    def wrote(self, data: Mapping[str, Any]) -> bool:
        """Whether a comment is by us: the name, its kind, and the app as far as that is told."""
        user = data.get("user") or {}
        if (user.get("login"), user.get("type")) != (self.login, "Bot" if self.app else "User"):
            return False
        app = data.get("performed_via_github_app") or {}
        return not self.app or app.get("slug", self.app) == self.app

    def made(self, data: Mapping[str, Any]) -> bool:
        """Whether a check is by us; only apps make any."""
        app = data.get("app") or {}
        return bool(self.app) and app.get("slug") == self.app


@_documented
def pull_request(data: Any) -> PullRequest:
    """A pull request, from a list or by itself."""
    head, base = data["head"], data["base"]
    return PullRequest(
        number=int(data["number"]),
        open=data["state"] == "open",
        author=_login(data["user"]),
        head_sha=str(head["sha"]),
        head_branch=str(head["ref"]),
        head_repository=_full_name(head["repo"]),
        base_branch=str(base["ref"]),
        base_sha=str(base["sha"]),
        labels=tuple(str(label["name"]) for label in data.get("labels") or ()),
    )


@_documented
def head_owner(data: Any) -> str:
    """Whose branch a pull request is from; told even where the fork was deleted."""
    return str(data["head"]["label"] or "").partition(":")[0]


@_documented
def merge_base(data: Any) -> str:
    """The common ancestor in a comparison."""
    return str(data["merge_base_commit"]["sha"])


@_documented
def workflow_run(data: Any) -> WorkflowRun:
    """A run of a workflow."""
    return WorkflowRun(
        id=int(data["id"]),
        name=str(data.get("name") or ""),
        event=str(data["event"]),
        head_sha=str(data["head_sha"]),
        head_branch=str(data.get("head_branch") or ""),
        head_repository=_full_name(data.get("head_repository")),
        created=_time(data["created_at"]),
        url=str(data["html_url"]),
        conclusion=str(data.get("conclusion") or ""),
        attempt=int(data.get("run_attempt") or 1),
    )


@_documented
def artifact(data: Any) -> Artifact:
    """What a run has left."""
    created = data["created_at"]
    return Artifact(
        id=int(data["id"]),
        name=str(data["name"]),
        size=int(data["size_in_bytes"]),
        created=_time(created) if created else datetime.datetime.fromtimestamp(0, datetime.UTC),
        expired=bool(data["expired"]),
    )


@_documented
def comment(data: Any, us: Identity) -> Comment:
    """A comment of a conversation."""
    return Comment(
        id=int(data["id"]),
        body=str(data.get("body") or ""),
        author=_login(data["user"]),
        ours=us.wrote(data),
        created=_time(data["created_at"]),
        url=str(data.get("html_url") or ""),
    )


@_documented
def label_event(data: Any) -> LabelEvent | None:
    """A label put on or taken off; None for all else that happens to a pull request."""
    if data["event"] not in ("labeled", "unlabeled"):
        return None
    return LabelEvent(
        label=str(data["label"]["name"]),
        actor=_login(data["actor"]),
        added=data["event"] == "labeled",
        created=_time(data["created_at"]),
    )


@_documented
def permission(data: Any) -> Permission:
    """By the role, or where that is one of an organisation's own by what it amounts to."""
    by_role = _ROLES.get(str(data.get("role_name") or ""))
    return by_role or _ROLES.get(str(data["permission"]), "none")


@_documented
def check_run(data: Any) -> CheckRun:
    """A check, whoever has made it."""
    return CheckRun(
        id=int(data["id"]),
        name=str(data["name"]),
        head_sha=str(data["head_sha"]),
        external_id=str(data["external_id"] or ""),
    )


def _login(user: Any) -> str:
    """A name; "" for somebody who has left."""
    return str(user["login"]) if user else ""


def _full_name(repository: Any) -> str:
    """OWNER/NAME; "" for a repository that was deleted."""
    return str(repository["full_name"]) if repository else ""


def _time(text: Any) -> datetime.datetime:
    made = datetime.datetime.fromisoformat(text)
    return made if made.tzinfo else made.replace(tzinfo=datetime.UTC)
