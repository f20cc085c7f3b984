"""A project whose pull requests are reported to the local GitHub, and the command as a step of its job."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from checkouts import git
from steps import Told

from example_artifacts import measured_bytes
from localhub import LocalGitHub
from localhub.state import ACTIONS_BOT, Check, Pull, Run
from windtunnel.cli.action.report import report_command
from windtunnel.publish.artifacts import artifact_name

__all__ = [
    "Begun",
    "Job",
    "base_of",
    "bodies",
    "check",
    "commented",
    "finished",
    "labelled",
    "measured",
    "project",
    "told_error",
]

SETTINGS = 'gate = "on"\n[suites.quick]\ncases = ["^psgi"]\n'


def project(path: Path, settings: str = SETTINGS, folder: str = "") -> Path:
    """A checkout of a default branch that has a suite."""
    suite = path / folder
    suite.mkdir(parents=True)
    (suite / "asv.conf.json").write_text(
        json.dumps({"version": 1, "project": "server", "repo": "../" if folder else "."})
    )
    (suite / "windtunnel.toml").write_text(settings)
    git(path, "init", "--quiet", "--initial-branch=main")
    return path


# ---------------- what a measuring run has left


def base_of(github: LocalGitHub, pull: Pull) -> str:
    """Where the pull request left its base branch."""
    return github.state.merge_bases[pull.base_sha, pull.head_sha]


def measured(
    github: LocalGitHub,
    pull: Pull,
    state: str = "regression",
    *,
    suite: str = "",
    run: Run | None = None,
    slug: str = "",
) -> Run:
    """A finished run for a pull request's head that has left an example comparison."""
    run = run or github.state.run_of(pull)
    content = measured_bytes(state, suite, base=base_of(github, pull), head=pull.head_sha)
    github.state.leaves(run, artifact_name("run", slug=slug, suite=suite), {"run.jsonl": content})
    return run


# ---------------- events


def finished(run: Run) -> dict[str, Any]:
    """A measuring run has ended. The list of pull requests is empty, as it is for forks."""
    told = {
        "id": run.id,
        "event": run.event,
        "head_sha": run.head_sha,
        "head_branch": run.head_branch,
        "pull_requests": [],
    }
    return {"action": "completed", "workflow_run": told}


def labelled(pull: Pull, label: str = "windtunnel-accepted", action: str = "labeled") -> dict[str, Any]:
    """A label was put on, or taken off."""
    return {
        "action": action,
        "label": {"name": label},
        "pull_request": {"number": pull.number},
        "number": pull.number,
    }


def commented(
    number: int, body: str, author: str, action: str = "created", *, before: str | None = None, issue: bool = False
) -> dict[str, Any]:
    """Somebody has written, changed or deleted a comment."""
    told: dict[str, Any] = {
        "action": action,
        "issue": {"number": number, **({} if issue else {"pull_request": {"url": "https://github.test/x"}})},
        "comment": {"id": 1, "body": body, "user": {"login": author}},
    }
    return told if before is None else {**told, "changes": {"body": {"from": before}}}


# ---------------- the step


@dataclass(frozen=True)
class Begun:
    """The step in a process of its own, while it runs."""

    process: subprocess.Popen[str]
    scratch: Path

    def ended(self) -> Told:
        """Wait for it."""
        log, _ = self.process.communicate(timeout=300)
        return Told(self.process.returncode, log, {}, (self.scratch / "summary").read_text())


@dataclass
class Job:
    """`windtunnel action report` in a checkout of the default branch."""

    github: LocalGitHub
    checkout: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def report(self, run: Run) -> Told:
        """A measuring run has ended."""
        return self.run("workflow_run", finished(run))

    def run(self, event: str, payload: Mapping[str, Any], *arguments: str) -> Told:
        """The step, within this process: that is much quicker."""
        scratch = self._scratch(payload)
        log, code = io.StringIO(), 0
        told = mock.patch.dict(os.environ, self._environment(event, scratch), clear=True)
        with told, chdir(self.checkout), redirect_stdout(log), redirect_stderr(log):
            try:
                report_command.main(list(arguments), standalone_mode=False)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
        return Told(code, log.getvalue(), {}, (scratch / "summary").read_text())

    def begin(self, event: str, payload: Mapping[str, Any], *arguments: str) -> Begun:
        """The step as a program of its own."""
        scratch = self._scratch(payload)
        process = subprocess.Popen(
            [sys.executable, "-m", "windtunnel", "action", "report", *arguments],
            cwd=self.checkout,
            env=self._environment(event, scratch),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        return Begun(process, scratch)

    def _scratch(self, payload: Mapping[str, Any]) -> Path:
        """What the runner gives a step."""
        folder = self.checkout.parent / f"step-{sum(1 for _ in self.checkout.parent.glob('step-*'))}"
        folder.mkdir()
        (folder / "summary").write_text("")
        (folder / "event.json").write_text(json.dumps({**payload, "repository": {"full_name": "acme/server"}}))
        return folder

    def _environment(self, event: str, scratch: Path) -> dict[str, str]:
        own = {key: value for key, value in os.environ.items() if not key.startswith(("GITHUB_", "RUNNER_", "GH_"))}
        told = {
            **own,
            **self.github.environ(),
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(scratch / "event.json"),
            "GITHUB_OUTPUT": str(scratch / "output"),
            "GITHUB_RUN_ID": "17",
            "GITHUB_STEP_SUMMARY": str(scratch / "summary"),
            "RUNNER_TEMP": str(scratch),
            "TERM": "dumb",
            **self.environment,
        }
        return {key: value for key, value in told.items() if value}


# ---------------- what has come of it


def bodies(job: Job, pull: Pull) -> list[str]:
    """The comments on a pull request that a job has written."""
    return [one.body for one in job.github.state.comments_of(pull.number) if one.author == ACTIONS_BOT]


def check(job: Job, commit: str, name: str = "windtunnel") -> Check:
    """The one check of that name."""
    (found,) = (one for one in job.github.state.checks_of(commit) if one.name == name)
    return found


def told_error(told_log: list[str]) -> str:
    """The one error."""
    (line,) = told_log
    return line
