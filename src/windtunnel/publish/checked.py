"""What a report relies on in a run that somebody handed over, checked before anything is made of it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NoReturn

from windtunnel.declare.shards import parse_shard
from windtunnel.errors import ConfigError
from windtunnel.model import Launch
from windtunnel.publish.archive import IntakeError
from windtunnel.publish.artifacts import ArtifactName
from windtunnel.sample.runfile import ComparePlan, Header, Run
from windtunnel.sample.summary import warnings_of

__all__ = ["BOUNDS", "Bounds", "check_counts", "check_run"]

_COMMIT = re.compile(r"[0-9a-f]{40}")
_KINDS = frozenset({"failed", "skipped", "identical", "first"})
_ARMS = frozenset({"base", "head", "control"})


@dataclass(frozen=True)
class Bounds:
    """How much of everything a run may have, so that a report of it is made within seconds.

    Attributes:
        cases: of the header, and names of what was not launched.
        launches: of one arm of a case.
        all_launches: of the whole run.
        slices: of one launch.
        all_slices: of the whole run.
        warnings: of one launch, and of one slice.
        notes: what is to be told of all cases together, as `warnings_of` gathers it.
        name: characters of a name: of a case, an arm, a target, an axis, a commit's subject.
        words: characters of a reason or a warning.
        value: characters of anything else in the header (a path, a header, an environment).
        body: characters of what a workload sends.
    """

    cases: int = 1_000
    launches: int = 250
    all_launches: int = 200_000
    slices: int = 100
    all_slices: int = 3_000_000
    warnings: int = 40
    notes: int = 10_000
    name: int = 1_000
    words: int = 20_000
    value: int = 100_000
    body: int = 8 << 20


BOUNDS = Bounds()
"""What is taken where nobody says otherwise."""


def check_run(
    run: Run,
    *,
    head_sha: str,
    suites: Collection[str],
    name: ArtifactName | None = None,
    bounds: Bounds = BOUNDS,
) -> None:
    """See that a run is a comparison of the commit it is said to be of, and within bounds.

    Args:
        run: as it was read: launches are of arms and cases that the header has, and numbers are plausible.
        head_sha: the commit that the forge says the workflow run was for.
        suites: the suites of the default branch's windtunnel.toml; "" is always one.
        name: what the artifact calls itself, for one that was not put together of several.
        bounds: how much of everything there may be.

    Raises:
        IntakeError: it is not that.
    """
    header, plan = run.header, run.header.compare
    if plan is None:
        _refuse("holds no comparison, and only those can be reported")
    _check_arms(header, head_sha)
    _check_shards(header, plan)
    _check_suite(plan, suites, name)
    check_counts(run, bounds)
    _check_failures(run)
    _check_texts(run, bounds)


def _refuse(what: str) -> NoReturn:
    raise IntakeError(f"the run file {what}")


# ---------------- what was compared


def _check_arms(header: Header, head_sha: str) -> None:
    arms = {arm.name: arm for arm in header.arms}
    if len(arms) != len(header.arms) or not {"base", "head"} <= arms.keys() <= _ARMS:
        _refuse("compares other arms than base and head")
    for arm in header.arms:
        if not _COMMIT.fullmatch(arm.commit):
            _refuse(f'has "{arm.commit[:60]}" for the commit of {arm.name}, which is no full hash of one')
    if arms["head"].commit != head_sha:
        _refuse(f"measures the commit {arms['head'].commit}, and the workflow run is for {head_sha}")
    if "control" in arms and arms["control"].commit != arms["base"].commit:
        _refuse("has a control arm that is not base once more")


def _check_suite(plan: ComparePlan, suites: Collection[str], name: ArtifactName | None) -> None:
    if plan.suite and plan.suite not in suites:
        _refuse(f'is of the suite "{plan.suite[:60]}", which windtunnel.toml of the default branch does not have')
    if name is not None and name.suite != plan.suite:
        _refuse(f'is of the suite "{plan.suite[:60]}", and its artifact is named for "{name.suite[:60]}"')
    if name is not None and plan.shard and name.number not in {None, parse_shard(plan.shard)[0]}:
        _refuse(f"is of the shard {plan.shard}, and its artifact is named for number {name.number}")


def _check_shards(header: Header, plan: ComparePlan) -> None:
    for part in (plan.shard, *(shard.shard for shard in header.shards)):
        try:
            if part:
                parse_shard(part)
        except ConfigError:
            _refuse(f'is of the shard "{part[:30]}", which is none')


# ---------------- how much of it


def check_counts(run: Run, bounds: Bounds = BOUNDS) -> None:
    """See that there is not more in a run than a report is made of. Raises IntakeError."""
    names = Counter(case.id for case in run.header.cases)
    double = next((name for name, count in names.items() if count > 1), None)
    if double is not None:
        _refuse(f'has the case "{double[:100]}" twice')
    others = {failure.case for failure in run.failures}
    _at_most(max(map(len, names), default=0), bounds.name, "characters in the name of a case")
    _at_most(len(names.keys() | others), bounds.cases, "cases")
    _at_most(len(run.failures), 2 * bounds.cases, "cases that were not launched")
    _at_most(len(run.header.shards), bounds.cases, "shards")
    _at_most(len(run.launches), bounds.all_launches, "launches")
    most = Counter((launch.case, launch.arm) for launch in run.launches).most_common(1)
    for (case, arm), count in most:
        _at_most(count, bounds.launches, f"launches of {arm} for {case[:100]}")
    _at_most(sum(len(launch.slices) for launch in run.launches), bounds.all_slices, "slices")
    for launch in run.launches:
        _at_most(len(launch.slices), bounds.slices, "slices in one launch")
        warnings = (launch.warnings, *(one.warnings for one in launch.slices))
        _at_most(max(map(len, warnings)), bounds.warnings, "warnings")
    _at_most(_notes(run), bounds.notes, "warnings that differ")


def _notes(run: Run) -> int:
    """How many things a report would have to tell of all cases."""
    by_case: dict[str, list[Launch]] = {}
    for launch in run.launches:
        by_case.setdefault(launch.case, []).append(launch)
    return sum(len(warnings_of(launches)) for launches in by_case.values())


def _at_most(count: int, most: int, what: str) -> None:
    if count > most:
        _refuse(f"has {count:,} {what}, more than {most:,}")


def _check_failures(run: Run) -> None:
    for failure in run.failures:
        if failure.arm not in _ARMS:
            _refuse(f'has a failure on the arm "{failure.arm[:60]}", and a comparison has no such arm')
        if failure.kind not in _KINDS:
            _refuse(f'has a failure of the kind "{failure.kind[:60]}", and there is no such kind')


# ---------------- how long texts are


def _check_texts(run: Run, bounds: Bounds) -> None:
    for key, text in (*_texts(run.header, "header"), *_failure_texts(run), *_launch_texts(run)):
        most = bounds.name if key in _NAMES else bounds.words if key in _WORDS else bounds.value
        most = bounds.body if key == "body" else most
        if len(text) > most:
            _refuse(f"has a text of {len(text):,} characters where {key} stands; at most {most:,} are taken there")


_NAMES = frozenset(
    {"id", "created", "windtunnel", "project", "seed", "suite", "shard"}
    | {"name", "revision", "commit", "date", "subject"}
    | {"benchmark", "params", "target", "axes", "case", "cases", "plans"}
    | {"cpu_model", "kernel", "governor", "cgroup", "engine", "engine_version", "storage_driver", "generators"}
)
_WORDS = frozenset({"reason", "warnings"})


def _texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Every text in a record, with the name of the field that it is in."""
    if isinstance(value, str):
        yield key, value
    elif is_dataclass(value):
        for one in fields(value):
            yield from _texts(getattr(value, one.name), one.name)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(name, key)
            yield from _texts(item, key)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _texts(item, key)


def _failure_texts(run: Run) -> Iterator[tuple[str, str]]:
    for failure in run.failures:
        yield "case", failure.case
        yield "reason", failure.reason


def _launch_texts(run: Run) -> Iterator[tuple[str, str]]:
    """Those that a report shows; the other ones of a launch it never looks at."""
    for launch in run.launches:
        yield "reason", launch.reason
        for warning in launch.warnings:
            yield "warnings", warning
        for one in launch.slices:
            for warning in one.warnings:
                yield "warnings", warning
