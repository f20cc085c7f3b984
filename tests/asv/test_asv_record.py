"""A comparison's run file, replayed into the real asv. No engine answers here: nothing may need one."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asv.results import Results
from suites import BENCHMARKS, Suite, make_suite, plain_target

from material import HEADER, LAUNCH, LOAD, SINGLE, WARMUP
from windtunnel.asv import memory
from windtunnel.asv.benchmark import HTTPBenchmark
from windtunnel.asv.call import REPLAY, Call
from windtunnel.asv.prepare import METHODS
from windtunnel.asv.recorded import entries_of
from windtunnel.asv.replay import Recorded, Recording, read_recording, recording_of
from windtunnel.cli.record import check_recordable, record
from windtunnel.declare.cases import discover
from windtunnel.declare.suite import find_suite
from windtunnel.errors import ConfigError, VariantMissing, WindtunnelError
from windtunnel.model import Case, Launch, Variant, Workload
from windtunnel.sample.runfile import Arm, ComparePlan, Failure, Run, RunWriter, read_run
from windtunnel.sample.summary import launch_metrics
from windtunnel.units import Missing

CLOSE, KEEPALIVE, PLAIN = "http.Hello(close)", "http.Hello(keepalive)", "http.Plain"
METRIC = {"time_request": "time_per_request"}
WRONG_LENGTH = "64 of 160 answers had a wrong length"


# ---------------- a suite, and comparisons of its two commits


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _no_engine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """asv of these tests has a home of its own, and there is no engine at the address it is given."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{home}/no-engine.sock")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, home: Path) -> Suite:
    suite = make_suite(tmp_path_factory.mktemp("recorded"), home)
    suite.commit("base", plain_target(suite))
    suite.commit("head", {"README.md": "Hello.\n"})
    return suite


