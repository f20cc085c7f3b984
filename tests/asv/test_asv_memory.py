"""What the processes of an asv command remember of each other."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from windtunnel.adapters.owner import owner_token
from windtunnel.asv import memory
from windtunnel.asv.benchmark import HTTPBenchmark
from windtunnel.asv.call import Call
from windtunnel.asv.processes import end_processes, registered, unfinished
from windtunnel.errors import BuildFailed, VariantMissing
from windtunnel.model import Case, Launch, Variant, Workload
from windtunnel.units import Missing, Value

CASE = Case("http.Hello", (("connection", "close"),), Variant("hello"), Workload())
values = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.builds(Missing, st.text(min_size=1, max_size=20))
)
anything = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Hello(HTTPBenchmark):
    """The benchmark of CASE."""

    target = "hello"
    params = (["close"],)
    param_names = ("connection",)

    def workload(self, connection: str) -> Workload:
        return Workload()


def _launch(number: int, outcome: str = "ok", reason: str = "", detail: str = "") -> Launch:
    launch = Launch(CASE.id, "c", number, "", "", 0.0)
    return launch if outcome == "ok" else launch.failing(outcome, reason, detail)  # type: ignore[arg-type]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """The asv command that this process belongs to."""
    made = replace(Call.begin(tmp_path), commit="c" * 40)
    monkeypatch.setattr(memory, "_own", made)
    return made


def _fresh(call: Call) -> None:
    for path in call.folder.rglob("http.Hello-*"):
        path.unlink()


@given(
    id=st.text("abc-0", min_size=1),
    commit=st.text("0123456789abcdef", max_size=40),
    quick=st.booleans(),
    rounds=st.integers(0, 100),
)
def test_a_call_is_handed_on_whole(id: str, commit: str, quick: bool, rounds: int) -> None:  # noqa: A002
    call = Call(id, Path("/a folder"), owner_token(), Path("/root"), "/repo", commit, quick=quick, rounds=rounds)
    assert Call.from_environment(call.environment()) == call


def test_without_asv_there_is_no_call() -> None:
    assert Call.from_environment({"PATH": "/bin"}) is None


@anything
@given(figures=st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), values), max_size=5))
def test_what_is_remembered_comes_back(call: Call, figures: list[dict[str, Value]]) -> None:
    _fresh(call)
    for number, metrics in enumerate(figures, 1):
        memory.remember(CASE, _launch(number), metrics)
    assert [dict(one.metrics) for one in memory.seen(CASE)] == figures
    assert [one.number for one in memory.seen(CASE)] == list(range(1, len(figures) + 1))


@anything
@given(cut=st.integers(1, 200))
def test_a_line_cut_short_by_a_kill_is_no_launch(call: Call, cut: int) -> None:
    _fresh(call)
    memory.remember(CASE, _launch(1), {"a": 1.0})
    path = call.case_file(CASE, "seen")
    first = path.read_bytes()
    memory.remember(CASE, _launch(2), {"a": 2.0})
    whole = path.read_bytes()
    path.write_bytes(whole[: max(len(first), len(whole) - cut)])
    assert [one.number for one in memory.seen(CASE)] == [1]


@anything
@given(steps=st.lists(st.sampled_from(["launch", "cpu", "memory"]), max_size=20))
def test_every_metric_is_told_every_launch_once(call: Call, steps: list[str]) -> None:
    _fresh(call)
    launched, told = 0, {"cpu": [], "memory": []}  # type: ignore[var-annotated]
    for step in [*steps, "cpu", "memory"]:
        if step == "launch":
            launched += 1
            memory.remember(CASE, _launch(launched), {"a": float(launched)})
        else:
            told[step] += [one.number for one in memory.not_told_yet(CASE, step)]
    assert told["cpu"] == told["memory"] == list(range(1, launched + 1))


def test_commits_and_cases_are_remembered_apart(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.remember(CASE, _launch(1), {})
    assert memory.seen(replace(CASE, params=(("connection", "keepalive"),))) == ()
    monkeypatch.setattr(memory, "_own", replace(call, commit="d" * 40))
    assert memory.seen(CASE) == ()


@pytest.mark.parametrize("kind", [BuildFailed, VariantMissing])
def test_a_refused_case_is_refused_again(call: Call, kind: type[BuildFailed]) -> None:
    memory.check_refused(CASE)
    memory.refuse(call, CASE, kind("because"))
    with pytest.raises(kind, match="because"):
        memory.check_refused(CASE)


# ---------------- what asv is given


def _case(benchmark: HTTPBenchmark) -> Case:
    return memory.declared_case(benchmark, ["close"])


def test_samples_are_the_good_launches_alone(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = Hello()
    case = _case(benchmark)
    memory.remember(case, _launch(1), {"cpu_per_request": 1e-3})
    memory.remember(case, _launch(2, "invalid", "a wrong length"), {"cpu_per_request": Missing("a wrong length")})
    memory.remember(case, _launch(3), {"cpu_per_request": 2e-3})

    assert benchmark.track_cpu_per_request("close") == {"samples": [1e-3, 2e-3], "number": 1}
    assert "launch 2 invalid: a wrong length" in capsys.readouterr().err


def test_without_a_good_launch_there_is_a_failure_and_no_figure(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    benchmark = Hello()
    memory.remember(_case(benchmark), _launch(1, "failed", "it ended", "its log"), {})

    with pytest.raises(SystemExit) as caught:
        benchmark.track_cpu_per_request("close")
    assert caught.value.code == 1
    told = capsys.readouterr().err
    assert "it ended" in told
    assert "its log" not in told, "the metric that launched has shown it"


def test_a_figure_that_nothing_tells_is_not_applicable(call: Call) -> None:
    benchmark = Hello()
    memory.remember(_case(benchmark), _launch(1), {"latency_p50": Missing("ab tells no latency per request")})

    with pytest.raises(NotImplementedError, match="ab tells no latency"):
        benchmark.track_latency_p50("close")


def test_a_case_that_never_serves_is_not_launched_for_ever(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = Hello()
    for number in (1, 2):
        memory.remember(_case(benchmark), _launch(number, "failed", "it ended"), {})

    with pytest.raises(SystemExit):
        benchmark.time_request("close")
    assert "given up after 2 launches: it ended" in capsys.readouterr().err


def test_a_variant_that_is_missing_is_skipped(call: Call) -> None:
    benchmark = Hello()
    memory.refuse(call, _case(benchmark), VariantMissing("no such perl then"))

    with pytest.raises(NotImplementedError, match="no such perl then"):
        benchmark.setup("close")


# ---------------- processes


@pytest.fixture
def sleeper(call: Call) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is registered as one that launches, and never comes to its end."""
    code = (
        "import os, time\nfrom windtunnel.asv.call import Call\nfrom windtunnel.asv.processes import registered\n"
        "with registered(Call.from_environment(os.environ)):\n    print('up', flush=True)\n    time.sleep(600)\n"
    )
    environment = {**os.environ, **call.environment()}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def test_a_process_is_known_while_it_launches(call: Call) -> None:
    with registered(call):
        assert [path.name for path in unfinished(call)] == [str(os.getpid())]
    assert unfinished(call) == ()


def test_what_still_launches_is_ended(call: Call, sleeper: subprocess.Popen[bytes]) -> None:
    assert len(unfinished(call)) == 1
    end_processes(call)
    assert sleeper.wait(0) < 0
    assert unfinished(call) == ()


def test_another_process_with_the_same_number_is_left_alone(call: Call, sleeper: subprocess.Popen[bytes]) -> None:
    (entry,) = unfinished(call)
    here, _, started = entry.read_text().rpartition("/")
    entry.write_text(f"{here}/{int(started) - 1}")
    end_processes(call)
    assert sleeper.poll() is None
    assert unfinished(call) == ()
