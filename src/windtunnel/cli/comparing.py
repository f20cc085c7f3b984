"""One comparison, from two revisions to a finished run file: what `compare`, `replay` and `bisect` stand on."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from windtunnel.adapters import git
from windtunnel.adapters.owner import new_id, owner_token
from windtunnel.adapters.project import Project, open_arms
from windtunnel.adapters.watchdog import watched
from windtunnel.cli.arms import Prepared, prepare_arms, revisions, select_cases
from windtunnel.cli.console import BuildLog, ComparisonLog, tell
from windtunnel.cli.launching import begun
from windtunnel.cli.pairing import PairRun, Recorder, Until
from windtunnel.compare.rule import Rule
from windtunnel.compare.verdict import ENOUGH_BAD, compare, rule_of
from windtunnel.declare.cases import Discovery, discover
from windtunnel.declare.shards import in_shard, parse_shard
from windtunnel.declare.suite import Suite, find_suite
from windtunnel.errors import ConfigError, Interrupted, NothingMeasured, StorageError, WindtunnelError
from windtunnel.launch.launch import LaunchContext
from windtunnel.launch.setup import ensure_load_image
from windtunnel.model import Case, Launch
from windtunnel.sample.calibration import calibrated_plan
from windtunnel.sample.measure import Job, Measurement
from windtunnel.sample.runfile import ComparePlan, Failure, Header, Run, RunWriter, check_writable, read_run
from windtunnel.sample.schedule import launch_batches

__all__ = ["Request", "compare_revisions"]

CASE_SECONDS = 60.0
"""The budget for each case that is measured, where none is given."""


@dataclass(frozen=True)
class Request:
    """What is to be compared.

    Attributes:
        start: a folder of the suite.
        base, head: revisions; "" for the defaults (see `revisions`).
        worktree: head is the working tree.
        select: regular expressions over case ids; none (and no suite): all cases but nightly ones.
        budget: seconds of machine time for all cases together; None: the suite's or project's, else a minute a case.
        threshold: as a share; None: the project's.
        control: measure base once more, in containers of its own.
        suite: a suite of windtunnel.toml, or "".
        shard: "2/4": the second of four parts, or "".
        part: the same, where `select` names the cases of a part that was cut elsewhere; the run file has its name.
        output: the run file; None: a new one below .windtunnel/runs.
        resume: a run file to go on with; everything else comes from it.
        batch: how many pairs start together.
        until: go on with the one case until this is content, see `PairRun`.
    """

    start: Path
    base: str = ""
    head: str = ""
    worktree: bool = False
    select: tuple[str, ...] = ()
    budget: float | None = None
    threshold: float | None = None
    control: bool = False
    suite: str = ""
    shard: str = ""
    part: str = ""
    output: Path | None = None
    resume: Path | None = None
    batch: int = 2
    until: Until | None = None


def compare_revisions(request: Request) -> Path:
    """Measure base and head of every selected case in pairs; returns the finished run file.

    Raises:
        ConfigError, EngineError, NothingMeasured: nothing was measured.
        StorageError, Interrupted: what was measured so far is in the run file, and `resume` goes on with it.
    """
    return (_Resumed(request) if request.resume else _Comparison(request)).execute()


@dataclass
class _Comparison:
    """One call: from the sources to the last pair."""

    request: Request
    began: float = field(default_factory=time.monotonic)
    id: str = field(default_factory=new_id)
    build_seconds: float = 0.0

    def execute(self) -> Path:
        """Build, measure, and end the run file."""
        suite = find_suite(self.request.start)
        base, head, revisions_ = self._open(suite)
        cases, skipped = self._cases(suite, head)
        path = self._path(suite)
        with watched(head.engine, self.id):
            prepared = self._prepare(base, head, cases)
            header = self._header(base, head, cases, prepared, revisions_)
            failures = [*skipped, *prepared.failures]
            with _kept(path):
                self._run(head, path, header, prepared, failures)
        return path

    def _open(self, suite: Suite) -> tuple[Project, Project, tuple[str, str]]:
        """Both arms, and how they were asked for."""
        asked = self.request
        base, head = revisions(suite, asked.base, asked.head, worktree=asked.worktree)
        if base == head:
            tell("base and head are the same commit")
        if not asked.head and not asked.worktree and git.changed(suite.repository):
            tell("head is the commit HEAD; what is not committed is measured with --worktree", "yellow")
        one, other = open_arms(suite, {"base": base, "head": head}, tell=tell, progress=BuildLog())
        return one, other, (asked.base or base, "worktree" if asked.worktree else asked.head or "HEAD")

    def _cases(self, suite: Suite, head: Project) -> tuple[list[Case], list[Failure]]:
        found = self._discover(suite)
        if self.request.shard and not found.cases and not found.skipped:
            raise NothingMeasured(f"shard {self.request.shard} is empty: there are fewer cases than shards")
        return select_cases(found, head)

    def _discover(self, suite: Suite) -> Discovery:
        request = self.request
        within = suite.settings.suite(request.suite).cases if request.suite else ()
        found = discover(suite, request.select, within)
        if found.nightly:
            tell(found.left_out("--bench takes in those that it names, --suite those that the suite names"))
        return in_shard(found, request.shard) if request.shard else found

    def _path(self, suite: Suite) -> Path:
        path = self.request.output or suite.root / ".windtunnel" / "runs" / f"{self.id}.jsonl"
        if path.exists():
            raise ConfigError(
                f"exists already; name another one, or go on with it: windtunnel compare --resume {path}", file=path
            )
        check_writable(path)
        return path

    def _prepare(self, base: Project, head: Project, cases: Sequence[Case]) -> Prepared:
        before = time.monotonic()
        prepared = prepare_arms(base, head, cases, control=self.request.control)
        if prepared.pairs or prepared.alone:
            ensure_load_image(head.engine, tell, head.builder.registry)
        self.build_seconds = time.monotonic() - before
        return prepared

    def _header(
        self, base: Project, head: Project, cases: Sequence[Case], prepared: Prepared, asked: tuple[str, str]
    ) -> Header:
        settings, request = head.suite.settings, self.request
        named = settings.suite(request.suite).budget if request.suite else None
        parts = parse_shard(request.shard)[1] if request.shard else 1
        declared = (named or settings.budget or 0.0) / parts  # it is that of the whole; a shard has its part
        budget = request.budget or declared or CASE_SECONDS * len(prepared.pairs) or None
        plan = ComparePlan(
            threshold=settings.threshold if request.threshold is None else request.threshold,
            most=Rule.most,
            budget=budget,
            control=request.control,
            batch=request.batch,
            select=request.select,
            suite=request.suite,
            shard=request.shard or request.part,
        )
        header = head.header(self.id, (base, asked[0]), (head, asked[1]))
        return replace(header, cases=tuple(cases), compare=plan)

    def _run(
        self, head: Project, path: Path, header: Header, prepared: Prepared, failures: Sequence[Failure]
    ) -> None:
        """Measure what there is to measure; where there is nothing, the machine is not waited for."""
        if not prepared.pairs and not prepared.alone:
            with begun(path, header, failures) as writer:
                self._end(path, writer)
            return
        with head.measuring(self.id, owner_token(), None, tell) as context:
            header = _planned(replace(header, host=context.host), head.suite.root, prepared)
            with begun(path, header, failures) as writer:
                self._measure(context, writer, Run(header), prepared)
                self._end(path, writer)

    def _measure(self, context: LaunchContext, writer: RunWriter, run: Run, prepared: Prepared) -> None:
        """What head has alone, then the pairs; what `run` has already is not measured again."""
        header = run.header
        plan = header.compare or ComparePlan(Rule.threshold, Rule.most)
        log = ComparisonLog(prepared.pairs, plan.budget)
        sizes = dict(run.sizes)
        record = Recorder(writer, sizes)
        work = Measurement(context, header.plan, record, log, header.seed, sizes, plan.plans)
        with log.live():
            self._measure_alone(work, run, prepared.alone, 2 * plan.batch)
            own: list[Launch] = [launch for launch in run.launches if launch.case in prepared.pairs]
            PairRun(work, prepared.pairs, plan, rule_of(run), header.seed, log, own, self.request.until).run()

    def _measure_alone(self, work: Measurement, run: Run, jobs: Sequence[Job], batch: int) -> None:
        """A case whose launches go wrong gets no more of them, as one that has pairs."""
        done = {(launch.case, launch.number) for launch in run.launches}
        bad = Counter(launch.case for launch in run.launches if launch.outcome != "ok")
        for wanted in launch_batches(jobs, run.header.launches, batch, run.header.seed):
            left = [one for one in wanted if (one[0].case.id, one[1]) not in done]
            left = [one for one in left if bad[one[0].case.id] < ENOUGH_BAD]
            launches = work.batch(left) if left else ()
            bad.update(launch.case for launch in launches if launch.outcome != "ok")

    def _end(self, path: Path, writer: RunWriter) -> None:
        """The run file's last line: how it ended."""
        outcome = compare(read_run(path)).outcome
        writer.end(exit=int(outcome), seconds=time.monotonic() - self.began, build_seconds=self.build_seconds)


