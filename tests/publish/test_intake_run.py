"""Run files that anyone may have made: what a report relies on holds, or there is one sentence on what does not."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from handed_over import HEAD_SHA, SUITES, honest, written
from hypothesis import given
from hypothesis import strategies as st

import material
from example_comparisons import RULE
from windtunnel.compare.verdict import compare
from windtunnel.errors import ConfigError
from windtunnel.model import Case, LaunchPlan, Slice
from windtunnel.publish.artifacts import ArtifactName
from windtunnel.publish.intake import (
    BOUNDS,
    Bounds,
    IntakeError,
    Tally,
    check_run,
    lean,
    merge_artifacts,
    read_artifact,
    read_matrix,
)
from windtunnel.report.markdown import comparison_markdown
from windtunnel.sample.merge import merge_runs, missing_shards, shards_of
from windtunnel.sample.runfile import Arm, Failure, Run, Shard, read_run
from windtunnel.sample.summary import launch_metrics

ROOT = Path(__file__).resolve().parent.parent.parent


def _checked(run: Run, **changes: Any) -> None:
    facts: dict[str, Any] = {"head_sha": HEAD_SHA, "suites": SUITES, **changes}
    check_run(run, **facts)


def _refusal(run: Run, **changes: Any) -> str:
    with pytest.raises(IntakeError) as caught:
        _checked(run, **changes)
    said = str(caught.value)
    assert said.isprintable()
    assert len(said) <= 500
    return said


# ---------------- honest ones


def test_an_honest_run_is_taken_and_nothing_a_report_shows_is_lost(tmp_path: Path) -> None:
    run = honest()
    taken = read_artifact(written(run, tmp_path / "run.jsonl"))
    _checked(taken)
    whole, lean_ = compare(run, RULE), compare(taken, RULE)
    assert comparison_markdown(taken, lean_) == comparison_markdown(run, whole)
    assert [one.metrics for one in lean_.cases] == [one.metrics for one in whole.cases]
    assert taken.end == run.end


@given(material.launches)
def test_what_is_left_of_a_launch_has_its_metrics(launch: Any) -> None:
    assert launch_metrics(lean(launch)) == launch_metrics(launch)


def test_little_is_left_of_a_launch() -> None:
    slices = tuple(replace(material.LOAD, latency={1000 + at: 5 for at in range(300)}) for _ in range(10))
    kept = lean(replace(material.LAUNCH, slices=(material.WARMUP, *slices), detail="x" * 10**6))
    assert sum(len(one.latency) for one in kept.slices) <= 4
    assert len(kept.detail) < 10**5


_RECORDED = sorted((ROOT / "bench" / "runs").glob("*.xz"))


@pytest.mark.parametrize("path", _RECORDED[::6], ids=lambda path: path.name)
def test_recorded_runs_are_taken(path: Path, tmp_path: Path) -> None:
    """Real machines' figures are within the bounds. (`bench` reads all of them: `test_bench_recorded`.)"""
    content = lzma.decompress(path.read_bytes())
    copy = tmp_path / "run.jsonl"
    copy.write_bytes(content)
    run = read_artifact(copy)
    head = next(arm for arm in run.header.arms if arm.name == "head")
    if run.header.compare is not None and len(head.commit) == 40:
        _checked(run, head_sha=head.commit)
        for one, other in zip(compare(run).cases, compare(read_run(copy)).cases, strict=True):
            assert (one.verdict, one.metrics, one.control) == (other.verdict, other.metrics, other.control)


# ---------------- what it is of


def _header(**changes: Any) -> Callable[[Run], Run]:
    return lambda run: replace(run, header=replace(run.header, **changes))


def _plan(**changes: Any) -> Callable[[Run], Run]:
    def changed(run: Run) -> Run:
        assert run.header.compare is not None
        return replace(run, header=replace(run.header, compare=replace(run.header.compare, **changes)))

    return changed


def _arms(*changes: tuple[str, str]) -> Callable[[Run], Run]:
    return _header(arms=tuple(Arm(name, "x", commit) for name, commit in changes))


def _failure(**changes: Any) -> Callable[[Run], Run]:
    return lambda run: replace(run, failures=(replace(run.failures[0], **changes), *run.failures[1:]))


