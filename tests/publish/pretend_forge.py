"""A forge in memory, for the order of things and for what goes wrong. GitHub itself is another test's matter."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from example_artifacts import matrix_bytes, measured_bytes, zipped
from example_comparisons import BASE, HEAD
from windtunnel.publish.artifacts import artifact_name
from windtunnel.publish.forge import (
    Artifact,
    CheckReport,
    CheckRun,
    Comment,
    Forge,
    ForgeGone,
    LabelEvent,
    Permission,
    PullRequest,
    WorkflowRun,
)

__all__ = ["FORK", "ME", "NOON", "PretendForge", "after", "pull_request", "workflow_run"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

ME = "github-actions[bot]"
NOON = datetime.datetime(2026, 12, 1, 12, tzinfo=datetime.UTC)
FORK = "stranger/project"


def after(minutes: float) -> datetime.datetime:
    """So many minutes after noon."""
    return NOON + datetime.timedelta(minutes=minutes)


def pull_request(number: int = 7, **changes: object) -> PullRequest:
    """A fork's pull request whose head is that of the example comparisons."""
    plain = PullRequest(number, True, "stranger", HEAD.commit, "topic", FORK, "main", "f" * 40)
    return replace(plain, **changes)  # type: ignore[arg-type]


def workflow_run(number: int = 100, **changes: object) -> WorkflowRun:
    """A run of the measuring workflow for that pull request."""
    url = f"https://forge.example/owner/project/actions/runs/{number}"
    plain = WorkflowRun(number, "Measure", "pull_request", HEAD.commit, "topic", FORK, NOON, url, "success")
    return replace(plain, **changes)  # type: ignore[arg-type]


# ---------------- the forge


