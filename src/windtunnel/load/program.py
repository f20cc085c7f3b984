"""A target's own program that makes the load: what is asked of it, and what its answers are worth. Pure.

The program (`worker` in target.toml) reads one JSON object a line and answers each with one; `site/cache.md` is its
description for those who write one. The unit is one call. `site/design/programs.md` says why it is a conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from windtunnel.model import LoadResult, Workload
from windtunnel.units import Missing, Value

__all__ = [
    "FIXED_COUNT",
    "Answered",
    "Hello",
    "answer",
    "calls",
    "hello",
    "judge",
    "load_result",
    "parse",
    "parse_hello",
    "preload",
    "said",
    "shown",
]

FIXED_COUNT = True
"""It makes exactly the number of calls it is given."""

_SLACK = 0.01
"""How far a program's own clock may be beyond ours, as a share, before its figures are taken for wrong."""

_MOST = 10**15
_LONGEST, _SHORTEST = 1e9, 1e-12
"""Counts and seconds beyond these are no measurements (`windtunnel.sample.plausible` refuses them in a file)."""

_NAME, _ERROR = 80, 500
"""Characters that are kept of a client's name, and of what a program says went wrong."""

_ASIDE_SHARE, _ASIDE = 1.5, 0.02
"""So much more processor time than its calls took may a program use, as a factor and in seconds."""


@dataclass(frozen=True)
class Hello:
    """What a program says of itself: its operations, what they are done with, the client that it drives.

    `concurrency` is whether it can have several calls under way at once.
    """

    ops: tuple[str, ...]
    payloads: tuple[str, ...]
    client: str = ""
    version: str = ""
    concurrency: bool = False

    def __str__(self) -> str:
        return " ".join(part for part in (self.client, self.version) if part)

    def lacks(self, workload: Workload) -> str:
        """Why it can't do this workload, or ""."""
        if workload.op not in self.ops:
            return f"its worker has no op {workload.op!r}; it has {', '.join(self.ops) or 'none'}"
        if workload.payload not in self.payloads and (workload.payload or self.payloads):
            return f"its worker has no payload {workload.payload!r}; it has {', '.join(self.payloads) or 'none'}"
        if workload.concurrency > 1 and not self.concurrency:
            return f"its worker makes one call at a time, not {workload.concurrency} (no concurrency in its hello)"
        return ""


# ---------------- what is asked


def hello() -> bytes:
    """The first line that a program gets."""
    return _line({"hello": 1})


def preload(workload: Workload) -> bytes:
    """Before the first call: put there what the calls will look for."""
    return _line({"preload": {"op": workload.op, "payload": workload.payload}})


def calls(workload: Workload, count: int, concurrency: int) -> bytes:
    """`count` calls, `concurrency` of them under way at a time."""
    wanted: dict[str, object] = {"op": workload.op, "payload": workload.payload, "calls": count}
    return _line(wanted if concurrency == 1 else {**wanted, "concurrency": concurrency})


def _line(value: Mapping[str, object]) -> bytes:
    return json.dumps(value).encode()


# ---------------- what it answers