_A, _B = "a" * 40, HEAD_SHA
_WRONG: list[tuple[Callable[[Run], Run], str]] = [
    (_header(compare=None), "no comparison"),
    (_arms(("head", _B)), "other arms"),
    (_arms(("base", _A), ("head", _B), ("head", _B)), "other arms"),
    (_arms(("base", _A), ("head", _B), ("third", _A)), "other arms"),
    (_arms(("base", _A), ("head", "worktree")), 'has "worktree" for the commit of head'),
    (_arms(("base", "main"), ("head", _B)), 'has "main" for the commit of base'),
    (_arms(("base", _A[:39] + "\n"), ("head", _B)), "no full hash"),
    (_arms(("base", "A" * 40), ("head", _B)), "no full hash"),
    (_arms(("base", _A), ("head", _A)), f"the workflow run is for {_B}"),
    (_arms(("base", _A), ("head", _B), ("control", _B)), "not base once more"),
    (_plan(suite="other"), 'the suite "other"'),
    (_plan(suite="\u202e@everyone\n" * 99), "which windtunnel.toml of the default branch does not have"),
    (_plan(shard="1/99999999999"), "which is none"),
    (_plan(shard="x/y"), "which is none"),
    (_header(shards=(Shard("a", "b", (), "", "3/2", ()),)), "which is none"),
    (_header(cases=(material.CASE, material.CASE)), "twice"),
    (_failure(arm="@everyone"), 'the arm "@everyone"'),
    (_failure(kind="fine"), 'the kind "fine"'),
]


@pytest.mark.parametrize(("spoil", "words"), _WRONG)
def test_what_is_not_what_it_is_said_to_be_is_refused(spoil: Callable[[Run], Run], words: str) -> None:
    assert words in _refusal(spoil(honest(2)))


def test_the_whole_project_is_always_a_suite_and_base_may_be_measured_once_more() -> None:
    _checked(_plan(suite="", shard="")(honest(2)), suites=())
    _checked(_arms(("head", _B), ("base", _A), ("control", _A))(honest(2)))


def test_an_artifact_holds_what_its_name_says() -> None:
    run = honest(2)
    for right in (ArtifactName("run", "", "quick", 2), ArtifactName("run", "perf", "quick")):
        _checked(run, name=right)
    assert "named for" in _refusal(run, name=ArtifactName("run", "", "nightly", 2))
    assert "named for number 3" in _refusal(run, name=ArtifactName("run", "", "quick", 3))


# ---------------- how much of it


def _case(name: str) -> Case:
    return replace(material.CASE, benchmark=name, params=())


def _many(**changes: Any) -> Callable[[Run], Run]:
    return lambda run: replace(run, **changes)


def _launches(count: int, **changes: Any) -> Callable[[Run], Run]:
    return lambda run: replace(
        run, launches=tuple(replace(run.launches[0], number=number, **changes) for number in range(count))
    )


def _different_warnings(run: Run) -> Run:
    return replace(run, launches=tuple(replace(run.launches[0], number=n, warnings=(f"w{n}",)) for n in range(15)))


_SMALL = Bounds(
    notes=9, cases=20, launches=30, all_launches=120, slices=9, warnings=3, name=90, words=100, value=200, body=300
)
_SLICE: Slice = replace(material.LOAD, warnings=("a", "b", "c", "d"))
_TOO_MUCH: list[tuple[Callable[[Run], Run], str]] = [
    (_many(header=replace(material.HEADER, cases=tuple(_case(f"c{n}") for n in range(21)))), "25 cases"),
    (_many(failures=tuple(Failure(f"c{n}", "head", "failed", "") for n in range(20))), "27 cases"),
    (_many(failures=tuple(Failure("c", "head", "failed", "") for n in range(41))), "41 cases that were not launched"),
    (_launches(121), "121 launches"),
    (_launches(31), "31 launches of base for psgi.Starlet"),
    (_launches(1, slices=(material.LOAD,) * 10), "10 slices in one launch"),
    (_launches(1, warnings=("w",) * 4), "4 warnings"),
    (_launches(1, slices=(_SLICE,)), "4 warnings"),
    (_different_warnings, "15 warnings that differ"),
    (
        _header(cases=(replace(material.CASE, benchmark="", params=(("", "v" * 30),) * 3),)),
        "96 characters in the name",
    ),
    (_launches(1, reason="r" * 101), "101 characters where reason stands"),
    (_launches(1, warnings=("r" * 101,)), "101 characters where warnings stands"),
    (_failure(reason="r" * 101), "101 characters where reason stands"),
    (_failure(case="r" * 91), "91 characters where case stands"),
    (_header(project="p" * 91), "91 characters where project stands"),
    (_header(command=("c" * 201,)), "201 characters where command stands"),
    (_plan(select=("c" * 201,)), "201 characters where select stands"),
    (_plan(plans={"c" * 91: LaunchPlan()}), "91 characters where plans stands"),
]