@pytest.fixture
def suite(project: Suite) -> Iterator[Suite]:
    """The same with no results yet."""
    results = project.root / ".asv" / "results"
    for path in sorted(results.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    yield project
    project.put({"benchmarks/http.py": BENCHMARKS})


def _launch(case: str, arm: str, number: int, pace: float = 1.0) -> Launch:
    """A launch whose figures no other has."""
    factor = pace * (1 + number / 97 + (0.31 if arm == "base" else 0))
    loads = [
        replace(LOAD, wall=0.04 * factor * wobble, cpu=0.03 * factor * wobble, latency={1300 + number: 90, 1500: 70})
        for wobble in (1, 1.013, 0.991)
    ]
    single = replace(SINGLE, wall=0.02 * factor)
    return replace(
        LAUNCH,
        case=case,
        arm=arm,
        number=number,
        slices=(WARMUP, *loads, single),
        time_to_ready=0.4 * factor,
        peak_memory=8e7 * factor,
    )


def _pairs(case: str, numbers: Sequence[int], pace: float = 1.0) -> list[Launch]:
    return [_launch(case, arm, number, pace) for number in numbers for arm in ("base", "head")]


def _run(suite: Suite, launches: Sequence[Launch] = (), failures: Sequence[Failure] = (), head: str = "") -> Run:
    """A comparison that has ended. Cases are those of the suite, whole: with axes that they leave out."""
    cases = discover(find_suite(suite.root)).cases
    arms = (
        Arm("base", "main~1", suite.commits["base"]),
        Arm("head", "main", head or suite.commits["head"]),
    )
    whole = tuple(replace(case, variant=replace(case.variant, axes=(("python", "3.11"),))) for case in cases)
    header = replace(HEADER, arms=arms, cases=whole, compare=ComparePlan(threshold=0.02, most=40))
    return Run(header, tuple(launches), tuple(failures), end={"exit": 0})


def _written(path: Path, run: Run) -> Path:
    with closing(RunWriter(path)) as writer:
        writer.header(run.header)
        for launch in run.launches:
            writer.launch(launch)
        for failure in run.failures:
            writer.failure(failure)
        if run.end:
            writer.end(**run.end)
    return path


def _recorded(path: Path, suite: Suite, run: Run) -> str:
    """Record a run; what is told."""
    told: list[str] = []
    record(_written(path, run), find_suite(suite.root), told.append)
    return "\n".join(told)


def _results(suite: Suite, commit: str = "head") -> Results:
    (path,) = (suite.root / ".asv" / "results").glob(f"*/{suite.commits[commit][:8]}-container.json")
    return Results.load(str(path))


def _samples(suite: Suite, case: str, method: str) -> list[float] | None:
    """What asv has as the samples of a case; its own way of asking."""
    name, _, params = case.removesuffix(")").partition("(")
    wanted = [[f"'{value}'"] for value in params.split(", ") if value]
    (samples,) = _results(suite).get_result_samples(f"{name}.{method}", wanted)
    return samples  # type: ignore[no-any-return]


def _values(suite: Suite, case: str) -> set[object]:
    """What asv has as the results of a case; None is "failed"."""
    name, _, params = case.removesuffix(")").partition("(")
    wanted = [[f"'{value}'"] for value in params.split(", ") if value]
    results = _results(suite)
    return {results.get_result_value(f"{name}.{method}", wanted)[0] for method in METHODS}


def _assert_samples(suite: Suite, case: str, launches: Sequence[Launch]) -> None:
    for method in METHODS:
        metric = METRIC.get(method, method.removeprefix("track_"))
        assert _samples(suite, case, method) == [launch_metrics(one)[metric] for one in launches], method


# ---------------- asv's results are the comparison


def test_samples_are_heads_launches_of_the_pairs_that_were_compared(suite: Suite, tmp_path: Path) -> None:
    launches = [*_pairs(CLOSE, range(1, 15)), *_pairs(KEEPALIVE, range(1, 8), 0.5), *_pairs(PLAIN, [1], 2)]
    spoilt = [
        _launch(CLOSE, "base", 15),
        _launch(CLOSE, "head", 15).failing("invalid", WRONG_LENGTH),
        _launch(CLOSE, "base", 16).failing("lost", "the side-car ended"),
        _launch(CLOSE, "head", 16),
        _launch(CLOSE, "head", 17),
        *(_launch(CLOSE, "control", number, 3) for number in range(1, 15)),
    ]
    again = [_launch(KEEPALIVE, "head", 3, 0.7)]
    told = _recorded(tmp_path / "run.jsonl", suite, _run(suite, [*launches, *spoilt, *again]))

    _assert_samples(suite, CLOSE, [_launch(CLOSE, "head", number) for number in range(1, 15)])
    paces = {number: 0.7 if number == 3 else 0.5 for number in range(1, 8)}
    _assert_samples(suite, KEEPALIVE, [_launch(KEEPALIVE, "head", one, pace) for one, pace in paces.items()])
    _assert_samples(suite, PLAIN, [_launch(PLAIN, "head", 1, 2)])
    assert f"3 cases of {suite.commits['head'][:8]}" in told
    assert not list((suite.root / ".asv" / "results").glob(f"*/{suite.commits['base'][:8]}-*"))


def test_a_metric_that_a_launch_does_not_have_is_no_figure(suite: Suite, tmp_path: Path) -> None:
    silent = [
        replace(one, peak_memory=Missing("not read"), time_to_ready=Missing("not read") if one.number == 2 else 0.5)
        for one in _pairs(PLAIN, [1, 2, 3])
    ]
    _recorded(tmp_path / "run.jsonl", suite, _run(suite, silent))

    assert _samples(suite, PLAIN, "track_peak_memory") is None
    assert _samples(suite, PLAIN, "track_time_to_ready") == [0.5, 0.5]
    assert len(_samples(suite, PLAIN, "time_request") or ()) == 3


def test_what_was_not_measured_stays_as_it_is_and_what_failed_is_failed(suite: Suite, tmp_path: Path) -> None:
    before = [*_pairs(CLOSE, [1, 2]), *_pairs(KEEPALIVE, [1, 2])]
    _recorded(tmp_path / "before.jsonl", suite, _run(suite, before))

    invalid = [one.failing("invalid", WRONG_LENGTH) if one.arm == "head" else one for one in _pairs(CLOSE, [1, 2, 3])]
    failures = [
        Failure(KEEPALIVE, "head", "identical", "identical: nothing that could differ"),
        Failure(PLAIN, "head", "failed", "plain can't be built"),
    ]
    told = _recorded(tmp_path / "after.jsonl", suite, _run(suite, invalid, failures))

    assert "2 failed cases" in told
    assert _values(suite, CLOSE) == {None}
    assert _values(suite, PLAIN) == {None}
    _assert_samples(suite, KEEPALIVE, [_launch(KEEPALIVE, "head", number) for number in (1, 2)])


def test_recording_twice_is_recording_once_and_asv_goes_on_with_it(suite: Suite, tmp_path: Path) -> None:
    run = _run(suite, _pairs(CLOSE, range(1, 4)))
    _recorded(tmp_path / "first.jsonl", suite, run)
    first = _stable(suite)
    _recorded(tmp_path / "second.jsonl", suite, run)
    assert _stable(suite) == first

    # With no engine asv could not build what it did not skip.
    suite.asv("run", "--skip-existing", "--bench", "Hello", f"{suite.commits['head']}^!")
    assert _stable(suite) == first
    suite.asv("publish")
    graphs = (suite.root / ".asv" / "html" / "graphs").rglob("http.Hello.time_request.json")
    (value,) = _results(suite).get_result_value("http.Hello.time_request", [["'close'"]])
    assert any([value, None] in [point[1] for point in json.loads(graph.read_text())] for graph in graphs)


def _stable(suite: Suite) -> dict[str, Any]:
    """asv's results of head without the times of recording."""
    (path,) = (suite.root / ".asv" / "results").glob(f"*/{suite.commits['head'][:8]}-container.json")
    content = dict(json.loads(path.read_text()))
    times = {content["result_columns"].index(name) for name in ("started_at", "duration")}
    del content["durations"]
    rows = content["results"].items()
    content["results"] = {
        name: [value for column, value in enumerate(row) if column not in times] for name, row in rows
    }
    return content


def test_asv_asks_for_what_is_recorded_and_for_nothing_else(suite: Suite, tmp_path: Path) -> None:
    _recorded(tmp_path / "run.jsonl", suite, _run(suite, _pairs(CLOSE, [1, 2])))

    assert set(_results(suite).get_all_result_keys()) == {f"http.Hello.{method}" for method in METHODS}
    assert _samples(suite, KEEPALIVE, "time_request") is None


# ---------------- what can't be recorded


def test_with_nothing_of_head_asv_is_not_asked(suite: Suite, tmp_path: Path) -> None:
    same = [Failure(name, "head", "identical", "identical") for name in (CLOSE, KEEPALIVE, PLAIN)]
    assert "records nothing" in _recorded(tmp_path / "run.jsonl", suite, _run(suite, (), same))
    assert not list((suite.root / ".asv" / "results").rglob("*.json"))


def test_a_comparison_that_has_not_ended_is_refused(suite: Suite, tmp_path: Path) -> None:
    run = replace(_run(suite, _pairs(CLOSE, [1, 2])), end={})
    with pytest.raises(ConfigError, match=r"has not ended; finish it with windtunnel compare --resume .*run\.jsonl"):
        _recorded(tmp_path / "run.jsonl", suite, run)


def test_a_run_of_one_revision_is_refused(suite: Suite, tmp_path: Path) -> None:
    run = _run(suite, _pairs(CLOSE, [1, 2]))
    with pytest.raises(ConfigError, match="is not the run file of a comparison"):
        _recorded(tmp_path / "run.jsonl", suite, replace(run, header=replace(run.header, compare=None)))


def test_the_working_tree_is_no_commit(suite: Suite, tmp_path: Path) -> None:
    check_recordable(head_is_worktree=False)
    with pytest.raises(ConfigError, match="asv records commits; commit first"):
        check_recordable(head_is_worktree=True)
    with pytest.raises(ConfigError, match="commit first"):
        _recorded(tmp_path / "run.jsonl", suite, _run(suite, _pairs(CLOSE, [1, 2]), head="worktree"))


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("concurrency=4", "concurrency=8", "another workload"),
        ('target = "hello"', 'target = "plain"', "another workload"),
        ('"close", "keepalive"', '"keepalive"', "not declared any more"),
    ],
)
def test_figures_of_another_workload_are_not_filed_under_this_one(
    suite: Suite, tmp_path: Path, old: str, new: str, what: str
) -> None:
    run = _run(suite, _pairs(CLOSE, [1, 2]))
    assert old in BENCHMARKS
    suite.put({"benchmarks/http.py": BENCHMARKS.replace(old, new, 1)})
    with pytest.raises(ConfigError, match=what):
        _recorded(tmp_path / "run.jsonl", suite, run)


