"""The report of a measuring run: one comment on each of its pull requests and one check, for every suite.

What can be done is done: a comment that is refused keeps no check from being made, nor the other way round, and a
suite that can't be judged spoils no other. What went wrong is raised at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from windtunnel.compare.rule import Verdict
from windtunnel.errors import WindtunnelError
from windtunnel.publish.acceptance import Sought, first_measured, seek
from windtunnel.publish.checks import SUMMARY, check_name, post_check
from windtunnel.publish.comment import Deed, Letter, Marker, deliver, key_of, parse_marker, worth_a_comment
from windtunnel.publish.forge import CheckReport, Conclusion, Forge, ForgeError, WorkflowRun
from windtunnel.publish.gate import conclude, short
from windtunnel.publish.judging import Findings, Judged, Scope, judge
from windtunnel.publish.pulls import Addressee, addressees, base_remark, queued_pull
from windtunnel.publish.words import COMMENT, Told, bounded_markdown, told_markdown, why_nothing
from windtunnel.report.around import Around

__all__ = ["REPORTED", "Reported", "Reporter"]

REPORTED = ("pull_request", "merge_group")
"""Events whose runs are reported; runs of others are for those who began them."""

_NO_PULL = "No open pull request has this commit any more: nothing is decided by it."


@dataclass
class Reported:
    """What came of a report.

    Attributes:
        told: by suite, what was told.
        errors: what the forge refused, or the disk.
    """

    told: list[Told] = field(default_factory=list)
    errors: list[WindtunnelError] = field(default_factory=list)

    def add(self, other: Reported) -> None:
        """What came of another one."""
        self.told += other.told
        self.errors += other.errors

    def check(self) -> None:
        """Raise what went wrong, all of it in one error of the first one's kind."""
        if self.errors:
            first = self.errors[0]
            raise type(first)("; ".join(dict.fromkeys(map(str, self.errors))), detail=first.detail) from first


@dataclass
class Reporter:
    """Reports runs of one suite's folder.

    Attributes:
        forge: where to.
        scope: what, and by which settings.
        tell: takes lines for the log; they may hold text from outside.
    """

    forge: Forge
    scope: Scope
    tell: Callable[[str], None]

    def report(self, workflow: WorkflowRun, folder: Path) -> Reported:
        """Report a run. `folder` takes what is downloaded.

        Raises ForgeError for what nothing can be done without; what else was refused is in the result.
        """
        return self.publish(workflow, judge(self.forge, workflow, self.scope, folder))

    def publish(self, workflow: WorkflowRun, found: Findings) -> Reported:
        """The same, of what was judged already."""
        addressed = addressees(self.forge, workflow) if workflow.event == "pull_request" else ()
        for line in _opening(found, addressed):
            self.tell(line)
        reported = Reported()
        for judged in found.judged or self._nothing(workflow, found, addressed):
            _Suite(self, workflow, addressed, judged, reported).publish()
        return reported

    def _nothing(self, workflow: WorkflowRun, found: Findings, addressed: Sequence[Addressee]) -> list[Judged]:
        """A run that has left nothing: every suite that a comment stands of, else the whole project."""
        why = why_nothing(workflow, found.offer)
        if found.offer.others and not found.offer.expired and not found.offer.undeclared:
            self.tell(f"{why} That is the matter of another report.")
            return []
        suites = sorted(self._commented(addressed)) or [""]
        return [Judged(suite, fault=why, foreign=False) for suite in suites]

    def _commented(self, addressed: Sequence[Addressee]) -> set[str]:
        keys = {key_of(self.scope.slug, suite): suite for suite in ("", *self.scope.settings.suites)}
        bodies = [one.body for each in addressed for one in self.forge.comments(each.pull.number) if one.ours]
        return {keys[mark.key] for body in bodies if (mark := parse_marker(body)) is not None and mark.key in keys}


def _opening(found: Findings, addressed: Sequence[Addressee]) -> list[str]:
    """What the log says first."""
    lines = [
        f"suite {suite}: the default branch's windtunnel.toml does not declare it, so it is not reported"
        for suite in found.offer.undeclared
    ]
    if found.offer.others and found.judged:
        lines.append(
            "the run measured other folders too: give their suites other names, or their checks hide each other"
        )
    for one in addressed:
        stands = f"has moved on to {one.newer_head[:10]}" if one.newer_head else "has this head"
        lines.append(f"pull request {one.pull.number} {stands}")
    return lines


# ---------------- one suite


