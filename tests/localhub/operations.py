"""What the local GitHub does for each operation that it knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from localhub import shapes
from localhub.description import Operation
from localhub.state import Check, Comment, Pull, Run, State, Token

__all__ = ["OPERATIONS", "PERMISSIONS", "Asked", "Refused", "Reply"]

_LONGEST_COMMENT = 65_536
_LONGEST_OUTPUT = 65_535
_LEGACY = {"admin": "admin", "maintain": "write", "write": "write", "triage": "read", "read": "read"}


class Refused(Exception):
    """An answer with an error status."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {
            "message": message,
            "documentation_url": "https://docs.github.test/rest",
            "status": str(status),
            **more,
        }


@dataclass(frozen=True)
class Reply:
    """A good answer. `items` is what a paged list has in all; `wrap`: the key of an object that such a list is in."""

    status: int = 200
    known: Any = None
    items: list[Any] | None = None
    wrap: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """A request that fits, by somebody who may. `storage`: where artifacts are fetched from."""

    operation: Operation
    query: Mapping[str, str]
    body: Any
    token: Token
    storage: Callable[[int], str]

    def number(self, name: str) -> int:
        """A number in the path."""
        return int(self.operation.values[name])

    def value(self, name: str) -> str:
        """A text in the path."""
        return self.operation.values[name]


Handler = Callable[[State, Asked], Reply]

PERMISSIONS: Mapping[str, tuple[str, str]] = {
    "pulls/get": ("pull-requests", "read"),
    "pulls/list": ("pull-requests", "read"),
    "repos/list-pull-requests-associated-with-commit": ("pull-requests", "read"),
    "repos/compare-commits-with-basehead": ("contents", "read"),
    "actions/get-workflow-run": ("actions", "read"),
    "actions/list-workflow-runs-for-repo": ("actions", "read"),
    "actions/list-workflow-run-artifacts": ("actions", "read"),
    "actions/download-artifact": ("actions", "read"),
    "issues/list-comments": ("pull-requests", "read"),
    "issues/create-comment": ("pull-requests", "write"),
    "issues/update-comment": ("pull-requests", "write"),
    "issues/delete-comment": ("pull-requests", "write"),
    "issues/list-events": ("pull-requests", "read"),
    "repos/get-collaborator-permission-level": ("metadata", "read"),
    "checks/list-for-ref": ("checks", "read"),
    "checks/create": ("checks", "write"),
    "checks/update": ("checks", "write"),
    "users/get-authenticated": ("metadata", "read"),
}
"""What a token has to have for each. As for a private repository: what is public needs less."""

OPERATIONS: dict[str, Handler] = {}


def _does(name: str) -> Callable[[Handler], Handler]:
    def registered(handler: Handler) -> Handler:
        OPERATIONS[name] = handler
        return handler

    return registered


def _not_found() -> Refused:
    return Refused(404, "Not Found")


def _invalid(resource: str, name: str, message: str) -> Refused:
    fault = {"resource": resource, "code": "unprocessable", "field": name, "message": message}
    return Refused(422, "Validation Failed", errors=[fault])


# ---------------- pull requests


def _pull(state: State, number: int) -> Pull:
    if number not in state.pulls:
        raise _not_found()
    return state.pulls[number]


@_does("pulls/get")
def _get_pull(state: State, asked: Asked) -> Reply:
    return Reply(known=shapes.pull(state, _pull(state, asked.number("pull_number"))))


@_does("pulls/list")
def _list_pulls(state: State, asked: Asked) -> Reply:
    wanted, head = asked.query.get("state", "open"), asked.query.get("head", "")
    owner, colon, branch = head.partition(":")
    found = [
        pull
        for pull in state.pulls.values()
        if wanted in ("all", "open" if pull.open else "closed")
        # a head without a colon is not refused: it is ignored
        and (not colon or (pull.head_owner.lower(), pull.head_branch) == (owner.lower(), branch))
    ]
    found.sort(key=lambda pull: pull.number, reverse=asked.query.get("direction", "desc") == "desc")
    return Reply(items=[shapes.pull(state, pull) for pull in found])


@_does("repos/list-pull-requests-associated-with-commit")
def _pulls_of_commit(state: State, asked: Asked) -> Reply:
    commit = asked.value("commit_sha")
    if commit not in _commits(state):
        raise Refused(422, f"No commit found for SHA: {commit}")
    own = {
        pull.number
        for pull in state.pulls.values()
        if (pull.head_repository, pull.head_sha) == (state.repository, commit)
    }
    numbers = sorted(own | set(state.brought.get(commit, [])))
    return Reply(items=[shapes.pull(state, _pull(state, number)) for number in numbers])


def _commits(state: State) -> set[str]:
    pulls = {commit for pull in state.pulls.values() for commit in (pull.head_sha, pull.base_sha)}
    bases = {commit for pair, base in state.merge_bases.items() for commit in (*pair, base)}
    return pulls | bases | set(state.brought) | {run.head_sha for run in state.runs.values()}


@_does("repos/compare-commits-with-basehead")
def _compare(state: State, asked: Asked) -> Reply:
    base, dots, head = asked.value("basehead").partition("...")
    if not dots or (base, head) not in state.merge_bases:
        raise _not_found()
    found = state.merge_bases[(base, head)]
    status = "ahead" if found == base else "behind" if found == head else "diverged"
    return Reply(known={"status": status, "base_commit": {"sha": base}, "merge_base_commit": {"sha": found}})


# ---------------- comments and labels


def _comment(state: State, asked: Asked) -> Comment:
    found = state.comments.get(asked.number("comment_id"))
    if found is None:
        raise _not_found()
    return found