def test_figures_that_did_not_arrive_are_missed(suite: Suite, tmp_path: Path) -> None:
    run = _run(suite, _pairs(CLOSE, [1, 2, 3]))
    own = '    target = "hello"\n\n    def setup(self, connection):\n        pass\n'
    suite.put({"benchmarks/http.py": BENCHMARKS.replace('    target = "hello"\n', own)})
    with pytest.raises(WindtunnelError, match=r"http\.Hello\(close\): .*must call super\(\)\.setup"):
        _recorded(tmp_path / "run.jsonl", suite, run)


def test_asv_that_fails_is_no_success(suite: Suite, tmp_path: Path) -> None:
    run = _run(suite, _pairs(CLOSE, [1, 2]), head="d" * 40)
    with pytest.raises(WindtunnelError, match="asv run ended with exit code 1") as caught:
        _recorded(tmp_path / "run.jsonl", suite, run)
    assert "d" * 40 in caught.value.detail


def test_another_commit_does_not_get_the_figures(suite: Suite, tmp_path: Path) -> None:
    path = _written(tmp_path / "run.jsonl", _run(suite, _pairs(CLOSE, [1, 2])))
    suite.variables[REPLAY] = str(path)
    try:
        output = suite.asv("run", f"{suite.commits['base']}^!", code=1)
    finally:
        del suite.variables[REPLAY]
    assert f"a comparison of {suite.commits['head']}, asv measures {suite.commits['base']}" in output
    assert not list((suite.root / ".asv" / "results").glob("*/*-container.json"))


