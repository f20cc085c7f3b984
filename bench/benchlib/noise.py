"""Recorded noise: pairs of launches of one image in both arms, with the figures of their slices alone.

A file holds sittings, as JSON lines, mostly compressed (`.jsonl.xz`): a header, the slice sizes, then a line per pair
with every slice as [requests, wall, cpu], times in whole microseconds, null where something was not measured.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from benchlib.runs import kept_run
from windtunnel.compare.effects import Pair, pairs_of
from windtunnel.errors import ConfigError
from windtunnel.model import Host, Launch, LaunchPlan, Slice
from windtunnel.sample.runfile import FORMAT as RUN_FORMAT
from windtunnel.sample.runfile import Run, read_run
from windtunnel.sample.schedule import Sizes
from windtunnel.units import Missing, Value

__all__ = [
    "FORMAT",
    "NoisePair",
    "Sitting",
    "host_facts",
    "joined",
    "lines_of",
    "noise_of",
    "noise_pair",
    "pair_line",
    "read_noise",
    "whole_lines",
    "write_noise",
]

FORMAT = "windtunnel-noise"
VERSION = 1

Role = Literal["load", "single"]
_ROLES: tuple[Role, ...] = ("load", "single")
_NOT_KEPT = Missing("not recorded")


@dataclass(frozen=True)
class NoisePair:
    """A pair of the very same image, and how many seconds of machine time it took."""

    pair: Pair
    cost: float


@dataclass(frozen=True)
class Sitting:
    """Pairs of one case that were recorded in one go.

    Attributes:
        name: of the file.
        case: the case's id.
        date: when it began, ISO 8601.
        conditions: "quiet" or "loaded" (other work ran on the machine).
        plan: how each launch was loaded.
        batch: how many pairs were started together.
        host: the machine, as far as it matters.
        sizes: the slice sizes, once the first pair is there.
        pairs: in the order they were made.
    """

    name: str
    case: str
    date: str
    conditions: str
    plan: LaunchPlan
    batch: int = 2
    host: Mapping[str, Any] = field(default_factory=dict)
    sizes: Sizes | None = None
    pairs: tuple[NoisePair, ...] = ()


# ---------------- writing


def lines_of(sitting: Sitting) -> Iterator[str]:
    """A sitting as lines of its file."""
    facts = {key: value for key, value in asdict(sitting).items() if key not in {"pairs", "sizes"}}
    yield _line({"format": FORMAT, "version": VERSION, **facts})
    if sitting.sizes is not None:
        yield _line({"sizes": asdict(sitting.sizes)})
    for one in sitting.pairs:
        yield pair_line(one)


def pair_line(one: NoisePair) -> str:
    """A pair as a line of a file."""
    arms = {"base": _launch(one.pair.base), "head": _launch(one.pair.other)}
    return _line({"number": one.pair.number, "cost": round(one.cost, 3), **arms})


def write_noise(path: Path, sittings: Iterable[Sitting]) -> None:
    """Write a compressed file; an earlier one of that name stays whole until the new one is."""
    text = "".join(line for sitting in sittings for line in lines_of(sitting))
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    fresh.replace(path)


def _line(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, separators=(",", ":"), allow_nan=False) + "\n"


def _launch(launch: Launch) -> Mapping[str, Any]:
    return {role: [_figures(one) for one in launch.slices if one.role == role] for role in _ROLES}


def _figures(one: Slice) -> list[int | None]:
    return [one.requests, _micro(one.wall), _micro(one.cpu)]


def _micro(value: Value) -> int | None:
    return None if isinstance(value, Missing) else round(value * 1e6)


# ---------------- reading


def read_noise(path: Path, conditions: str = "quiet") -> tuple[Sitting, ...]:
    """The sittings of a noise file; of a run file, with a sitting per case and these conditions.

    A last line that was cut short is left out. Raises ConfigError for anything else that is neither.
    """
    try:
        text = (lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()).decode()
        records = [json.loads(line) for line in whole_lines(text)]
    except (OSError, lzma.LZMAError, ValueError) as error:
        raise ConfigError(f"is neither recorded noise nor a run file: {error}", file=path) from error
    if records and records[0].get("format") == RUN_FORMAT:
        return noise_of(kept_run(path) if path.suffix == ".xz" else read_run(path), _name(path), conditions)
    if not records or records[0].get("format") != FORMAT or records[0].get("version") != VERSION:
        raise ConfigError(f"is no recorded noise of version {VERSION}; record it again", file=path)
    return tuple(_sitting(part) for part in _parts(records))


def whole_lines(text: str) -> list[str]:
    """The lines that end: the last one of a file may have been cut short."""
    return [line for line in text.split("\n")[:-1] if line]


def _name(path: Path) -> str:
    return path.name.removesuffix(".xz").removesuffix(".jsonl")


def _parts(records: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The records of each sitting: every header begins one."""
    parts: list[list[dict[str, Any]]] = []
    for record in records:
        if "format" in record:
            parts.append([])
        parts[-1].append(record)
    return parts


