"""Runs of a class with two parameters, made by hand so that one can check what its values are to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import material
from windtunnel.model import Case, Launch, Variant, Workload
from windtunnel.sample.runfile import Failure, Run, RunWriter

__all__ = ["PERLS", "case", "in_turn", "launches", "measured", "written"]

PERLS = ("5.32", "5.36", "5.40")
DRIFT = (1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.005, 0.995)
"""How launches of the same thing differ."""


def case(perl: str, connection: str, benchmark: str = "psgi.Starlet") -> Case:
    params = (("perl", perl), ("connection", connection))
    work = Workload(axes={"perl": perl}, keepalive=connection == "keepalive", concurrency=16)
    return Case(benchmark, params, Variant("starlet", (("perl", perl),)), work)


def launches(
    one: Case, factor: float, count: int = len(DRIFT), requests: int = 160, drifts: Sequence[float] = DRIFT
) -> tuple[Launch, ...]:
    """Each of its times is `factor` times what `material` has: 0.25 ms per request at factor 1."""
    load = replace(material.LOAD, requests=requests)
    return tuple(
        replace(
            material.LAUNCH,
            case=one.id,
            number=number,
            slices=(
                replace(load, wall=0.00025 * requests * factor * drift, cpu=0.0002 * requests * factor * drift),
                material.SINGLE,
            ),
        )
        for number, drift in enumerate(drifts[:count], start=1)
    )


def measured(
    factors: Mapping[tuple[str, str], float],
    failures: Sequence[Failure] = (),
    benchmark: str = "psgi.Starlet",
    *,
    alike: bool = True,
) -> Run:
    """A run of `windtunnel run`: a case for each (perl, connection), as many times as slow as its factor says.

    Launches of one number differ from the others in the same way in all cases, unless they are not `alike`.
    """
    cases = {place: case(*place, benchmark) for place in factors}
    unlaunched = {failure.case for failure in failures}
    made = [
        launch
        for index, (place, one) in enumerate(cases.items())
        if one.id not in unlaunched
        for launch in launches(one, factors[place], drifts=DRIFT if alike else DRIFT[index:] + DRIFT[:index])
    ]
    header = replace(material.HEADER, cases=tuple(cases.values()))
    return Run(header, tuple(made), tuple(failures), end={"exit": 0, "seconds": 20.0})


def in_turn(run: Run) -> Run:
    """The same as `windtunnel versus` measures it: its perls were loaded in turn, for each kind of connection."""
    groups: dict[str, list[str]] = {}
    for one in run.header.cases:
        groups.setdefault(dict(one.params)["connection"], []).append(one.id)
    return replace(run, header=replace(run.header, turns=tuple(map(tuple, groups.values()))))


def written(path: Path, run: Run) -> Path:
    """The run file of it."""
    writer = RunWriter(path)
    writer.header(run.header)
    for failure in run.failures:
        writer.failure(failure)
    for launch in run.launches:
        writer.launch(launch)
    writer.end(**run.end)
    writer.close()
    return path
