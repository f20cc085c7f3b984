"""Parsers and judge on what real generators said of real, mostly bad, servers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest
from captured import Capture, capture, names

from windtunnel.load.check import judge
from windtunnel.load.output import CLOSED
from windtunnel.model import Expect, LoadResult
from windtunnel.units import Missing

LENGTH = 128


@dataclass(frozen=True)
class Seen:
    """What a capture holds: answers, statuses, failures; body and total bytes, where a number is given."""

    completed: int
    status: dict[str, int]
    failed: dict[str, int] = field(default_factory=dict)
    body: int | None = None
    total: int | None = None


OK = {"200": 100}
AB_OK = {"2xx": 100}

SEEN = {
    # good
    "h2load-keepalive": Seen(100, OK, {}, 12800, 23600),
    "h2load-single": Seen(100, OK, {}, 12800, 23600),
    "h2load-chunked": Seen(100, OK, {}, 12800, 26000),
    "h2load-post": Seen(100, OK, {}, 12800, 23600),
    "h2load-empty-post": Seen(100, OK, {}, 12800, 23600),
    "h2load-close": Seen(100, OK, {}, 12800),
    "h2load-closes": Seen(100, OK, {}, 12800),
    "h2load-some": Seen(100, OK, {}, 12800),
    "h2load-h2": Seen(100, OK, {}, 12800, 16120),
    "ab-keepalive": Seen(100, AB_OK, {}, 12800, 23600),
    "ab-close": Seen(100, AB_OK, {}, 12800, 23100),
    "ab-closes": Seen(100, AB_OK, {}, 12800, 23100),
    "ab-bare": Seen(100, AB_OK, {}, 12800, 21000),
    "ab-post": Seen(100, AB_OK, {}, 12800, 23600),
    "ab-single": Seen(100, AB_OK, {}, 12800, 23100),
    "ab-table": Seen(100, AB_OK, {}, 12800, 23100),
    # other answers than those wanted
    "h2load-errors": Seen(100, {"200": 90, "500": 10}, {"status": 10}, 12160),
    "h2load-nolog": Seen(100, {"2xx": 90, "5xx": 10}, {"status": 10}, 12160),
    "h2load-missing-close": Seen(100, {"200": 90, "404": 10}, {"status": 10}, 12160),
    "h2load-failing": Seen(100, {"500": 100}, {"status": 100}, 12800, 25500),
    "h2load-redirect": Seen(100, {"302": 100}, {}, 6400, 17400),
    "h2load-h2-missing": Seen(100, {"404": 100}, {"status": 100}, 14700, 17832),
    "h2load-lengths": Seen(100, OK, {}, 12850, 23650),
    "h2load-stray": Seen(100, OK, {}, 12880, 23680),
    "h2load-h2-head": Seen(100, OK, {}, 0, 2420),
    "ab-errors": Seen(100, {"2xx": 90, "non-2xx": 10}, {"length": 10, "status": 10}, 12160, 23140),
    "ab-failing": Seen(100, {"non-2xx": 100}, {"status": 100}, 12800, 25000),
    "ab-lengths": Seen(100, AB_OK, {"length": 50}, 12850, 23650),
    "ab-stray": Seen(100, AB_OK, {"length": 10}, 12880, 23180),
    # answers that ended early, or never began
    "h2load-short": Seen(36, {"200": 36}, {"read": 4, "error": 60}, 4808),
    "h2load-reset": Seen(36, {"200": 36}, {"read": 4, "error": 60}, 4608),
    "h2load-mute": Seen(36, {"200": 36}, {"read": 4, "error": 60}, 4608, 8496),
    "h2load-quits": Seen(4, {"200": 4}, {"read": 4, "error": 92}, 512, 944),
    "h2load-bare": Seen(0, {}, {"read": 4, "error": 96}, 512, 840),
    "h2load-garbage": Seen(0, {}, {"read": 4, "error": 96}, 0, 0),
    "h2load-h2-to-http1": Seen(0, {}, {"read": 4, "error": 96}, 0, 924),
    "h2load-h2-reset": Seen(90, {"200": 90}, {"error": 10}, 11520, 13820),
    "h2load-h2-goaway": Seen(53, {"200": 53}, {"error": 47}, 6784, 8245),
    "h2load-dies": Seen(59, {"200": 59}, {"read": 4, "error": 37}, 7602),
    "h2load-silent": Seen(0, {}, {"timeout": 100}),
    "h2load-stall": Seen(59, {"200": 59}, {"timeout": 41}),
    "h2load-stall-patience": Seen(59, {"200": 59}, {"timeout": 4, "error": 37}, 7552, 13924),
    "h2load-refused": Seen(0, {}, {"connect": 100}, 0, 0),
    "h2load-usage": Seen(0, {}, {"error": 100}),
    "ab-short": Seen(100, AB_OK, {"length": 10}, 12020, 22320),
    "ab-mute": Seen(100, AB_OK, {"length": 10}, 11520, 20790),
    "ab-garbage": Seen(100, AB_OK, {}, 0, 2500),
    "ab-reset": Seen(9, {}, {"read": 91}),
    "ab-dies": Seen(59, {}, {"read": 41}),
    "ab-dies-r": Seen(54, {"2xx": 54}, {"read": 46, "length": 48, "error": 23}, 7602, 14082),
    "ab-stall": Seen(59, {}, {"timeout": 41}),
    "ab-silent": Seen(0, {}, {"timeout": 100}),
    "ab-refused": Seen(0, {}, {"connect": 100}),
    "ab-refused-r": Seen(0, {}, {"read": 100, "error": 50}, 0, 0),
    # for a time
    "wrk-keepalive": Seen(26506, {"2xx-3xx": 26506}, {}, None, 6259999),
    "wrk-close": Seen(6214, {"2xx-3xx": 6214}, {}, None, 1436549),
    "wrk-errors": Seen(30596, {"2xx-3xx": 27537, "4xx-5xx": 3059}, {"status": 3059}, None, 7077888),
    "wrk-failing": Seen(24435, {"4xx-5xx": 24435}, {"status": 24435}, None, 6228541),
    "wrk-short": Seen(12469, {"2xx-3xx": 12469}, {"read": 1385}, None, 3166700),
    "wrk-quits": Seen(5399, {"2xx-3xx": 5399}, {"read": 5397}, None, 1279263),
    "wrk-dies": Seen(59, {"2xx-3xx": 59}, {"read": 4, "write": 93572}, None, 14080),
    "wrk-late": Seen(1196, {"2xx-3xx": 1196}, {"timeout": 8}, None, 282255),
    "wrk-stall": Seen(59, {"2xx-3xx": 59}, {}, None, 13926),
    "wrk-silent": Seen(0, {}, {}, None, 0),
    "wrk-garbage": Seen(0, {}, {"read": 8312}, None, 0),
    "wrk-refused": Seen(0, {}, {"connect": 100}),
}
GOOD = {
    *("h2load-keepalive", "h2load-single", "h2load-chunked", "h2load-post", "h2load-empty-post", "h2load-close"),
    *("h2load-closes", "h2load-some", "h2load-h2", "ab-keepalive", "ab-close", "ab-closes", "ab-bare", "ab-post"),
    *("ab-single", "ab-table", "wrk-keepalive", "wrk-close"),
}


def judged(case: Capture, result: LoadResult, **changes: object) -> tuple[str, tuple[str, ...]]:
    """The judge's word for a plan of GET, 200, 128 bytes."""
    argv = case.head["argv"]
    plan: dict[str, object] = {
        "requests": case.head["requested"] if case.tool.FIXED_COUNT else None,
        "concurrency": case.head["concurrency"],
        "expect": Expect(),
        "length": LENGTH,
        "keepalive": "-k" in argv if argv[0] == "ab" else "Connection: close" not in argv,
    }
    return judge(result, **{**plan, **changes})  # type: ignore[arg-type]


