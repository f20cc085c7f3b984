"""`windtunnel action record`: a job of a workflow adds what a push to the main branch brought to the history.

As with measuring, the job ends well whatever the verdict. It fails where nothing could be measured, and where the
history can't be written: then the run file stays, and nothing that was measured is lost.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from windtunnel.adapters import git
from windtunnel.adapters.remote import remote_of
from windtunnel.adapters.results import ResultsBranch, layout_of, open_results
from windtunnel.cli.action.annotations import annotate_comparison, annotate_error
from windtunnel.cli.action.calibration import record_calibration
from windtunnel.cli.action.events import Event, read_event
from windtunnel.cli.action.github import forge_of
from windtunnel.cli.action.images import keep_images, restore_images
from windtunnel.cli.action.mainline import head_of, main_of
from windtunnel.cli.action.precautions import withhold
from windtunnel.cli.action.recording import Measured, Recording, Wanted
from windtunnel.cli.action.runner import Runner
from windtunnel.cli.action.site import SiteFolders, build_site
from windtunnel.cli.action.summaries import comparison_summary, failure_summary
from windtunnel.cli.console import show_error, tell
from windtunnel.cli.options import DURATION
from windtunnel.cli.push import push_images
from windtunnel.declare.suite import Suite, find_suite
from windtunnel.errors import Exit, Interrupted, WindtunnelError
from windtunnel.publish.accepted import Accepted, accepted_on_main
from windtunnel.publish.artifacts import RUN_FILE, artifact_name
from windtunnel.publish.results import check_branch_name, check_format
from windtunnel.report.around import Around

__all__ = ["record_command"]

_TITLE = "windtunnel"


def _if_given(convert: Callable[[str, click.Parameter, click.Context], Any]) -> Callable[..., Any]:
    """An input of an action that nobody has set is an empty text."""
    return lambda context, parameter, value: convert(value, parameter, context) if value else None


@dataclass(frozen=True)
class _Asked:
    """The command's options; folders are absolute."""

    directory: Path
    suite: str
    budget: float | None
    site: Path | None
    output: Path | None
    images: Path | None
    calibrate: bool


@dataclass(frozen=True)
class _Outputs:
    """What the step hands on. `code` is what the command ends with."""

    outcome: Exit
    regressions: int = 0
    recorded: str = ""
    site: str = ""
    code: Exit = Exit.OK


@click.command("record", short_help="Measure a push to main and add it to the history.")
@click.option("--directory", default=".", metavar="DIR", help="The folder of asv.conf.json, or one below it.")
@click.option("--suite", default="", metavar="NAME", help="The cases and the budget of [suites.NAME].")
@click.option("--budget", callback=_if_given(DURATION.convert), metavar="TIME", help="Machine time for all cases.")
@click.option("--site", default="", metavar="FOLDER", help="Build the site of the history there.")
@click.option(
    "--output",
    default="",
    metavar="FOLDER",
    help="Where run.jsonl is put [default: a folder for each commit below .windtunnel/record].",
)
@click.option("--images", default="", metavar="FOLDER", help="Images of earlier jobs; those of this one are added.")
@click.option("--calibrate", is_flag=True, help="Record how launches are best loaded on this machine instead.")
def record_command(directory: str, site: str, output: str, images: str, **given: Any) -> None:
    """Compare a commit of the main branch with the last one that was recorded, and add one commit to the results
    branch: asv's results, the run file, and who accepted a regression.

    \b
    A step of a workflow that runs on push to the main branch (or on
    workflow_dispatch and schedule there), in a clone with its whole history
    (fetch-depth: 0). The branch is pushed to origin without force. GITHUB_TOKEN
    is what origin takes for a password where it is http(s), and what the forge
    is asked with for who accepted a regression; nothing that is measured has it.

    \b
    The step sets the outputs outcome (as measure does), regressions (how many
    cases got slower), recorded (the commit on the results branch, or nothing),
    site (the folder, or nothing), run (the run file), artifact (what to call
    it) and images (true where they are worth keeping). An empty option counts
    as not given.

    \b
    Exit codes: 0 recorded, whatever the verdict, or nothing is left to do;
    2 usage or configuration; 5 nothing was measured; 6 infrastructure: the
    engine, the disk, or the results branch can't be written; 130 interrupted.
    With --calibrate those of windtunnel calibrate.
    """
    places: dict[str, Any] = {"site": _folder(site), "output": _folder(output), "images": _folder(images)}
    asked = _Asked(directory=Path(directory or ".").absolute(), **places, **given)
    sys.exit(int(_executed(Runner(dict(os.environ)), asked)))


def _folder(text: str) -> Path | None:
    return Path(text).absolute() if text else None


def _executed(runner: Runner, asked: _Asked) -> Exit:
    """Errors are told here: their words may be others', and nobody may take them for commands."""
    try:
        outputs = _recorded(runner, asked)
    except (WindtunnelError, Interrupted) as error:
        with runner.unheard():
            show_error(error)
        if isinstance(error, WindtunnelError):
            annotate_error(runner, error, Path.cwd(), asked.directory)
            runner.summary(failure_summary(error, "Nothing was recorded"))
        outputs = _Outputs(error.exit, code=error.exit)
    runner.output(
        outcome=outputs.outcome.name.lower(),
        regressions=outputs.regressions,
        recorded=outputs.recorded,
        site=outputs.site,
    )
    return outputs.code


