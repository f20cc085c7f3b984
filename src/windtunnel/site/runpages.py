"""A page for each run file, and the list of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from markupsafe import Markup

from windtunnel.compare.rule import JUDGED
from windtunnel.errors import WindtunnelError
from windtunnel.history.nouns import Commit, History, RunRef, Unreadable
from windtunnel.report.comparison_labels import GROUPS, LABELS
from windtunnel.site import paths
from windtunnel.site.accepted import AcceptedRegression, accepted_beside
from windtunnel.site.html import fill
from windtunnel.site.page import Around, Page, Resource
from windtunnel.site.relative import Step, relative_pages, steps_of
from windtunnel.site.runcases import ShownCase, effect_texts, effect_words, shown_case
from windtunnel.site.rundigest import CaseDigest, MetricDigest, RunDigest
from windtunnel.site.rundigests import digest_of, prepare
from windtunnel.site.sweeps import MOST_SWEEPS, shown_sweep

__all__ = ["RUNS", "run_pages", "run_paths"]

RUNS = "runs/index.html"

_ROWS = 400
"""Cases that the table of a page has."""

_REPORTS = 40
"""Cases whose report a page has, those that need somebody first: so a page stays below half a megabyte."""

_CHARTS = 2
"""Cases whose distribution and launches are drawn large."""

_LABELS_OF = {name: name for name in GROUPS} | {"unmeasured": "not measured", "first": "new in head"}

_TONES = {"regression": "worse", "failed": "worse", "invalid": "worse", "improvement": "better"}


@dataclass(frozen=True)
class _Row:
    case: CaseDigest
    verdict: str
    tone: str
    effects: tuple[str, ...]
    anchor: str


@dataclass(frozen=True)
class _Site:
    """What all pages of runs need."""

    history: History
    around: Around
    paths: Mapping[RunRef, str]
    commits: Mapping[str, Commit]
    accepted: Mapping[str, AcceptedRegression]


def run_paths(history: History) -> Mapping[RunRef, str]:
    """The path of the page of each run file."""
    names = {ref: _name(ref) for ref in history.runs()}
    slugs = paths.unique_slugs(names.values())
    return {ref: f"runs/{slugs[name]}.html" for ref, name in names.items()}


def _name(ref: RunRef) -> str:
    """Of two files of one commit and suite each has a name of its own: by its place."""
    return "-".join(part for part in (ref.commit[:12], ref.suite, _place(ref)) if part)


def _place(ref: RunRef) -> str:
    stem = ref.path.name.partition(".jsonl")[0]
    usual = {ref.commit, f"{ref.commit}-{ref.suite}"}
    return "" if stem in usual else stem


def run_pages(history: History, around: Around) -> Iterator[Page | Resource]:
    """The pages of all run files, their list, and what their comparisons come to one after the other."""
    accepted, odd = accepted_beside(history.runs())
    site = _Site(
        history,
        around,
        run_paths(history),
        {commit.hash: commit for commit in history.commits()},
        {one.commit: one for one in accepted},
    )
    passed_over = list(odd)
    rows: list[_ListRow] = []
    steps: list[Step] = []
    prepare([ref.path for ref in site.paths])
    for ref, path in site.paths.items():
        try:
            run = digest_of(ref.path)
        except WindtunnelError as error:
            passed_over.append(Unreadable(ref.path, _without_place(error, ref)))
            continue
        yield Page(path, _title(run, ref), _body(site, ref, run), charts=True, summary=run.headline)
        rows.append(_list_row(site, ref, run))
        steps.extend(steps_of(ref, run, path))
    yield _list(site, rows, passed_over)
    yield from relative_pages(history, around, steps)


def _without_place(error: WindtunnelError, ref: RunRef) -> str:
    return str(error).replace(str(ref.path), short_place(ref.path))


def _title(run: RunDigest, ref: RunRef) -> str:
    named = f"Run of {(run.head or ref.commit)[:8]}"
    return f"{named}: {run.subject}" if run.subject else named


# ---------------- one run


def _body(site: _Site, ref: RunRef, run: RunDigest) -> Markup:
    ordered = sorted(run.cases, key=_urgency)
    shown = [
        shown_case(case, number, _LABELS_OF.get(case.group, ""), charted=number < _CHARTS)
        for number, case in enumerate(islice(filter(_worth, ordered), _REPORTS))
    ]
    anchors = {one.case.id: one.anchor for one in shown}
    path = site.paths[ref]
    return fill(
        "run.html",
        run=run,
        title=_title(run, ref),
        accepted=_accepted_of(site, ref, run),
        labels=[LABELS[name] for name in JUDGED],
        rows=[_row(case, anchors.get(case.id, "")) for case in ordered[:_ROWS]],
        more_rows=max(0, len(ordered) - _ROWS),
        shown=_opened(shown),
        sweeps=[shown_sweep(one, at, several=_several(run)) for at, one in enumerate(run.sweeps[:MOST_SWEEPS])],
        more_sweeps=max(0, len(run.sweeps) - MOST_SWEEPS),
        more_cases=max(0, sum(map(_worth, ordered)) - _REPORTS),
        commits=[site.commits[one] for one in (run.base, run.head) if one in site.commits],
        around=site.around,
        file=short_place(ref.path),
        home=paths.relative(path, paths.HOME),
        all_runs=paths.relative(path, RUNS),
    )


def _several(run: RunDigest) -> bool:
    return len({sweep.arm for sweep in run.sweeps}) > 1


def short_place(path: Path) -> str:
    """Where a file is, without the folders of whoever built the site."""
    return "/".join(path.parts[-3:])


def _urgency(case: CaseDigest) -> int:
    return list(GROUPS).index(case.group) if case.group in GROUPS else len(GROUPS)


def _worth(case: CaseDigest) -> bool:
    """Whether there is more to tell of a case than its row does."""
    return bool(case.arms or case.log or case.remarks)


def _opened(shown: Sequence[ShownCase]) -> list[ShownCase]:
    """The first one is open; the others are a click away."""
    return [one if number else one.opened() for number, one in enumerate(shown)]


def _row(case: CaseDigest, anchor: str) -> _Row:
    why = f": {case.reason}" if case.reason and case.group in {"failed", "invalid", "unmeasured", "skipped"} else ""
    verdict = _LABELS_OF.get(case.group, "") + why
    return _Row(case, verdict, _TONES.get(case.group, "plain"), effect_texts(case), anchor)


def _accepted_of(site: _Site, ref: RunRef, run: RunDigest) -> list[AcceptedRegression]:
    found = site.accepted.get(run.head or ref.commit)
    return [found] if found else []


# ---------------- the list


@dataclass(frozen=True)
class _ListRow:
    link: str
    commit: str
    suite: str
    date: str
    headline: str
    strongest: str
    accepted: str
    cases: int
    cpu: str


def _list_row(site: _Site, ref: RunRef, run: RunDigest) -> _ListRow:
    commit = site.commits.get(ref.commit)
    accepted = _accepted_of(site, ref, run)
    processors = sorted({case.cpu for case in run.cases if case.cpu})
    return _ListRow(
        paths.relative(RUNS, site.paths[ref]),
        ref.commit,
        ref.suite,
        commit.date.date().isoformat() if commit else run.created[:10],
        run.headline,
        _strongest(run),
        accepted[0].by if accepted else "",
        len(run.cases),
        ", ".join(processors[:3]),
    )


def _strongest(run: RunDigest) -> str:
    """The case that changed most, by the metric that decided it; "" where none did."""
    changed = [(case, one) for case in run.cases for one in case.metrics if _decisive(case, one)]
    if not changed:
        return ""
    case, one = max(changed, key=lambda pair: abs(math.log(pair[1].ratio or 1.0)))
    return f"{case.id}: {LABELS[one.name]} {effect_words(one)}"


def _decisive(case: CaseDigest, one: MetricDigest) -> bool:
    return case.group in {"regression", "improvement"} and one.name == case.decided_by and bool(one.ratio)


def _list(site: _Site, rows: Sequence[_ListRow], passed_over: Sequence[Unreadable]) -> Page:
    known = {ref.commit for ref in site.paths}
    body = fill(
        "runs.html",
        home=paths.relative(RUNS, paths.HOME),
        rows=list(reversed(rows)),
        others=[one for commit, one in site.accepted.items() if commit not in known],
        odd=[(short_place(one.path), one.reason) for one in passed_over],
    )
    return Page(RUNS, "Runs", body, section="Performance")