def test_a_case_that_the_run_file_does_not_have_is_skipped_and_not_launched(suite: Suite, tmp_path: Path) -> None:
    path = _written(tmp_path / "run.jsonl", _run(suite, _pairs(CLOSE, [1, 2])))
    suite.variables[REPLAY] = str(path)
    try:
        suite.asv("run", "--show-stderr", "--bench", "Plain.time_request", f"{suite.commits['head']}^!")
    finally:
        del suite.variables[REPLAY]
    (value,) = _values_of(suite, "http.Plain.time_request")
    assert value != value, "not applicable"  # noqa: PLR0124 - the one value that is not itself


def _values_of(suite: Suite, benchmark: str) -> list[float]:
    return list(_results(suite).get_result_value(benchmark, []))


# ---------------- which launches count


def _one(suite: Suite, launches: Sequence[Launch], *failures: Failure) -> Recorded | str:
    """What is recorded of the case CLOSE, or why nothing is."""
    found = recording_of(_run(suite, launches, failures), Path("run.jsonl"))
    cases = {one.case.id: one for one in found.cases}
    assert cases.keys().isdisjoint(found.left_out)
    return cases.get(CLOSE) or found.left_out[CLOSE]


def test_head_alone_has_all_its_good_launches(suite: Suite) -> None:
    own = [_launch(CLOSE, "head", number) for number in (2, 1, 3)]
    first = Failure(CLOSE, "base", "first", "base does not have it")
    found = _one(suite, [*own[:2], own[2].failing("invalid", WRONG_LENGTH)], first)
    assert isinstance(found, Recorded)
    assert [one.number for one in found.launches] == [1, 2]


