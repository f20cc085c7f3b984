"""A suite, opened at one commit: targets, cases and images of one arm, and the means to measure them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from windtunnel.adapters import git
from windtunnel.adapters.docker import DockerEngine, address
from windtunnel.adapters.hostlock import host_lock
from windtunnel.adapters.owner import alive, owner_token
from windtunnel.adapters.signals import shielded
from windtunnel.build.images import Arm, BuildProgress, ImageBuilder
from windtunnel.build.registry import Registry
from windtunnel.declare.cases import Discovery, case_variant
from windtunnel.declare.suite import Suite, find_suite
from windtunnel.declare.targets import TargetLoader
from windtunnel.declare.workload import Where, check_program, variant_at
from windtunnel.errors import ConfigError, EngineError, VariantMissing, WindtunnelError
from windtunnel.launch.launch import LaunchContext
from windtunnel.launch.reap import OWNER_LABEL, reap_group, reap_stale
from windtunnel.launch.setup import open_context
from windtunnel.model import Case, Host, ResolvedLaunch, Target, Variant
from windtunnel.ports import LABEL, Engine, SourceTree
from windtunnel.sample import runfile
from windtunnel.version import __version__

__all__ = ["Project", "labels_for", "open_arms", "open_project"]

Tell = Callable[[str], None]


def labels_for(group: str, owner: str | None = None) -> Mapping[str, str]:
    """The labels of every container of one command."""
    return {LABEL: group, OWNER_LABEL: owner or owner_token()}


@dataclass
class Project:
    """One arm of a suite: what `load_target` reads, what images are built from."""

    suite: Suite
    arm: Arm
    commit: str
    engine: Engine
    builder: ImageBuilder
    _loader: TargetLoader = field(init=False)
    _newest: TargetLoader = field(init=False)

    def __post_init__(self) -> None:
        folder, harness = self.suite.targets_folder, self.arm.harness
        self._newest = TargetLoader(folder, harness, harness)
        # A suite outside the project's repository has no folder at the project's commits: its own is all there is.
        self._loader = self._newest if self.suite.separate else TargetLoader(folder, self.arm.project, harness)

    def target(self, name: str) -> Target:
        """The target as this arm has it; see `windtunnel.declare.targets.load_target`."""
        target = self._loader.load(name)
        return replace(target, harness="head") if self.suite.separate else target

    def whole(self, case: Case, where: Where | None = None) -> Case:
        """A case with its variant's left-out axes filled in from the target.

        `where` is the place it is declared at, for messages. Raises ConfigError where the newest side does not have
        the variant, VariantMissing where only this commit's own target does not.
        """
        newest = self._newest.load(case.variant.target)
        check_program(newest, case, where)
        variant = case_variant(newest, case.workload, where)
        return replace(case, variant=variant_at(self.target(case.variant.target), variant))

    def select(self, found: Discovery) -> tuple[list[Case], dict[str, str]]:
        """What was discovered, as this arm has it: whole cases, and by case id why the others are skipped."""
        whole: list[Case] = []
        skipped = dict(found.skipped)
        for case in found.cases:
            try:
                whole.append(self.whole(case, found.places.get(case.id)))
            except VariantMissing as error:
                skipped[case.id] = str(error)
        return whole, skipped

    def resolve_all(self, cases: Sequence[Case]) -> Mapping[str, ResolvedLaunch | WindtunnelError]:
        """Build what these cases need; by case id what to launch, or why that can't be."""
        wanted = [(self.arm, case.variant) for case in cases]
        done = self.builder.prepare(wanted, lambda _, name: self.target(name))
        return {case.id: done[self.arm.name, case.variant] for case in cases}

    def resolve(self, case: Case) -> ResolvedLaunch:
        """The same for one case; its error is raised."""
        found = self.resolve_all([case])[case.id]
        if isinstance(found, WindtunnelError):
            raise found
        return found

    def lacks(self, target: str) -> bool:
        """Whether the suite did not exist yet at this commit, as far as this target goes."""
        if not self.commit or self.suite.separate:
            return False
        return not self.arm.project.paths(f"{self.suite.targets_folder}/{target}")

    def header(self, name: str, *revisions: tuple[Project, str]) -> runfile.Header:
        """A run file's header for arms as they were asked for; cases and host are the caller's to add."""
        settings = self.suite.settings
        return runfile.Header(
            id=name,
            created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            windtunnel=__version__,
            command=("windtunnel", *sys.argv[1:]),
            project=self.suite.project,
            seed=name,
            plan=settings.launch,
            launches=settings.launches,
            arms=tuple(project.arm_facts(revision) for project, revision in revisions),
            cases=(),
        )

    def arm_facts(self, revision: str) -> runfile.Arm:
        """What a run file says of this arm."""
        if not self.commit:
            return runfile.Arm(self.arm.name, revision, "worktree")
        info = git.describe(self.suite.repository, self.commit)
        return runfile.Arm(self.arm.name, revision, self.commit, str(info.date), info.subject)

    @contextmanager
    def measuring(self, group: str, owner: str, host: Host | None, tell: Tell) -> Iterator[LaunchContext]:
        """Hold the machine for measuring. At the end no container of the group is left.

        `host` spares asking the machine about itself again.
        """
        labels = labels_for(group, owner)
        with host_lock(address(), tell):
            try:
                yield open_context(self.engine, labels, tell, host)
            finally:
                with shielded():
                    _sweep(self.engine, group, tell)


