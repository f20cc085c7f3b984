"""A project whose commits differ in what its server costs, and the command as a step of a workflow runs it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from reported import Job, project

from localhub import LocalGitHub
from localhub.state import Pull

_TESTS = Path(__file__).resolve().parent.parent
for _folder in ("comparing", "faults"):  # what runs and watches commands, and a suite that is quickly measured
    sys.path.append(str(_TESTS / _folder))


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """A lock of the machine that other windtunnels on it do not use: no figure is looked at closely here."""
    return {"TMPDIR": str(tmp_path_factory.mktemp("lock")), "TERM": "dumb", "COLUMNS": "200"}


@pytest.fixture(scope="session")
def job_python(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Variables for the steps of workflows: the first job installs windtunnel as any job does, others have that."""
    return {"PYTHON": str(Path(__file__).parent / "python_once"), "KEPT": str(tmp_path_factory.mktemp("python"))}


@pytest.fixture
def job(github: LocalGitHub, tmp_path: Path) -> Job:
    """A job that reports; of the people, olga may write and theo may triage."""
    github.state.collaborator("olga", "maintain")
    github.state.collaborator("theo", "triage")
    return Job(github, project(tmp_path / "checkout"))


@pytest.fixture
def pull(job: Job) -> Pull:
    """A fork's, of whose author nothing is known."""
    return job.github.state.fork_pull("stranger")
