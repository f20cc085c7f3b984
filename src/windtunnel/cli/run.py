"""`windtunnel run`: measure cases at one revision."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import click

from windtunnel import __version__
from windtunnel.adapters.owner import new_id, owner_token
from windtunnel.adapters.project import Project, open_project
from windtunnel.adapters.watchdog import watched
from windtunnel.cli.console import BuildLog, MeasureLog, emit, tell
from windtunnel.declare.cases import discover
from windtunnel.errors import (
    BuildFailed,
    ConfigError,
    Exit,
    Interrupted,
    NothingMeasured,
    VariantMissing,
    WindtunnelError,
    worst,
)
from windtunnel.launch.launch import LaunchContext
from windtunnel.launch.setup import ensure_load_image
from windtunnel.model import Case, Host, Launch, LaunchPlan
from windtunnel.report.run import render_run, run_to_json
from windtunnel.sample.measure import Job, Measurement
from windtunnel.sample.runfile import Failure, Header, Run, RunWriter, check_writable, read_run
from windtunnel.sample.schedule import launch_batches

__all__ = ["run_command"]

_ENOUGH = 2
"""So many launches of a case may prove nothing before the rest is not tried."""

_CODES = {"ok": Exit.OK, "invalid": Exit.INVALID, "failed": Exit.HEAD_BROKEN, "lost": Exit.INFRASTRUCTURE}


@dataclass(frozen=True)
class _Options:
    select: tuple[str, ...]
    commit: str
    launches: int | None
    quick: bool
    batch: int
    output: Path | None
    as_json: bool


@click.command("run", short_help="Measure cases at one revision.")
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--commit", default="", metavar="REV", help="Measure this revision instead of the working tree.")
@click.option("--launches", type=click.IntRange(1), metavar="N", help="Launches per case [default: 8].")
@click.option("--quick", is_flag=True, help="One launch, one slice: does everything run? The figures mean little.")
@click.option("--batch", type=click.IntRange(1, 32), default=4, show_default=True, help="Launches started together.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The run file [default: .windtunnel/runs/TIME.jsonl beside asv.conf.json].",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def run_command(  # noqa: PLR0913, PLR0917 - click hands over one argument per option
    cases: tuple[str, ...],
    commit: str,
    launches: int | None,
    quick: bool,
    batch: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Measure cases of the suite in this folder (or above it): every CASE is a regular expression over case names;
    without one, all of them.

    \b
    Every launch is a fresh start of the containers. The report goes to standard
    output, what happens meanwhile to standard error, everything measured to the
    run file, launch by launch.

    \b
    Exit codes: 0 measured; 2 usage or configuration; 4 the load or its answers
    were wrong; 5 nothing was measured; 6 infrastructure (engine, disk);
    7 does not build or start; 130 interrupted.
    """
    options = _Options(cases, commit, launches, quick, batch, output, as_json)
    sys.exit(int(_Run(options).execute()))


