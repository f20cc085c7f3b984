"""The forge that a job talks to, by the environment that the runner gives it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from windtunnel.cli.action.events import Event
from windtunnel.cli.console import tell
from windtunnel.errors import ConfigError
from windtunnel.publish.forge import Forge

__all__ = ["forge_of"]

_API = "https://api.github.com"


def forge_of(event: Event, environ: Mapping[str, str]) -> Forge:
    """The repository of an event; on GitHub Enterprise the runner's GITHUB_API_URL says where.

    Whoever reads the job's log is told what it waits for. Raises ConfigError without a token.
    """
    from windtunnel.adapters.github import GitHub

    token = environ.get("GITHUB_TOKEN", "")
    if not token:
        raise ConfigError("GITHUB_TOKEN is not set; hand the step ${{ github.token }} over as GITHUB_TOKEN")
    return GitHub(event.repository, token, environ.get("GITHUB_API_URL") or _API, waiting=_wait)


def _wait(seconds: float) -> None:
    tell(f"GitHub does not answer yet, or not so many requests: asking again in {seconds:.0f} s")
    time.sleep(seconds)