def _sitting(records: Sequence[dict[str, Any]]) -> Sitting:
    head, *rest = records
    sizes = next((Sizes(**record["sizes"]) for record in rest if "sizes" in record), None)
    pairs = tuple(_pair(head["case"], record) for record in rest if "number" in record)
    facts = {key: head[key] for key in ("name", "case", "date", "conditions", "batch", "host")}
    return Sitting(**facts, plan=LaunchPlan(**head["plan"]), sizes=sizes, pairs=pairs)


def _pair(case: str, record: Mapping[str, Any]) -> NoisePair:
    number = int(record["number"])
    base, other = (_read_launch(case, number, arm, record[arm]) for arm in ("base", "head"))
    return NoisePair(Pair(number, base, other), float(record["cost"]))


def _read_launch(case: str, number: int, arm: str, slices: Mapping[str, Any]) -> Launch:
    read = tuple(_slice(role, *figures) for role in _ROLES for figures in slices[role])
    return Launch(case=case, arm=arm, number=number, identity="", image="", started=0.0, slices=read)


def _slice(role: Role, requests: int, wall: int | None, cpu: int | None) -> Slice:
    return Slice(
        role=role,
        concurrency=0,
        requests=requests,
        wall=_seconds(wall),
        cpu=_seconds(cpu),
        body_bytes=_NOT_KEPT,
        total_bytes=_NOT_KEPT,
        status={},
        failed={},
        latency={},
        mean_latency=_NOT_KEPT,
        generator_share=_NOT_KEPT,
        server_share=_NOT_KEPT,
        started=0.0,
    )


def _seconds(micro: int | None) -> Value:
    return _NOT_KEPT if micro is None else micro / 1e6


# ---------------- from run files


def noise_of(run: Run, name: str, conditions: str) -> tuple[Sitting, ...]:
    """What a run file that has the same image in both arms says of noise: a sitting for each of its cases."""
    return tuple(
        Sitting(
            name=name,
            case=case.id,
            date=run.header.created,
            conditions=conditions,
            plan=run.header.plan,
            batch=run.header.compare.batch if run.header.compare else 2,
            host=host_facts(run.header.host),
            sizes=run.sizes.get(case.id),
            pairs=tuple(noise_pair(pair) for pair in pairs_of(run.launches, case.id)),
        )
        for case in run.header.cases
    )


def joined(sittings: Sequence[Sitting], name: str) -> tuple[Sitting, ...]:
    """Sittings that were made one after the other, as one for each of their cases; pairs are numbered anew."""
    whole: dict[str, Sitting] = {}
    for one in sorted(sittings, key=lambda one: one.date):
        before = whole.get(one.case, replace(one, name=f"{name}-{len(whole) + 1}", pairs=()))
        fresh = [
            replace(pair, pair=replace(pair.pair, number=number))
            for number, pair in enumerate(one.pairs, len(before.pairs) + 1)
        ]
        whole[one.case] = replace(before, pairs=(*before.pairs, *fresh))
    return tuple(whole.values())


def noise_pair(pair: Pair) -> NoisePair:
    """A pair with its cost: all phases of both launches, shared ones divided."""
    return NoisePair(pair, sum(pair.base.spent.values()) + sum(pair.other.spent.values()))


def host_facts(host: Host | None) -> Mapping[str, Any]:
    """What of a machine matters for its noise."""
    kept = ("cpu_model", "cores", "kernel", "governor", "cgroup", "engine", "engine_version", "load")
    return {} if host is None else {key: getattr(host, key) for key in kept}