class _Run:
    """One call of the command."""

    def __init__(self, options: _Options) -> None:
        self.options = options
        self.began = time.monotonic()
        self.id = new_id()
        self.build_seconds = 0.0

    def execute(self) -> Exit:
        """Everything from the sources to the report."""
        project = open_project(Path.cwd(), commit=self.options.commit, tell=tell, progress=BuildLog())
        cases, skipped = self._cases(project)
        path = self._path(project)
        with watched(project.engine, self.id):
            jobs, broken = self._build(project, cases)
            try:
                self._run(project, path, cases, jobs, [*skipped, *broken])
            except Interrupted:
                if path.exists():
                    tell(f"what was measured so far is in {path}")
                raise
            return self._report(path)

    def _run(
        self, project: Project, path: Path, cases: Sequence[Case], jobs: Sequence[Job], failures: Sequence[Failure]
    ) -> None:
        """Measure what could be built; where nothing could, the machine is not waited for."""
        if not jobs:
            with _begun(path, self._header(project, cases, None), failures):
                return
        with (
            project.measuring(self.id, owner_token(), None, tell) as context,
            _begun(path, self._header(project, cases, context.host), failures) as writer,
        ):
            self._measure(project, writer, context, jobs)

    def _path(self, project: Project) -> Path:
        path = self.options.output or project.suite.root / ".windtunnel" / "runs" / f"{self.id}.jsonl"
        if path.exists():
            raise ConfigError("exists already; a run file is never overwritten, name another one", file=path)
        check_writable(path)
        return path

    def _plan(self, project: Project) -> tuple[LaunchPlan, int]:
        """How a launch is loaded, and how many there are of each case."""
        settings = project.suite.settings
        if self.options.quick:
            return replace(settings.launch, slices=1, single_slices=1), self.options.launches or 1
        return settings.launch, self.options.launches or settings.launches

    def _cases(self, project: Project) -> tuple[list[Case], list[Failure]]:
        """The selected cases with their variants; what this revision does not have is skipped."""
        whole, skipped = project.select(discover(project.suite, self.options.select))
        if not whole:
            reasons = "\n".join(f"{case}: {reason}" for case, reason in skipped.items())
            raise NothingMeasured("no case to measure", detail=reasons)
        return whole, [Failure(case, project.arm.name, "skipped", reason) for case, reason in skipped.items()]

    def _build(self, project: Project, cases: Sequence[Case]) -> tuple[list[Job], list[Failure]]:
        """Images for all cases; a case whose image can't be built fails alone."""
        before = time.monotonic()
        ensure_load_image(project.engine, tell)
        done = project.resolve_all(cases)
        self.build_seconds = time.monotonic() - before
        jobs: list[Job] = []
        broken: list[Failure] = []
        for case in cases:
            result = done[case.id]
            if isinstance(result, WindtunnelError):
                kind = "skipped" if isinstance(result, VariantMissing) else "failed"
                broken.append(Failure(case.id, project.arm.name, kind, str(result), result.detail))
                if not isinstance(result, BuildFailed | VariantMissing):
                    raise result  # the engine, the disk or a file is at fault: no other case would fare better
            else:
                jobs.append(Job(case, project.arm.name, result))
        return jobs, broken

    def _header(self, project: Project, cases: Sequence[Case], host: Host | None) -> Header:
        plan, launches = self._plan(project)
        return Header(
            id=self.id,
            created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            windtunnel=__version__,
            command=("windtunnel", *sys.argv[1:]),
            project=project.suite.project,
            seed=self.id,
            plan=plan,
            launches=launches,
            arms=(project.arm_facts(self.options.commit or "worktree"),),
            cases=tuple(cases),
            host=host,
        )

    def _measure(self, project: Project, writer: RunWriter, context: LaunchContext, jobs: Sequence[Job]) -> None:
        plan, launches = self._plan(project)
        log = MeasureLog(len(jobs) * launches)
        work = Measurement(context, plan, writer.launch, log, self.id)
        watch, noted = _Watch(), set[str]()
        with log.live():
            for batch in launch_batches(jobs, launches, self.options.batch, self.id):
                wanted = [(job, number) for job, number in batch if not watch.hopeless(job.case.id)]
                log.left_out(len(batch) - len(wanted))
                for launch in work.batch(wanted) if wanted else ():
                    watch.see(launch)
                for case in work.sizes.keys() - noted:
                    writer.sizes(case, work.sizes[case])
                noted = set(work.sizes)

    def _report(self, path: Path) -> Exit:
        code = _outcome(read_run(path))
        with closing(RunWriter(path)) as writer:
            writer.end(exit=int(code), seconds=time.monotonic() - self.began, build_seconds=self.build_seconds)
        run = read_run(path)
        as_json = self.options.as_json
        tell(f"run file: {path}")
        emit(
            json.dumps(run_to_json(run), indent=2, allow_nan=False) if as_json else render_run(run),
            kept=f"everything measured is in {path}",
        )
        return code


@contextmanager
def _begun(path: Path, header: Header, failures: Sequence[Failure]) -> Iterator[RunWriter]:
    """The run file with its header, and what is known already: cases that are not there or can't be built.

    Made as late as that, so that there is never one that nothing is in.
    """
    with closing(RunWriter(path)) as writer:
        writer.header(header)
        for failure in failures:
            writer.failure(failure)
        yield writer


class _Watch:
    """Which cases are not worth another launch: it did not start once, or proved nothing twice."""

    def __init__(self) -> None:
        self._bad: Counter[str] = Counter()

    def see(self, launch: Launch) -> None:
        """Take note of a launch that has ended."""
        if launch.outcome != "ok":
            before = self._bad[launch.case]
            self._bad[launch.case] += _ENOUGH if launch.outcome == "failed" else 1
            if before < _ENOUGH <= self._bad[launch.case]:
                tell(f"{launch.case}: no more launches, they would only end the same way")

    def hopeless(self, case: str) -> bool:
        """Whether to leave it."""
        return self._bad[case] >= _ENOUGH


def _outcome(run: Run) -> Exit:
    """The exit code: nothing that failed is ever covered by what went well."""
    codes = [_CODES[launch.outcome] for launch in run.launches]
    codes += [Exit.HEAD_BROKEN for failure in run.failures if failure.kind == "failed"]
    if not any(launch.outcome == "ok" for launch in run.launches):
        codes.append(Exit.NOTHING_MEASURED)
    return worst(codes)
