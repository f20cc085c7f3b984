"""The event that a workflow runs for, as the runner hands it over. All of its texts are from outside."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.errors import ConfigError

__all__ = ["Event", "read_event"]


@dataclass(frozen=True)
class Event:
    """A workflow's event.

    Attributes:
        name: "pull_request", "workflow_run", ...
        payload: what the forge says of it.
        repository: OWNER/NAME of the repository that the workflow runs in.
        sha: the commit that the runner checked out, or would.
        ref: its ref ("refs/pull/7/merge").
        run: the number of this workflow run, 0 where it is not known.
        server_url: the forge's pages ("https://..."), without a slash at the end.
    """

    name: str
    payload: Mapping[str, Any]
    repository: str
    sha: str
    ref: str
    run: int = 0
    server_url: str = ""

    @property
    def repository_url(self) -> str:
        """Where the repository's own commits are linked to, or ""."""
        return f"{self.server_url}/{self.repository}" if self.server_url and self.repository else ""

    @property
    def run_url(self) -> str:
        """The page of this workflow run, or ""."""
        return f"{self.repository_url}/actions/runs/{self.run}" if self.repository_url and self.run else ""

    def text(self, *keys: str) -> str:
        """The text at nested keys of the payload; "" where there is none (a deleted fork is null, say)."""
        found = self._at(keys)
        return found if isinstance(found, str) else ""

    def number(self, *keys: str) -> int:
        """The whole number at nested keys of the payload; 0 where there is none."""
        found = self._at(keys)
        return found if isinstance(found, int) and not isinstance(found, bool) else 0

    def has(self, *keys: str) -> bool:
        """Whether anything but null is at nested keys of the payload."""
        return self._at(keys) is not None

    def _at(self, keys: tuple[str, ...]) -> Any:
        found: Any = self.payload
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found


def read_event(environ: Mapping[str, str]) -> Event:
    """The event in the runner's environment (GITHUB_EVENT_NAME, GITHUB_EVENT_PATH, ...).

    Raises ConfigError outside of a workflow, and for a payload that is no JSON object.
    """
    name, path = environ.get("GITHUB_EVENT_NAME", ""), environ.get("GITHUB_EVENT_PATH", "")
    if not name or not path:
        raise ConfigError(
            "this command is a step of a GitHub workflow and GITHUB_EVENT_NAME or GITHUB_EVENT_PATH is not set; "
            "elsewhere use windtunnel compare"
        )
    run = environ.get("GITHUB_RUN_ID", "")
    return Event(
        name,
        _payload(Path(path)),
        environ.get("GITHUB_REPOSITORY", ""),
        environ.get("GITHUB_SHA", ""),
        environ.get("GITHUB_REF", ""),
        int(run) if run.isascii() and run.isdigit() else 0,
        environ.get("GITHUB_SERVER_URL", "").rstrip("/"),
    )


def _payload(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror}", file=path, key="GITHUB_EVENT_PATH") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is not JSON: {error}", file=path, key="GITHUB_EVENT_PATH") from error
    if not isinstance(found, dict):
        raise ConfigError("is not a JSON object", file=path, key="GITHUB_EVENT_PATH")
    return found
