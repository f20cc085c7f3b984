"""Pulling from and pushing to a registry, through the engine: waits end, and what went wrong has a cause.

The engine says what went wrong in words that it mostly has from the registry; there is nothing else to go by.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import docker
import docker.credentials
import docker.errors
import requests.exceptions
import urllib3.exceptions

from windtunnel.errors import RegistryCause, RegistryError
from windtunnel.ports import LineSink

__all__ = ["PatientClient", "cause_of", "pull", "push"]

_CAUSES: dict[RegistryCause, tuple[str, ...]] = {
    "denied": (
        "denied",
        "unauthori[sz]ed",
        "no basic auth",
        "authentication required",
        r"\b40[135]\b",
        "unsupported",
    ),
    "missing": ("manifest unknown", "manifest for .* not found", "failed to resolve reference.*not found"),
    "absent": ("name.unknown", "repository .*not (?:found|known)"),
    "unreachable": (
        "connection refused|connection reset|no such host|server misbehaving|time-?out|timed out|dial tcp",
        "no route to host|network is unreachable|x509|tls:|http response to https|broken pipe|: EOF$",
        "too ?many ?requests|unexpected http status|error parsing http [45]",
    ),
}


def cause_of(text: str) -> RegistryCause:
    """What an engine's message means for the images that follow; "broken" concerns the one image only."""
    found = (cause for cause, words in _CAUSES.items() if re.search("|".join(words), text, re.IGNORECASE))
    return next(found, "broken")


class PatientClient(docker.APIClient):  # type: ignore[misc] # the library has no types
    """A client whose calls end after `timeout` seconds of silence, those too that the library lets wait for ever."""

    def send(self, request: Any, **kwargs: Any) -> Any:
        """As requests does it, with a timeout in any case."""
        if kwargs.get("timeout") is None:
            kwargs["timeout"] = self.timeout
        return super().send(request, **kwargs)


def pull(api: Any, reference: str, on_line: LineSink, patience: float) -> None:
    """Pull an image; see `windtunnel.ports.Engine.pull`."""
    with _explained(f"cannot pull {reference}", patience):
        repository, tag = docker.utils.parse_repository_tag(reference)
        _follow(api.pull(repository, tag=tag or "latest", stream=True, decode=True), on_line, patience)


def push(api: Any, reference: str, on_line: LineSink, patience: float) -> None:
    """Push an image; see `windtunnel.ports.Engine.push`."""
    with _explained(f"cannot push {reference}", patience):
        repository, tag = docker.utils.parse_repository_tag(reference)
        _follow(api.push(repository, tag=tag or "latest", stream=True, decode=True), on_line, patience)


class _Refused(Exception):
    """What the engine reports at the end of a pull or push that did not work out."""


@contextmanager
def _explained(what: str, patience: float) -> Iterator[None]:
    """Every way to fail as a RegistryError; an engine that does not answer is left to others."""
    try:
        yield
    except _Refused as error:
        raise RegistryError(f"{what}: {error}", cause=cause_of(str(error))) from error
    except docker.errors.APIError as error:
        text = str(error.explanation or error)
        raise RegistryError(f"{what}: {text}", cause=cause_of(text)) from error
    except (requests.exceptions.ReadTimeout, urllib3.exceptions.TimeoutError) as error:
        raise RegistryError(f"{what}: nothing was heard for {patience:g} s", cause="unreachable") from error
    except (docker.errors.DockerException, docker.credentials.errors.StoreError) as error:
        if not isinstance(error.__cause__ or error, docker.credentials.errors.StoreError):
            raise
        # what a helper prints is nobody else's business
        raise RegistryError(f"{what}: docker's credential helper does not work", cause="denied") from error


def _follow(events: Iterator[Mapping[str, Any]], on_line: LineSink, patience: float) -> None:
    """Hand the lines on until the end. Attempts that are made again and again don't count as a sign of life."""
    moved = time.monotonic()
    for event in events:
        if "error" in event:
            raise _Refused(str(event["error"]).strip())
        status = str(event.get("status", ""))
        if not status.startswith("Retrying"):
            moved = time.monotonic()
        elif time.monotonic() - moved > patience:
            raise _Refused("the transfer breaks off again and again")
        if status and "progress" not in event:
            on_line(f"{event.get('id', '')} {status}".strip())
