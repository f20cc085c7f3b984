"""What the local GitHub holds: plain data, and short ways to set a scene."""

from __future__ import annotations

import datetime
import hashlib
import io
import threading
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = [
    "ACTIONS_BOT",
    "READ_ONLY",
    "REPORTING",
    "Account",
    "Artifact",
    "Check",
    "Comment",
    "LabelEvent",
    "Pull",
    "Run",
    "State",
    "Token",
    "sha",
]

ACTIONS_BOT = "github-actions[bot]"
"""Whom a workflow's own token acts as."""

REPORTING = {"pull-requests": "write", "checks": "write", "actions": "read", "contents": "read"}
READ_ONLY = {"contents": "read"}

_START = datetime.datetime(2026, 12, 1, 12, 0, tzinfo=datetime.UTC)


def sha(words: str) -> str:
    """A commit's hash, made up from words that tell it apart."""
    return hashlib.sha1(words.encode(), usedforsecurity=False).hexdigest()


@dataclass
class Account:
    """Somebody; `kind` is "User", "Bot" or "Organization"."""

    id: int
    login: str
    kind: str = "User"


@dataclass
class Token:
    """Who acts, as which app, and what they may: permission -> "read" or "write", as a workflow's `permissions:`.

    `app` is the slug of an app whose installation the token is for, "" for a person's token, which may everything but
    make checks.
    """

    text: str
    login: str = ACTIONS_BOT
    app: str = "github-actions"
    permissions: Mapping[str, str] = field(default_factory=lambda: dict(REPORTING))


@dataclass
class Pull:
    """A pull request; `head_repository` is "" where the fork was deleted (whose owner is still told)."""

    number: int
    author: str
    head_sha: str
    head_branch: str
    head_repository: str
    head_owner: str
    base_branch: str
    base_sha: str
    created: datetime.datetime
    open: bool = True
    labels: list[str] = field(default_factory=list)


@dataclass
class Comment:
    """A comment of a pull request's conversation. `app`: the slug of the app that made it, or ""."""

    id: int
    pull: int
    body: str
    author: str
    app: str
    created: datetime.datetime
    updated: datetime.datetime


@dataclass
class LabelEvent:
    """A label put on (`added`) or taken off."""

    id: int
    pull: int
    label: str
    actor: str
    added: bool
    created: datetime.datetime


@dataclass
class Check:
    """A check run, with what it was told."""

    id: int
    name: str
    head_sha: str
    app: str
    external_id: str = ""
    status: str = "queued"
    conclusion: str | None = None
    details_url: str = ""
    title: str = ""
    summary: str = ""
    text: str = ""
    updates: int = 0


@dataclass
class Run:
    """A run of a workflow."""

    id: int
    name: str
    event: str
    head_sha: str
    head_branch: str
    head_repository: str
    created: datetime.datetime
    conclusion: str | None = "success"
    attempt: int = 1


@dataclass
class Artifact:
    """What a run has left: a zip."""

    id: int
    run: int
    name: str
    content: bytes
    created: datetime.datetime
    expired: bool = False


