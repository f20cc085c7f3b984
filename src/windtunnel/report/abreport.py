"""The report of a run in the shape of ab's: figures stand where ab has them, and what was not measured says so. Pure.

Units are ab's, whatever the size of a figure: milliseconds, Kbytes of 1,024 bytes, requests per second. Everything is
over all load slices of all good launches of a case together, as ab's report is over the whole of its one run. (The
other reports have medians over launches.) Slices at concurrency 1 are in none of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from windtunnel.model import Answer, Case, Launch, Slice, Workload
from windtunnel.report.abtimes import loader, time_lines
from windtunnel.report.visible import tail, visible
from windtunnel.sample.runfile import Failure, Run
from windtunnel.sample.summary import warnings_of
from windtunnel.units import Missing, Value

__all__ = ["render_ab"]

_LABEL = 24
_KILOBYTE = 1024
_BREAKDOWN = {"connect": "Connect", "read": "Receive", "length": "Length"}
"""The kinds of failure that ab has a word for; all others are its "Exceptions"."""

_NOT_COUNTED = frozenset({"status"})
"""What ab tells in a line of its own, and not as failed."""


@dataclass(frozen=True)
class _Side:
    """A case of one arm, as far as it was measured; `title` names it, `version` is its load generator's."""

    title: str
    case: Case
    launches: tuple[Launch, ...]
    failures: tuple[Failure, ...]
    version: str

    @property
    def good(self) -> tuple[Launch, ...]:
        return tuple(one for one in self.launches if one.outcome == "ok")

    @property
    def load(self) -> tuple[Slice, ...]:
        """The load slices of good launches: what the report is about."""
        return tuple(one for launch in self.good for one in launch.slices if one.role == "load")


def render_ab(run: Run) -> str:
    """A report like ab's for every case (and arm) of a run, one after the other, as plain text.

    A case that was not measured has its place too, with the reason.
    """
    blocks = [*(_report(side) for side in _sides(run)), *_unknown(run)]
    return "\n\n\n".join("\n".join(block) for block in blocks)


def _sides(run: Run) -> Iterator[_Side]:
    versions = run.header.host.generators if run.header.host else {}
    for case in run.header.cases:
        for arm in run.header.arms:
            here = (case.id, arm.name)
            yield _Side(
                visible(case.id) + (f" [{visible(arm.name)}]" if len(run.header.arms) > 1 else ""),
                case,
                tuple(one for one in run.launches if (one.case, one.arm) == here),
                tuple(one for one in run.failures if (one.case, one.arm) == here),
                "" if case.workload.rate is not None else versions.get(case.workload.generator, ""),
            )


def _unknown(run: Run) -> Iterator[list[str]]:
    """What was skipped before it was a case."""
    known = {case.id for case in run.header.cases}
    for failure in run.failures:
        if failure.case not in known:
            yield [f"Benchmarking {visible(failure.case)}: not measured", *_failure(failure)]


def _failure(failure: Failure) -> list[str]:
    return [
        f"  {failure.kind}: {visible(failure.reason)}",
        *(f"  | {line}".rstrip() for line in tail(failure.detail)),
    ]


def _report(side: _Side) -> list[str]:
    if not side.launches:
        reasons = [line for failure in side.failures for line in _failure(failure)]
        return [f"Benchmarking {side.title}: not measured", *reasons]
    lines = [*_head(side), "", *_document(side), ""]
    lines += [*_counts(side), *_rates(side), *time_lines(side.load, side.case.workload)] if side.load else _bad(side)
    return [*lines, *_notes(side)]


# ---------------- what was asked


def _head(side: _Side) -> list[str]:
    work = side.case.workload
    by = " ".join(part for part in (loader(work), visible(side.version or _program(side))) if part)
    over = "" if work.generator == "program" else f"{visible(work.method)} over {_protocol(side)} "
    return [f"Benchmarking {side.title}: {over}by {by}", *_extent(side)]


def _program(side: _Side) -> str:
    return next((f"({one.program})" for one in side.launches if one.program), "")


def _protocol(side: _Side) -> str:
    work = side.case.workload
    return "HTTP/2" if work.h2 else "HTTP/1.0" if work.generator == "ab" else "HTTP/1.1"


def _extent(side: _Side) -> list[str]:
    """How the load was dosed: ab makes one run of it, and this is several."""
    load = side.load
    if not load:
        return []
    sizes = sorted({one.requests for one in load})
    size = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return [f"{_many(len(load), 'slice')} of {size} requests in {_many(len(side.good), 'launch', 'es')}, added up"]


def _many(count: int, noun: str, more: str = "s") -> str:
    return f"{count:,} {noun}{more if count != 1 else ''}"


def _document(side: _Side) -> list[str]:
    work = side.case.workload
    if work.generator == "program":
        return [_line("Operation", visible(" ".join(part for part in (work.op, work.payload) if part)))]
    answers = [launch.answer for launch in side.launches if launch.answer is not None]
    names = dict.fromkeys(answer.headers.get("server", "") for answer in answers)
    return [
        _line("Server Software", visible(", ".join(names)) if answers else "not known (no answer was checked)"),
        "",
        _line("Document Path", visible(work.path)),
        _line("Document Length", _length(answers)),
    ]


def _length(answers: Sequence[Answer]) -> str:
    lengths = sorted({answer.length for answer in answers})
    if not lengths:
        return "not known (no answer was checked)"
    return " to ".join(str(length) for length in dict.fromkeys((lengths[0], lengths[-1]))) + " bytes"


