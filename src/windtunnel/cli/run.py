"""`windtunnel run`: measure cases at one revision."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from windtunnel.adapters.owner import new_id, owner_token
from windtunnel.adapters.project import Project, open_project
from windtunnel.adapters.watchdog import watched
from windtunnel.cli.console import BuildLog, MeasureLog, emit, tell
from windtunnel.cli.forms import chosen_form, format_option
from windtunnel.cli.launching import Watch, begun, unbuilt
from windtunnel.cli.options import check_every, measuring_options
from windtunnel.cli.sweeping import Swept, Variation, form_of, sweep_options, variation
from windtunnel.declare.cases import discover
from windtunnel.errors import (
    ConfigError,
    Exit,
    Interrupted,
    NothingMeasured,
    WindtunnelError,
    worst,
)
from windtunnel.launch.launch import LaunchContext
from windtunnel.launch.setup import ensure_load_image
from windtunnel.model import Case, Host, LaunchPlan
from windtunnel.report.run import render_run
from windtunnel.sample.measure import Job, Measurement
from windtunnel.sample.runfile import Failure, Header, Run, RunWriter, check_writable, read_run
from windtunnel.sample.schedule import group_batches

__all__ = ["RunOptions", "measure", "outcome_of", "run_command"]

_CODES = {"ok": Exit.OK, "invalid": Exit.INVALID, "failed": Exit.HEAD_BROKEN, "lost": Exit.INFRASTRUCTURE}


@dataclass(frozen=True)
class RunOptions:
    """What is to be measured, how, and what report is made of it.

    `select` are regular expressions over case ids. `turns` puts cases into groups that are loaded in turn; without it
    each is loaded by itself.
    """

    select: tuple[str, ...] = ()
    every: bool = False
    commit: str = ""
    launches: int | None = None
    quick: bool = False
    batch: int = 4
    output: Path | None = None
    render: Callable[[Run], str] = render_run
    variation: Variation = field(default_factory=Variation)
    turns: Callable[[Sequence[Case]], Sequence[Sequence[Case]]] | None = None


@click.command("run", short_help="Measure cases at one revision.")
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--all", "every", is_flag=True, help="Nightly cases too; they are left out where no CASE is named.")
@measuring_options
@sweep_options
@format_option()
@click.option("--json", "flag", flag_value="json", help="The same as --format json.")
def run_command(  # noqa: PLR0913, PLR0917 - click hands over one argument per option
    cases: tuple[str, ...],
    every: bool,
    commit: str,
    launches: int | None,
    quick: bool,
    batch: int,
    output: Path | None,
    sweep: Swept | None,
    rate: float | None,
    form: str | None,
    flag: str | None,
) -> None:
    """Measure cases of the suite in this folder (or above it): every CASE is a regular expression over case names;
    without one, all of them but those of nightly classes.

    \b
    Every launch is a fresh start of the containers. The report goes to standard
    output, what happens meanwhile to standard error, everything measured to the
    run file, launch by launch. With --sweep the report is a table and a chart
    over what is swept; `windtunnel show` prints each of its cases in full.

    \b
    Exit codes: 0 measured; 2 usage or configuration; 4 the load or its answers
    were wrong; 5 nothing was measured; 6 infrastructure (engine, disk);
    7 does not build or start; 130 interrupted.
    """
    check_every(every, cases)
    options = RunOptions(cases, every, commit, launches, quick, batch, output)
    changed, render = variation(sweep, rate), form_of(chosen_form(form, flag), sweep)
    sys.exit(int(measure(replace(options, render=render, variation=changed))))


def measure(options: RunOptions) -> Exit:
    """Build, launch, load, and print the report; the outcome is the exit code."""
    return _Run(options).execute()


class _Run:
    """One call of the command."""

    def __init__(self, options: RunOptions) -> None:
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
            with begun(path, self._header(project, cases, None), failures):
                return
        with (
            project.measuring(self.id, owner_token(), None, tell) as context,
            begun(path, self._header(project, cases, context.host), failures) as writer,
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
        found = discover(project.suite, self.options.select, nightly=self.options.every)
        if found.nightly:
            tell(found.left_out("--all takes them in"))
        whole, skipped = project.select(found)
        whole, declined = self.options.variation.applied(whole, found.places)
        skipped |= declined
        if not whole:
            reasons = "\n".join(f"{case}: {reason}" for case, reason in skipped.items())
            raise NothingMeasured("no case to measure", detail=reasons)
        return whole, [Failure(case, project.arm.name, "skipped", reason) for case, reason in skipped.items()]

    def _build(self, project: Project, cases: Sequence[Case]) -> tuple[list[Job], list[Failure]]:
        """Images for all cases; a case whose image can't be built fails alone."""
        before = time.monotonic()
        ensure_load_image(project.engine, tell, project.builder.registry)
        done = project.resolve_all(cases)
        self.build_seconds = time.monotonic() - before
        jobs: list[Job] = []
        broken: list[Failure] = []
        for case in cases:
            result = done[case.id]
            if isinstance(result, WindtunnelError):
                broken.append(unbuilt(case.id, project.arm.name, result))
            else:
                jobs.append(Job(case, project.arm.name, result))
        return jobs, broken

    def _header(self, project: Project, cases: Sequence[Case], host: Host | None) -> Header:
        plan, launches = self._plan(project)
        header = project.header(self.id, (project, self.options.commit or "worktree"))
        groups = self.options.turns(cases) if self.options.turns else ()
        turns = tuple(tuple(case.id for case in group) for group in groups)
        return replace(header, plan=plan, launches=launches, cases=tuple(cases), host=host, turns=turns)

    def _groups(self, jobs: Sequence[Job]) -> Sequence[Sequence[Job]]:
        """What is loaded in turn, of that which could be built."""
        if self.options.turns is None:
            return [[job] for job in jobs]
        own = {job.case.id: job for job in jobs}
        groups = self.options.turns([job.case for job in jobs])
        return [[own[case.id] for case in group] for group in groups]

    def _measure(self, project: Project, writer: RunWriter, context: LaunchContext, jobs: Sequence[Job]) -> None:
        plan, launches = self._plan(project)
        log = MeasureLog(len(jobs) * launches)
        work = Measurement(context, plan, writer.launch, log, self.id)
        watch, noted = Watch(), set[str]()
        with log.live():
            for batch in group_batches(self._groups(jobs), launches, self.options.batch, self.id):
                worth = [[one for one in group if not watch.hopeless(one[0].case.id)] for group in batch]
                wanted = [group for group in worth if group]
                log.left_out(sum(map(len, batch)) - sum(map(len, wanted)))
                for launch in work.groups(wanted) if wanted else ():
                    watch.see(launch)
                for case in work.sizes.keys() - noted:
                    writer.sizes(case, work.sizes[case])
                noted = set(work.sizes)

    def _report(self, path: Path) -> Exit:
        code = outcome_of(read_run(path))
        with closing(RunWriter(path)) as writer:
            writer.end(exit=int(code), seconds=time.monotonic() - self.began, build_seconds=self.build_seconds)
        tell(f"run file: {path}")
        emit(self.options.render(read_run(path)), kept=f"everything measured is in {path}")
        return code


def outcome_of(run: Run) -> Exit:
    """The exit code: nothing that failed is ever covered by what went well."""
    codes = [_CODES[launch.outcome] for launch in run.launches]
    codes += [Exit.HEAD_BROKEN for failure in run.failures if failure.kind == "failed"]
    if not any(launch.outcome == "ok" for launch in run.launches):
        codes.append(Exit.NOTHING_MEASURED)
    return worst(codes)