@dataclass
class State:
    """One repository and who takes part. `now` is GitHub's clock; it moves by a second with each change.

    `roles`: login -> role ("admin", "maintain", "write", "triage", "read", or one of an organisation's own) of
    collaborators; everybody else may read where `private` is False. `merge_bases`: (base, head) -> their ancestor.
    `brought`: commit -> numbers of the pull requests that brought it in.
    """

    repository: str = "acme/server"
    private: bool = False
    now: datetime.datetime = _START
    accounts: dict[str, Account] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    custom_roles: dict[str, str] = field(default_factory=dict)
    pulls: dict[int, Pull] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    label_events: list[LabelEvent] = field(default_factory=list)
    checks: dict[int, Check] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    artifacts: dict[int, Artifact] = field(default_factory=dict)
    merge_bases: dict[tuple[str, str], str] = field(default_factory=dict)
    brought: dict[str, list[int]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)
    _last: int = 1000

    @property
    def owner(self) -> str:
        return self.repository.partition("/")[0]

    def id(self) -> int:
        """A number that nothing else has; later ones are greater."""
        with self.lock:
            self._last += 1
            return self._last

    def later(self, seconds: float = 1) -> datetime.datetime:
        """Let time pass; the new time."""
        with self.lock:
            self.now += datetime.timedelta(seconds=seconds)
            return self.now

    # ---------------- people

    def account(self, login: str, kind: str = "") -> Account:
        """That account, made where there is none."""
        with self.lock:
            kind = kind or ("Bot" if login.endswith("[bot]") else "User")
            return self.accounts.setdefault(login.lower(), Account(self.id(), login, kind))

    def collaborator(self, login: str, role: str, *, amounts_to: str = "") -> Account:
        """Somebody with a role; one of the organisation's own `amounts_to` a built-in one."""
        self.roles[login.lower()] = role
        if amounts_to:
            self.custom_roles[role] = amounts_to
        return self.account(login)

    def token(self, token: Token) -> Token:
        """Make a token known."""
        self.account(token.login)
        self.tokens[token.text] = token
        return token

    # ---------------- pull requests

    def pull(self, author: str, branch: str, head_repository: str, *, base: str = "main", head: str = "") -> Pull:
        """An open pull request; `head` is its commit, made up where it is not given."""
        with self.lock:
            number = max(self.pulls, default=0) + 1
            self.account(author)
            owner = head_repository.partition("/")[0]
            self.account(owner)
            base_sha = sha(f"tip of {base}")
            head = head or sha(f"{head_repository} {branch}")
            made = Pull(number, author, head, branch, head_repository, owner, base, base_sha, self.later())
            self.pulls[number] = made
            self.merge_bases[(base_sha, head)] = sha(f"fork point of {head}")
            return made

    def fork_pull(self, author: str = "ann", branch: str = "faster", *, base: str = "main", head: str = "") -> Pull:
        """A pull request from the author's fork."""
        return self.pull(author, branch, f"{author}/{self.repository.partition('/')[2]}", base=base, head=head)

    def own_pull(self, author: str = "olga", branch: str = "faster", *, base: str = "main", head: str = "") -> Pull:
        """A pull request from a branch of the repository itself."""
        return self.pull(author, branch, self.repository, base=base, head=head)

    def twins(self, author: str = "ann", branch: str = "faster") -> tuple[Pull, Pull]:
        """Two open pull requests of one branch and commit, into two branches."""
        first = self.fork_pull(author, branch)
        return first, self.fork_pull(author, branch, base="stable", head=first.head_sha)

    def move(self, pull: Pull, words: str = "moved") -> str:
        """Somebody pushes: the pull request's new head."""
        pull.head_sha = sha(f"{words} {pull.head_sha}")
        self.merge_bases[(pull.base_sha, pull.head_sha)] = sha(f"fork point of {pull.head_sha}")
        self.later()
        return pull.head_sha

    def lose_fork(self, pull: Pull) -> None:
        """The fork is deleted."""
        pull.head_repository = ""

    def label(self, pull: Pull, label: str, actor: str, *, added: bool = True) -> LabelEvent:
        """Put a label on, or take it off."""
        with self.lock:
            self.account(actor)
            event = LabelEvent(self.id(), pull.number, label, actor, added, self.later())
            self.label_events.append(event)
            if added and label not in pull.labels:
                pull.labels.append(label)
            elif not added and label in pull.labels:
                pull.labels.remove(label)
            return event

    def comment(self, pull: int, body: str, author: str = ACTIONS_BOT, app: str | None = None) -> Comment:
        """Somebody writes in the conversation."""
        with self.lock:
            self.account(author)
            slug = author.removesuffix("[bot]") if author.endswith("[bot]") else ""
            time = self.later()
            made = Comment(self.id(), pull, body, author, slug if app is None else app, time, time)
            self.comments[made.id] = made
            return made

    def comments_of(self, pull: int) -> list[Comment]:
        """A conversation, oldest first."""
        with self.lock:
            return sorted((one for one in self.comments.values() if one.pull == pull), key=lambda one: one.id)

    def checks_of(self, commit: str) -> list[Check]:
        """All checks on a commit, oldest first."""
        with self.lock:
            return sorted((one for one in self.checks.values() if one.head_sha == commit), key=lambda one: one.id)

    # ---------------- workflows

    def run(self, commit: str, *, event: str = "pull_request", branch: str = "main", repository: str = "") -> Run:
        """A finished run of the workflow "measure"."""
        with self.lock:
            where = repository or self.repository
            made = Run(self.id(), "measure", event, commit, branch, where, self.later())
            self.runs[made.id] = made
            return made

    def run_of(self, pull: Pull) -> Run:
        """A finished run that measured a pull request's head."""
        return self.run(pull.head_sha, branch=pull.head_branch, repository=pull.head_repository)

    def leaves(self, run: Run, name: str, files: Mapping[str, bytes] | bytes) -> Artifact:
        """What a run has uploaded: files, or a zip as it is."""
        with self.lock:
            content = files if isinstance(files, bytes) else zipped(files)
            made = Artifact(self.id(), run.id, name, content, self.later())
            self.artifacts[made.id] = made
            return made


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip of files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()