def _line(label: str, text: str) -> str:
    return f"{label + ':':<{_LABEL}}{text}".rstrip()


# ---------------- what came back


def _counts(side: _Side) -> list[str]:
    load, work = side.load, side.case.workload
    body, total = (_sum(getattr(one, name) for one in load) for name in ("body_bytes", "total_bytes"))
    kept = work.keepalive and not work.h2 and work.generator != "program"
    return [
        _line("Concurrency Level", str(work.concurrency)),
        _line("Time taken for tests", _shown(_sum(one.wall for one in load), "{:.3f} seconds")),
        _line("Complete requests", str(sum(one.requests for one in load))),
        *_failed(load),
        *([_line("Keep-Alive requests", _kept(_sum(one.kept for one in load), work))] if kept else []),
        *([] if work.generator == "program" else _bytes(total, body)),
    ]


def _kept(count: Value, work: Workload) -> str:
    return f"not counted by {loader(work)}" if isinstance(count, Missing) else f"{count:.0f}"


def _bytes(total: Value, body: Value) -> list[str]:
    return [
        _line("Total transferred", _shown(total, "{:.0f} bytes")),
        _line("HTML transferred", _shown(body, "{:.0f} bytes")),
    ]


def _failed(slices: Iterable[Slice]) -> list[str]:
    """Failures by ab's kinds, and the answers that had another status than 2xx."""
    kinds: Counter[str] = Counter()
    others = 0
    for one in slices:
        for kind, count in one.failed.items():
            if kind not in _NOT_COUNTED:
                kinds[_BREAKDOWN.get(kind, "Exceptions")] += count
        others += sum(count for status, count in one.status.items() if not status.startswith("2"))
    lines = [_line("Failed requests", str(kinds.total()))]
    if kinds.total():
        words = (*_BREAKDOWN.values(), "Exceptions")
        lines.append("   (" + ", ".join(f"{word}: {kinds[word]}" for word in words) + ")")
    return [*lines, *([_line("Non-2xx responses", str(others))] if others else [])]


def _rates(side: _Side) -> list[str]:
    load, work = side.load, side.case.workload
    requests, seconds = sum(one.requests for one in load), _sum(one.wall for one in load)
    rate = _over(requests, seconds)
    each = _over(1000.0, rate)
    if work.rate is not None:
        each = Missing(f"{work.rate:g} requests a second arrive, however fast they are answered")
    clients: Value = each if isinstance(each, Missing) else each * work.concurrency
    lines = [
        _line("Requests per second", _shown(rate, "{:.2f} [#/sec] (mean)")),
        _line("Time per request", _shown(clients, "{:.3f} [ms] (mean)")),
        _line("Time per request", _shown(each, "{:.3f} [ms] (mean, across all concurrent requests)")),
    ]
    return lines if work.generator == "program" else [*lines, _transfer(load, seconds)]


def _transfer(load: Sequence[Slice], seconds: Value) -> str:
    """With headers where they were counted, else that of the bodies, which then says so."""
    rate = _over(_sum(one.total_bytes for one in load), seconds)
    bodies = _over(_sum(one.body_bytes for one in load), seconds)
    if isinstance(rate, Missing) and not isinstance(bodies, Missing):
        return _line("Transfer rate", f"{bodies / _KILOBYTE:.2f} [Kbytes/sec] of HTML received; in all {_not(rate)}")
    scaled = rate if isinstance(rate, Missing) else rate / _KILOBYTE
    return _line("Transfer rate", _shown(scaled, "{:.2f} [Kbytes/sec] received"))


def _sum(values: Iterable[Value]) -> Value:
    """All of them, or why one of them is not known."""
    known = list(values)
    missing = next((value for value in known if isinstance(value, Missing)), None)
    return missing or sum(value for value in known if not isinstance(value, Missing))


def _over(amount: Value, by: Value) -> Value:
    if isinstance(amount, Missing) or isinstance(by, Missing):
        return amount if isinstance(amount, Missing) else by
    return amount / by if by > 0 else Missing("no time passed")


def _shown(value: Value, form: str) -> str:
    return _not(value) if isinstance(value, Missing) else form.format(value)


def _not(value: Missing) -> str:
    return f"not measured ({visible(value.reason)})"


# ---------------- what went wrong


def _bad(side: _Side) -> list[str]:
    """No launch is good: there is no speed to tell of, only what failed, warm-up included."""
    seen = [one for launch in side.launches for one in launch.slices]
    counted = any(one.failed or any(not status.startswith("2") for status in one.status) for one in seen)
    unknown = [_line("Failed requests", "not counted (what was wrong stands below)")]
    return [
        _line("Concurrency Level", str(side.case.workload.concurrency)),
        *(_failed(seen) if counted else unknown),
        _line("Requests per second", "not told (no launch is good)"),
    ]


def _notes(side: _Side) -> list[str]:
    bad = Counter(one.reason or one.outcome for one in side.launches if one.outcome != "ok")
    total = len(side.launches)
    wrong = [f"! left out, {count} of {_many(total, 'launch', 'es')}: {visible(why)}" for why, count in bad.items()]
    notes = [f"note: {visible(warning)}" for warning in warnings_of(side.launches)]
    return ["", *wrong, *notes] if wrong or notes else []
