"""Whether anybody reports what a repository's workflows measure. GitHub is silent where two names do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Measuring", "measuring_workflows"]

_FOLDER = ".github/workflows"
_MEASURES = re.compile(r"(?:.+/)?action(?:@.+)?")
_REPORTS = re.compile(r"(?:.+/)?action/report(?:@.+)?")
_LARGEST = 1 << 20


@dataclass(frozen=True)
class Measuring:
    """A workflow that measures pull requests.

    Attributes:
        file: its path below the repository's top.
        name: what a reporting workflow has to call it.
        heard: whether one does.
    """

    file: str
    name: str
    heard: bool


def measuring_workflows(top: Path) -> tuple[Measuring, ...]:
    """Those in the repository at `top`, by the actions that they use; what can't be read counts as absent."""
    found = {path: read for path in _files(top) if (read := _read(path)) is not None}
    heard = {name for one in found.values() if _uses(one, _REPORTS) for name in _waits_for(one)}
    return tuple(
        Measuring(path.relative_to(top).as_posix(), name, name in heard)
        for path, one in found.items()
        if _uses(one, _MEASURES) and "pull_request" in _events(one)
        for name in [str(one.get("name") or path.relative_to(top).as_posix())]  # as GitHub names one without a name
    )


def _files(top: Path) -> list[Path]:
    folder = top / _FOLDER
    return sorted((*folder.glob("*.yml"), *folder.glob("*.yaml")))


def _read(path: Path) -> Mapping[Any, Any] | None:
    try:
        found = yaml.safe_load(path.read_bytes()) if path.stat().st_size <= _LARGEST else None
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return None
    return found if isinstance(found, dict) else None


def _events(workflow: Mapping[Any, Any]) -> Mapping[str, Any]:
    """What it runs on, with the settings of each event. YAML 1.1 takes the word `on` for a truth value."""
    found = workflow.get("on", workflow.get(True))
    if isinstance(found, dict):
        return found
    return dict.fromkeys(map(str, found)) if isinstance(found, list) else {str(found): None}


def _waits_for(workflow: Mapping[Any, Any]) -> Iterator[str]:
    settings = _events(workflow).get("workflow_run")
    names = settings.get("workflows") if isinstance(settings, dict) else None
    yield from map(str, names if isinstance(names, list) else [names])


def _uses(workflow: Mapping[Any, Any], action: re.Pattern[str]) -> bool:
    return any(action.fullmatch(one) for one in _actions(workflow.get("jobs")))


def _actions(jobs: Any) -> Iterator[str]:
    for job in jobs.values() if isinstance(jobs, dict) else ():
        steps = job.get("steps") if isinstance(job, dict) else None
        for step in steps if isinstance(steps, list) else ():
            if isinstance(step, dict) and isinstance(step.get("uses"), str):
                yield step["uses"]
