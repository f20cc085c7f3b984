"""What GitHub says no with, as errors of ours: what can be waited for, what is missing, what is gone. Pure."""

from __future__ import annotations

import datetime
import email.utils
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from windtunnel.publish.forge import ForgeDenied, ForgeError, ForgeGone
from windtunnel.report.visible import visible

__all__ = ["TIMEOUT", "Call", "Passing", "Patience", "Refusal", "unlike_documented"]

_UNTOLD_LIMIT = 60.0
"""Seconds to wait at a rate limit that does not tell how long; what GitHub's documentation asks for at least."""

_TROUBLE = 500

TIMEOUT = 30
"""Seconds without a byte after which an answer is given up."""


@dataclass(frozen=True)
class Call:
    """One request. `need` is the permission that a workflow has to have for it, as its `permissions:` spell it."""

    verb: str
    path: str
    need: str
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.verb} {visible(self.path)}"


class Passing(Exception):
    """A fault that may be over soon.

    Attributes:
        pause: the seconds that GitHub asks to wait, None where it asks for nothing.
        perhaps_done: the request may have been carried out nevertheless.
    """

    def __init__(self, message: str, *, pause: float | None = None, perhaps_done: bool = False) -> None:
        super().__init__(message)
        self.pause = pause
        self.perhaps_done = perhaps_done


@dataclass(frozen=True)
class Refusal:
    """An answer with an error status. `data` is what was read from its JSON, whatever that is."""

    status: int
    headers: Mapping[str, str]
    data: Any

    def explained(self, call: Call) -> Passing | ForgeError:
        """The error that this is for us."""
        told = f"GitHub refused {call} ({self.status}{self._words()})"
        pause = self._pause()
        if pause is not None:
            return Passing(told, pause=pause)
        if self.status >= _TROUBLE or self.status == 408:
            return Passing(told, perhaps_done=True)
        return self._final(call, told)

    def _final(self, call: Call, told: str) -> ForgeError:
        if self.status == 401:
            return ForgeDenied(
                f"{told}: the token is not valid, or not any more; give the step GITHUB_TOKEN, with `{call.need}` "
                "among the workflow's permissions"
            )
        if self.status == 403:
            return ForgeDenied(
                f"{told}; the workflow has to have `{call.need}` among its permissions, and to run for an event that "
                "gives it them: pull_request from a fork never does"
            )
        if self.status in (404, 410):
            return ForgeGone(f"{told}; it is not there (any more), or the token may not see it: `{call.need}`")
        return ForgeError(told)

    def _words(self) -> str:
        """GitHub's own words, made visible; it puts the reason for a 422 into `errors`."""
        if not isinstance(self.data, Mapping):
            return ""
        errors = self.data.get("errors")
        words = [self.data.get("message"), *map(_error_words, errors if isinstance(errors, list) else [errors])]
        shown = "; ".join(visible(str(one)) for one in words if one)
        return f": {shown}" if shown else ""

    def _pause(self) -> float | None:
        """How long GitHub asks to wait, None where this is no rate limit."""
        if self.status not in (403, 429):
            return None
        after = _seconds(self.headers.get("retry-after", ""), self._now())
        if after is not None:
            return after
        reset = self.headers.get("x-ratelimit-reset", "")
        if self.headers.get("x-ratelimit-remaining") == "0" and reset.isascii() and reset.isdigit():
            return max(int(reset) - self._now(), 0.0) + 1  # it does not say when in that second
        limited = self.status == 429 or "rate limit" in self._words().lower()
        return _UNTOLD_LIMIT if limited else None

    def _now(self) -> float:
        """GitHub's clock, since ours may be wrong."""
        told = _moment(self.headers.get("date", ""))
        return time.time() if told is None else told


def _error_words(error: Any) -> str:
    if isinstance(error, Mapping):
        parts = (error.get("message"), error.get("field"), error.get("code"))
        return " ".join(str(part) for part in parts if part)
    return str(error) if error else ""


def _seconds(text: str, now: float) -> float | None:
    """A Retry-After: seconds, or a date."""
    if text.isascii() and text.isdigit():
        return float(text)
    moment = _moment(text)
    return None if moment is None else max(moment - now, 0.0)


def _moment(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError):
        return None


@dataclass
class Patience:
    """How long passing faults are waited for, over all calls of one command.

    Attributes:
        waiting: waits for that many seconds.
        timeout: seconds of silence after which one answer is given up.
        longest: seconds that one wait may take.
        in_all: seconds that all of them together may take.
        tries: how often one call is made.
    """

    waiting: Callable[[float], object] = time.sleep
    timeout: int = TIMEOUT
    longest: float = 120.0
    in_all: float = 300.0
    tries: int = 5
    spent: float = 0.0

    def wait(self, fault: Passing, tried: int) -> None:
        """Wait before the next try, after `tried`. Raises ForgeError where that would be too long or too often."""
        pause = 2.0 ** (tried - 1) if fault.pause is None else max(fault.pause, 1.0)
        if tried >= self.tries:
            raise ForgeError(f"{fault}; tried {tried} times") from fault
        if pause > self.longest or self.spent + pause > self.in_all:
            again = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=min(pause, 1e6))
            raise ForgeError(f"{fault}; run this job again, but not before {again:%Y-%m-%d %H:%M} UTC") from fault
        self.spent += pause
        self.waiting(pause)


def unlike_documented(what: str, reason: object) -> ForgeError:
    """An answer that is not what GitHub's documentation promises."""
    return ForgeError(f"GitHub's answer about {what} can't be understood: {visible(str(reason))}")
