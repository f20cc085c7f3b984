"""Comparisons as a comment shows them: wide and huge matrices, and what a forge adds around them.

A huge matrix is made of results that `compare` has come to elsewhere, each under another name: measuring thousands of
cases, be it on paper, takes minutes.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import cycle, islice, product

from example_comparisons import HEAD, IDENTICAL, LOG, RULE, RUNS, Measured, Sides, case, judged, launch, run_of
from windtunnel.compare.verdict import CaseResult, Comparison, compare
from windtunnel.errors import Exit, worst
from windtunnel.model import Case, Variant, Workload
from windtunnel.report.around import Acceptance, Around
from windtunnel.report.comparison_labels import group_of
from windtunnel.sample.runfile import Failure, Run

REPOSITORY = "https://forge.example/example/starlet"
RUN = f"{REPOSITORY}/actions/runs/4711"
MARKER = f"windtunnel comment ./pr head={HEAD.commit} run=4711"
WHEN = datetime.datetime(2026, 11, 30, 14, 5, tzinfo=datetime.UTC)
NEWER = "0fedcba987" * 4


@dataclass(frozen=True)
class Shown:
    """What `comparison_markdown` is given."""

    run: Run
    comparison: Comparison
    around: Around = field(default_factory=Around)
    marker: str = ""
    limit: int = 60_000


# ---------------- many cases


@cache
def like(group: str) -> CaseResult:
    """A result of that group, whatever its name."""
    found = [*judged("mixed").cases, *judged("unfinished").cases]
    return next(one for one in found if group_of(one) == group)


def matrix_case(values: Sequence[str], names: Sequence[str], benchmark: str = "psgi.Starlet") -> Case:
    """A case with these parameters."""
    params = tuple(zip(names, values, strict=True))
    return Case(benchmark, params, Variant("starlet", params[:1]), Workload(axes=dict(params[:1]), concurrency=16))


def assembled(results: Iterable[CaseResult]) -> tuple[Run, Comparison]:
    """A run and a comparison of these results; the launches are left out, as no report looks into them."""
    cases = tuple(results)
    codes = [code for one in cases for code in one.codes]
    told: list[Exit] = [code for code in codes if code is not Exit.INCONCLUSIVE]
    run = RUNS["mixed"]
    header = replace(run.header, cases=tuple(one.case for one in cases))
    return replace(run, header=header, launches=(), failures=()), Comparison(cases, RULE, worst(told), worst(codes))


def many(groups: Sequence[str], count: int, width: int = 0) -> tuple[Run, Comparison]:
    """So many cases, of these groups in turn, in tables of 50; `width` makes the names longer."""
    tables = [f"suite{number}.Page" + "x" * width for number in range(1 + count // 50)]
    modes = ("close", "keepalive", "http2", "tls", "proxy")
    places = product(tables, (f"5.{number}" for number in range(22, 42, 2)), modes)
    cases = [matrix_case((perl, mode), ("perl", "mode"), table) for table, perl, mode in islice(places, count)]
    return assembled(replace(like(group), case=one) for one, group in zip(cases, cycle(groups), strict=False))


# ---------------- states


def _on_forge(name: str, **around: object) -> Shown:
    whole = {"repository_url": REPOSITORY, "run_url": RUN, **around}
    return Shown(RUNS[name], judged(name), Around(**whole), MARKER)  # type: ignore[arg-type]


def _accepted_by_comment() -> Shown:
    reason = "Logging each request is worth it, see #12; @someone <b>agrees</b>"
    url = f"{REPOSITORY}/pull/7#issuecomment-99"
    return _on_forge("regression", acceptance=Acceptance("alice", reason, WHEN, url))


def _accepted_by_label() -> Shown:
    acceptance = Acceptance("alice", "", WHEN, label="windtunnel-accepted")
    return _on_forge("mixed", acceptance=acceptance)


def _grid() -> Shown:
    """Perl by connection: one perl is slower throughout, one case faster, some are not told or broken."""
    perls, modes = ("5.32", "5.36", "5.40"), ("close", "keepalive", "http2")
    sides = {("5.40", "close"): Sides(cpu=1.06), ("5.40", "keepalive"): Sides(wait=1.08)}
    sides |= {("5.36", "http2"): Sides(cpu=0.93), ("5.32", "keepalive"): Sides(cpu=1.02, noise=9.0)}
    measured = [
        Measured(case(perl, mode), sides.get((perl, mode), Sides(cpu=1.001)), pairs=34 if perl == "5.32" else 16)
        for perl in perls
        for mode in modes
        if (perl, mode) not in {("5.40", "http2"), ("5.32", "http2")}
    ]
    broken = case("5.40", "http2")
    wrong = [launch(broken, "head", number).failing("invalid", "status 60 x 500 instead of 200") for number in (1, 2)]
    run = run_of(measured, cases=[broken], extra=wrong)
    return Shown(run, compare(run, RULE), Around(REPOSITORY, RUN), MARKER)


def _grid_of_three() -> Shown:
    """Three parameters: a table for each value of the third, and only one of them has something to show."""
    names = ("perl", "connection", "workers")
    places = list(product(("5.32", "5.36", "5.40"), ("close", "keepalive"), ("10", "50")))
    slow = [("5.40", "close", "50"), ("5.40", "keepalive", "50")]
    groups = ["regression" if values in slow else "unchanged" for values in places]
    results = [
        replace(like(group), case=matrix_case(values, names)) for group, values in zip(groups, places, strict=True)
    ]
    return Shown(*assembled(results), Around(REPOSITORY, RUN), MARKER)


def _grid_unchanged() -> Shown:
    return _on_forge("unchanged")


def _mostly_unchanged() -> Shown:
    results = [*judged("unchanged").cases[:11], replace(like("inconclusive"), case=case("5.44", "http2"))]
    return Shown(*assembled(results), Around(REPOSITORY, RUN), MARKER)


def _nightly_fails() -> Shown:
    """Forty cases fail for one reason, and twelve more are not built for lack of room."""
    named = [case(f"5.{number}", mode) for number in range(10, 30) for mode in ("close", "keepalive")]
    reason = "the image of starlet can't be built: step 7/9, RUN perl Makefile.PL && make install: exit code 2"
    failures = [Failure(one.id, "head", "failed", reason, LOG) for one in named]
    others = [case(f"6.{number}", "close", "static.File") for number in range(12)]
    failures += [Failure(one.id, "base", "failed", "the disk is full; make room", LOG) for one in others[:2]]
    failures += [Failure(one.id, "head", "identical", IDENTICAL) for one in others[2:]]
    run = run_of(failures=failures, cases=[*named, *others])
    return Shown(run, compare(run, RULE), Around(REPOSITORY, RUN), MARKER)


_ALL_GROUPS = (
    *("unchanged",) * 12,
    *("regression", "improvement", "inconclusive", "inconclusive", "failed", "invalid", "unmeasured", "skipped"),
)


def _huge() -> Shown:
    return Shown(*many(_ALL_GROUPS, 2_000), Around(REPOSITORY, RUN), MARKER, limit=12_000)


STATES: Mapping[str, Callable[[], Shown]] = {
    "comment": lambda: _on_forge("regression"),
    "accepted-comment": _accepted_by_comment,
    "accepted-label": _accepted_by_label,
    "outdated": lambda: _on_forge("regression", newer_head=NEWER, newer_run_url=f"{REPOSITORY}/actions/runs/4712"),
    "outdated-unmeasured": lambda: _on_forge("one-unchanged", newer_head=NEWER, newer_run_url=""),
    "suite": lambda: _on_forge("one-unchanged", suite="pr"),
    "first-comment": lambda: _on_forge("first", suite="nightly"),
    "base-build-comment": lambda: _on_forge("base-build"),
    "remark": lambda: _on_forge("inconclusive", remarks=(REMARK,)),
    "merged-comment": lambda: _on_forge("merged"),
    "missing-shard-comment": lambda: _on_forge("missing-shard"),
    "grid": _grid,
    "grid-of-three": _grid_of_three,
    "grid-unchanged": _grid_unchanged,
    "mostly-unchanged": _mostly_unchanged,
    "many-fail": _nightly_fails,
    "huge": _huge,
}
"""What has a golden file in Markdown alone."""

REMARK = (
    "The run compares with 5e6f7a8b90, and the pull request's merge-base is 0fedcba987: "
    "the branch main has moved, or targets/starlet/target.toml names another one."
)


@cache
def shown(name: str) -> Shown:
    """A state, made once."""
    return STATES[name]()
