"""The relative view: what the comparisons of a history come to, one after the other.

Each run file compares a commit with the one that was recorded before it, both on one machine at one time. So their
ratios can be multiplied, whatever machine each was measured on: that is the thread through a history whose runners
change. Where the next comparison does not begin at the commit that the last one ended at, or says nothing of a case,
the thread is broken; what follows begins anew, and nothing is claimed about the gap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from markupsafe import Markup

from windtunnel.compare.rule import JUDGED
from windtunnel.history.nouns import Commit, History, RunRef
from windtunnel.report.comparison_labels import LABELS
from windtunnel.site import paths
from windtunnel.site.html import fill
from windtunnel.site.page import Around, Page
from windtunnel.site.rundigest import CaseDigest, RunDigest
from windtunnel.site.shapes import Link, chain
from windtunnel.units import format_change, format_effect

__all__ = ["RELATIVE", "Point", "Step", "chained", "relative_pages", "relative_paths", "steps_of"]

RELATIVE = "relative/index.html"

_CASES = 60
"""Cases of a class that are drawn; those with the longest chains first."""

_STEPS = 60
"""Links of a case that are listed, the newest."""

_BROKEN = {
    "skipped": "was skipped",
    "failed": "failed",
    "invalid": "was invalid",
    "unmeasured": "was not measured",
    "first": "was new",
}


@dataclass(frozen=True)
class Step:
    """What one comparison says of one case.

    Attributes:
        benchmark, case: the class, and the case's id.
        base, head: commits in full.
        page: the page of the run.
        ratios: by judged metric head / base with its 95 % interval; 1 with no width where base and head are the same.
        why: why there are none, or "".
        cpu: the processor it was measured on.
    """

    benchmark: str
    case: str
    base: str
    head: str
    page: str
    ratios: Mapping[str, tuple[float, float, float]]
    why: str = ""
    cpu: str = ""


@dataclass(frozen=True)
class Point:
    """A place of a chain: the commit, and what it is to the chain's start, with the interval of all links up to it.

    `step` is the link that leads there; None at the start of a chain, of which `why` says what broke the one before.
    """

    commit: str
    ratio: float = 1.0
    low: float = 1.0
    high: float = 1.0
    step: Step | None = None
    why: str = ""


def steps_of(ref: RunRef, run: RunDigest, page: str) -> Iterator[Step]:
    """What a run says of each of its cases; nothing of a run that compares no two commits."""
    if not (run.compared and run.base and (run.head or ref.commit)):
        return
    for case in run.cases:
        ratios = _ratios(case)
        why = "" if ratios else case.reason or _BROKEN.get(case.group, "has no interval")
        head = run.head or ref.commit
        yield Step(case.benchmark, case.id, run.base, head, page, ratios, why, case.cpu)


def _ratios(case: CaseDigest) -> dict[str, tuple[float, float, float]]:
    if case.kind == "identical":
        return dict.fromkeys(JUDGED, (1.0, 1.0, 1.0))
    if case.group in _BROKEN:
        return {}
    return {
        one.name: (one.ratio, one.low, one.high)
        for one in case.metrics
        if one.name in JUDGED and one.ratio and one.low and one.high
    }


def chained(steps: Sequence[Step], metric: str) -> list[list[Point]]:
    """The chains of one case, oldest first. `steps` are in the order of their heads.

    Logarithms of the ratios add up. The links are independent of each other, so the distances of their ends add up as
    squares, those below and those above apart (the method of variance estimates recovery for a sum; Zou and Donner,
    Statistics in Medicine 27, 2008): with each link the interval widens, by less than the link's own.
    """
    chains: list[list[Point]] = []
    below = above = 0.0
    for step in steps:
        found = step.ratios.get(metric)
        if found is None:
            continue
        why = _gap(chains, step, steps, metric)
        if why is not None:
            chains.append([Point(step.base, why=why)])
            below = above = 0.0
        ratio, low, high = map(math.log, found)
        below, above = math.hypot(below, ratio - low), math.hypot(above, high - ratio)
        middle = math.log(chains[-1][-1].ratio) + ratio
        chains[-1].append(Point(step.head, _exp(middle), _exp(middle - below), _exp(middle + above), step))
    return chains


def _gap(chains: Sequence[Sequence[Point]], step: Step, steps: Sequence[Step], metric: str) -> str | None:
    """Why a chain begins with this step, in words; None where it goes on."""
    if not chains:
        return ""
    last = chains[-1][-1].commit
    if last == step.base:
        return None
    silent = next((one for one in steps if one.base == last and metric not in one.ratios), None)
    if silent is not None:
        return f"the comparison from {last[:8]} to {silent.head[:8]} says nothing: {silent.why or 'not measured'}"
    return f"no comparison leads from {last[:8]} to {step.base[:8]}"


def _exp(value: float) -> float:
    return math.exp(max(-700.0, min(700.0, value)))


# ---------------- pages


@dataclass(frozen=True)
class _Row:
    """A metric of a case: drawn and in words."""

    label: str
    drawing: Markup
    whole: str
    since: str
    links: int
    low: str
    high: str


@dataclass(frozen=True)
class _Listed:
    """One line of the list of links."""

    commit: Commit | None
    hash: str
    page: str
    effect: str
    whole: str
    why: str
    machine: str = ""


@dataclass(frozen=True)
class _Case:
    name: str
    rows: tuple[_Row, ...]
    listed: tuple[_Listed, ...]
    older: int


def relative_paths(names: Sequence[str]) -> Mapping[str, str]:
    """The pages of these classes."""
    return {name: f"relative/{one}.html" for name, one in paths.unique_slugs(names).items()}


def relative_pages(history: History, around: Around, steps: Sequence[Step]) -> Iterator[Page]:
    """A page for each class that has comparisons, and their list."""
    position = {commit.hash: commit.position for commit in history.commits()}
    classes: dict[str, dict[str, dict[str, Step]]] = {}
    for step in sorted(steps, key=lambda one: position.get(one.head, -1)):
        classes.setdefault(step.benchmark, {}).setdefault(step.case, {})[step.head] = step
    found, pages = relative_paths(sorted(classes)), paths.class_paths(history)
    commits = {commit.hash: commit for commit in history.commits()}
    for name, path in found.items():
        cases = [_case(path, case, list(own.values()), commits) for case, own in classes[name].items()]
        cases.sort(key=lambda one: -max((row.links for row in one.rows), default=0))
        yield Page(path, f"{name}, relative", _body(path, name, cases, around, pages.get(name, "")))
    if found:
        yield _index(found, classes)


def _body(path: str, name: str, cases: Sequence[_Case], around: Around, class_page: str) -> Markup:
    return fill(
        "relative.html",
        name=name,
        around=around,
        cases=cases[:_CASES],
        more=max(0, len(cases) - _CASES),
        home=paths.relative(path, paths.HOME),
        index=paths.relative(path, RELATIVE),
        class_page=paths.relative(path, class_page) if class_page else "",
    )


def _index(found: Mapping[str, str], classes: Mapping[str, Mapping[str, Mapping[str, Step]]]) -> Page:
    rows = [
        (
            name,
            paths.relative(RELATIVE, path),
            len(classes[name]),
            len({head for steps in classes[name].values() for head in steps}),
        )
        for name, path in found.items()
    ]
    body = fill("relative-index.html", rows=rows, home=paths.relative(RELATIVE, paths.HOME))
    return Page(RELATIVE, "Relative view", body, section="Performance")


def _case(path: str, name: str, steps: Sequence[Step], commits: Mapping[str, Commit]) -> _Case:
    chains = {metric: chained(steps, metric) for metric in JUDGED}
    rows = [_row(metric, found, number, steps) for number, (metric, found) in enumerate(chains.items()) if found]
    main = next((found for found in chains.values() if found), [])
    listed = [
        _listed(path, point, commits, next(iter(point.step.ratios)) if point.step else "")
        for one in main
        for point in one
    ]
    machines = _machine_changes([point for one in main for point in one])
    shown = [replace(one, machine=machine) for one, machine in zip(listed, machines, strict=True)]
    return _Case(name, tuple(rows), tuple(reversed(shown))[:_STEPS], max(0, len(shown) - _STEPS))


def _row(metric: str, chains: Sequence[Sequence[Point]], number: int, steps: Sequence[Step]) -> _Row:
    ends = [end for one in chains for point in one for end in (point.low, point.high)]
    low, high = min(ends), max(ends)
    order = {step.head: place for place, step in enumerate(steps, 1)}
    size = max(1, len(steps))
    drawn = [
        [Link(_place(point, one, order) / size, point.ratio, point.low, point.high) for point in one]
        for one in chains
    ]
    last = chains[-1][-1]
    return _Row(
        LABELS[metric],
        chain(drawn, low, high, number, _marks(steps)),
        format_effect(last.ratio, last.low, last.high),
        chains[-1][0].commit,
        len(chains[-1]) - 1,
        format_change(low),
        format_change(high),
    )


def _marks(steps: Sequence[Step]) -> list[float]:
    """Where the processor is another one from there on: in the middle between the two comparisons."""
    changes = [place for place, (old, new) in enumerate(pairwise(steps), 1) if old.cpu != new.cpu]
    return [place / len(steps) for place in changes]


def _place(point: Point, one: Sequence[Point], order: Mapping[str, int]) -> int:
    """Steps from the left; a chain's start is one step before its first link, wherever its commit is."""
    return order[point.commit] if point.step else order[one[1].commit] - 1


def _listed(path: str, point: Point, commits: Mapping[str, Commit], metric: str) -> _Listed:
    step = point.step
    return _Listed(
        commits.get(point.commit),
        point.commit,
        paths.relative(path, step.page) if step else "",
        format_effect(*step.ratios[metric]) if step else "",
        format_effect(point.ratio, point.low, point.high) if step else "start",
        point.why,
    )


def _machine_changes(points: Sequence[Point]) -> list[str]:
    """For each point the processor, where it is another one than that of the link before."""
    told, before = [], ""
    for point in points:
        cpu = point.step.cpu if point.step else before
        told.append(cpu if cpu and cpu != before else "")
        before = cpu
    return told