def _recorded(runner: Runner, asked: _Asked) -> _Outputs:
    event = read_event(runner.environ)
    suite = find_suite(asked.directory)
    head, main = head_of(event, suite), main_of(event, suite)
    settings = suite.settings
    settings.suite(asked.suite)  # a name that is none is refused before anything is measured
    check_branch_name(settings.results_branch, main)
    withhold(os.environ)
    remote = remote_of(git.top(suite.root), runner.environ.get("GITHUB_TOKEN", ""))
    scratch = runner.environ.get("RUNNER_TEMP")
    with (
        open_results(remote, settings.results_branch, Path(scratch) if scratch else None) as branch,
        contextlib.chdir(suite.root),
    ):
        check_format(branch)
        if asked.calibrate:
            with runner.unheard():
                code, commit = record_calibration(suite, branch, tell)
            return _Outputs(code, recorded=commit, code=code)
        return _Job(runner, asked, event, suite, branch, _Push(head, main)).execute()


@dataclass(frozen=True)
class _Push:
    """The commit that is recorded, and the name of the main branch."""

    head: str
    main: str


@dataclass(frozen=True)
class _Job:
    """What is known once the event is understood and the branch was fetched."""

    runner: Runner
    asked: _Asked
    event: Event
    suite: Suite
    branch: ResultsBranch
    push: _Push

    def execute(self) -> _Outputs:
        """Measure, record, build the site."""
        path = self._run_file()
        self.runner.output(run=path, artifact=self._artifact())  # now: what could not be recorded is uploaded too
        wanted = Wanted(self.push.head, self.asked.suite, self.asked.budget, path)
        work = Recording(self.suite, self.branch, wanted, tell)
        with self.runner.unheard():
            if self.asked.images is not None:
                restore_images(self.asked.images)
            measured = work.measure()
        if measured is None:
            self.runner.summary(f"**Nothing to record.** {work.idle}")
            return self._with_site(work, _Outputs(Exit.OK))
        return self._with_site(work, self._add(work, measured))

    def _run_file(self) -> Path:
        if self.asked.output:
            return self.asked.output / RUN_FILE
        return self.suite.root / ".windtunnel" / "record" / f"{self.push.head}{self._artifact()[17:]}" / RUN_FILE

    def _artifact(self) -> str:
        """As the artifacts of measuring jobs are called, and not to be taken for one of them."""
        name = artifact_name("run", slug=layout_of(self.suite.root).slug, suite=self.asked.suite)
        return name.replace("windtunnel-run", "windtunnel-record", 1).rstrip("-")

    def _add(self, work: Recording, measured: Measured) -> _Outputs:
        accepted = self._accepted(measured)
        self._tell(measured, accepted)
        with self.runner.unheard():
            added = work.record(measured, accepted)
            how = "somebody else has recorded it meanwhile" if added.before else "recorded"
            tell(f"{self.push.head[:12]}: {how}; {self.branch.name} is at {added.commit[:12]}")
        self._push_images()
        self._keep_images()
        return _Outputs(measured.comparison.strict, len(measured.regressions), added.commit)

    def _push_images(self) -> None:
        """What main has built, so that pull requests need not. A fault is a warning: the history is written."""
        if not self.suite.settings.registry:
            return
        try:
            with self.runner.unheard():
                push_images(self.suite.root, self.push.head)
        except WindtunnelError as error:
            self._warn(f"images are not pushed: {error}")

    def _keep_images(self) -> None:
        """What main has built, for pull requests where there is no registry."""
        if self.asked.images is not None:
            with self.runner.unheard():
                kept = keep_images(self.asked.images, self.event)
            self.runner.output(images=str(kept).lower())

    def _tell(self, measured: Measured, accepted: tuple[Accepted, ...]) -> None:
        run, comparison = measured.run, measured.comparison
        own = next((one.acceptance for one in accepted if one.commit == self.push.head), None)
        around = Around(
            repository_url=self.event.repository_url,
            run_url=self.event.run_url,
            suite=self.asked.suite,
            acceptance=own,
        )
        self.runner.summary(comparison_summary(run, comparison, around, None))
        annotate_comparison(self.runner, run, comparison)

    def _accepted(self, measured: Measured) -> tuple[Accepted, ...]:
        """A warning where nobody can be asked: what was measured is worth recording all the same."""
        try:
            forge = forge_of(self.event, self.runner.environ)
            return accepted_on_main(forge, measured.commits, self.push.main, self._warn)
        except (WindtunnelError, ImportError) as error:
            self._warn(f"whether a regression was accepted is not recorded: {error}")
            return ()

    def _warn(self, text: str) -> None:
        self.runner.annotate("warning", text, title=_TITLE)

    def _commit_url(self) -> str:
        return f"{self.event.repository_url}/commit/" if self.event.repository_url else ""

    def _with_site(self, work: Recording, outputs: _Outputs) -> _Outputs:
        """It has everything that is recorded by now, also by others. A fault is a warning: the history is written."""
        if self.asked.site is None:
            return outputs
        try:
            with self.runner.unheard(), tempfile.TemporaryDirectory(prefix="windtunnel-history-") as scratch:
                work.lay()
                wanted = SiteFolders(self.asked.site, Path(scratch) if work.lay_history(Path(scratch)) else None)
                built = build_site(self.suite, wanted, self._commit_url(), tell)
        except WindtunnelError as error:
            self._warn(f"the site is not built: {error}")
            return outputs
        return replace(outputs, site=str(self.asked.site) if built else "")