def test_a_failure_of_base_says_nothing_of_head(suite: Suite) -> None:
    bad = [one.failing("failed", "it ended") if one.arm == "base" else one for one in _pairs(CLOSE, range(1, 4))]
    assert "it ended" in str(_one(suite, [*bad, *_pairs(CLOSE, range(4, 12))]))
    assert "broken then" in str(_one(suite, [], Failure(CLOSE, "base", "failed", "broken then")))


def test_an_engine_that_goes_away_says_nothing_of_head(suite: Suite) -> None:
    lost = [one.failing("lost", "the engine went away") for one in _pairs(CLOSE, [1, 2, 3])]
    assert "the engine went away" in str(_one(suite, lost))


@pytest.mark.parametrize("outcome", ["invalid", "failed"])
def test_a_head_that_goes_wrong_is_failed_whatever_its_good_launches_show(suite: Suite, outcome: Any) -> None:
    bad = [one.failing(outcome, "wrong") if one.arm == "head" else one for one in _pairs(CLOSE, [1, 2])]
    found = _one(suite, [*bad, *_pairs(CLOSE, range(3, 12))])
    assert isinstance(found, Recorded)
    assert found.failed
    assert {one.outcome for one in found.launches} == {outcome}


def test_every_kind_of_parameter_is_asked_for_as_asv_writes_it(suite: Suite) -> None:
    values = '["a.b (c)", "a.b"], [1, 2.5, None], [Path("x"), dict]'
    text = BENCHMARKS.replace('["close", "keepalive"],', values).replace(
        "(self, connection)", "(self, connection, *_)"
    )
    assert values in text
    suite.put({"benchmarks/http.py": f"from pathlib import Path\n{text}"})
    declared = discover(find_suite(suite.root)).cases
    recording = Recording("", tuple(Recorded(case, (_launch(case.id, "head", 1),)) for case in declared), {})
    entries = entries_of(find_suite(suite.root), recording)
    patterns = [entry.pattern for entry in entries]

    assert len(set(patterns)) == len(declared) * len(METHODS) == 13 * len(METHODS)
    suite.asv("run", "--bench", "just-discover", f"{suite.commits['head']}^!")
    known = [
        f"{name}({', '.join(params)})" if params else name
        for name, benchmark in suite.benchmarks().items()
        for params in itertools.product(*benchmark["params"])
    ]
    assert [len([name for name in known if re.search(pattern, name)]) for pattern in patterns] == [1] * len(patterns)


def test_a_run_file_is_read_as_it_was_written(suite: Suite, tmp_path: Path) -> None:
    path = _written(tmp_path / "run.jsonl", _run(suite, _pairs(CLOSE, [1, 2])))
    assert read_recording(path) == recording_of(read_run(path), path)
    assert [one.case.id for one in read_recording(path).cases] == [CLOSE]


# ---------------- a benchmark process


class Hello(HTTPBenchmark):
    """A benchmark that is replayed."""

    target = "hello"

    def workload(self) -> Workload:
        return Workload()


def test_a_replaying_process_makes_no_launch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = replace(Call.begin(tmp_path, replay=tmp_path / "run.jsonl"), commit="c" * 40)
    monkeypatch.setattr(memory, "_own", call)
    assert Call.from_environment(call.environment()) == call

    from windtunnel.asv.measuring import launch_case

    case = Case("test_asv_record.Hello", (), Variant("hello"), Workload())
    with pytest.raises(VariantMissing, match=r"run\.jsonl has no more launches of it"):
        launch_case(case, 1)
    with pytest.raises(NotImplementedError):
        Hello().setup()
