"""The connection to the engine, and its failures as ours."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import docker
import docker.credentials
import docker.errors
import requests.exceptions
import urllib3.exceptions
from docker.context import ContextAPI

from windtunnel.adapters.registry import PatientClient
from windtunnel.errors import EngineError, RegistryError

__all__ = ["DockerClient", "address", "connection", "translated"]

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")


def address() -> str:
    """Where the engine is looked for."""
    return os.environ.get("DOCKER_HOST") or _context_address() or "unix:///var/run/docker.sock"


def _context_address() -> str:
    """What ``docker context use`` chose; "" for the default, and where the docker command's files can't be read."""
    with contextlib.suppress(OSError, ValueError, KeyError, docker.errors.DockerException):
        context = ContextAPI.get_current_context()
        return str(context.Host or "") if context is not None and context.Name != "default" else ""
    return ""


def connection() -> dict[str, Any]:
    """Arguments of a client of that engine."""
    return {"base_url": address(), **docker.utils.kwargs_from_env()}


def _explained(error: Exception) -> EngineError:
    """`error` of the client library as ours, with the way out."""
    if isinstance(error, docker.errors.APIError):
        return EngineError(f"the container engine refused: {error.explanation or error}")
    if isinstance(error.__cause__ or error, docker.credentials.errors.StoreError):
        return RegistryError(
            "docker's credential helper does not work; look at credsStore and credHelpers in docker's config.json",
            cause="denied",
        )
    return EngineError(
        f"no container engine answers at {address()}; start one (on Debian or Ubuntu: tools/docker-engine) "
        "or point DOCKER_HOST at one that runs",
        detail=str(error),
    )


_ERRORS = (
    docker.errors.DockerException,
    docker.credentials.errors.StoreError,
    requests.exceptions.RequestException,
    urllib3.exceptions.HTTPError,
    OSError,
)
"""All that a call may raise: while a stream is read, errors of the libraries below come through as they are."""


def translated(call: Callable[_Args, _Result]) -> Callable[_Args, _Result]:
    """A method whose failures are EngineErrors."""

    @functools.wraps(call)
    def wrapper(*args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        try:
            return call(*args, **kwargs)
        except _ERRORS as error:
            raise _explained(error) from error

    return wrapper


class DockerClient:
    """Each thread has a connection of its own; `timeout` is in seconds, for each call's next word."""

    def __init__(self, timeout: float = 60.0) -> None:
        self._timeout = timeout
        self._local = threading.local()
        self._version: str | None = None

    @property
    def _api(self) -> Any:
        client = getattr(self._local, "client", None)
        if client is None:
            client = docker.APIClient(version=self._version or "auto", timeout=self._timeout, **connection())
            self._version = client.api_version
            self._local.client = client
        return client

    @contextlib.contextmanager
    def _patient(self, seconds: float) -> Iterator[Any]:
        """One more connection, whose calls end after that long a silence; it reads docker's credentials anew."""
        client = PatientClient(version=self._version or "auto", timeout=seconds, **connection())
        try:
            yield client
        finally:
            client.close()
