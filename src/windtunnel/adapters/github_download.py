"""Fetching an artifact: GitHub redirects to an address elsewhere that needs no token, and must not be sent one."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3.exceptions

from windtunnel.adapters.github_calls import HEADERS, Calls, connection_lost
from windtunnel.adapters.github_faults import Call, Passing, Refusal, unlike_documented
from windtunnel.errors import StorageError
from windtunnel.publish.forge import ForgeError, ForgeGone

__all__ = ["download"]

_PIECE = 65_536
_LONGEST = 300.0
"""Seconds that one artifact may take, however steadily it drips."""


def download(calls: Calls, call: Call, path: Path, most: int) -> None:
    """Write the artifact that `call` asks for to `path`; after any error there is no file.

    Raises ForgeError as soon as there are more than `most` bytes, and for what can't be had; StorageError where it
    can't be written.
    """
    try:
        # an address works for a minute only, so a new try begins by asking for one
        calls.persistently(lambda: _fetch(_address(calls, call), path, most, calls.patience.timeout))
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _address(calls: Calls, call: Call) -> str:
    """Where the artifact is. Raises Passing, ForgeError."""
    headers = {**HEADERS, "Authorization": f"Bearer {calls.token}"}
    with _answer(calls.api_url + call.path, str(call), headers, calls.patience.timeout) as answer:
        if answer.status_code >= 400:
            raise Refusal(answer.status_code, _lower(answer), _json(answer)).explained(call)
        address = answer.headers.get("Location", "")
    allowed = {"https", urlsplit(calls.api_url).scheme}
    if not answer.is_redirect or urlsplit(address).scheme not in allowed:
        raise unlike_documented(str(call), f"{answer.status_code}, and no address that could be followed")
    return address


def _fetch(address: str, path: Path, most: int, timeout: float) -> None:
    what = f"the artifact at {urlsplit(address).hostname}"  # the rest of the address is as good as a key
    with _answer(address, what, {"Accept-Encoding": "identity"}, timeout) as answer:
        _check(answer, what, most)
        try:
            with path.open("wb") as file:
                for piece in _pieces(answer, what, most):
                    file.write(piece)
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror}; make room") from error


def _check(answer: requests.Response, what: str, most: int) -> None:
    status = answer.status_code
    if status in (404, 410):
        raise ForgeGone(f"{what} is not there any more ({status})")
    if status != 200:  # 403 is an address that is too old already
        raise Passing(f"{what} can't be had ({status})")
    length = answer.headers.get("Content-Length", "")
    if length.isascii() and length.isdigit() and int(length) > most:
        raise _too_large(what, most)


def _pieces(answer: requests.Response, what: str, most: int) -> Iterator[bytes]:
    """As they come; never decoded, since a small answer may become a very large one that way."""
    had, until = 0, time.monotonic() + _LONGEST
    try:
        for piece in answer.raw.stream(_PIECE, decode_content=False):
            had += len(piece)
            if had > most:
                raise _too_large(what, most)
            if time.monotonic() > until:
                raise Passing(f"{what} did not come within {_LONGEST:g} s")
            yield piece
    except (urllib3.exceptions.HTTPError, requests.exceptions.RequestException) as error:
        raise connection_lost(what, error) from error


def _too_large(what: str, most: int) -> ForgeError:
    return ForgeError(f"{what} has more than {most} bytes, which no run file has; it is not read")


@contextlib.contextmanager
def _answer(address: str, what: str, headers: dict[str, str], timeout: float) -> Iterator[requests.Response]:
    try:
        answer = requests.get(
            address, headers=headers, timeout=timeout, allow_redirects=False, stream=True, auth=_as_it_is
        )
    except requests.exceptions.RequestException as error:
        raise connection_lost(what, error) from error
    with answer:
        yield answer


def _as_it_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Keeps a ~/.netrc from adding a password of its own."""
    return request


def _lower(answer: requests.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.headers.items()}


def _json(answer: requests.Response) -> Any:
    try:
        return answer.json()
    except (ValueError, requests.exceptions.RequestException):
        return None
