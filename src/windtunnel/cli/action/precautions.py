"""What a maintainer has to hear about the job itself before anything is measured in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import yaml

from windtunnel.adapters.gitprocess import Git
from windtunnel.cli.action.events import Event

__all__ = ["precautions", "secrets_in", "withhold"]

_SECRET = re.compile(
    r"(?:^|_)(?:TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|CREDENTIALS?|(?:API|PRIVATE|ACCESS)_KEY)$"
)
_LARGEST = 1 << 20


def secrets_in(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The names of variables that hold what looks like a secret."""
    return tuple(sorted(name for name, value in environ.items() if value and _SECRET.search(name.upper())))


def withhold(environ: MutableMapping[str, str]) -> None:
    """Take secrets out, so that no process that is started gets them: measuring needs none."""
    for name in secrets_in(environ):
        del environ[name]


def precautions(event: Event, environ: Mapping[str, str], top: Path) -> tuple[str, ...]:
    """Warnings, one sentence or two each. `top` is the checkout's folder.

    They are about pull requests alone: whatever else is measured was written by people with write permission.
    """
    if event.name != "pull_request":
        return ()
    found = [_secrets(environ), _credentials(top), _own_machine(event, environ), _unheard_of(environ, top)]
    return tuple(text for text in found if text)


def _secrets(environ: Mapping[str, str]) -> str:
    if not (names := secrets_in(environ)):
        return ""
    return (
        f"this job runs the code of a pull request and has {', '.join(names)} in its environment; it is not handed "
        f"on, but take it out of the workflow: measuring needs no token"
    )


def _credentials(top: Path) -> str:
    """What actions/checkout leaves behind where it is not told otherwise."""
    if Git(top).attempt("config", "--includes", "--get-regexp", r"^http\..*\.extraheader$").returncode != 0:
        return ""
    return (
        "the checkout has kept its token, and this job runs the code of a pull request; give actions/checkout "
        "persist-credentials: false"
    )


def _own_machine(event: Event, environ: Mapping[str, str]) -> str:
    source = event.text("pull_request", "head", "repo", "full_name")
    if environ.get("RUNNER_ENVIRONMENT") != "self-hosted" or source.lower() == event.repository.lower():
        return ""
    return (
        "a self-hosted runner builds and runs what a fork's pull request contains; whoever may use its container "
        "engine is as good as root on that machine. Measure forks on GitHub's own runners, or on machines that are "
        "thrown away after each job"
    )


# ---------------- is anybody listening?


def _unheard_of(environ: Mapping[str, str], top: Path) -> str:
    name = environ.get("GITHUB_WORKFLOW", "")
    if not name or any(name in names for names in _heard(top)):
        return ""
    return (
        f"no workflow in .github/workflows runs on workflow_run of {name!r}, so nobody will comment on what is "
        f"measured here; add the reporting workflow, or name this one in it (after a renaming comments stop silently)"
    )


def _heard(top: Path) -> Iterator[tuple[str, ...]]:
    """The names of workflows that each workflow waits for."""
    folder = top / ".github" / "workflows"
    for path in sorted((*folder.glob("*.yml"), *folder.glob("*.yaml"))):
        names = _at(_parsed(path), "workflow_run", "workflows")
        yield (names,) if isinstance(names, str) else tuple(map(str, names)) if isinstance(names, list) else ()


def _parsed(path: Path) -> Any:
    """What a workflow runs on; None for a file that can't be read: others will say so."""
    try:
        if path.stat().st_size > _LARGEST:
            return None
        found = yaml.safe_load(path.read_bytes())
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return None
    # YAML 1.1 takes the word `on` for a truth value.
    return found.get("on", found.get(True)) if isinstance(found, dict) else None


def _at(found: Any, *keys: str) -> Any:
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found