@pytest.mark.parametrize(("spoil", "words"), _TOO_MUCH)
def test_what_is_too_much_is_refused_with_how_much_it_is(spoil: Callable[[Run], Run], words: str) -> None:
    run = honest(10)
    _checked(run, bounds=_SMALL)
    spoilt = spoil(run)
    if spoilt.header.compare is None:
        spoilt = replace(spoilt, header=replace(run.header, cases=spoilt.header.cases))
    assert words in _refusal(spoilt, bounds=_SMALL)


def test_a_body_may_be_longer_than_anything_else() -> None:
    for length, fits in ((300, True), (301, False)):
        case = replace(material.CASE, workload=replace(material.CASE.workload, body="b" * length))
        run = _header(cases=(case,))(replace(honest(2), launches=(), failures=()))
        if fits:
            _checked(run, bounds=_SMALL)
        else:
            assert "where body stands" in _refusal(run, bounds=_SMALL)


def test_the_largest_matrix_that_people_have_fits() -> None:
    """Four hundred cases, two hundred launches of each arm: the figure that the bounds were made for."""
    assert BOUNDS.cases >= 400
    assert BOUNDS.launches >= 200
    assert BOUNDS.all_launches >= 400 * 2 * 200
    plan = LaunchPlan()
    assert BOUNDS.all_slices >= 400 * 2 * 200 * (plan.warmup + plan.slices + plan.single_slices)
    calibrated = 30 + 15 + plan.warmup
    assert BOUNDS.slices >= 2 * calibrated


def test_all_files_of_a_report_are_counted_together(tmp_path: Path) -> None:
    path = written(honest(4), tmp_path / "run.jsonl")
    count = len(honest(4).launches)
    tally = Tally(Bounds(all_launches=2 * count))
    for _ in range(2):
        read_artifact(path, tally)
    assert tally.launches == 2 * count
    with pytest.raises(IntakeError, match="launches to report"):
        read_artifact(path, tally)
    with pytest.raises(IntakeError, match="more than 10 slices"):
        read_artifact(path, Tally(Bounds(all_slices=10)))


# ---------------- what is no run file


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"hello\n", b"[]\n", b"[" * 100_000 + b"\n\n", b"PK\3\4\n", b"\xff" * 100 + b"\n"),
        b'{"format":"windtunnel-run","version":2}\n',
        b'{"type":"header","format":"windtunnel-run","version":1,"\x1b[2J\\n@everyone":1}\n',
    ],
)
def test_what_is_no_run_file_is_refused_by_the_name_that_people_know(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "intake-0123.jsonl"
    path.write_bytes(content)
    with pytest.raises(IntakeError, match=r"^run\.jsonl:1: ") as caught:
        read_artifact(path)
    assert str(caught.value).isprintable()
    assert "intake-0123" not in str(caught.value)


def test_a_key_from_outside_is_one_visible_line_in_a_message(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in written(honest(2), tmp_path / "run.jsonl").read_text().splitlines()]
    lines[-2]["slices"][0]["status"] = {"\u202e\n::error::@everyone" + "x" * 10**5: "many"}
    (tmp_path / "bad.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for read in (read_artifact, read_run):
        with pytest.raises((IntakeError, ConfigError)) as caught:
            read(tmp_path / "bad.jsonl")
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 600


# ---------------- plans


def _matrix(tmp_path: Path, document: object) -> Path:
    path = tmp_path / "matrix.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return path


def test_the_cases_of_a_plan(tmp_path: Path) -> None:
    plan = {
        "format": "windtunnel-matrix",
        "version": 1,
        "include": [],
        "cases": [{"case": "a"}, {"case": "b", "x": 1}],
    }
    assert read_matrix(_matrix(tmp_path, plan)) == ("a", "b")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b"", "not JSON"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"a":' * 100_000, "nested too deep"),
        ([], "not an object"),
        ({"format": "other", "cases": []}, "is not what windtunnel plan"),
        ({"format": "windtunnel-matrix", "cases": {}}, "is not what windtunnel plan"),
        ({"format": "windtunnel-matrix", "cases": ["a"]}, "without a name"),
        ({"format": "windtunnel-matrix", "cases": [{"case": 3}]}, "without a name"),
        ({"format": "windtunnel-matrix", "cases": [{"case": "x" * 2000}]}, "more than 1,000 characters"),
        ({"format": "windtunnel-matrix", "cases": [{"case": str(n)} for n in range(1001)]}, "1,001 cases"),
        (b'{"format":"windtunnel-matrix","cases":[{"case":NaN}]}', "NaN"),
    ],
)
def test_what_is_no_plan_is_refused(document: object, words: str, tmp_path: Path) -> None:
    with pytest.raises(IntakeError, match=r"^matrix\.json: ") as caught:
        read_matrix(_matrix(tmp_path, document))
    assert words in str(caught.value)


