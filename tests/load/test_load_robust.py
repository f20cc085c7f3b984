"""A parser never raises, and half an output never passes for a whole one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from captured import capture, names
from hypothesis import given, settings
from hypothesis import strategies as st
from test_load_captures import GOOD, judged

from windtunnel.load import Output, generator
from windtunnel.load.output import elapsed
from windtunnel.model import LoadResult
from windtunnel.units import Missing

TOOLS = ("h2load", "ab", "wrk")


def sound(result: LoadResult) -> None:
    """What holds for every result, however bad the output was."""
    assert result.completed >= 0
    assert result.requested >= 0
    assert all(count > 0 for count in [*result.failed.values(), *result.status.values()])
    for value in (result.seconds, result.mean_latency):
        assert isinstance(value, Missing) or (math.isfinite(value) and value >= 0)
    for amount in (result.body_bytes, result.total_bytes):
        assert isinstance(amount, Missing) or amount >= 0
    assert all(value >= 0 for value in result.latencies)
    if result.completed == 0:
        assert isinstance(result.mean_latency, Missing)


def outputs(text: st.SearchStrategy[str]) -> st.SearchStrategy[Output]:
    return st.builds(
        Output,
        stdout=text,
        stderr=text,
        exit_code=st.one_of(st.none(), st.integers(-64, 255)),
        log=st.one_of(st.none(), text),
        timed_out=st.booleans(),
        wall=st.floats(0, 100),
        requested=st.integers(0, 1000),
    )


@pytest.mark.parametrize("tool", TOOLS)
@given(output=outputs(st.text()))
def test_arbitrary_text(tool: str, output: Output) -> None:
    result = generator(tool).parse(output)
    sound(result)
    assert isinstance(result.seconds, Missing)
    assert result.failed or result.completed == output.requested > 0


WORDS = st.sampled_from(
    sorted({word for name in names() for word in capture(name).output.stdout.replace("\n", " \n ").split(" ")})
)
SHUFFLED = st.lists(st.one_of(WORDS, st.integers().map(str)), max_size=60).map(" ".join)
ALL_LINES = sorted(
    {
        line
        for name in names()
        for text in (capture(name).output.stdout, capture(name).output.log or "")
        for line in text.splitlines(keepends=True)
    }
)


@pytest.mark.parametrize("tool", TOOLS)
@given(output=outputs(st.one_of(SHUFFLED, st.lists(st.sampled_from(ALL_LINES), max_size=40).map("".join))))
def test_words_and_lines_of_real_outputs_in_any_order(tool: str, output: Output) -> None:
    sound(generator(tool).parse(output))


@given(st.sampled_from(names()), st.data())
@settings(max_examples=300)
def test_numbers_changed_in_real_outputs(name: str, data: st.DataObject) -> None:
    """Each digit may become another, so the summary contradicts itself."""
    case = capture(name)
    text = case.output.stdout
    for place in data.draw(st.lists(st.integers(0, max(0, len(text) - 1)), max_size=8)):
        if text[place : place + 1].isdigit():
            text = text[:place] + data.draw(st.sampled_from("0123456789")) + text[place + 1 :]
    sound(case.parse(stdout=text))


@pytest.mark.parametrize("name", names())
def test_an_output_cut_anywhere_is_whole_or_no_proof(name: str) -> None:
    case = capture(name)
    whole = case.parse()
    text = case.output.stdout
    for end in _cuts(text):
        result = case.parse(stdout=text[:end])
        sound(result)
        _agrees(result, whole)
        if judged(case, result)[0] == "":
            assert name in GOOD
            assert _proof(result) == _proof(whole)


@pytest.mark.parametrize("name", names("h2load"))
def test_a_log_cut_anywhere_gives_no_half_numbers(name: str) -> None:
    case = capture(name)
    whole = case.parse()
    text = case.output.log or ""
    for end in range(0, len(text), 7):
        result = case.parse(log=text[:end])
        sound(result)
        assert result.latencies in {(), whole.latencies[: len(result.latencies)]}
        assert result.latencies == () or len(result.latencies) == result.completed
        if judged(case, result)[0] == "":
            assert name in GOOD
            assert sum(result.status.values()) == sum(whole.status.values())
            assert result.latencies or any("log" in warning for warning in result.warnings)


@pytest.mark.parametrize("name", [name for name in names("ab") if capture(name).output.log])
def test_percentiles_cut_anywhere_are_some_of_the_whole(name: str) -> None:
    case = capture(name)
    whole = case.parse().percentiles
    for end in range(len(case.output.log or "")):
        found = case.parse(log=(case.output.log or "")[:end]).percentiles
        in_csv = any("." in line for line in (case.output.log or "")[:end].splitlines()[1:-1])
        assert not in_csv or found.items() <= whole.items()


def _cuts(text: str) -> list[int]:
    """Where to cut: around every end of a line, and here and there within."""
    return [end for end in range(len(text)) if end % 7 == 0 or "\n" in text[max(0, end - 2) : end + 2]]


def _agrees(result: LoadResult, whole: LoadResult) -> None:
    """A number of the cut output is the whole one's, or coarser, or missing; never another."""
    if not isinstance(result.seconds, Missing):
        assert result.seconds == pytest.approx(whole.seconds, rel=0.01)
    for found, real in ((result.body_bytes, whole.body_bytes), (result.total_bytes, whole.total_bytes)):
        assert isinstance(found, Missing) or found == real
    assert result.completed in {0, whole.completed, len(whole.latencies)}
    assert result.percentiles.items() <= whole.percentiles.items()