def test_every_capture_has_its_line() -> None:
    assert set(names()) == set(SEEN)


@pytest.mark.parametrize("name", names())
def test_counts(name: str) -> None:
    result, seen = capture(name).parse(), SEEN[name]
    assert (result.completed, dict(result.status), dict(result.failed)) == (seen.completed, seen.status, seen.failed)


@pytest.mark.parametrize("name", names())
def test_bytes(name: str) -> None:
    result, seen = capture(name).parse(), SEEN[name]
    for found, expected in ((result.body_bytes, seen.body), (result.total_bytes, seen.total)):
        if expected is None:
            assert isinstance(found, Missing)
            assert found.reason
        else:
            assert found == expected


@pytest.mark.parametrize("name", names())
def test_only_good_slices_pass(name: str) -> None:
    reason, _ = judged(capture(name), capture(name).parse())
    assert (reason == "") == (name in GOOD), reason


@pytest.mark.parametrize("name", names())
def test_time_is_the_finest_that_was_printed_and_fits_the_process(name: str) -> None:
    case = capture(name)
    seconds = case.parse().seconds
    if isinstance(seconds, Missing):
        assert case.head["argv"][0] in seconds.reason
        assert case.output.timed_out or case.output.exit_code
        return
    assert 0 < seconds <= case.output.wall + 0.001
    rate = re.search(r"([0-9.]+) (?:req/s|\[#/sec\])|Requests/sec: +([0-9.]+)", case.output.stdout)
    assert rate
    shown = float(rate[1] or rate[2])
    answers = 100 if name.startswith("ab-") else case.parse().completed
    if answers:  # as many digits as the rate has: that is finer than the time that is printed
        assert answers / seconds == pytest.approx(shown, abs=0.02 if shown > 1000 else 0.2)