def test_a_plan_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(IntakeError, match="No such file"):
        read_matrix(tmp_path / "none.json")


# ---------------- several


def _shard(part: str, **changes: Any) -> Run:
    run = replace(honest(2), launches=(), failures=(), sizes={})
    return _header(id=f"run {part}", cases=(_case(part),), **changes)(_plan(shard=part)(run))


def test_shards_are_put_together_and_one_run_stays_as_it_is() -> None:
    one, two = _shard("1/2"), _shard("2/2")
    assert merge_artifacts({"one": one}) is one
    whole = merge_artifacts({"one": one, "two": two})
    assert [case.id for case in whole.header.cases] == ["1/2", "2/2"]
    _checked(whole)


def test_shards_that_are_too_much_together_are_refused() -> None:
    """Each may be within bounds, and all of them not."""
    half = BOUNDS.cases // 2 + 1
    parts = [_header(cases=tuple(_case(f"{part}.{n}") for n in range(half)))(_shard(part)) for part in ("1/2", "2/2")]
    for part in parts:
        _checked(part)
    with pytest.raises(IntakeError, match=r"1,002 cases, more than 1,000"):
        merge_artifacts({"one": parts[0], "two": parts[1]})


_HOSTILE_SHARDS = [
    "x",
    "1/x",
    "1/99999999999",
    "/",
    "0/0",
    "-1/3",
    "2/1",
    "1/2/3",
    "\u0661/2",
    "@a\n/2",
    "1/" + "9" * 9000,
]


@pytest.mark.parametrize("part", _HOSTILE_SHARDS)
def test_a_shard_that_is_none_is_refused_and_not_counted_up_to(part: str) -> None:
    with pytest.raises(IntakeError, match="shard") as caught:
        merge_artifacts({"one": _shard("1/2"), "two": _shard(part)})
    assert str(caught.value).isprintable()
    with pytest.raises(ConfigError):
        merge_runs({"one": _shard(part)})
    hidden = Shard("id", "now", (), "", part, ())
    with pytest.raises(IntakeError):
        merge_artifacts({"one": _shard("1/2"), "two": _shard("", shards=(hidden,))})
    assert missing_shards((hidden, *shards_of(_shard("1/2")))) == ("2/2",)


@given(st.text(max_size=80), st.sampled_from(["project", "windtunnel", "arms", "id"]))
def test_what_does_not_belong_together_is_told_in_one_visible_line(text: str, key: str) -> None:
    odd = (Arm("base", "x", text), Arm("head", "x", HEAD_SHA)) if key == "arms" else f"{text}*"
    other = _shard("2/2", **{key: odd}) if key != "id" else _header(id="run 1/2")(_shard("2/2"))
    with pytest.raises(IntakeError) as caught:
        merge_artifacts({text: _shard("1/2"), f"{text}+": other})
    assert str(caught.value).isprintable()