def _planned(header: Header, root: Path, prepared: Prepared) -> Header:
    """With the plans of those cases that were calibrated on this machine."""
    if header.compare is None or header.host is None:
        return header
    found = {case: calibrated_plan(root, header.host, case, header.plan) for case in prepared.pairs}
    plans = {case: plan for case, plan in found.items() if plan != header.plan}
    return replace(header, compare=replace(header.compare, plans=plans))


@dataclass
class _Resumed(_Comparison):
    """A comparison that goes on where it was cut short: same commits, same plan, same order of everything."""

    def execute(self) -> Path:
        """Measure what is missing."""
        path = self.request.resume or Path()
        run = read_run(path)
        plan = _resumable(path, run)
        if run.complete:
            tell(f"{path} is complete: nothing is left to measure")
            return path
        suite = find_suite(self.request.start)
        base, head = self._open_again(suite, path, run.header)
        with watched(head.engine, self.id), _kept(path):
            known = {failure.case for failure in run.failures if failure.kind != "first"}
            cases = [case for case in run.header.cases if case.id not in known]
            self.request = replace(self.request, control=plan.control)
            prepared = self._prepare(base, head, cases)
            _check_identities(path, run, prepared)
            self._go_on(head, path, run, prepared)
        return path

    def _open_again(self, suite: Suite, path: Path, header: Header) -> tuple[Project, Project]:
        if suite.project != header.project:
            raise ConfigError(f"is of the project {header.project}, this suite is {suite.project}'s", file=path)
        commits = {arm.name: "" if arm.commit == "worktree" else arm.commit for arm in header.arms}
        base, head = open_arms(
            suite, {name: commits[name] for name in ("base", "head")}, tell=tell, progress=BuildLog()
        )
        return base, head

    def _go_on(self, head: Project, path: Path, run: Run, prepared: Prepared) -> None:
        known = {failure.case for failure in run.failures}
        with closing(RunWriter(path)) as writer:
            for failure in prepared.failures:
                if failure.case not in known:
                    writer.failure(failure)
            if prepared.pairs or prepared.alone:
                with head.measuring(self.id, owner_token(), None, tell) as context:
                    _check_alone(path, run)
                    _check_machine(path, run, context)
                    self._measure(context, writer, run, prepared)
            self.began -= sum(sum(launch.spent.values()) for launch in run.launches)
            self._end(path, writer)