@pytest.mark.parametrize("name", names("h2load"))
def test_latencies_are_those_of_the_log(name: str) -> None:
    case = capture(name)
    result = case.parse()
    rows = [line.split("\t") for line in (case.output.log or "").splitlines()]
    assert list(result.latencies) == pytest.approx(
        [int(micros) / 1e6 for _, status, micros in rows if status != "-1"]
    )
    if rows:
        assert len(result.latencies) == result.completed
        assert result.mean_latency == pytest.approx(sum(result.latencies) / len(result.latencies))
        assert max(result.latencies) <= case.output.wall


@pytest.mark.parametrize("name", ["h2load-keepalive", "h2load-close", "h2load-h2", "h2load-errors"])
def test_without_a_log_h2loads_own_mean_is_taken(name: str) -> None:
    """It is rounded down to microseconds (or to 10 of them), and agrees with the log."""
    with_log, without = capture(name).parse(), capture(name).parse(log=None)
    assert without.latencies == ()
    assert without.mean_latency == pytest.approx(with_log.mean_latency, abs=1.1e-6)
    assert sum(without.status.values()) == with_log.completed


@pytest.mark.parametrize("name", [name for name in names("ab") if capture(name).output.log])
def test_abs_percentiles_come_in_microseconds(name: str) -> None:
    percentiles = capture(name).parse().percentiles
    if not capture(name).parse().completed:
        assert percentiles == {}
        return
    ordered = [percentiles[percent] for percent in sorted(percentiles)]
    assert ordered == sorted(ordered)
    assert 0 < ordered[0] < 0.05
    assert any(round(value * 1e6) % 1000 for value in ordered)


def test_a_percentile_of_zero_milliseconds_is_not_a_measurement() -> None:
    case = capture("ab-table")
    printed = dict(re.findall(r"^ +(\d+)% +(\d+)", case.output.stdout, re.MULTILINE))
    percentiles = case.parse().percentiles
    assert percentiles == {float(percent): int(ms) / 1000 for percent, ms in printed.items() if ms != "0"}
    assert "0" in printed.values()


def test_abs_mean_is_known_for_one_connection_only() -> None:
    single = capture("ab-single").parse()
    assert isinstance(single.seconds, float)
    assert single.mean_latency == pytest.approx(single.seconds / 100)
    assert isinstance(capture("ab-close").parse().mean_latency, Missing)


def test_wrk_prints_its_own_percentiles_in_any_unit() -> None:
    case = capture("wrk-short")
    units = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
    printed = re.findall(r"^ +(\d+)% +([0-9.]+)(us|ms|s)$", case.output.stdout, re.MULTILINE)
    assert len(printed) == 4
    found = case.parse().percentiles
    assert found == pytest.approx({float(percent): float(value) * units[unit] for percent, value, unit in printed})


def test_who_answered() -> None:
    assert capture("ab-close").parse().server == "tiny/1.0"
    assert capture("ab-garbage").parse().server == ""