@dataclass
class PretendForge:
    """Holds what a forge holds. `called` has the name of every call in its order.

    `hooks` have, by the name of a call, what happens right before it; each is taken once. One may raise, or change
    something meanwhile, as others do.
    """

    repository: str = "owner/project"
    pulls: dict[int, PullRequest] = field(default_factory=dict)
    bases: dict[tuple[str, str], str] = field(default_factory=dict)
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    files: dict[int, list[tuple[Artifact, bytes]]] = field(default_factory=dict)
    said: dict[int, list[Comment]] = field(default_factory=dict)
    people: dict[str, Permission] = field(default_factory=dict)
    labelled: dict[int, list[LabelEvent]] = field(default_factory=dict)
    made: dict[int, CheckReport] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)
    hooks: dict[str, list[Callable[[], object]]] = field(default_factory=dict)
    next_id: int = 1000

    # ---- setting it up

    def with_pull(self, pull: PullRequest | None = None, base: str = BASE.commit) -> PretendForge:
        """A pull request, and where it left its base branch."""
        pull = pull or pull_request()
        self.pulls[pull.number] = pull
        self.bases[pull.base_sha, pull.head_sha] = base
        return self

    def with_run(self, run: WorkflowRun | None = None) -> WorkflowRun:
        """A workflow run, without any artifact."""
        run = run or workflow_run()
        self.runs[run.id] = run
        return run

    def measured(
        self,
        state: str,
        run: WorkflowRun | None = None,
        *,
        suite: str = "",
        number: int | None = None,
        shard: str = "",
        base: str = BASE.commit,
        slug: str = "",
    ) -> WorkflowRun:
        """A workflow run that has left an example comparison."""
        run = self.with_run(run)
        name = artifact_name("run", slug=slug, suite=suite, number=number)
        self.leave(run, name, zipped(measured_bytes(state, suite, shard, base)))
        return run

    def planned(self, run: WorkflowRun, cases: Sequence[str], suite: str = "") -> None:
        """The plan of its shards."""
        name = artifact_name("matrix", suite=suite)
        self.leave(run, name, zipped(matrix_bytes(cases), "matrix.json"))

    def leave(self, run: WorkflowRun, name: str, content: bytes, *, expired: bool = False) -> None:
        """An artifact."""
        artifact = Artifact(self._id(), name, len(content), NOON, expired)
        self.files.setdefault(run.id, []).append((artifact, content))

    def says(self, author: str, body: str, minutes: float = 10, pull: int = 7) -> Comment:
        """Somebody comments."""
        number = self._id()
        url = f"https://forge.example/owner/project/pull/{pull}#issuecomment-{number}"
        comment = Comment(number, body, author, author == ME, after(minutes), url)
        self.said.setdefault(pull, []).append(comment)
        return comment

    def label(
        self, actor: str, label: str = "windtunnel-accepted", *, added: bool = True, minutes: float = 10
    ) -> None:
        """Somebody labels the pull request 7, or takes the label off."""
        self.labelled.setdefault(7, []).append(LabelEvent(label, actor, added, after(minutes)))
        rest = tuple(one for one in self.pulls[7].labels if one != label)
        self.pulls[7] = replace(self.pulls[7], labels=(*rest, label) if added else rest)

    def push(self, sha: str, number: int = 7) -> None:
        """The pull request moves on."""
        self.pulls[number] = replace(self.pulls[number], head_sha=sha)

    def meanwhile(self, call: str, act: Callable[[], object]) -> None:
        """What happens right before the next such call that has nothing before it yet."""
        self.hooks.setdefault(call, []).append(act)

    def failing(self, call: str, error: Exception, times: int = 1) -> None:
        """The next such calls are refused."""

        def refuse() -> None:
            raise error

        for _ in range(times):
            self.meanwhile(call, refuse)

    # ---- what is there now

    def ours(self, pull: int = 7) -> list[str]:
        """The bodies of our comments."""
        return [one.body for one in self.said.get(pull, []) if one.ours]

    def checks_named(self, name: str = "windtunnel") -> list[CheckReport]:
        """The checks of that name."""
        return [one for one in self.made.values() if one.name == name]

    def only_check(self, name: str = "windtunnel") -> CheckReport:
        """The one check of that name."""
        (check,) = self.checks_named(name)
        return check

    # ---- the forge itself

    def pull(self, number: int) -> PullRequest:
        self._call("pull")
        return _there(self.pulls, number)

    def open_pulls(self, owner: str, branch: str) -> tuple[PullRequest, ...]:
        self._call("open_pulls")
        own = [one for one in self.pulls.values() if one.open and one.head_branch == branch]
        return tuple(one for one in own if one.head_repository.startswith(f"{owner}/"))

    def pulls_of_commit(self, sha: str) -> tuple[PullRequest, ...]:
        self._call("pulls_of_commit")
        return ()

    def merge_base(self, base: str, head: str) -> str:
        self._call("merge_base")
        return _there(self.bases, (base, head))

    def workflow_run(self, run: int) -> WorkflowRun:
        self._call("workflow_run")
        return _there(self.runs, run)

    def workflow_runs(self, head_sha: str, event: str) -> tuple[WorkflowRun, ...]:
        self._call("workflow_runs")
        own = [one for one in self.runs.values() if one.head_sha == head_sha and one.event == event]
        return tuple(sorted(own, key=lambda one: one.id, reverse=True))

    def artifacts(self, run: int) -> tuple[Artifact, ...]:
        self._call("artifacts")
        return tuple(artifact for artifact, _ in self.files.get(run, []))

    def download(self, artifact: Artifact, path: Path, most: int) -> None:
        self._call("download")
        content = next(content for files in self.files.values() for one, content in files if one.id == artifact.id)
        assert len(content) <= most
        path.write_bytes(content)

    def comments(self, pull: int) -> tuple[Comment, ...]:
        self._call("comments")
        return tuple(self.said.get(pull, []))

    def create_comment(self, pull: int, body: str) -> Comment:
        self._call("create_comment")
        return self.says(ME, body, 60, pull)

    def update_comment(self, comment: int, body: str) -> Comment:
        self._call("update_comment")
        for pull, comments in self.said.items():
            for place, one in enumerate(comments):
                if one.id == comment:
                    self.said[pull][place] = replace(one, body=body)
                    return self.said[pull][place]
        raise ForgeGone("there is no such comment")

    def delete_comment(self, comment: int) -> None:
        self._call("delete_comment")
        for pull, comments in self.said.items():
            self.said[pull] = [one for one in comments if one.id != comment]

    def permission(self, user: str) -> Permission:
        self._call("permission")
        return self.people.get(user, "none")

    def label_events(self, pull: int) -> tuple[LabelEvent, ...]:
        self._call("label_events")
        return tuple(self.labelled.get(pull, []))

    def checks(self, sha: str, name: str) -> tuple[CheckRun, ...]:
        self._call("checks")
        own = [(number, one) for number, one in self.made.items() if one.head_sha == sha and one.name == name]
        return tuple(CheckRun(number, one.name, one.head_sha, one.external_id) for number, one in own)

    def create_check(self, report: CheckReport) -> CheckRun:
        self._call("create_check")
        number = self._id()
        self.made[number] = report
        return CheckRun(number, report.name, report.head_sha, report.external_id)

    def update_check(self, check: int, report: CheckReport) -> CheckRun:
        self._call("update_check")
        _there(self.made, check)
        self.made[check] = report
        return CheckRun(check, report.name, report.head_sha, report.external_id)

    def _call(self, name: str) -> None:
        self.called.append(name)
        waiting = self.hooks.get(name)
        if waiting:
            waiting.pop(0)()

    def _id(self) -> int:
        self.next_id += 1
        return self.next_id


def _there(found: dict[_Key, _Value], key: _Key) -> _Value:
    if key not in found:
        raise ForgeGone(f"there is no {key}")
    return found[key]


A_FORGE: Forge = PretendForge()
"""For the type checker: it has all that a forge has."""
