"""calibration.json: what `windtunnel calibrate` found on which machine, and the plans that follow from it.

It stands in `.windtunnel` beside asv.conf.json, holds any number of machines and cases, and is replaced as a whole,
so that a reader finds either the old one or the new one. `site/calibrate.md` describes it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from windtunnel.build.locks import held
from windtunnel.errors import ConfigError, StorageError
from windtunnel.model import Host, LaunchPlan
from windtunnel.units import Missing, Value

__all__ = [
    "FORMAT",
    "VERSION",
    "Calibrated",
    "Costs",
    "Machine",
    "Variances",
    "calibrated_plan",
    "calibration_file",
    "clear_calibration",
    "keep_calibration",
    "read_calibration",
]

FORMAT = "windtunnel-calibration"
VERSION = 1

_REMEDY = "delete it and run `windtunnel calibrate` again"


@dataclass(frozen=True)
class Variances:
    """Variances of log ratios of pairs, as they add up: a pair's is `launch` + `slice` / (slices of a launch).

    Attributes:
        launch: between launch pairs, beyond what their slices bring along.
        slice: between the slice pairs of a launch pair.
        request: the part of `slice` that the spread between its requests accounts for; Missing where nothing is
            known of single requests.
    """

    launch: float
    slice: float
    request: Value


@dataclass(frozen=True)
class Costs:
    """Seconds of machine time for both arms together: of starting, warming up and stopping a pair of launches, of a
    pair of slices under load, and of one at concurrency 1 (0 where there are none).
    """

    launch: float
    slice: float
    single: float


@dataclass(frozen=True)
class Calibrated:
    """What was found for a case on a machine.

    Attributes:
        slices, single_slices, seconds: the recommended plan, as in `LaunchPlan`.
        pairs: how many pairs it comes from.
        budget: the seconds it was recommended for.
        variances: by judged metric, of slices that last `seconds`.
        costs: of such slices, and of launches.
        kernel: the machine's, then.
        when: the time in UTC (ISO 8601).
        windtunnel: the version that measured.

    Raises ValueError for a plan that can't be carried out.
    """

    slices: int
    single_slices: int
    seconds: float
    pairs: int
    budget: float
    variances: Mapping[str, Variances]
    costs: Costs
    kernel: str
    when: str
    windtunnel: str

    def __post_init__(self) -> None:
        if self.slices < 1 or self.single_slices < 0 or self.seconds <= 0:
            raise ValueError("no launch can be loaded by this plan")


@dataclass(frozen=True)
class Machine:
    """What was found on machines of this kind, by case id."""

    cpu_model: str
    cores: int
    cases: Mapping[str, Calibrated]

    def is_like(self, host: Host) -> bool:
        """Whether a host is of this kind: the same processor, and as many cores of it."""
        return (self.cpu_model, self.cores) == (host.cpu_model, host.cores)


@dataclass(frozen=True)
class _Document:
    machines: tuple[Machine, ...] = ()


def calibration_file(root: Path) -> Path:
    """Where it stands; `root` is the folder of asv.conf.json."""
    return root / ".windtunnel" / "calibration.json"


def calibrated_plan(root: Path, host: Host, case_id: str, default: LaunchPlan) -> LaunchPlan:
    """How a launch of this case is to be loaded on this machine: as calibrated, else by `default`.

    Raises ConfigError for a file that can't be read.
    """
    for machine in read_calibration(calibration_file(root)):
        if machine.is_like(host) and case_id in machine.cases:
            found = machine.cases[case_id]
            return replace(default, slices=found.slices, single_slices=found.single_slices, seconds=found.seconds)
    return default


# ---------------- writing


def keep_calibration(root: Path, host: Host, found: Mapping[str, Calibrated]) -> Path:
    """Put these cases in the place of what the file says of them for this machine; all else in it stays.

    Raises ConfigError for a file that can't be read, StorageError for one that can't be written.
    """

    def keep(machines: Sequence[Machine]) -> list[Machine]:
        known = next((one for one in machines if one.is_like(host)), Machine(host.cpu_model, host.cores, {}))
        others = [one for one in machines if not one.is_like(host)]
        return [*others, replace(known, cases={**known.cases, **found})]

    return _change(root, keep)


def clear_calibration(root: Path, host: Host) -> int:
    """Take everything out that was found on machines like this one; returns how many cases that were.

    Raises ConfigError, StorageError.
    """
    own = [one for one in read_calibration(calibration_file(root)) if one.is_like(host)]
    if own:
        _change(root, lambda machines: [one for one in machines if not one.is_like(host)])
    return sum(len(one.cases) for one in own)


def _change(root: Path, change: Callable[[Sequence[Machine]], Sequence[Machine]]) -> Path:
    """Read, change, write: one process at a time, so that none loses what another one found."""
    path = calibration_file(root)
    with held(path.parent, "calibration", lambda: None):
        _write(path, change(read_calibration(path)))
    return path


def _write(path: Path, machines: Sequence[Machine]) -> None:
    document = {"format": FORMAT, "version": VERSION, "machines": _plain(machines)}
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            with beside.open("w", encoding="utf-8") as file:
                file.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}; make room, or make it writable") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Missing):
        return {"missing": value.reason}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


# ---------------- reading


def read_calibration(path: Path) -> tuple[Machine, ...]:
    """All machines of a file; none where there is no file.

    Raises ConfigError for a file that is not one, or is of another version.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}; make it readable, or delete it", file=path) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8; {_REMEDY}", file=path) from error
    try:
        found = json.loads(text, parse_float=_finite, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is not JSON: {error}; {_REMEDY}", file=path) from error
    return _decoded(path, found)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number that can be measured")


def _decoded(path: Path, found: Any) -> tuple[Machine, ...]:
    from pydantic import ValidationError

    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ConfigError(f"is not a calibration of windtunnel; {_REMEDY}", file=path)
    if found.get("version") != VERSION:
        version = found.get("version")
        raise ConfigError(f"is of version {version}, this windtunnel reads {VERSION}; {_REMEDY}", file=path)
    try:
        document: _Document = _adapter().validate_python({"machines": _revived(found.get("machines"))})
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{first['msg']}; {_REMEDY}", file=path, key=key) from error
    return document.machines


@cache
def _adapter() -> Any:
    """Checks all types; made only where there is a file to read."""
    from pydantic import TypeAdapter

    return TypeAdapter(_Document)


def _revived(value: Any, key: str = "") -> Any:
    """Turn ``{"missing": reason}`` back into `Missing`, where that may stand."""
    if isinstance(value, dict):
        if key == "request" and value.keys() == {"missing"}:
            return Missing(str(value["missing"]))
        return {name: _revived(item, name) for name, item in value.items()}
    return [_revived(item) for item in value] if isinstance(value, list) else value
