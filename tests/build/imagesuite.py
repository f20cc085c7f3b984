"""A repository with targets, and what builds their images."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.git import CommitTree, WorkTree
from windtunnel.build.images import Arm
from windtunnel.declare.targets import load_target
from windtunnel.errors import WindtunnelError
from windtunnel.model import ResolvedLaunch, Variant
from windtunnel.ports import BuildRequest, ImageInfo, LineSink

FROM = "FROM debian:trixie-slim\n"
APP = Variant("app")
DRIFTING = "RUN date +%s.%N > /packages\nCOPY stamp /\n"


@dataclass
class Suite:
    """A repository with targets, whose images are like no others: every one holds a stamp of this test."""

    repo: object
    stamp: str = field(default_factory=lambda: uuid.uuid4().hex)
    own: str = field(default_factory=lambda: f"{FROM}ENV TEST={uuid.uuid4().hex}\n")
    """Begins a Dockerfile whose steps no other test, perhaps in another process, has in common with it."""

    def target(self, name: str, dockerfile: str = FROM + "COPY . /app/\n", toml: str = "", **files: str) -> None:
        folder = f"targets/{name}"
        if "kind" not in toml:
            toml = f'kind = "server"\n{toml}'
        for file, content in {"target.toml": toml, "Dockerfile": dockerfile, "stamp": self.stamp, **files}.items():
            self.repo.put(f"{folder}/{file}", content)

    def toml(self, name: str) -> str:
        return (self.repo.path / "targets" / name / "target.toml").read_text()

    def commit(self) -> str:
        return self.repo.commit()

    def arm(self, commit: str = "", name: str = "head") -> Arm:
        harness = WorkTree(self.repo.path)
        return Arm(name, CommitTree(self.repo.path, commit) if commit else harness, harness)


def load(arm: Arm, name: str):
    return load_target(name, folder="targets", project=arm.project, harness=arm.harness)


def prepare(builder, *wanted: tuple[Arm, Variant]) -> list[ResolvedLaunch]:
    done = builder.prepare(wanted, load)
    results = [done[arm.name, variant] for arm, variant in wanted]
    for result in results:
        if isinstance(result, WindtunnelError):
            raise result
    return results


class WithoutCache(DockerEngine):
    """The real engine, with nothing in its build cache."""

    def build(self, request: BuildRequest, on_line: LineSink) -> ImageInfo:
        return super().build(BuildRequest(**{**vars(request), "no_cache": True}), on_line)


def drifted(suite: Suite, make_builder, dockerfile: str) -> list[tuple[Arm, Variant]]:
    """Base's image is from an earlier run, head's from a later one, in which the engine had forgotten everything."""
    suite.target("app", dockerfile)
    base = suite.commit()
    suite.stamp += " head"
    suite.target("app", dockerfile)
    wanted = [(suite.arm(base, "base"), APP), (suite.arm(suite.commit()), APP)]
    for one in wanted:
        prepare(make_builder(WithoutCache()), one)
    return wanted