def _proof(result: LoadResult) -> tuple[object, ...]:
    return result.completed, result.status, result.failed, result.body_bytes, result.seconds


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("requested", [0, 50])
@pytest.mark.parametrize("timed_out", [True, False])
def test_an_empty_output_is_all_lost(tool: str, requested: int, timed_out: bool) -> None:
    output = Output("", "", -9 if timed_out else 0, None, timed_out, 3.0, requested)
    result = generator(tool).parse(output)
    assert dict(result.failed) == {"timeout" if timed_out else "error": requested or 1}
    assert isinstance(result.seconds, Missing)
    assert ("killed at its deadline after 3.0 s" if timed_out else "printed no result") in result.seconds.reason


def test_a_result_with_a_bad_exit_code_is_kept_and_doubted() -> None:
    for name in ("h2load-keepalive", "ab-keepalive", "wrk-keepalive"):
        case = capture(name)
        result = case.parse(exit_code=139)
        assert _proof(result) == _proof(case.parse())
        assert any("exit code 139" in warning for warning in result.warnings)


def test_complaints_are_few_and_short() -> None:
    case = capture("h2load-keepalive")
    noise = "".join(f"line {number} {'x' * 5000}\n" for number in range(1000))
    warnings = case.tool.parse(replace(case.output, stderr=noise)).warnings
    assert len(warnings) == 3
    assert all(len(warning) <= 200 for warning in warnings)


# ---------------- the finer of two figures


def test_the_rate_is_finer_for_a_short_run_and_the_time_for_a_long_one() -> None:
    assert elapsed(1000, "19902.48", (0.05, 0.01)) == 1000 / 19902.48
    assert elapsed(1000, "2.87", (348.394, 0.001)) == 348.394


def test_old_abs_misprinted_time_is_not_believed() -> None:
    """49 s and 72,042 us came out as 49.72042."""
    assert elapsed(1000, "20.38", (49.72042, 0.00001)) == pytest.approx(49.07, abs=0.02)


@given(st.integers(1, 10**6), st.floats(1e-4, 1e4))
def test_the_printed_figures_give_the_time_back(count: int, seconds: float) -> None:
    found = elapsed(count, f"{count / seconds:.2f}", (round(seconds, 3), 0.001))
    if not isinstance(found, Missing):
        assert found == pytest.approx(seconds, abs=0.00051)
        assert found == pytest.approx(seconds, rel=max(1e-9, 0.0051 / (count / seconds)) + 1e-9) or found == round(
            seconds, 3
        )


def test_no_time_is_missing() -> None:
    for rate, printed in (("0.00", (0.0, 0.01)), ("0", (0.0, 1.0))):
        assert isinstance(elapsed(0, rate, printed), Missing)
    assert elapsed(0, "0.00", (1.0, 0.01)) == 1.0