def _resumable(path: Path, run: Run) -> ComparePlan:
    if run.header.compare is None:
        raise ConfigError("is not the run file of a comparison; only those can be resumed", file=path)
    if run.header.shards:
        raise ConfigError("was merged; resume the run files that it was merged from", file=path)
    return run.header.compare


def _check_identities(path: Path, run: Run, prepared: Prepared) -> None:
    """What is measured now has to be what was measured before: a working tree may have changed."""
    now = {
        (job.case.id, job.arm): job.resolved.identity
        for job in (*(job for jobs in prepared.pairs.values() for job in jobs), *prepared.alone)
    }
    lost = {failure.case: failure for failure in prepared.failures if failure.kind != "first"}
    for launch in run.launches:
        if launch.case in lost:
            raise _not_any_more(path, lost[launch.case])
        if now.get((launch.case, launch.arm)) != launch.identity:
            raise ConfigError(
                f"{launch.case}: {launch.arm} is no longer what was measured there (its sources or its target have "
                f"changed); start a new comparison",
                file=path,
            )


def _not_any_more(path: Path, failure: Failure) -> WindtunnelError:
    """A case that has launches, and now can't be built, or is the same in base and head."""
    if failure.kind == "failed":
        return WindtunnelError(
            f"{failure.case} can't be launched any more: {failure.arm}: {failure.reason}; what was measured before "
            f"is still in {path}",
            detail=failure.detail,
        )
    return ConfigError(f"{failure.case}: {failure.reason}; start a new comparison", file=path)


def _check_alone(path: Path, run: Run) -> None:
    """While the machine was waited for, whoever held it may have gone on with the same file."""
    now = read_run(path)
    if now.complete or len(now.launches) != len(run.launches):
        raise ConfigError(
            f"another windtunnel went on with it meanwhile; see what there is: windtunnel show {path}", file=path
        )


def _check_machine(path: Path, run: Run, context: LaunchContext) -> None:
    before = run.header.host
    if before is not None and before.cpu_model != context.host.cpu_model:
        raise ConfigError(
            f"was begun on {before.cpu_model}, this is {context.host.cpu_model}; one comparison, one machine",
            file=path,
        )


@contextmanager
def _kept(path: Path) -> Iterator[None]:
    """Where it was cut short (Ctrl-C, a full disk) it is told what there is, and how to go on."""
    try:
        yield
    except (Interrupted, StorageError):
        if path.exists():
            tell(f"what was measured so far is in {path}; go on: windtunnel compare --resume {path}")
        raise
