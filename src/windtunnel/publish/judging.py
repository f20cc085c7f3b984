"""What a workflow run has measured, judged anew: from artifacts that anyone may have made to verdicts.

The rule is that of the default branch's settings; what a run file says of its own threshold counts for nothing. An
artifact that is not what it should be spoils its own suite and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from windtunnel.compare.verdict import Comparison, compare, rule_of
from windtunnel.declare.settings import Settings
from windtunnel.errors import StorageError, WindtunnelError
from windtunnel.publish.archive import LIMITS, IntakeError, Limits, Wanted, unpack
from windtunnel.publish.artifacts import ArtifactName, parse_name
from windtunnel.publish.forge import Artifact, Forge, ForgeError, WorkflowRun
from windtunnel.publish.intake import Tally, check_run, merge_artifacts, read_artifact, read_matrix
from windtunnel.report.comparison_origin import arm_of
from windtunnel.report.markdown import LEAST, comparison_markdown
from windtunnel.sample.merge import missing_shards, shards_of
from windtunnel.sample.runfile import Run

__all__ = ["Findings", "Judged", "Offer", "Scope", "judge", "offer_of"]

_T = TypeVar("_T")

_SHARDS = 300
"""The most artifacts of one suite that are looked at: a plan has up to 256 shards."""

_NAMED = 5
"""So many missing shards are named."""


@dataclass(frozen=True)
class Scope:
    """What is reported.

    Attributes:
        slug: the suite's folder, as `publish.artifacts.slug_of` has it.
        settings: windtunnel.toml of the default branch: the rule, the gate, the suites that there are.
        repository_url: the repository's page, or "".
    """

    slug: str
    settings: Settings
    repository_url: str = ""


@dataclass(frozen=True)
class Judged:
    """A suite of a workflow run.

    Attributes:
        suite: its name in windtunnel.toml, or "".
        run: what was measured, all shards together; None where there is a fault.
        comparison: the verdicts; None like `run`.
        remarks: sentences of our own for the front of the report.
        fault: why there is nothing to judge, or "".
        foreign: whether the fault holds text from outside.
        error: set where the fault is the forge's or the disk's, and not the artifact's.
    """

    suite: str
    run: Run | None = None
    comparison: Comparison | None = None
    remarks: tuple[str, ...] = ()
    fault: str = ""
    foreign: bool = True
    error: WindtunnelError | None = None

    @property
    def base(self) -> str:
        """The commit that was compared with, or ""."""
        arm = arm_of(self.run, "base") if self.run is not None else None
        return arm.commit if arm is not None else ""


@dataclass(frozen=True)
class Offer:
    """What a workflow run has left of one suite's folder.

    Attributes:
        suites: by suite the newest artifact of each name.
        undeclared: suites that the default branch does not declare.
        expired: how many artifacts were there once.
        others: how many belong to other folders.
    """

    suites: Mapping[str, tuple[tuple[ArtifactName, Artifact], ...]]
    undeclared: tuple[str, ...] = ()
    expired: int = 0
    others: int = 0


@dataclass(frozen=True)
class Findings:
    """Every suite of a workflow run, and what it offered."""

    offer: Offer
    judged: tuple[Judged, ...]


def offer_of(artifacts: Sequence[Artifact], scope: Scope) -> Offer:
    """Sort the artifacts of a run (oldest first): of one name the newest counts, since a job may run again."""
    named = {one.name: (name, one) for one in artifacts if (name := parse_name(one.name)) is not None}
    own = [pair for pair in named.values() if pair[0].slug == scope.slug]
    fresh = [pair for pair in own if not pair[1].expired]
    suites = dict.fromkeys(name.suite for name, _ in fresh)
    declared = {"", *scope.settings.suites}
    return Offer(
        {suite: tuple(pair for pair in fresh if pair[0].suite == suite) for suite in suites if suite in declared},
        tuple(suite for suite in suites if suite not in declared),
        len(own) - len(fresh),
        len(named) - len(own),
    )


def judge(forge: Forge, workflow: WorkflowRun, scope: Scope, folder: Path, besides: Collection[str] = ()) -> Findings:
    """Everything that a workflow run has left, judged, save the suites `besides`. Downloads go to `folder`.

    Raises ForgeError where the artifacts can't even be listed.
    """
    offer = offer_of(forge.artifacts(workflow.id), scope)
    intake = _Intake(forge, workflow, scope, folder)
    wanted = {suite: pairs for suite, pairs in offer.suites.items() if suite not in besides}
    return Findings(offer, tuple(_judged(intake, suite, pairs) for suite, pairs in wanted.items()))


def _judged(intake: _Intake, suite: str, pairs: Sequence[tuple[ArtifactName, Artifact]]) -> Judged:
    try:
        return intake.decided(suite, pairs)
    except (ForgeError, StorageError) as error:
        return Judged(suite, fault=str(error), error=error)
    except WindtunnelError as error:
        return Judged(suite, fault=str(error))
    except (ArithmeticError, ValueError, RecursionError) as error:
        # the intake has bounds for all that is known to do this; whatever is not known yet ends here, in words
        return Judged(suite, fault=f"what it says can't be reckoned with ({type(error).__name__})")


@dataclass
class _Intake:
    """Downloads and reads; counts what all of it comes to."""

    forge: Forge
    workflow: WorkflowRun
    scope: Scope
    folder: Path
    limits: Limits = LIMITS
    tally: Tally = field(default_factory=Tally)
    taken: int = 0

    def decided(self, suite: str, pairs: Sequence[tuple[ArtifactName, Artifact]]) -> Judged:
        """Raises IntakeError, ConfigError or ForgeError."""
        if len(pairs) > _SHARDS:
            raise IntakeError(f"{len(pairs)} artifacts of one suite; there are {_SHARDS} at most")
        runs = {one.name: self._run(name, one) for name, one in pairs if name.kind == "run"}
        plans = [self._taken(one, "matrix.json", read_matrix) for name, one in pairs if name.kind == "matrix"]
        whole = {one.name for name, one in pairs if name.kind == "run" and name.number is None}
        if whole and len(runs) > len(whole):
            raise IntakeError("there is a run file of the whole and others of shards; a run has the one or the other")
        if not runs:
            raise IntakeError("there is a plan of shards, and none of them has left a run file")
        run = merge_artifacts(runs)
        lacking, remarks = _lacking(run, plans[0] if plans else ())
        run = replace(run, end={}) if lacking else run  # what is not whole is no pass
        rule = replace(rule_of(run), threshold=self.scope.settings.threshold)
        comparison = compare(run, rule)
        comparison_markdown(run, comparison, limit=LEAST)  # what can't be told is refused here, too
        return Judged(suite, run, comparison, remarks)

    def _run(self, name: ArtifactName, artifact: Artifact) -> Run:
        run = self._taken(artifact, "run.jsonl", lambda path: read_artifact(path, self.tally))
        check_run(run, head_sha=self.workflow.head_sha, suites=self.scope.settings.suites, name=name)
        return run

    def _taken(self, artifact: Artifact, wanted: Wanted, read: Callable[[Path], _T]) -> _T:
        """What the one file in an artifact says; nothing of it stays on the disk."""
        if artifact.size > self.limits.archive:
            raise IntakeError(f"the artifact has {artifact.size:,} bytes, more than {self.limits.archive:,}")
        archive = self.folder / f"artifact-{artifact.id}.zip"
        try:
            self.forge.download(artifact, archive, self.limits.archive)
            path = unpack(archive, wanted, self.folder, self.limits)
        finally:
            archive.unlink(missing_ok=True)
        self.taken += path.stat().st_size
        if self.taken > self.limits.total:
            raise IntakeError(f"all artifacts together have more than {self.limits.total:,} bytes")
        try:
            return read(path)
        finally:
            path.unlink(missing_ok=True)


def _lacking(run: Run, planned: Sequence[str]) -> tuple[bool, tuple[str, ...]]:
    """Whether the whole lacks something, and what of that no report says by itself, in sentences of our own."""
    there = {case.id for case in run.header.cases} | {failure.case for failure in run.failures}
    shards = missing_shards(shards_of(run))
    absent = sum(case not in there for case in planned)
    remarks = []
    if shards and not run.header.shards:
        more = f" and {len(shards) - _NAMED} more" if len(shards) > _NAMED else ""
        remarks.append(f"Nothing has come of the other shards: {', '.join(shards[:_NAMED])}{more}.")
    if absent:
        remarks.append(f"Of {len(planned)} planned cases {absent} {'is' if absent == 1 else 'are'} in no run file.")
    return bool(shards or absent), tuple(remarks)
