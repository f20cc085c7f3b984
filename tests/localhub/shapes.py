"""State as GitHub tells it: the parts that mean something; `Description.filled` adds the rest."""

from __future__ import annotations

import datetime
from typing import Any

from localhub.state import Account, Artifact, Check, Comment, LabelEvent, Pull, Run, State

__all__ = [
    "account",
    "artifact",
    "check",
    "comment",
    "label_event",
    "pull",
    "run",
    "time",
]

_SITE = "https://github.test"


def time(moment: datetime.datetime) -> str:
    """GitHub's form of a time: whole seconds, in UTC."""
    return moment.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def account(found: Account) -> dict[str, Any]:
    return {"id": found.id, "login": found.login, "type": found.kind, "html_url": f"{_SITE}/{found.login}"}


def pull(state: State, found: Pull) -> dict[str, Any]:
    return {
        "id": 7000 + found.number,
        "number": found.number,
        "state": "open" if found.open else "closed",
        "html_url": f"{_SITE}/{state.repository}/pull/{found.number}",
        "user": account(state.account(found.author)),
        "labels": [{"name": name} for name in found.labels],
        "created_at": time(found.created),
        "head": {
            "label": f"{found.head_owner}:{found.head_branch}",
            "ref": found.head_branch,
            "sha": found.head_sha,
            "user": account(state.account(found.head_owner)),
            "repo": _repository(state, found.head_repository) if found.head_repository else None,
        },
        "base": {
            "label": f"{state.owner}:{found.base_branch}",
            "ref": found.base_branch,
            "sha": found.base_sha,
            "user": account(state.account(state.owner)),
            "repo": _repository(state, state.repository),
        },
    }


def _repository(state: State, name: str) -> dict[str, Any]:
    owner, _, short = name.partition("/")
    return {
        "name": short,
        "full_name": name,
        "owner": account(state.account(owner)),
        "private": state.private,
        "html_url": f"{_SITE}/{name}",
    }


def comment(state: State, found: Comment) -> dict[str, Any]:
    made = {
        "id": found.id,
        "body": found.body,
        "user": account(state.account(found.author)),
        "created_at": time(found.created),
        "updated_at": time(found.updated),
        "html_url": f"{_SITE}/{state.repository}/pull/{found.pull}#issuecomment-{found.id}",
    }
    return {**made, "performed_via_github_app": _app(found.app) if found.app else None}


def _app(slug: str) -> dict[str, Any]:
    return {"slug": slug, "name": slug, "html_url": f"{_SITE}/apps/{slug}"}


def label_event(state: State, found: LabelEvent) -> dict[str, Any]:
    return {
        "id": found.id,
        "event": "labeled" if found.added else "unlabeled",
        "actor": account(state.account(found.actor)),
        "label": {"name": found.label, "color": "d93f0b"},
        "created_at": time(found.created),
    }


def check(state: State, found: Check) -> dict[str, Any]:
    return {
        "id": found.id,
        "name": found.name,
        "head_sha": found.head_sha,
        "external_id": found.external_id,
        "status": found.status,
        "conclusion": found.conclusion,
        "details_url": found.details_url or f"{_SITE}/{state.repository}/runs/{found.id}",
        "html_url": f"{_SITE}/{state.repository}/runs/{found.id}",
        "app": _app(found.app),
        "output": {"title": found.title, "summary": found.summary, "text": found.text or None},
    }


def run(state: State, found: Run) -> dict[str, Any]:
    """`pull_requests` is empty, as it is for every run of a fork."""
    where = _repository(state, found.head_repository) if found.head_repository else None
    return {
        "id": found.id,
        "name": found.name,
        "event": found.event,
        "head_sha": found.head_sha,
        "head_branch": found.head_branch,
        "head_repository": where,
        "repository": _repository(state, state.repository),
        "status": "completed" if found.conclusion else "in_progress",
        "conclusion": found.conclusion,
        "created_at": time(found.created),
        "run_attempt": found.attempt,
        "html_url": f"{_SITE}/{state.repository}/actions/runs/{found.id}",
        "pull_requests": [],
    }


def artifact(found: Artifact) -> dict[str, Any]:
    return {
        "id": found.id,
        "name": found.name,
        "size_in_bytes": len(found.content),
        "expired": found.expired,
        "created_at": time(found.created),
        "workflow_run": {"id": found.run},
    }
