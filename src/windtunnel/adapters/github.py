"""GitHub, github.com or an Enterprise server: implements `windtunnel.publish.forge.Forge`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from windtunnel.adapters import github_nouns as nouns
from windtunnel.adapters.github_calls import Calls
from windtunnel.adapters.github_download import download
from windtunnel.adapters.github_faults import TIMEOUT, Call, Patience
from windtunnel.adapters.github_nouns import ACTIONS_BOT, Identity
from windtunnel.errors import ConfigError
from windtunnel.publish.forge import (
    Artifact,
    CheckReport,
    CheckRun,
    Comment,
    ForgeDenied,
    ForgeGone,
    LabelEvent,
    Permission,
    PullRequest,
    WorkflowRun,
)

__all__ = ["GitHub"]

_PULLS, _CHECKS = "pull-requests: write", "checks: write"
_ACTIONS, _CONTENTS, _ANY = "actions: read", "contents: read", "metadata: read"


class GitHub:
    """See `windtunnel.publish.forge.Forge` for what the methods promise.

    Args:
        repository: OWNER/NAME.
        token: GITHUB_TOKEN of the job, or any other that may.
        api_url: GITHUB_API_URL.
        waiting: waits for that many seconds before a request is made again.
        timeout: seconds of silence after which an answer is given up.
        bot: whom the token acts as where it may not ask who it is, as a workflow's own may not.

    Raises ConfigError where PyGithub is not installed, and for arguments that can't be right.
    """

    def __init__(
        self,
        repository: str,
        token: str,
        api_url: str,
        *,
        waiting: Callable[[float], object] = time.sleep,
        timeout: int = TIMEOUT,
        bot: str = ACTIONS_BOT,
    ) -> None:
        owner, _, name = repository.partition("/")
        if not owner or not name or "/" in name:
            raise ConfigError(f"{repository!r} is no OWNER/NAME", key="GITHUB_REPOSITORY")
        self.repository = repository
        self._root = f"/repos/{_part(owner)}/{_part(name)}"
        self._calls = Calls(token, api_url, Patience(waiting, timeout))
        self._bot = bot
        self._identity: Identity | None = None
        self._newest: dict[int, int] = {}

    # ---------------- pull requests

    def pull(self, number: int) -> PullRequest:
        """See Forge."""
        return nouns.pull_request(self._do(f"/pulls/{number}", _PULLS))

    def open_pulls(self, owner: str, branch: str) -> tuple[PullRequest, ...]:
        """See Forge. Where GitHub does not like the filter it lists them all, so it is applied again here."""
        if not owner or not branch:
            return ()
        query = {"state": "open", "head": f"{owner}:{branch}", "sort": "created", "direction": "asc"}
        listed = [
            nouns.pull_request(data)
            for data in self._all("/pulls", _PULLS, query)
            if nouns.head_owner(data).lower() == owner.lower()
        ]
        found = [pull for pull in listed if pull.open and pull.head_branch == branch]
        return tuple(sorted(found, key=lambda pull: pull.number))

    def pulls_of_commit(self, sha: str) -> tuple[PullRequest, ...]:
        """See Forge."""
        listed = self._all(f"/commits/{_part(sha)}/pulls", _PULLS, {})
        return tuple(sorted(map(nouns.pull_request, listed), key=lambda pull: pull.number))

    def merge_base(self, base: str, head: str) -> str:
        """See Forge."""
        # of the commits and files that a comparison tells as well, none are wanted
        return nouns.merge_base(self._do(f"/compare/{_part(base)}...{_part(head)}", _CONTENTS, {"per_page": 1}))

    # ---------------- workflows

    def workflow_run(self, run: int) -> WorkflowRun:
        """See Forge."""
        return nouns.workflow_run(self._do(f"/actions/runs/{run}", _ACTIONS))

    def workflow_runs(self, head_sha: str, event: str) -> tuple[WorkflowRun, ...]:
        """See Forge."""
        listed = self._all("/actions/runs", _ACTIONS, {"head_sha": head_sha, "event": event}, "workflow_runs")
        return tuple(sorted(map(nouns.workflow_run, listed), key=lambda run: (run.created, run.id), reverse=True))

    def artifacts(self, run: int) -> tuple[Artifact, ...]:
        """See Forge."""
        listed = self._all(f"/actions/runs/{run}/artifacts", _ACTIONS, {}, "artifacts")
        return tuple(sorted(map(nouns.artifact, listed), key=lambda artifact: artifact.id))

    def download(self, artifact: Artifact, path: Path, most: int) -> None:
        """See Forge. The token stays with the API; after an error there is no file."""
        download(self._calls, Call("GET", f"{self._root}/actions/artifacts/{artifact.id}/zip", _ACTIONS), path, most)

    # ---------------- the conversation

    def comments(self, pull: int) -> tuple[Comment, ...]:
        """See Forge."""
        listed = self._all(f"/issues/{pull}/comments", _PULLS, {})
        found = sorted((nouns.comment(data, self._us) for data in listed), key=lambda comment: comment.id)
        self._newest[pull] = max((comment.id for comment in found), default=0)
        return tuple(found)

    def create_comment(self, pull: int, body: str) -> Comment:
        """See Forge. One whose answer was lost is looked for before it is made again."""
        us, newest = self._us, self._newest.get(pull, 0)

        def found() -> Comment | None:
            mine = [one for one in self.comments(pull) if one.ours and one.id > newest and _same(one.body, body)]
            return mine[0] if mine else None

        call = Call("POST", f"{self._root}/issues/{pull}/comments", _PULLS, body={"body": body})
        return self._calls.make(call, found, lambda data: nouns.comment(data, us))

    def update_comment(self, comment: int, body: str) -> Comment:
        """See Forge."""
        call = Call("PATCH", f"{self._root}/issues/comments/{comment}", _PULLS, body={"body": body})
        return nouns.comment(self._calls.do(call), self._us)

    def delete_comment(self, comment: int) -> None:
        """See Forge."""
        try:
            self._calls.do(Call("DELETE", f"{self._root}/issues/comments/{comment}", _PULLS))
        except ForgeGone:
            return

    def permission(self, user: str) -> Permission:
        """See Forge."""
        if not user:
            return "none"
        try:
            return nouns.permission(self._do(f"/collaborators/{_part(user)}/permission", _ANY))
        except ForgeGone:
            return "none"

    def label_events(self, pull: int) -> tuple[LabelEvent, ...]:
        """See Forge."""
        events = map(nouns.label_event, self._all(f"/issues/{pull}/events", _PULLS, {}))
        return tuple(sorted((event for event in events if event is not None), key=lambda event: event.created))

    # ---------------- checks

    def checks(self, sha: str, name: str) -> tuple[CheckRun, ...]:
        """See Forge."""
        query = {"check_name": name, "filter": "all"}
        listed = self._all(f"/commits/{_part(sha)}/check-runs", _CHECKS, query, "check_runs")
        found = [nouns.check_run(data) for data in listed if self._us.made(data)]
        return tuple(sorted((check for check in found if check.name == name), key=lambda check: check.id))

    def create_check(self, report: CheckReport) -> CheckRun:
        """See Forge. One whose answer was lost is looked for by its `external_id`, and brought up to date."""

        def found() -> CheckRun | None:
            there = [
                one for one in self.checks(report.head_sha, report.name) if one.external_id == report.external_id
            ]
            return self.update_check(there[-1].id, report) if there else None

        body = {**_check_body(report), "head_sha": report.head_sha}
        call = Call("POST", f"{self._root}/check-runs", _CHECKS, body=body)
        return self._calls.make(call, found, nouns.check_run)

    def update_check(self, check: int, report: CheckReport) -> CheckRun:
        """See Forge."""
        call = Call("PATCH", f"{self._root}/check-runs/{check}", _CHECKS, body=_check_body(report))
        return nouns.check_run(self._calls.do(call))

    # ---------------- how

    @property
    def _us(self) -> Identity:
        """Who we act as: GitHub tells a person; the token of a workflow may not ask, and is the bot's."""
        if self._identity is None:
            try:
                self._identity = Identity(str(self._calls.do(Call("GET", "/user", _ANY))["login"]))
            except (ForgeDenied, ForgeGone):
                self._identity = Identity(self._bot)
        return self._identity

    def _do(self, path: str, need: str, query: Mapping[str, str | int] | None = None) -> Any:
        return self._calls.do(Call("GET", self._root + path, need, query or {}))

    def _all(self, path: str, need: str, query: Mapping[str, str | int], key: str = "") -> list[Any]:
        return self._calls.all(Call("GET", self._root + path, need, query), key)


def _part(text: str) -> str:
    """A text as one part of a path, whatever is in it."""
    return quote(text, safe="")


def _same(one: str, other: str) -> bool:
    """Whether two bodies are the same but for what a form on the way may do to them."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()


def _check_body(report: CheckReport) -> dict[str, Any]:
    body = {
        "name": report.name,
        "external_id": report.external_id,
        "status": "completed",
        "conclusion": report.conclusion,
        "output": {"title": report.title, "summary": report.summary, "text": report.text},
    }
    return {**body, "details_url": report.details_url} if report.details_url else body
