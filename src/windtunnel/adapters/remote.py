"""The repository that results are pushed to, and its password.

A token goes to git in its environment alone: not on a command line, where any process could read it, and not into a
file, where it would stay.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from windtunnel.adapters.gitprocess import Git, decode
from windtunnel.errors import ConfigError

__all__ = ["Remote", "remote_of"]

_HTTP = re.compile(r"(https?)://(?:[^/@]*@)?([^/]+)", re.IGNORECASE)


@dataclass(frozen=True)
class Remote:
    """Where a branch is pushed to. `token` is what an http(s) remote takes for a password, or ""."""

    url: str
    token: str = ""

    def variables(self, environ: Mapping[str, str]) -> Mapping[str, str]:
        """What git has to find in its environment, on top of the settings that `environ` gives it already."""
        match = _HTTP.match(self.url)
        if not self.token or not match:
            return {}
        key = f"http.{match[1].lower()}://{match[2]}/.extraheader"
        count = environ.get("GIT_CONFIG_COUNT", "0")
        first = int(count) if count.isascii() and count.isdigit() else 0
        values = ("", f"AUTHORIZATION: basic {self._basic}")  # an empty one takes back what others have set
        found = {"GIT_CONFIG_COUNT": str(first + len(values))}
        for at, value in enumerate(values, first):
            found |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
        return found

    @property
    def shown(self) -> str:
        """The address without what may be a password."""
        return re.sub(r"(?<=://)[^/@]*@", "", self.url)

    def redacted(self, text: str) -> str:
        """A text of git's, without anything secret."""
        for secret in (self._basic, self.token):
            text = text.replace(secret, "***") if secret else text
        return re.sub(r"(?<=://)[^/@\s]*@", "***@", text)

    @property
    def _basic(self) -> str:
        return base64.b64encode(f"x-access-token:{self.token}".encode()).decode() if self.token else ""


def remote_of(repository: Path, token: str = "") -> Remote:
    """The `origin` of a checkout. Raises ConfigError where it has none."""
    done = Git(repository).attempt("remote", "get-url", "origin")
    url = decode(done.stdout.removesuffix(b"\n"))
    if done.returncode or not url:
        raise ConfigError(
            "has no remote `origin`, so there is nowhere to push results to; git remote add origin URL",
            file=repository,
        )
    if "://" not in url and not Path(url).is_absolute() and not re.match(r"[^/]+:", url):
        url = str((repository / url).resolve())
    return Remote(url, token)
