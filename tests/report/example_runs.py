"""Runs made by hand, one for each state a report has to show. The figures are round, so that one can check them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import material
from windtunnel.load.histogram import build
from windtunnel.model import Case, Launch, Slice, Variant, Workload
from windtunnel.sample.runfile import Arm, Failure, Header, Run
from windtunnel.units import Missing

KEEPALIVE = Case(
    benchmark="psgi.Starlet",
    params=(("perl", "5.40"), ("connection", "keepalive")),
    variant=Variant("starlet", (("perl", "5.40"),)),
    workload=Workload(axes={"perl": "5.40"}, concurrency=16),
)
CLOSE = material.CASE
ALONE = Case("psgi.Alone", (), Variant("starlet"), Workload(path="/slow?ms=1", concurrency=1, h2=True))
PEAK = Case("psgi.Peak", (("workers", "4"),), Variant("starlet"), Workload(concurrency=64, generator="wrk"))

END = {"exit": 0, "seconds": 20.0, "build_seconds": 3.5}
_LATENCIES = [0.001 + 0.0001 * number for number in range(100)]
_LOG = "Starting on port 5321\n\nCan't locate Plack.pm in @INC\n"


def _slice(base: Slice, factor: float, **changes: Any) -> Slice:
    """A slice whose times are `factor` times those of `base`."""
    latency = build([seconds * factor for seconds in _LATENCIES])
    timed = replace(base, wall=0.04 * factor, cpu=0.03 * factor, mean_latency=0.004 * factor, latency=latency)
    return replace(timed, **changes)


def _launch(case: Case, number: int, *, arm: str = "head", factor: float = 1.0, **changes: Any) -> Launch:
    slices = (
        material.WARMUP,
        *(_slice(material.LOAD, factor * jitter, **changes) for jitter in (0.99, 1.0, 1.01)),
        _slice(material.SINGLE, factor),
    )
    return replace(material.LAUNCH, case=case.id, arm=arm, number=number, slices=slices)


def _good(case: Case, **changes: Any) -> tuple[Launch, ...]:
    return tuple(
        _launch(case, number, factor=factor, **changes)
        for number, factor in enumerate((1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 1.03, 0.97), start=1)
    )


def _run(cases: tuple[Case, ...], launches: tuple[Launch, ...], failures: tuple[Failure, ...] = ()) -> Run:
    header: Header = replace(material.HEADER, cases=cases)
    return Run(header, launches, failures, end=END)


def _ok() -> Run:
    idle = [0.0, 0.0, 0.003, 0.0002, 0.0, 0.0, 0.0, 0.0]
    launches = tuple(replace(one, idle_cpu=share) for one, share in zip(_good(KEEPALIVE), idle, strict=True))
    return _run((KEEPALIVE,), launches)


def _close() -> Run:
    """h2load leaves the last read of a connection out of its total."""
    total = Missing("h2load leaves out the answers that end a connection")
    launches = _good(CLOSE, total_bytes=total, warnings=("the load generator was at its limit",))
    return _run((CLOSE,), launches)


def _single() -> Run:
    slices = (_slice(material.SINGLE, 1.0, role="load"), _slice(material.SINGLE, 1.0))
    launch = replace(_launch(ALONE, 1), slices=slices, idle_cpu=Missing("the launch was not idle long enough"))
    return _run((ALONE,), (launch,))


def _partly() -> Run:
    """Figures come from the good launches, and what went wrong with the others stands beside them."""
    good = _good(KEEPALIVE)[:4]
    wrong = _launch(KEEPALIVE, 5, status={"200": 100, "500": 60}, failed={"status": 60})
    lost = replace(_launch(KEEPALIVE, 6), slices=())
    launches = (
        *(replace(one, peak_memory=Missing("no peak")) if one.number == 2 else one for one in good),
        wrong.failing("invalid", "status 60 x 500 instead of 200"),
        lost.failing("lost", "the load side-car ended", "Killed"),
    )
    return _run((KEEPALIVE,), launches)


def _invalid() -> Run:
    reason = "500 bytes less than 160 x 128"
    launches = tuple(_launch(CLOSE, number).failing("invalid", reason) for number in (1, 2))
    return _run((CLOSE,), launches)


def _failed() -> Run:
    reason = "starlet did not answer 200 to GET / on port 5321 within 20 s (last: nothing listens): exit code 2"
    blank = replace(material.LAUNCH, case=CLOSE.id, answer=None, slices=())
    return _run((CLOSE,), (blank.failing("failed", reason, _LOG),))


def _not_launched() -> Run:
    failures = (
        Failure(KEEPALIVE.id, "head", "failed", "the image of starlet can't be built", "Step 3/9\n" + _LOG),
        Failure("psgi.Starlet(5.8, close)", "head", "skipped", "this commit has no value '5.8' on the axis perl"),
    )
    return _run((KEEPALIVE,), (), failures)


def _missing() -> Run:
    """A generator that tells little, on a machine that tells nothing."""
    launches = tuple(
        replace(
            one,
            answer=None,
            peak_memory=Missing("the target's cgroup tells no peak"),
            idle_cpu=Missing("the target's cgroup can't be read"),
            time_to_ready=Missing("the engine tells no start time"),
            image_size=Missing("not known"),
        )
        for one in _good(
            PEAK,
            latency={},
            cpu=Missing("the engine keeps no statistics"),
            body_bytes=Missing("wrk does not count bodies"),
            total_bytes=Missing("not reported"),
            mean_latency=Missing("not reported"),
        )
    )
    return _run((PEAK,), launches)


def _arms() -> Run:
    base = tuple(replace(one, arm="base") for one in _good(KEEPALIVE))
    head = tuple(_launch(KEEPALIVE, number, factor=1.1) for number in range(1, 9))
    arms = (Arm("base", "main", "1" * 40), Arm("head", "HEAD", "2" * 40))
    run = _run((KEEPALIVE,), tuple(launch for pair in zip(base, head, strict=True) for launch in pair))
    return replace(run, header=replace(run.header, arms=arms))


def _cut_short() -> Run:
    run = _run((KEEPALIVE, CLOSE), _good(KEEPALIVE)[:1])
    return replace(run, header=replace(run.header, host=None), end={})


RUNS: Mapping[str, Run] = {
    "ok": _ok(),
    "close": _close(),
    "single": _single(),
    "partly": _partly(),
    "invalid": _invalid(),
    "failed": _failed(),
    "not-launched": _not_launched(),
    "missing": _missing(),
    "arms": _arms(),
    "cut-short": _cut_short(),
}
