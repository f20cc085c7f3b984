"""An honest run file of a comparison that is in every state at once, to spoil one thing of."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from example_comparisons import BASE, CLOSE, HEAD, KEEPALIVE, LOG, SAME, Measured, Sides, case, launch, run_of
from windtunnel.model import Launch
from windtunnel.sample.merge import write_run
from windtunnel.sample.runfile import Failure, Run, RunWriter
from windtunnel.sample.schedule import Sizes

__all__ = [
    "HEAD_SHA",
    "RAW",
    "SUITES",
    "honest",
    "ids",
    "lines_of",
    "places",
    "renamed",
    "shape",
    "write_lines",
    "written",
]

HEAD_SHA = HEAD.commit
SUITES = ("quick", "nightly")

RAW = "(this becomes raw JSON)"
"""A text that `write_lines` puts something in the place of which no JSON value could be."""

_NEW, _TWIN, _BROKEN, _WRONG = (case("5.42", mode) for mode in ("new", "twin", "broken", "wrong"))


def honest(pairs: int = 12) -> Run:
    """Slower, open, unchanged, failed, invalid, new, identical and absent cases; a control; some bad launches."""
    warnings = ("a warning",)
    measured = [
        Measured(KEEPALIVE, Sides(cpu=1.08, time=1.06, memory=1.2), pairs=pairs, control=SAME, warnings=warnings),
        Measured(CLOSE, Sides(cpu=1.02, noise=9.0), pairs=pairs, warnings=warnings),
        Measured(case("5.36"), pairs=min(pairs, 8), warnings=warnings),
    ]
    bad = [launch(_WRONG, "head", number) for number in (1, 2)]
    wrong = [one.failing("invalid", "500 bytes less", "a log\nof two lines") for one in bad]
    failures = [
        Failure(_BROKEN.id, "head", "failed", "the image can't be built", LOG),
        Failure(_NEW.id, "base", "first", "base has no such case"),
        Failure(_TWIN.id, "head", "identical", "the same in base and head"),
        Failure("psgi.Starlet(5.8, close)", "head", "skipped", "no such axis"),
    ]
    lost = launch(KEEPALIVE, "head", 99).failing("lost", "the load side-car ended", "Killed")
    run = run_of(
        measured, failures, cases=[_BROKEN, _WRONG, _NEW, _TWIN], extra=[*wrong, lost, launch(_NEW, "head", 1)]
    )
    assert run.header.compare is not None
    plans = {CLOSE.id: run.header.plan}
    plan = replace(run.header.compare, suite="quick", shard="2/4", select=("Starlet",), plans=plans)
    header = replace(run.header, arms=(BASE, HEAD), compare=plan)
    return replace(run, header=header, sizes={KEEPALIVE.id: Sizes(160, 40, 0.04, 0.05)})


def written(run: Run, path: Path) -> Path:
    """The run as a file."""
    writer = RunWriter(path)
    write_run(writer, run)
    writer.close()
    return path


@cache
def _content() -> bytes:
    """With few buckets and with warnings of slices: what is spoilt is read hundreds of times."""
    run = honest()
    with tempfile.TemporaryDirectory() as folder:
        small = replace(run, launches=tuple(map(_small, run.launches)))
        return written(small, Path(folder) / "honest.jsonl").read_bytes()


def _small(one: Launch) -> Launch:
    slices = [replace(each, latency={1300: 100, 1400: 60}, warnings=("slow",)) for each in one.slices]
    return replace(one, slices=(slices[0], *slices[2:]) if slices else ())


def lines_of() -> list[Any]:
    """The honest file's lines as JSON values, to be changed freely."""
    return [json.loads(line) for line in _content().splitlines()]


def write_lines(lines: Sequence[Any], path: Path, raw: bytes = b"") -> Path:
    """Lines as a file; `raw` is put where a value is RAW."""
    content = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    path.write_bytes(content.replace(json.dumps(RAW).encode(), raw) if raw else content)
    return path


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value: the keys that lead there."""
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield (*at, key)
        if isinstance(item, dict | list):
            yield from places(item, (*at, key))


def shape(lines: Sequence[Mapping[str, Any]], at: tuple[Any, ...]) -> str:
    """What kind of place it is: the same for all launches, all slices, all pairs of a list."""
    return ".".join([str(lines[at[0]].get("type")), *("*" if isinstance(key, int) else key for key in at[1:])])


def ids(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """The ids of the header's cases."""
    return [_id(one) for one in lines[0]["cases"]]


def _id(record: Mapping[str, Any]) -> str:
    values = ", ".join(value for _, value in record["params"])
    return f"{record['benchmark']}({values})" if values else str(record["benchmark"])


def renamed(lines: Sequence[dict[str, Any]], before: Sequence[str]) -> None:
    """Where names of cases were changed in the header, change what refers to them; `before` are the ids till then."""
    after = dict(zip(before, ids(lines), strict=True))
    for line in lines[1:]:
        if isinstance(line.get("case"), str):
            line["case"] = after.get(line["case"], line["case"])
    plans = lines[0]["compare"]["plans"]
    lines[0]["compare"]["plans"] = {after.get(name, name): plan for name, plan in plans.items()}
