"""The adapter for GitHub over the local GitHub, waiting in no time."""

from __future__ import annotations

from dataclasses import dataclass

import requests

from localhub import LocalGitHub
from windtunnel.adapters.github import GitHub

__all__ = ["Waits", "ask", "connected"]


@dataclass
class Waits:
    """Counts the seconds instead of waiting them."""

    seconds: list[float]

    def __call__(self, pause: float) -> None:
        self.seconds.append(pause)


def connected(
    github: LocalGitHub, *, token: str | None = None, url: str | None = None, timeout: int = 10
) -> tuple[GitHub, Waits]:
    """The adapter, and what it has waited."""
    waits = Waits([])
    made = GitHub(
        github.state.repository,
        github.token if token is None else token,
        url or github.api_url,
        waiting=waits,
        timeout=timeout,
    )
    return made, waits


def ask(github: LocalGitHub, path: str, method: str = "GET", **more: object) -> requests.Response:
    """A request without the adapter, as the reporting token."""
    headers = {"Authorization": f"Bearer {github.token}"}
    return requests.request(method, github.api_url + path, headers=headers, timeout=30, **more)  # type: ignore[arg-type]