def _checked_body(asked: Asked) -> str:
    body = str(asked.body["body"])
    if not body.strip():
        raise _invalid("IssueComment", "body", "Body can't be blank")
    if len(body) > _LONGEST_COMMENT:
        raise _invalid("IssueComment", "body", f"Body is too long (maximum is {_LONGEST_COMMENT} characters)")
    return body


@_does("issues/list-comments")
def _list_comments(state: State, asked: Asked) -> Reply:
    pull = _pull(state, asked.number("issue_number"))
    return Reply(items=[shapes.comment(state, one) for one in state.comments_of(pull.number)])


@_does("issues/create-comment")
def _create_comment(state: State, asked: Asked) -> Reply:
    pull = _pull(state, asked.number("issue_number"))
    made = state.comment(pull.number, _checked_body(asked), asked.token.login, asked.token.app)
    return Reply(201, shapes.comment(state, made))


@_does("issues/update-comment")
def _update_comment(state: State, asked: Asked) -> Reply:
    found = _comment(state, asked)
    found.body, found.updated = _checked_body(asked), state.later()
    return Reply(known=shapes.comment(state, found))


@_does("issues/delete-comment")
def _delete_comment(state: State, asked: Asked) -> Reply:
    del state.comments[_comment(state, asked).id]
    return Reply(204)


@_does("issues/list-events")
def _list_events(state: State, asked: Asked) -> Reply:
    pull = _pull(state, asked.number("issue_number"))
    return Reply(items=[shapes.label_event(state, one) for one in state.label_events if one.pull == pull.number])


@_does("repos/get-collaborator-permission-level")
def _permission(state: State, asked: Asked) -> Reply:
    login = asked.value("username").lower()
    if login not in state.accounts:
        raise _not_found()
    role = state.roles.get(login, "none" if state.private else "read")
    legacy = _LEGACY.get(state.custom_roles.get(role, role), "none")
    return Reply(known={"permission": legacy, "role_name": role, "user": shapes.account(state.accounts[login])})


@_does("users/get-authenticated")
def _me(state: State, asked: Asked) -> Reply:
    if asked.token.app:
        raise Refused(403, "Resource not accessible by integration")
    return Reply(known=shapes.account(state.account(asked.token.login)))


# ---------------- checks


@_does("checks/list-for-ref")
def _list_checks(state: State, asked: Asked) -> Reply:
    name = asked.query.get("check_name")
    found = [one for one in state.checks_of(asked.value("ref")) if name in (None, one.name)]
    if asked.query.get("filter", "latest") == "latest":
        found = list({(one.name, one.app): one for one in found}.values())
    return Reply(items=[shapes.check(state, one) for one in reversed(found)], wrap="check_runs")


@_does("checks/create")
def _create_check(state: State, asked: Asked) -> Reply:
    if not asked.token.app:
        raise Refused(403, "You must authenticate via a GitHub App.")
    if asked.body["head_sha"] not in _commits(state):
        raise Refused(422, f"No commit found for SHA: {asked.body['head_sha']}")
    made = Check(state.id(), asked.body["name"], asked.body["head_sha"], asked.token.app)
    _tell(made, asked.body)
    state.checks[made.id] = made
    state.later()
    return Reply(201, shapes.check(state, made))


@_does("checks/update")
def _update_check(state: State, asked: Asked) -> Reply:
    found = state.checks.get(asked.number("check_run_id"))
    if found is None:
        raise _not_found()
    if found.app != asked.token.app:
        raise Refused(403, "Invalid app_id `-1` - check run can only be modified by the GitHub App that created it.")
    _tell(found, asked.body)
    found.updates += 1
    state.later()
    return Reply(known=shapes.check(state, found))


def _tell(check: Check, body: Mapping[str, Any]) -> None:
    output = body.get("output", {})
    for name in ("summary", "text"):
        if len(output.get(name, "")) > _LONGEST_OUTPUT:
            raise _invalid("CheckRun", name, f"{name} exceeds a maximum bytesize of {_LONGEST_OUTPUT}")
    for name in ("name", "external_id", "status", "conclusion", "details_url"):
        setattr(check, name, body.get(name, getattr(check, name)))
    for name in ("title", "summary", "text"):
        setattr(check, name, output.get(name, getattr(check, name)))


# ---------------- workflows


def _run(state: State, asked: Asked) -> Run:
    found = state.runs.get(asked.number("run_id"))
    if found is None:
        raise _not_found()
    return found


@_does("actions/get-workflow-run")
def _get_run(state: State, asked: Asked) -> Reply:
    return Reply(known=shapes.run(state, _run(state, asked)))


@_does("actions/list-workflow-runs-for-repo")
def _list_runs(state: State, asked: Asked) -> Reply:
    found = [
        run
        for run in state.runs.values()
        if asked.query.get("head_sha") in (None, run.head_sha) and asked.query.get("event") in (None, run.event)
    ]
    return Reply(items=[shapes.run(state, run) for run in reversed(found)], wrap="workflow_runs")


@_does("actions/list-workflow-run-artifacts")
def _list_artifacts(state: State, asked: Asked) -> Reply:
    run, name = _run(state, asked), asked.query.get("name")
    found = [one for one in state.artifacts.values() if one.run == run.id and name in (None, one.name)]
    return Reply(items=[shapes.artifact(one) for one in reversed(found)], wrap="artifacts")


@_does("actions/download-artifact")
def _download(state: State, asked: Asked) -> Reply:
    found = state.artifacts.get(asked.number("artifact_id"))
    if found is None:
        raise _not_found()
    if found.expired:
        raise Refused(410, "Artifact has expired")
    return Reply(302, headers={"Location": asked.storage(found.id)})
