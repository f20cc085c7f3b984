"""`windtunnel bisect`: which commit changed a case?"""

from __future__ import annotations

import hashlib
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import click

from windtunnel.adapters.history import Ancestry, commit_at
from windtunnel.cli.comparing import Request, compare_revisions
from windtunnel.cli.console import tell
from windtunnel.cli.kept import Measure, ends_everything, judged, kept_name, measured, write_reports
from windtunnel.cli.options import DURATION, SHARE
from windtunnel.cli.project import slug
from windtunnel.compare.bisection import Answer, Care, Found, Level, Placement, Side, Span, Step, classify, search
from windtunnel.compare.effects import pairs_of, series_of
from windtunnel.compare.rule import JUDGED, Verdict
from windtunnel.compare.verdict import CaseResult, MetricResult
from windtunnel.declare.cases import discover
from windtunnel.declare.suite import Suite, find_suite
from windtunnel.errors import ConfigError, Exit, Interrupted, WindtunnelError, worst
from windtunnel.report.bisect import Bisection, Check, Named, bisect_to_json, render_bisect, step_words
from windtunnel.report.comparison_words import LABELS, effect_words
from windtunnel.report.replay import seconds_of
from windtunnel.sample.runfile import Run
from windtunnel.units import Missing

__all__ = ["Bisect", "bisect_command"]

_BUDGET = 600.0
"""Seconds that one step may take, where nothing else is said."""

_CHANGED = {Verdict.REGRESSION, Verdict.IMPROVEMENT}


