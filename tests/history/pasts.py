"""A git repository whose commits have a speed, and comparisons of them that need no engine."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import material
from windtunnel.cli.comparing import Request
from windtunnel.compare.effects import pairs_of, series_of
from windtunnel.errors import Interrupted
from windtunnel.model import Launch
from windtunnel.sample.runfile import Arm, ComparePlan, Failure, RunWriter, read_run

CASE = material.CASE.id
_WHO = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org"}
_WHO |= {"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}


@dataclass
class Repository:
    """A repository made commit by commit, a day apart."""

    path: Path
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        date = f"{1_700_000_000 + len(self.names) * 86400} +0000"
        own = {**os.environ, **_WHO, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        done = subprocess.run(["git", *arguments], cwd=self.path, env=own, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, subject: str) -> str:
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)
        return self._named(subject)

    def merge(self, branch: str, subject: str) -> str:
        self.git("merge", "--quiet", "--no-ff", "--message", subject, branch)
        return self._named(subject)

    def line(self, count: int) -> list[str]:
        return [self.commit(f"commit {number}") for number in range(count)]

    def _named(self, subject: str) -> str:
        self.names[subject] = self.git("rev-parse", "HEAD")
        return self.names[subject]

    def state(self) -> str:
        """Everything that a command must leave as it is."""
        files = sorted(str(path) for path in (self.path / ".git").rglob("*") if path.is_file())
        return "\n".join([self.git("rev-parse", "HEAD"), self.git("status", "--porcelain"), *files])


def unheard(_: str) -> None:
    """Nobody watches."""


def pair(number: int, ratio: float, case: str = CASE) -> tuple[Launch, Launch]:
    """A pair of launches of which head takes `ratio` times what base takes."""
    slices = [replace(one, wall=0.04 * ratio, cpu=0.03 * ratio, mean_latency=0.004 * ratio) for one in _slices()]
    base = replace(material.LAUNCH, case=case, arm="base", number=number, slices=tuple(_slices()))
    return base, replace(base, arm="head", slices=tuple(slices))


def _slices() -> list[material.Slice]:
    return [material.WARMUP, material.LOAD, material.LOAD, material.LOAD, material.SINGLE]


@dataclass
class Machine:
    """Stands for `compare_revisions`: what it "measures" comes from a table, what it writes is a real run file.

    Attributes:
        speed: by full hash, what a commit costs as a factor; 1.0 where it is not listed.
        broken: by full hash, what is raised when it is head.
        declined: by full hash, the failure that stands for its launches.
        noise: the standard deviation of a pair.
        pairs: how many pairs a comparison has that nothing else ends.
        cut: after so many pairs in all it is interrupted, once.
    """

    speed: dict[str, float] = field(default_factory=dict)
    broken: dict[str, BaseException] = field(default_factory=dict)
    declined: dict[str, Failure] = field(default_factory=dict)
    noise: float = 0.01
    pairs: int = 24
    cut: int | None = None
    asked: list[Request] = field(default_factory=list)
    made: int = 0
    then: Callable[[Request], None] = lambda _: None

    def __call__(self, request: Request) -> Path:
        self.asked.append(request)
        self.then(request)
        path = request.resume or request.output
        assert path is not None
        if request.head in self.broken:
            raise self.broken[request.head]
        with closing(RunWriter(path)) as writer:
            if writer.empty:
                writer.header(self._header(request))
            if failure := self.declined.get(request.head):
                writer.failure(failure)
            else:
                self._measure(request, path, writer)
            writer.end(exit=0, seconds=60.0)
        return path

    def _header(self, request: Request) -> material.Header:
        arms = (Arm("base", request.base, request.base), Arm("head", request.head, request.head))
        plan = ComparePlan(0.02, 34, request.budget, select=request.select, suite=request.suite)
        return replace(material.HEADER, arms=arms, compare=plan)

    def _measure(self, request: Request, path: Path, writer: RunWriter) -> None:
        ratio = self.speed.get(request.head, 1.0) / self.speed.get(request.base, 1.0)
        launches = list(read_run(path).launches)
        for number in range(1, 200):
            series = series_of(pairs_of(launches, CASE))
            count = len(series["cpu_per_request"])
            if request.until(series) if request.until and count else count >= self.pairs:
                return
            if number <= count:
                continue
            if self.cut is not None and self.made >= self.cut:
                self.cut = None
                raise Interrupted("interrupted")
            luck = random.Random(f"{path.name}/{number}").gauss(0, self.noise)
            for launch in pair(number, ratio * (1 + luck)):
                writer.launch(launch)
                launches.append(launch)
            self.made += 1
