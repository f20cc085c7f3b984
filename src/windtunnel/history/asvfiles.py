"""What asv writes -> what the index keeps. Pure: bytes in, records out.

The files may be anybody's. A file that cannot be used raises `BadFile` with the reason in one line; a part that can't
be used is left out, and the record says so in `dropped`. Nothing here grows beyond what the file itself takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windtunnel.history.asvrows import Row, read_rows
from windtunnel.history.texts import BadFile, docstring, grid_of, shown, size_of, text

__all__ = [
    "FORMAT",
    "Definition",
    "MachineFile",
    "ResultFile",
    "read_benchmarks",
    "read_machine",
    "read_result",
]

FORMAT = 2
"""The newest format of results and of benchmarks.json that asv writes."""

_HASH = re.compile(r"[0-9a-f]{7,64}")
_LATEST = 253_402_214_400_000.0
"""Milliseconds since the epoch, the last day that a date can be."""
_CPU_FACTS = frozenset({"machine", "cpu", "num_cpu", "ram", "os", "arch"})


@dataclass(frozen=True)
class ResultFile:
    """One file of results. `date` is in milliseconds since the epoch, `cpu` the model; `dropped` are reasons."""

    commit: str
    date: float
    machine: str
    cpu: str
    environment: str
    facts: Mapping[str, str]
    rows: Sequence[Row]
    dropped: Sequence[str] = ()


@dataclass(frozen=True)
class MachineFile:
    """machine.json: its name, and its other fields as texts."""

    name: str
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Definition:
    """A benchmark as benchmarks.json has it; see `windtunnel.history.nouns.Benchmark`."""

    name: str
    kind: str
    unit: str
    param_names: Sequence[str]
    params: Sequence[Sequence[str]]
    version: str | None
    label: str
    text: str


# ---------------- the files


def read_machine(content: bytes) -> MachineFile:
    """machine.json. Raises BadFile."""
    document = _document(content)
    if _version(document) != 1:
        raise BadFile(f"has version {_version(document)} of a machine's file, known is 1")
    name = text(document.get("machine"), "machine")
    if not name:
        raise BadFile('has no name of a machine ("machine")')
    return MachineFile(name, _facts({key: item for key, item in document.items() if key in _CPU_FACTS}))


def read_benchmarks(content: bytes) -> tuple[tuple[Definition, ...], tuple[str, ...]]:
    """benchmarks.json: what it defines, and what was left out of it. Raises BadFile."""
    document = _document(content)
    _check_version(document)
    found: dict[str, Definition] = {}
    dropped: list[str] = []
    for key, record in document.items():
        if key == "version":
            continue
        try:
            one = _definition(key, record)
            found[one.name] = one
        except BadFile as error:
            dropped.append(f"{shown(key)}: {error}")
    return tuple(found.values()), tuple(dropped)


def read_result(content: bytes) -> ResultFile:
    """A file of results, of asv's format 2 or 1. Raises BadFile."""
    document = _document(content)
    _check_version(document)
    commit = text(document.get("commit_hash"), "commit_hash")
    if not _HASH.fullmatch(commit):
        raise BadFile("commit_hash is no hash of a commit")
    params = document.get("params")
    if not isinstance(params, dict):
        raise BadFile("params is not an object")
    dropped: list[str] = []
    return ResultFile(
        commit,
        _date(document.get("date")),
        text(params.get("machine"), "machine"),
        text(params.get("cpu"), "cpu"),
        _environment(document),
        _made_of(document),
        tuple(read_rows(document, dropped)),
        dropped,
    )


def _document(content: bytes) -> dict[str, Any]:
    if not content.strip():
        raise BadFile("is empty")
    try:
        document = json.loads(content)
    except RecursionError as error:
        raise BadFile("is not JSON: nested too deep") from error
    except MemoryError as error:
        raise BadFile("takes more memory than there is") from error
    except UnicodeDecodeError as error:
        raise BadFile("is not UTF-8") from error
    except ValueError as error:
        raise BadFile(f"is not JSON, or only a part of it: {str(error)[:100]}") from error
    if not isinstance(document, dict):
        raise BadFile("is not a JSON object")
    return document


def _version(document: Mapping[str, Any]) -> Any:
    version = document.get("version")
    return version if isinstance(version, int) and not isinstance(version, bool) else shown(json.dumps(version))


def _check_version(document: Mapping[str, Any]) -> None:
    version = _version(document)
    if not isinstance(version, int) or version < 1:
        raise BadFile(f'has no version of asv\'s format ("version": {version})')
    if version > FORMAT:
        raise BadFile(f"is of format {version}, which is newer than the {FORMAT} known here; update windtunnel")


def _date(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LATEST:
        raise BadFile("date is no time in milliseconds since 1970")
    return float(value)


# ---------------- what an environment is made of


def _facts(found: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    return {
        prefix + text(key, "a name"): text(value, str(key))
        for key, value in found.items()
        if isinstance(value, str | int | float | None)
    }


def _made_of(document: Mapping[str, Any]) -> dict[str, str]:
    facts = _facts({"python": document.get("python")})
    for key, prefix in (("requirements", ""), ("env_vars", "env-")):
        found = document.get(key)
        if isinstance(found, dict):
            facts |= _facts(found, prefix)
    return facts


def _environment(document: Mapping[str, Any]) -> str:
    """Its name; files of format 1 may have none, then it is made of what the environment consists of, as by asv."""
    name = document.get("env_name")
    if name is not None:
        return text(name, "env_name")
    facts = _made_of(document)
    python = facts.pop("python", "")
    return "-".join([f"py{python}", *(f"{key}{value}" for key, value in sorted(facts.items()))])


# ---------------- the benchmarks


def _definition(key: str, record: Any) -> Definition:
    if not isinstance(record, dict):
        raise BadFile("its definition is not an object")
    name = text(record.get("name") or key, "name")
    params = grid_of(record.get("params", []))
    names = record.get("param_names", [])
    if not isinstance(names, list) or len(names) != len(params):
        raise BadFile("param_names and params do not fit together")
    size_of(params)
    version = record.get("version")
    return Definition(
        name,
        text(record.get("type"), "type"),
        text(record.get("unit"), "unit"),
        tuple(text(one, "param_names") for one in names),
        params,
        None if version is None else text(version, "version"),
        text(record.get("pretty_name"), "pretty_name"),
        docstring(record.get("code"), name.rpartition(".")[2]),
    )
