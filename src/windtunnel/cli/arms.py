"""Both sides of a comparison: which commits, which cases, and what can be launched of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from windtunnel.adapters import git
from windtunnel.adapters.project import Project
from windtunnel.declare.cases import Discovery
from windtunnel.declare.suite import Suite
from windtunnel.errors import BuildFailed, ConfigError, NothingMeasured, VariantMissing, WindtunnelError
from windtunnel.model import Case, ResolvedLaunch, Variant
from windtunnel.sample.measure import Job
from windtunnel.sample.runfile import Failure

__all__ = ["IDENTICAL", "Prepared", "prepare_arms", "revisions", "select_cases"]

IDENTICAL = "the images and everything they are started with are the same in base and head"
_FIRST = "first run: head only"


@dataclass(frozen=True)
class Prepared:
    """What there is to launch.

    Attributes:
        pairs: by case id, its jobs: base, head, and control if there is one.
        alone: jobs of head for what base does not have.
        failures: everything else, with the reason.
    """

    pairs: Mapping[str, tuple[Job, ...]]
    alone: tuple[Job, ...]
    failures: tuple[Failure, ...]


def revisions(suite: Suite, base: str, head: str, *, worktree: bool) -> tuple[str, str]:
    """The commits that are compared, as full hashes; head is "" for the working tree.

    Without a base it is the merge-base with the project's main branch: what a pull request would bring.

    Raises:
        ConfigError: there is no such commit, or no main branch to be found.
    """
    tip = git.resolve(suite.repository, "HEAD" if worktree else head or "HEAD")
    if base:
        return git.resolve(suite.repository, base), "" if worktree else tip
    main = _main_branch(suite)
    found = git.merge_base(suite.repository, main, tip)
    if found == tip and not worktree:
        raise ConfigError(
            f"{head or 'HEAD'} has nothing that {main} does not have; name a base: windtunnel compare HEAD~1 HEAD "
            f"(what is not committed: windtunnel compare --worktree)",
            file=suite.repository,
        )
    return found, "" if worktree else tip


def _main_branch(suite: Suite) -> str:
    """As the remote has it where there is one: a local branch may be behind, and a workflow's checkout has none."""
    names = suite.branches[:1] or ("main", "master")
    tried = ["origin/HEAD", *(name for branch in names for name in (f"origin/{branch}", branch))]
    for name in tried:
        try:
            git.resolve(suite.repository, name)
        except ConfigError:
            continue
        return name
    raise ConfigError(f"none of {', '.join(tried)} is a commit here; name a base", file=suite.repository)


def select_cases(found: Discovery, head: Project) -> tuple[list[Case], list[Failure]]:
    """The cases as head has them, and what head lacks. Raises NothingMeasured where head has none of them."""
    whole, skipped = head.select(found)
    if not whole:
        reasons = "\n".join(f"{case}: {reason}" for case, reason in skipped.items())
        raise NothingMeasured("no case to measure", detail=reasons)
    return whole, [Failure(case, "head", "skipped", reason) for case, reason in skipped.items()]


def prepare_arms(base: Project, head: Project, cases: Sequence[Case], *, control: bool) -> Prepared:
    """Build what both sides need, in one go, so that what does not differ between them is shared.

    A case that can't be launched is a failure of its own; what no case would fare better with (the engine, the disk)
    is raised.
    """
    theirs = {case.id: _at(base, case) for case in cases}
    built = _build(base, head, cases, theirs)
    pairs: dict[str, tuple[Job, ...]] = {}
    alone: list[Job] = []
    failures: list[Failure] = []
    for case in cases:
        ours, other = built["head", case.id], built["base", case.id]
        if failure := _failure(case, base, ours, other):
            failures.append(failure)
        if isinstance(ours, ResolvedLaunch):
            if isinstance(other, ResolvedLaunch) and not failure:
                pairs[case.id] = _jobs(case, other, ours, control=control)
            elif failure and failure.kind == "first":
                alone.append(Job(case, "head", ours))
    return Prepared(pairs, tuple(alone), tuple(failures))


def _jobs(case: Case, base: ResolvedLaunch, head: ResolvedLaunch, *, control: bool) -> tuple[Job, ...]:
    jobs = (Job(case, "base", base), Job(case, "head", head))
    return (*jobs, Job(case, "control", base)) if control else jobs


def _at(project: Project, case: Case) -> Variant | WindtunnelError:
    try:
        return project.whole(case).variant
    except WindtunnelError as error:
        return error


def _build(
    base: Project, head: Project, cases: Sequence[Case], theirs: Mapping[str, Variant | WindtunnelError]
) -> Mapping[tuple[str, str], ResolvedLaunch | WindtunnelError]:
    """By arm and case id."""
    projects = {project.arm.name: project for project in (base, head)}
    wanted = [(head.arm, case.variant) for case in cases]
    wanted += [(base.arm, variant) for variant in theirs.values() if isinstance(variant, Variant)]
    done = head.builder.prepare(wanted, lambda arm, name: projects[arm.name].target(name))
    found: dict[tuple[str, str], ResolvedLaunch | WindtunnelError] = {}
    for case in cases:
        variant = theirs[case.id]
        found["head", case.id] = done[head.arm.name, case.variant]
        found["base", case.id] = done[base.arm.name, variant] if isinstance(variant, Variant) else variant
    return found


def _failure(
    case: Case, base: Project, ours: ResolvedLaunch | WindtunnelError, other: ResolvedLaunch | WindtunnelError
) -> Failure | None:
    """Why base and head of a case are not paired, or None. Head's own fault comes first."""
    for found in (ours, other):
        if isinstance(found, WindtunnelError) and not isinstance(found, BuildFailed | VariantMissing | ConfigError):
            raise found
    if isinstance(ours, WindtunnelError):
        kind = "skipped" if isinstance(ours, VariantMissing) else "failed"
        return Failure(case.id, "head", kind, str(ours), ours.detail)
    if isinstance(other, WindtunnelError):
        if isinstance(other, VariantMissing) or base.lacks(case.variant.target):
            return Failure(case.id, "base", "first", f"{_FIRST} ({other})")
        return Failure(case.id, "base", "failed", str(other), other.detail)
    if ours.identity == other.identity:
        return Failure(case.id, "head", "identical", IDENTICAL)
    return None