def test_a_failure_that_ab_does_not_explain_is_one_all_the_same() -> None:
    case = capture("ab-lengths")
    unexplained = re.sub(r"^ +\(Connect.*\n", "", case.output.stdout, flags=re.MULTILINE)
    assert unexplained != case.output.stdout
    assert dict(case.parse(stdout=unexplained).failed) == {"error": 50}


@pytest.mark.parametrize(("text", "seconds"), [("500.00us", 5e-4), ("1.50ms", 1.5e-3), ("2.00s", 2), ("1.50m", 90)])
def test_wrks_units_of_time(text: str, seconds: float) -> None:
    case = capture("wrk-keepalive")
    said = re.sub(r"(Latency +)\S+(?= )", rf"\g<1>{text}", case.output.stdout, count=1)
    assert case.parse(stdout=said).mean_latency == pytest.approx(seconds)


# ---------------- what is said


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("h2load-errors", "status 10 x 500 instead of 200"),
        ("h2load-nolog", "status 10 x 5xx instead of 200"),
        ("ab-failing", "status 100 x non-2xx instead of 200"),
        ("wrk-failing", "status 24,435 x 4xx-5xx instead of 200"),
        ("h2load-lengths", "50 bytes more than 100 x 128"),
        ("h2load-redirect", "6,400 bytes less than 100 x 128"),
        ("ab-lengths", "failed: 50 length"),
        ("h2load-dies", "59 of 100 requests were answered; failed: 4 read, 37 error"),
        ("h2load-refused", "failed: 100 connect"),
        ("ab-refused", "ab ended with exit code 111: apr_socket_recv: Connection refused (111)"),
        ("ab-garbage", "12,800 bytes less than 100 x 128"),
        ("h2load-silent", "h2load was killed at its deadline after 1.5 s"),
        ("h2load-usage", "h2load ended with exit code 1: h2load: invalid option"),
        ("wrk-refused", "unable to connect to 127.0.0.1:8080 Connection refused"),
        ("wrk-stall", "only 0.0 of 4 connections were served at a time: the others hung"),
        ("wrk-silent", "no request was answered"),
        ("wrk-quits", "failed: 5,397 read"),
    ],
)
def test_reasons_say_what_went_wrong(name: str, part: str) -> None:
    assert part in judged(capture(name), capture(name).parse())[0]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("h2load-bare", "never ended whole: 4; where the end of the connection ends the body (no Content-Length"),
        ("h2load-closes", "the target closed connections although they were to be kept alive"),
        ("h2load-some", "the target closed connections although they were to be kept alive"),
        ("h2load-garbage", "HTTP parse error"),
        ("ab-closes", "100 of 100 answers did not keep the connection"),
        ("wrk-keepalive", "coordinated omission"),
        ("wrk-keepalive", "wrk looks at no body"),
    ],
)
def test_doubts_are_passed_on(name: str, part: str) -> None:
    warnings = judged(capture(name), capture(name).parse())[1]
    assert any(part in warning for warning in warnings)
    assert len(set(warnings)) == len(warnings)


@pytest.mark.parametrize(
    "name", ["h2load-post", "h2load-close", "h2load-single", "ab-keepalive", "ab-close", "ab-bare"]
)
def test_nothing_is_said_of_a_good_slice(name: str) -> None:
    assert judged(capture(name), capture(name).parse()) == ("", ())


def test_a_closed_connections_total_is_unknown_and_its_bodies_are_not() -> None:
    for name in ("h2load-close", "h2load-closes", "h2load-some"):
        result = capture(name).parse()
        assert (result.total_bytes, result.body_bytes) == (CLOSED, 100 * LENGTH)


@pytest.mark.parametrize(
    ("name", "status", "length"),
    [
        ("h2load-h2-missing", 404, 147),
        ("h2load-failing", 500, 128),
        ("h2load-redirect", 302, 64),
        ("ab-failing", 500, 128),
        ("wrk-failing", 503, 128),
    ],
)
def test_the_status_that_was_expected_is_no_failure(name: str, status: int, length: int) -> None:
    case = capture(name)
    assert judged(case, case.parse(), expect=Expect(status=status), length=length)[0] == ""
    assert judged(case, case.parse(), expect=Expect(status=200), length=length)[0] != ""


def test_head_has_no_body() -> None:
    case = capture("h2load-h2-head")
    assert judged(case, case.parse(), length=0)[0] == ""