def answer(line: bytes) -> Mapping[str, Any]:
    """One answer. Raises ValueError with what is wrong with it, also where the program itself says "error"."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(f"it wrote something else than JSON on its standard output: {said(line)}") from None
    if not isinstance(found, dict):
        raise ValueError(f"it answered {said(line)}, which is no JSON object")  # noqa: TRY004 - content, not type
    if found.get("error"):
        raise ValueError(shown(found["error"], _ERROR))
    return found


def said(line: bytes, most: int = 120) -> str:
    """The beginning of a line, fit to be shown."""
    text = line[: most + 1].decode(errors="replace")
    return ascii(text if len(text) <= most else text[:most] + "...")


def shown(value: object, most: int = 300) -> str:
    """What a program says, for people: of a bounded length, on one line, without what a terminal would obey."""
    text = " ".join(str(value).split())
    return "".join(char if char.isprintable() else "?" for char in text[:most]) + "..." * (len(text) > most)


def parse_hello(found: Mapping[str, Any]) -> Hello:
    """Raises ValueError where it is no such answer."""
    return Hello(
        ops=_names(found, "ops"),
        payloads=_names(found, "payloads"),
        client=shown(found.get("client") or "", _NAME),
        version=shown(found.get("version") or "", _NAME),
        concurrency=found.get("concurrency") is True,
    )


def _names(found: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = found.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f'"{key}" in its answer to hello is no list of names')
    return tuple(shown(name, _NAME) for name in names)


@dataclass(frozen=True)
class Answered:
    """What a program said of a number of calls. `hits` are those that found, or stored, what they should."""

    calls: int
    seconds: float
    hits: int
    errors: int
    cpu: Value = field(default_factory=lambda: Missing("the program does not tell"))
    latencies: tuple[float, ...] = ()


def parse(found: Mapping[str, Any], requested: int) -> Answered:
    """Its answer to `calls`. Raises ValueError where a figure is missing or none."""
    cpu = found.get("cpu_seconds")
    latencies = found.get("latencies", [])
    if not isinstance(latencies, list):
        raise ValueError('"latencies" is no list of seconds')  # noqa: TRY004 - content, not type
    return Answered(
        calls=_count(found, "calls"),
        seconds=_seconds(found.get("seconds"), "seconds"),
        hits=_count(found, "hits"),
        errors=_count(found, "errors"),
        cpu=Missing("the program does not tell") if cpu is None else _seconds(cpu, "cpu_seconds"),
        latencies=tuple(_seconds(one, "latencies") for one in latencies[: requested + 1]),
    )


def _count(found: Mapping[str, Any], key: str) -> int:
    value = found.get(key)
    if key not in found:
        raise ValueError(f'"{key}" is missing in its answer')
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError(f'"{key}" in its answer is {_value(value)}, no count')
    return value


def _seconds(value: object, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_time(value):
        raise ValueError(f'"{key}" in its answer is {_value(value)}, no time in seconds')
    return float(value)


def _is_time(value: float) -> bool:
    return value == 0 or _SHORTEST <= value <= _LONGEST


def _value(value: object) -> str:
    """A value of an answer as the program wrote it."""
    return shown(json.dumps(value), _NAME)


def load_result(found: Answered, requested: int, concurrency: int) -> LoadResult:
    """The same as every generator's result."""
    failed = {"error": found.errors, "miss": max(0, found.calls - found.hits - found.errors)}
    return LoadResult(
        requested=requested,
        completed=found.calls,
        seconds=found.seconds,
        failed={kind: count for kind, count in failed.items() if count},
        latencies=found.latencies,
        mean_latency=_mean(found, concurrency),
    )


def _mean(found: Answered, concurrency: int) -> Value:
    """Seconds per call: as told for each, or from the whole where they were made one after the other."""
    if found.latencies:
        mean = sum(found.latencies) / len(found.latencies)
    elif concurrency == 1 and found.calls:
        mean = found.seconds / found.calls
    else:
        return Missing("the program gives no time per call")
    return mean if mean == 0 or mean >= _SHORTEST else Missing("no call can be that short")


def judge(found: Answered, requested: int, wall: float, busy: Value | None = None) -> str:
    """Why these calls prove nothing, or "".

    Args:
        found: what the program said of them.
        requested: how many they were to be.
        wall: how long we waited for the answer, in seconds.
        busy: processor time that the program used meanwhile, in seconds per processor that it may use, where that
            is known: work that it does beside its calls would be booked to them.
    """
    return "; ".join([*_reasons(found, requested, wall), *_aside(found, busy)])


def _aside(found: Answered, busy: Value | None) -> Iterator[str]:
    if isinstance(busy, float) and busy > found.seconds * _ASIDE_SHARE + _ASIDE:
        yield (
            f"it was busy for {busy:.3g} s, yet tells only {found.seconds:.3g} s: what is no call belongs into the "
            "preload, and the clock has to run during all calls"
        )


def _reasons(found: Answered, requested: int, wall: float) -> Iterator[str]:
    if found.calls != requested:
        yield f"{found.calls:,} of {requested:,} calls were made"
    if found.errors:
        yield f"failed: {found.errors:,} error{'s' * (found.errors > 1)}"
    if found.hits + found.errors < found.calls:
        missed = found.calls - found.hits - found.errors
        yield f"{missed:,} of {found.calls:,} calls missed: what they should find was not there"
    if found.hits + found.errors > found.calls:
        yield f"{found.hits:,} hits and {found.errors:,} errors of {found.calls:,} calls can't be"
    if found.seconds <= 0:
        yield "no time: the program measured nothing"
    elif found.seconds > wall * (1 + _SLACK):
        yield f"its calls took {found.seconds:.3g} s by its own clock, yet its answer came after {wall:.3g} s"
    if found.latencies and len(found.latencies) != found.calls:
        yield f"{len(found.latencies):,} latencies of {found.calls:,} calls"