def _sweep(engine: Engine, group: str, tell: Tell) -> None:
    """An engine that fails here must not hide what was measured, nor why the measuring ended."""
    try:
        reap_group(engine, group)
    except EngineError as error:
        tell(f"containers with the label {LABEL}={group} may be left, the next command removes them: {error}")


def open_project(
    start: Path,
    *,
    commit: str = "",
    repository: str = "",
    tell: Tell,
    progress: BuildProgress | None = None,
    name: str = "head",
) -> Project:
    """Open the suite of a folder at a revision ("" is the working tree).

    What earlier commands left running is removed. Raises ConfigError, EngineError.
    """
    suite = find_suite(start)
    if repository:
        suite = replace(suite, repository=Path(repository))
    (project,) = open_arms(suite, {name: commit}, tell=tell, progress=progress)
    return project


def open_arms(
    suite: Suite, commits: Mapping[str, str], *, tell: Tell, progress: BuildProgress | None = None
) -> tuple[Project, ...]:
    """Open a suite at several revisions, by the name of the arm ("" is the working tree).

    They share the engine and the builder, which sees to it that what does not differ between them is built once.
    What earlier commands left running is removed. Raises ConfigError, EngineError.
    """
    full = {name: git.resolve(suite.repository, commit) if commit else "" for name, commit in commits.items()}
    engine = DockerEngine()
    left = reap_stale(engine, alive, time.time())
    if left:
        tell(f"removed {left} container{'s' * (left > 1)} that an earlier command had left behind")
    state = suite.root / ".windtunnel"
    registry = suite.settings.registry
    builder = ImageBuilder(
        engine,
        progress=progress or _Told(tell),
        logs=state / "build",
        jobs=max(1, min(2, os.cpu_count() or 1)),
        registry=Registry(engine, registry, tell) if registry else None,
    )
    return tuple(Project(suite, _arm(suite, commit, name), commit, engine, builder) for name, commit in full.items())


def _arm(suite: Suite, commit: str, name: str) -> Arm:
    project: SourceTree
    harness: SourceTree
    if suite.separate:
        harness = git.WorkTree(suite.root) if _in_git(suite.root) else git.FolderTree(suite.root)
        project = git.CommitTree(suite.repository, commit) if commit else git.WorkTree(suite.repository)
        return Arm(name, project, harness)
    harness = git.WorkTree(suite.repository)
    project = git.CommitTree(suite.repository, commit) if commit else harness
    return Arm(name, project, harness)


def _in_git(folder: Path) -> bool:
    try:
        git.top(folder)
    except ConfigError:
        return False
    return True


@dataclass(frozen=True)
class _Told:
    """Build progress as plain lines."""

    tell: Tell

    def started(self, tag: str, variant: Variant, arm: str) -> None:
        """A build begins."""
        self.tell(f"building {variant} ({arm}) as {tag}")

    def line(self, tag: str, text: str) -> None:
        """A line of its log: silence would be taken for a hang."""

    def finished(self, tag: str, seconds: float) -> None:
        """It is there."""
        self.tell(f"built {tag} in {seconds:.0f} s")

    def reused(self, tag: str, variant: Variant, arm: str) -> None:
        """Nothing to do."""

    def pulled(self, tag: str, variant: Variant, arm: str) -> None:  # noqa: ARG002 - the protocol's
        """The registry had it."""
        self.tell(f"pulled {tag}")

    def failed(self, tag: str, error: WindtunnelError) -> None:
        """It can't be built."""
        self.tell(f"{tag}: {error}\n{error.detail}")
