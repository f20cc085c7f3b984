"""Pushes to main of a small project, and comparisons of them that were made before: nothing here needs an engine."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import payloads
from checkouts import Checkout, Origin, git
from platformdirs import user_cache_path
from projects import suite_files
from steps import Step, Told

from material import HEADER, LAUNCH, LOAD, SINGLE, WARMUP
from windtunnel.declare.cases import discover
from windtunnel.declare.suite import find_suite
from windtunnel.model import Launch
from windtunnel.sample.runfile import Arm, ComparePlan, Failure, Run, RunWriter

sys.path.append(str(Path(__file__).resolve().parent.parent / "publish"))

from results_remotes import BRANCH, Bare

__all__ = ["BRANCH", "PAIRS", "Main", "compared", "main_of", "state"]

PAIRS = 12


@dataclass
class Main:
    """The main branch of a project on a forge, and jobs that run for its pushes."""

    origin: Origin
    scratch: Path
    folder: str = ""
    jobs: int = 0

    @property
    def remote(self) -> Bare:
        """Where the results branch is pushed to: the forge's repository itself."""
        return Bare(self.origin.path / ".git")

    def job(self, revision: str = "main", event: str = "push", *, engine: bool = False, **environment: str) -> Job:
        """A new checkout of a commit of main, as actions/checkout makes it for a push."""
        self.jobs += 1
        path = self.scratch / f"job-{self.jobs}"
        checkout = self.origin.checkout(path, "refs/heads/main")
        head = self.origin.hash(revision)
        git(path, "checkout", "--quiet", "-B", "main", head)
        home = self.scratch / "home"
        home.mkdir(exist_ok=True)
        payload = payloads.push("", head) if event == "push" else payloads.dispatch()
        known = {"HOME": str(home), "TMPDIR": str(self.scratch), "TERM": "dumb", "COLUMNS": "200"}
        known["XDG_CACHE_HOME"] = str(user_cache_path())  # what no test looks at is not made anew in each home
        known |= {} if engine else {"DOCKER_HOST": f"unix://{home}/no-engine.sock"}
        step = Step(replace(checkout, sha=head), event, payload, {**known, **environment})
        return Job(self, step, head)


@dataclass
class Job:
    """One job; `out` is where its run file is."""

    main: Main
    step: Step
    head: str

    @property
    def path(self) -> Path:
        return self.step.checkout.path

    @property
    def out(self) -> Path:
        return self.path.parent / f"{self.path.name}-out"

    def measured(self, base: str, pace: float | None = None, suite: str = "", failure: str = "identical") -> Job:
        """Its comparison with a revision was made by an earlier attempt: see `compared`."""
        commits = self.main.origin.hash(base), self.head
        run = compared(self.path / self.main.folder, commits, suite, pace, failure)
        self.out.mkdir(exist_ok=True)
        with closing(RunWriter(self.out / "run.jsonl")) as writer:
            writer.header(run.header)
            for launch in run.launches:
                writer.launch(launch)
            for one in run.failures:
                writer.failure(one)
            writer.end(**run.end)
        return self

    def arguments(self, *arguments: str | Path) -> Sequence[str | Path]:
        return ("record", "--directory", self.main.folder, "--output", self.out, *arguments)

    def record(self, *arguments: str | Path, **environment: str) -> Told:
        return self.step.run(*self.arguments(*arguments), **environment)


def main_of(path: Path, folder: str = "", files: Mapping[str, str] | None = None) -> Main:
    """A project with its suite in a folder, and one more commit."""
    origin = Origin(path / "origin", {**suite_files(folder), **(files or {})})
    origin.commit("second")
    return Main(origin, path, folder)


def compared(root: Path, commits: tuple[str, str], suite: str, pace: float | None, failure: str) -> Run:
    """A finished comparison in which head takes `pace` times as long.

    Without a pace no case was launched, all for the same kind of failure: "identical", or "failed" at head. Nothing
    that asv would record then, which costs it a process for each figure.
    """
    found = find_suite(root)
    cases = discover(found, (), found.settings.suite(suite).cases if suite else ()).cases
    arms = tuple(Arm(name, commit, commit) for name, commit in zip(("base", "head"), commits, strict=True))
    plan = ComparePlan(threshold=0.02, most=40, suite=suite)
    header = replace(HEADER, project=found.project, arms=arms, cases=tuple(cases), compare=plan)
    if pace is None:
        failures = tuple(Failure(case.id, "head", failure, "made up") for case in cases)
        return Run(header, (), failures, end={"exit": 0})
    launches = tuple(
        _launch(case.id, arm, number, pace if arm == "head" else 1.0)
        for case in cases
        for number in range(1, PAIRS + 1)
        for arm in ("base", "head")
    )
    return Run(header, launches, end={"exit": 0})


def _launch(case: str, arm: str, number: int, pace: float) -> Launch:
    factor = pace * (1 + number / 5000 * (1 if arm == "head" else -1) ** number)
    loads = [replace(LOAD, wall=0.04 * factor * one, cpu=0.03 * factor * one) for one in (1, 1.001, 0.999)]
    single = replace(SINGLE, wall=0.02 * factor)
    return replace(LAUNCH, case=case, arm=arm, number=number, slices=(WARMUP, *loads, single))


def state(checkout: Checkout) -> dict[str, str | bytes]:
    """Everything of a checkout that a step must leave alone."""
    folder = checkout.path / ".git"
    done = subprocess.run(
        ["git", "for-each-ref"], cwd=checkout.path, capture_output=True, text=True, check=True
    ).stdout
    files = {name: (folder / name).read_bytes() for name in ("HEAD", "config", "index")}
    return {**files, "refs": done, "status": git(checkout.path, "status", "--porcelain")}
