"""One job that measures: what it is asked for, and what it leaves for its runner and for the report."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from windtunnel.adapters import git
from windtunnel.adapters.results import restore_calibration
from windtunnel.cli.action.annotations import annotate_comparison
from windtunnel.cli.action.events import Event
from windtunnel.cli.action.images import keep_images, restore_images
from windtunnel.cli.action.parts import Part, parse_part
from windtunnel.cli.action.revisions import Revisions
from windtunnel.cli.action.runner import Runner
from windtunnel.cli.action.summaries import comparison_summary, failure_summary, plan_summary
from windtunnel.cli.comparing import Request, compare_revisions
from windtunnel.cli.console import emit, show_error, tell
from windtunnel.cli.plan import shard_matrix
from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import compare
from windtunnel.declare.suite import Suite
from windtunnel.errors import ConfigError, Exit, NothingMeasured, StorageError, WindtunnelError, worst
from windtunnel.publish.artifacts import MATRIX_FILE, RUN_FILE, artifact_name, slug_of
from windtunnel.report.around import Around
from windtunnel.report.comparison import render_comparison
from windtunnel.sample.runfile import read_run

__all__ = ["Job", "Wanted", "top_of"]

_REPORT = "report.md"
_TITLE = "windtunnel"


@dataclass(frozen=True)
class Wanted:
    """What a job is to measure: the options of its command. `bench` are regular expressions, one or more in each."""

    directory: Path
    suite: str
    base: str
    head: str
    bench: tuple[str, ...]
    budget: float | None
    shard: str
    plan: int | None
    output: Path
    images: Path | None

    @property
    def select(self) -> tuple[str, ...]:
        """The regular expressions, one each."""
        return tuple(line.strip() for text in self.bench for line in text.splitlines() if line.strip())

    def part(self) -> Part:
        """Which part of the comparison it is. Raises ConfigError where something is said twice."""
        part = parse_part(self.shard)
        if part.label and self.plan:
            raise ConfigError("--plan cuts a comparison into parts, --shard measures one of them: leave one out")
        for option, given in (("--bench", self.select), ("--budget", self.budget)):
            if part.bench and given:
                raise ConfigError(f"the entry of the matrix has its own {option[2:]}; give {option} to the plan")
        return part


def top_of(folder: Path) -> Path:
    """The folder of the checkout that `folder` is in, as far as git will tell; else where the job stands."""
    try:
        return git.top(folder)
    except WindtunnelError:
        return Path.cwd()


@dataclass(frozen=True)
class Job:
    """What is known once the event is understood. `room` is for so many more warnings."""

    runner: Runner
    event: Event
    wanted: Wanted
    suite: Suite
    revisions: Revisions
    part: Part
    room: int

    # ---------------- a plan

    def planned(self) -> Exit:
        """Cut the comparison into parts."""
        wanted, path = self.wanted, self.wanted.output / MATRIX_FILE
        name = artifact_name("matrix", slug=self._slug(), suite=wanted.suite)
        with self.runner.unheard():
            matrix = shard_matrix(
                self.suite.root,
                wanted.select,
                wanted.plan or 1,
                suite=wanted.suite,
                commit=self.revisions.head,
                budget=wanted.budget,
            )
        text = json.dumps(matrix)
        _write(path, text + "\n")
        self.runner.output(matrix=text, run=path, artifact=name)
        self.runner.summary(plan_summary(matrix))
        return Exit.OK

    def _slug(self) -> str:
        root, top = self.suite.root, top_of(self.suite.root).resolve()
        return slug_of(root.relative_to(top).as_posix() if root.is_relative_to(top) else "")

    # ---------------- a comparison

    def measured(self) -> Exit:
        """Measure it, and say what came of it."""
        path = self.wanted.output / RUN_FILE
        name = artifact_name("run", slug=self._slug(), suite=self.wanted.suite, number=self.part.number)
        self.runner.output(run=path, artifact=name)  # now: what a cancelled job has measured is uploaded too
        try:
            with self.runner.unheard():
                self._introduce()
                if self.wanted.images is not None:
                    restore_images(self.wanted.images)
                compare_revisions(self._request(path))
        except ConfigError:
            raise
        except WindtunnelError as error:
            if path.exists():
                return self._report(path, error)
            if isinstance(error, NothingMeasured):
                return self._nothing(error)
            raise
        return self._report(path)

    def _introduce(self) -> None:
        tell(f"head: {_commit_words(self.suite, self.revisions.head)}")
        tell(f"base: {_commit_words(self.suite, self.revisions.base)}: {self.revisions.why}")
        if restore_calibration(self.suite.root, top_of(self.suite.root), self.suite.settings):
            tell(f"how launches are best loaded is known from {self.suite.settings.results_branch}")

    def _request(self, path: Path) -> Request:
        wanted, part = self.wanted, self.part
        return Request(
            start=wanted.directory,
            base=self.revisions.base,
            head=self.revisions.head,
            select=(part.bench,) if part.bench else wanted.select,
            budget=part.budget or wanted.budget,
            suite=wanted.suite,
            shard="" if part.bench else part.label,
            part=part.label,
            output=path,
        )

    def _nothing(self, error: NothingMeasured) -> Exit:
        """Every case was skipped: nothing failed, and nothing is known."""
        with self.runner.unheard():
            show_error(error)
        self.runner.annotate("warning", str(error), title=f"{_TITLE}: nothing was measured")
        self.runner.summary(failure_summary(error))
        self.runner.output(outcome=error.exit.name.lower(), regressions=0)
        return Exit.OK

    def _report(self, path: Path, stopped: WindtunnelError | None = None) -> Exit:
        run = read_run(path)
        comparison = compare(run)
        with self.runner.unheard():
            emit(render_comparison(run, comparison), kept=f"everything is in {path}")
            if stopped is not None:
                show_error(stopped)
        self._summarise(comparison_summary(run, comparison, self._around(), stopped))
        if stopped is not None:
            self.runner.annotate("warning", f"cut short: {stopped}", title=_TITLE)
        annotate_comparison(self.runner, run, comparison, self.room - (stopped is not None))
        outcome = comparison.strict if stopped is None else worst([comparison.outcome, stopped.exit])
        slower = len(comparison.having(Verdict.REGRESSION))
        self.runner.output(outcome=outcome.name.lower(), regressions=slower)
        self._keep_images()
        return Exit.OK

    def _summarise(self, text: str) -> None:
        """In the job's summary and in a file; where the disk is full, the run file that is there says it all."""
        report = self.wanted.output / _REPORT
        try:
            self.runner.summary(text)
            _write(report, text)
        except StorageError as error:
            self.runner.annotate("warning", str(error), title=_TITLE)
        else:
            self.runner.output(report=report)

    def _keep_images(self) -> None:
        if self.wanted.images is not None:
            with self.runner.unheard():
                kept = keep_images(self.wanted.images, self.event)
            self.runner.output(images=str(kept).lower())

    def _around(self) -> Around:
        return Around(repository_url=self.event.repository_url, suite=self.wanted.suite)


def _commit_words(suite: Suite, commit: str) -> str:
    info = git.describe(suite.repository, commit)
    return f"{info.short} {info.subject}"


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}; make room, or name another --output") from error