@click.command("bisect", short_help="Which commit changed a case?")
@click.argument("good")
@click.argument("bad")
@click.argument("case")
@click.option(
    "--metric", type=click.Choice(JUDGED), help="Follow this metric [default: the one that decides the case]."
)
@click.option("--budget", type=DURATION, default="10m", show_default=True, help="Machine time for one step, at most.")
@click.option("--threshold", type=SHARE, help="A change below it is not worth a word [default: the project's].")
@click.option("--json", "json_file", metavar="FILE", help="The report as JSON; - is standard output.")
def bisect_command(  # noqa: PLR0913, PLR0917 - click hands over one argument per option
    good: str,
    bad: str,
    case: str,
    metric: str | None,
    budget: float,
    threshold: float | None,
    json_file: str | None,
) -> None:
    """Find the commit between GOOD and BAD that changed CASE, for the worse or for the better. CASE is the name of a
    case, or a regular expression that finds exactly one. GOOD must be an ancestor of BAD.

    \b
    First GOOD is compared with BAD. Where they differ, the range is halved as
    git bisect does it: each step compares GOOD with a commit in the middle, for
    as long as it takes to be sure on which side of half the change it is. A
    commit that cannot be built, or does not have the case, is skipped. At the
    end the found commit is compared with its parent directly.

    \b
    Nothing is checked out, and git's own bisect is not touched. Every step has a
    run file below .windtunnel/bisect: the same command goes on where it ended.

    \b
    Exit codes: 0 found, or nothing changed; 2 usage or configuration; 3 could
    not be told, or only as one of several commits; 4, 6, 7 GOOD or BAD could
    not be measured (wrong answers; infrastructure or GOOD; BAD); 5 nothing was
    measured; 130 interrupted.
    """
    here = Path.cwd()
    suite = find_suite(here)
    commits = Ancestry(suite.repository, good, bad)
    name = _the_case(suite, case)
    folder = (
        suite.root / ".windtunnel" / "bisect" / f"{slug(name)[:60]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    )
    select = (f"^{re.escape(name)}$",)
    request = Request(start=here, select=select, budget=budget, threshold=threshold)
    found, code = Bisect(request, folder, compare_revisions, commits, name, metric or "").run()
    write_reports(render_bisect(found), bisect_to_json(found), json_file, folder)
    sys.exit(int(code))


def _the_case(suite: Suite, pattern: str) -> str:
    """The one case that is meant, by its name or else by a pattern. Raises ConfigError for none and for several."""
    try:
        found = discover(suite, (f"^{re.escape(pattern)}$",))
    except ConfigError:
        found = discover(suite, (pattern,))
    if not found.cases:
        raise ConfigError("; ".join(f"{name} is not measured: {why}" for name, why in found.skipped))
    if len(found.cases) > 1:
        names = "; ".join(case.id for case in found.cases[:4])
        more = f"; and {len(found.cases) - 4} more" if len(found.cases) > 4 else ""
        raise ConfigError(f'"{pattern}" finds {len(found.cases)} cases, one is needed: {names}{more}')
    return found.cases[0].id


@dataclass
class Bisect:
    """One search.

    Attributes:
        request: what is the same for all comparisons; its budget is one step's.
        folder: where their run files are.
        measure: makes or resumes one.
        commits: the range.
        case: the case's id.
        metric: which judged metric is followed; "" for the one that decides the case.
        say: tells whoever watches.
        care: how sure a step has to be.
    """

    request: Request
    folder: Path
    measure: Measure
    commits: Ancestry
    case: str
    metric: str = ""
    say: Callable[[str], None] = tell
    care: Care = field(default_factory=Care)
    _seconds: list[float] = field(default_factory=list, init=False)
    _files: dict[str, str] = field(default_factory=dict, init=False)

    def run(self) -> tuple[Bisection, Exit]:
        """Search; what was found, and the exit code.

        Raises:
            ConfigError: a run file that is there already is of something else.
            WindtunnelError: the two ends can't be compared.
            EngineError, StorageError, Interrupted: what is complete is kept, and the same command goes on.
        """
        try:
            return self._run()
        except (Interrupted, WindtunnelError):
            if self._files:
                self.say(f"the steps so far are in {self.folder}; the same command goes on from there")
            raise

    def _run(self) -> tuple[Bisection, Exit]:
        good, bad = self.commits.good, self.commits.bad
        self.say(f"bisect: {good[:12]} (good) against {bad[:12]} (bad)")
        result = self._result(self._measured(self._wanted(good, bad), bad))
        whole = result.metrics.get(self.metric or result.decided_by)
        said, code = _ends_words(result, whole)
        self.say(f"bisect: {said}")
        if whole is None or whole.finding is None or code is not None:
            return self._told(whole, said), Exit.INCONCLUSIVE if code is None else code
        self.metric = whole.metric
        span = Span(Level(0.0), Level(whole.finding.estimate, whole.finding.error))
        found = search(self.commits, (good, bad), span, self._ask, self.care)
        check = self._check(found, whole) if found.sure else None
        sure = check is not None and check.confirmed
        return self._told(whole, said, found, check), Exit.OK if sure else Exit.INCONCLUSIVE

    # ---------------- comparisons

    def _wanted(self, base: str, head: str, note: str = "") -> Request:
        return replace(self.request, base=base, head=head, output=self.folder / kept_name(base, head, note))

    def _measured(self, request: Request, commit: str = "") -> Run:
        """The run of a request; `commit` is the one whose step it is."""
        run = measured(request, self.measure)
        if commit:
            self._files[commit] = str(request.output)
        seconds = seconds_of(run)
        self._seconds += [] if isinstance(seconds, Missing) else [seconds]
        return run

    def _result(self, run: Run) -> CaseResult:
        comparison = judged(run, self.request.threshold)
        return next(one for one in comparison.cases if one.case.id == self.case)

    # ---------------- one step

    def _ask(self, commit: str, span: Span, left: int) -> Answer:
        steps = math.ceil(math.log2(left))
        more = "1 step" if steps == 1 else f"{steps} steps"
        self.say(f"bisect: {left} commits are left, about {more}; next {self._line(commit)}")
        try:
            answer = self._answer(self._step(commit, span), span)
        except WindtunnelError as error:
            if ends_everything(error):
                raise
            answer = Answer(None, str(error))
        self.say(f"bisect: {commit[:12]} {step_words(Step(commit, span, answer))}")
        return answer

    def _step(self, commit: str, span: Span) -> Run:
        """The comparison of one step. One that was not sure is made anew where there is more time for it now."""
        attempt = 1
        while True:
            request = self._wanted(self.commits.good, commit, "" if attempt == 1 else f"-{attempt}")
            run = self._measured(replace(request, until=lambda series: self._enough(series, span)), commit)
            if self._as_good_as_it_gets(run, span):
                return run
            attempt += 1

    def _enough(self, series: Mapping[str, Sequence[float]], span: Span) -> bool:
        values = series.get(self.metric, ())
        if max((len(one) for one in series.values()), default=0) >= self.care.most:
            return True
        return bool(values) and classify(values, span, self.care, ended=False).side is not Side.UNSURE

    def _as_good_as_it_gets(self, run: Run, span: Span) -> bool:
        answer = self._answer(run, span)
        if answer.placement is None or answer.side is not Side.UNSURE or answer.placement.count >= self.care.most:
            return True
        before = run.header.compare.budget if run.header.compare else None
        return before is None or self.request.budget is None or before >= self.request.budget

    def _answer(self, run: Run, span: Span) -> Answer:
        result = self._result(run)
        if result.kind == "identical":
            same = "it is launched from the same images as the good end, in the same way"
            return Answer(Placement(Side.GOOD, False, 0, 0.0, 0.0, 0.0, 0.0), same)
        if result.verdict in {Verdict.FAILED, Verdict.INVALID, Verdict.SKIPPED}:
            return Answer(None, result.reason)
        values = series_of(pairs_of(run.launches, self.case)).get(self.metric, ())
        if not values:
            return Answer(None, result.reason or f"{self.metric} was not measured")
        return Answer(classify(values, span, self.care))

    # ---------------- the end

    def _check(self, found: Found, whole: MetricResult) -> Check:
        """The found commit against its parent, in launches that the search did not see."""
        first = found.commits[0]
        parent = self.commits.parent(first)
        if (parent, first) == (self.commits.good, self.commits.bad):
            return Check(parent, whole, confirmed=True)
        self.say(f"bisect: {first[:12]} against its parent {parent[:12]}, as a check")
        try:
            result = self._result(self._measured(self._wanted(parent, first, "-check")))
        except WindtunnelError as error:
            if ends_everything(error):
                raise
            return Check(parent, None, confirmed=False, reason=f"could not be made: {error}")
        direct = result.metrics.get(self.metric)
        if direct is None:
            return Check(parent, None, confirmed=False, reason=result.reason)
        return Check(parent, direct, confirmed=direct.verdict is whole.verdict, reason=direct.reason)

    def _told(
        self, whole: MetricResult | None, said: str, found: Found | None = None, check: Check | None = None
    ) -> Bisection:
        named = {self.commits.good, self.commits.bad}
        if found is not None:
            named |= {*found.commits, *(step.commit for step in found.steps)}
        commits = {name: self._named(name) for name in named}
        ends = commits[self.commits.good], commits[self.commits.bad]
        seconds = sum(self._seconds)
        return Bisection(self.case, self.metric, *ends, whole, said, found, check, commits, seconds, self._files)

    def _named(self, name: str) -> Named:
        known = commit_at(self.commits.repository, name)
        return Named(known.hash, known.author, known.date.isoformat(), known.subject)

    def _line(self, name: str) -> str:
        return f"{name[:12]} {commit_at(self.commits.repository, name).subject[:60]}"


def _ends_words(result: CaseResult, whole: MetricResult | None) -> tuple[str, Exit | None]:
    """What the two ends are to each other; and the exit code, where there is nothing to search for."""
    if result.verdict in {Verdict.FAILED, Verdict.INVALID}:
        return f"{result.verdict.value}: {result.reason}", worst(list(result.codes))
    if result.kind == "identical":
        return "the good and the bad end are identical in everything that is launched: nothing to find", Exit.OK
    if result.verdict is Verdict.SKIPPED:
        return f"the two ends can't be compared: {result.reason}", Exit.NOTHING_MEASURED
    if whole is None or whole.verdict is None:
        why = whole.effect.reason if whole and isinstance(whole.effect, Missing) else result.reason
        return f"nothing was measured that could be followed: {why}", Exit.NOTHING_MEASURED
    return _metric_words(whole)


def _metric_words(whole: MetricResult) -> tuple[str, Exit | None]:
    """The same, where both ends were measured."""
    words = f"{LABELS[whole.metric]} {effect_words(whole)} in {whole.pairs} pairs"
    if whole.verdict in _CHANGED:
        return f"{words}, {whole.verdict.value}", None
    if whole.verdict is Verdict.UNCHANGED:
        return f"{words}, unchanged: there is nothing to find between them", Exit.OK
    return (
        f"{words}, inconclusive ({whole.reason}): a larger --budget, or commits further apart, tell more",
        Exit.INCONCLUSIVE,
    )
