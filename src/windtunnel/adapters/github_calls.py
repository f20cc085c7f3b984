"""Requests to GitHub's API through PyGithub, and what is done when one goes wrong.

PyGithub's own retry is switched off. It would repeat a POST that may have come through, and make two comments of one;
and it waits for as long as it is told to. Here a repeat is decided on in one place, with bounds: see
site/design/forge.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import requests

from windtunnel.adapters.github_faults import Call, Passing, Patience, Refusal, unlike_documented
from windtunnel.errors import ConfigError
from windtunnel.publish.forge import ForgeError
from windtunnel.version import __version__

if TYPE_CHECKING:
    from github.Requester import Requester

__all__ = ["HEADERS", "Calls", "connection_lost"]

HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
"""What every request says: the form and the version of the API that this was written for."""

_NOT_JSON = object()
_PAGE = 100
_MOST_PAGES = 30

_Made = TypeVar("_Made")


class Calls:
    """A repository's part of the API, as the holder of `token` sees it.

    Raises ConfigError where PyGithub is not installed or an argument can't be what it has to be.
    """

    def __init__(self, token: str, api_url: str, patience: Patience) -> None:
        self.api_url = _checked_url(api_url)
        self.token = _checked_token(token)
        self.patience = patience
        self._requester = _requester(self.token, self.api_url, patience)

    def do(self, call: Call) -> Any:
        """The answer to one request that does no harm when it is made twice; None for one without a body."""
        return self.persistently(lambda: self._once(call)[1])

    def make(self, call: Call, found: Callable[[], _Made | None], parsed: Callable[[Any], _Made]) -> _Made:
        """A request that must not come through twice. `found` looks whether a lost one has come through after all."""
        return self.persistently(lambda: parsed(self._once(call)[1]), found)

    def all(self, call: Call, key: str = "") -> list[Any]:
        """Every item of a paged list; `key`: where in an object the list is. Raises ForgeError for an endless one."""
        items: list[Any] = []
        for page in range(1, _MOST_PAGES + 1):
            asked = replace(call, query={**call.query, "per_page": _PAGE, "page": page})
            headers, data = self.persistently(partial(self._once, asked))
            items += _items(call, data, key)
            if not re.search(r'rel="?next"?', headers.get("link") or ""):
                return items
        raise ForgeError(
            f"GitHub has more than {_MOST_PAGES * _PAGE} answers to {call}; that is more than is looked at"
        )

    def persistently(self, once: Callable[[], _Made], found: Callable[[], _Made | None] | None = None) -> _Made:
        """What `once` gives; tried again after passing faults. Raises ForgeError when patience is at its end."""
        tried = 0
        while True:
            try:
                return once()
            except Passing as fault:
                tried += 1
                self.patience.wait(fault, tried)
                there = found() if found is not None and fault.perhaps_done else None
            if there is not None:
                return there

    def _once(self, call: Call) -> tuple[Mapping[str, Any], Any]:
        """The headers (names in lower case) and the JSON of a good answer. Raises Passing and ForgeError."""
        body = None if call.body is None else dict(call.body)
        try:
            status, headers, text = self._requester.requestJson(
                call.verb, call.path, dict(call.query), dict(HEADERS), body
            )
        except requests.exceptions.RequestException as error:
            raise connection_lost(str(call), error) from error
        if status >= 400:
            raise Refusal(status, headers, _json(text, None)).explained(call)
        data = _json(text, _NOT_JSON)
        if data is _NOT_JSON:  # half an answer, or another one than GitHub's
            raise Passing(f"GitHub's answer to {call} is not JSON", perhaps_done=True)
        return headers, data


def connection_lost(what: str, error: Exception) -> Passing:
    """A connection that was lost, or never came about; whoever asked can't know whether the request came through."""
    slow = isinstance(error, requests.exceptions.Timeout)
    why = "it did not answer in time" if slow else f"the connection was lost ({type(error).__name__})"
    return Passing(f"GitHub can't be reached for {what}: {why}", perhaps_done=True)


def _json(text: str, otherwise: Any) -> Any:
    """What a body says; None where there is none."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return otherwise


def _items(call: Call, data: Any, key: str) -> list[Any]:
    found = data.get(key) if key and isinstance(data, dict) else data
    if not isinstance(found, list):
        raise unlike_documented(str(call), f"there is no list{f' {key!r}' if key else ''} in it")
    return found


def _requester(token: str, api_url: str, patience: Patience) -> Requester:
    try:
        from github import Auth, Github
    except ImportError as error:
        raise ConfigError(
            "reporting to GitHub needs PyGithub, which is not installed; pip install 'windtunnel[github]'"
        ) from error
    client = Github(
        base_url=api_url,
        auth=Auth.Token(token),
        timeout=patience.timeout,
        user_agent=f"windtunnel/{__version__}",
        retry=None,
        seconds_between_requests=None,
        seconds_between_writes=None,
    )
    return client.requester


def _checked_url(api_url: str) -> str:
    parts = urlsplit(api_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"{api_url!r} is no address of an API; on github.com it is https://api.github.com", key="GITHUB_API_URL"
        )
    return api_url.rstrip("/")


def _checked_token(token: str) -> str:
    if not re.fullmatch(r"[!-~]+", token):
        wrong = "has characters that no token has" if token else "is empty"
        raise ConfigError(f"{wrong}; the step needs `env: GITHUB_TOKEN: ${{{{ github.token }}}}`", key="GITHUB_TOKEN")
    return token