@dataclass
class _Suite:
    """One suite of a run on its way to the forge."""

    reporter: Reporter
    workflow: WorkflowRun
    addressed: Sequence[Addressee]
    judged: Judged
    reported: Reported

    @property
    def key(self) -> str:
        return key_of(self.reporter.scope.slug, self.judged.suite)

    def publish(self) -> None:
        """The comments, then the check, whatever becomes of the others."""
        if self.judged.error is not None:
            self.reported.errors.append(self.judged.error)
        sought = {one.pull.number: self._sought(one) for one in self._fitting()}
        for one in self._written_to():
            self._comment(one, sought.get(one.pull.number, Sought()))
        accepted = [one for one in sought.values() if one.acceptance] or [*sought.values(), self._sought_queue()]
        told = Told(self.judged, self._around(accepted[0]), self.workflow.head_sha)
        self.reported.told.append(told)
        self._check(told)

    def _fitting(self) -> list[Addressee]:
        return [one for one in self.addressed if one.fits(self.judged.base)]

    def _written_to(self) -> list[Addressee]:
        """Whose comment is written: where there is nothing to judge, only what stands for the current head."""
        if self.judged.error is not None:
            return []
        if self.judged.run is None:
            return [one for one in self.addressed if not one.newer_head]
        return self._fitting()

    # ---- acceptance

    def _sought(self, one: Addressee) -> Sought:
        forge, workflow = self.reporter.forge, self.workflow
        return self._seek(lambda: seek(forge, one.pull, first_measured(forge, workflow.head_sha, workflow.created)))

    def _sought_queue(self) -> Sought:
        """What was accepted on a pull request holds for it in the merge queue."""
        return self._seek(self._seek_queued) if self.workflow.event == "merge_group" else Sought()

    def _seek_queued(self) -> Sought:
        forge = self.reporter.forge
        pull = queued_pull(forge, self.workflow)
        runs = forge.workflow_runs(pull.head_sha, "pull_request") if pull is not None else ()
        return seek(forge, pull, min(run.created for run in runs)) if pull is not None and runs else Sought()

    def _seek(self, look: Callable[[], Sought]) -> Sought:
        """Only of a regression is it asked whether it was accepted."""
        if self.judged.comparison is None or not self.judged.comparison.having(Verdict.REGRESSION):
            return Sought()
        try:
            found = look()
        except ForgeError as error:
            self._failed("acceptance", error)
            return Sought(remarks=("Whether the regression was accepted could not be asked.",))
        for note in found.notes:
            self._tell(note)
        return found

    # ---- what is told

    def _around(self, sought: Sought, one: Addressee | None = None) -> Around:
        newer = one.pull.head_sha if one is not None and one.newer_head else ""
        return Around(
            repository_url=self.reporter.scope.repository_url,
            run_url=self.workflow.url,
            suite=self.judged.suite,
            acceptance=sought.acceptance,
            newer_head=newer,
            remarks=(*self.judged.remarks, *sought.remarks, *self._base_remarks()),
            newer_run_url=self._newer_run(newer) if newer else None,
        )

    def _newer_run(self, head: str) -> str | None:
        """The run that measures a newer head; "" where none does."""
        try:
            runs = self.reporter.forge.workflow_runs(head, "pull_request")
        except ForgeError:
            return None  # the report does without
        return next((run.url for run in runs if run.name == self.workflow.name), "")

    def _base_remarks(self) -> list[str]:
        """Why nothing is decided by this run; nothing of that where nobody asks for a decision."""
        if self.workflow.event != "pull_request" or self.judged.run is None:
            return []
        remark = base_remark(self.judged.base, self.addressed) if self.addressed else _NO_PULL
        return [remark] if remark else []

    def _comment(self, one: Addressee, sought: Sought) -> None:
        policy = self.reporter.scope.settings.comment
        if policy == "never":
            return
        marker = Marker(self.key, self.workflow.head_sha, self.workflow.id)
        told = Told(self.judged, self._around(sought, one), self.workflow.head_sha)
        letter = Letter(
            one.pull.number,
            marker,
            told_markdown(told, limit=COMMENT, marker=str(marker)),
            one.pull.head_sha,
            worth_a_comment(policy, self.judged.comparison),
        )
        self._attempt(f"comment on pull request {one.pull.number}", lambda: deliver(self.reporter.forge, letter))

    def _check(self, told: Told) -> None:
        conclusion, title = self._conclusion(told.around)
        report = CheckReport(
            check_name(self.judged.suite),
            self.workflow.head_sha,
            "",
            conclusion,
            title,
            bounded_markdown(told, SUMMARY),
            details_url=self.workflow.url,
        )
        sure = self.judged.error is None  # else what was found out before stands
        self._attempt(
            f"check {report.name}, {conclusion}: {title}",
            lambda: post_check(self.reporter.forge, report, self.key, self.workflow.id, update=sure),
        )

    def _conclusion(self, around: Around) -> tuple[Conclusion, str]:
        """By the gate, unless the run is nobody's."""
        run, comparison = self.judged.run, self.judged.comparison
        if run is None or comparison is None:
            fault = self.judged.fault
            return "neutral", short(f"Nothing was measured: {fault}" if self.judged.foreign else fault)
        conclusion, title = conclude(run, comparison, self.reporter.scope.settings.gate, around.acceptance)
        if remarks := self._base_remarks():
            return "neutral", short(remarks[0])
        return conclusion, title

    # ---- and how it went

    def _attempt(self, what: str, act: Callable[[], Deed]) -> None:
        try:
            self._tell(f"{what}: {act()}")
        except ForgeError as error:
            self._failed(what, error)

    def _failed(self, what: str, error: ForgeError) -> None:
        self.reported.errors.append(error)
        self._tell(f"{what}: {error}")

    def _tell(self, text: str) -> None:
        suite = self.judged.suite
        self.reporter.tell(f"suite {suite}: {text}" if suite else text)
