"""Submodules at a commit: which there are, and where their objects can be read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from windtunnel.adapters.gitprocess import Git, complaint, decode
from windtunnel.errors import WindtunnelError

__all__ = ["Gitlink", "locate", "names_at", "relative_url"]

_FETCH_TIMEOUT = 600.0


@dataclass(frozen=True)
class Gitlink:
    """A submodule as a commit of its superproject has it.

    Attributes:
        path: POSIX path in the superproject.
        commit: the commit it is at.
        name, url: from ``.gitmodules`` at the superproject's commit; None where that has no entry for `path`.
        shown: the path from the top of the outermost repository, for messages.
    """

    path: str
    commit: str
    name: str | None
    url: str | None
    shown: str


def names_at(git: Git, commit: str) -> Mapping[str, tuple[str, str | None]]:
    """Path -> (name, URL) of the submodules that ``.gitmodules`` at `commit` declares."""
    if git.attempt("cat-file", "-e", f"{commit}:.gitmodules").returncode:
        return {}
    pattern = r"^submodule\..*\.(path|url)$"
    done = git.attempt("config", "-z", "--blob", f"{commit}:.gitmodules", "--get-regexp", pattern)
    if done.returncode > 1:  # 1: nothing matches
        raise WindtunnelError(f"{git.folder}: .gitmodules at {commit[:12]}: {complaint(done)}")
    values: dict[str, dict[str, str]] = {}
    for record in decode(done.stdout).split("\0")[:-1]:
        key, _, value = record.partition("\n")
        name, _, variable = key.removeprefix("submodule.").rpartition(".")
        values.setdefault(name, {})[variable] = value
    return {entry["path"]: (name, entry.get("url")) for name, entry in values.items() if "path" in entry}


def locate(parent: Git, link: Gitlink, checkout: Path | None) -> Git:
    """Where the objects of a submodule's commit can be read; they are fetched where nobody has them yet.

    Args:
        parent: the superproject.
        link: the submodule.
        checkout: the folder it would be checked out in, or None in a bare repository.

    Raises:
        WindtunnelError: the commit is not to be had; the message names the submodule and the way out.
    """
    places = list(_places(parent, link, checkout))
    for place in places:
        if place.has(link.commit):
            return place
    url = _url(parent, link)
    if url is None:
        raise _missing(link, "no URL is known for it: .gitmodules has no entry for this path")
    # history is of no use in a store of ours, but a store of the user's must not become shallow
    options = () if places else ("--depth=1",)
    places = places or [_own_store(parent, url)]
    said = ""
    for place in places:
        said = _fetch(place, url, link.commit, options)
        if place.has(link.commit):
            return place
    raise _missing(link, f"{url}: {said}")


def _places(parent: Git, link: Gitlink, checkout: Path | None) -> list[Git]:
    """The git folders that may hold the submodule: those git keeps for it, and its checkout's own."""
    found = []
    if link.name is not None and _is_safe(link.name):
        for git_dir in parent.git_dirs:
            folder = git_dir / "modules" / link.name
            if (folder / "HEAD").is_file():
                found.append(Git.bare(folder))
    if not found and checkout is not None and (checkout / ".git").exists():
        found.append(Git.bare(Git(checkout).git_dirs[0]))
    return found


def _is_safe(name: str) -> bool:
    """Whether a submodule's name stays below the folder it is looked up in; a commit may say anything."""
    return bool(name) and not name.startswith("/") and ".." not in name.split("/")


def _own_store(parent: Git, url: str) -> Git:
    """A bare repository of ours for a submodule that was never initialised here."""
    name = hashlib.sha256(url.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    folder = parent.git_dirs[-1] / "windtunnel" / f"{name}.git"
    if not (folder / "HEAD").is_file():
        parent.run("init", "--quiet", "--bare", "--", str(folder))
        Git.bare(folder).run("config", "remote.origin.url", url)
    return Git.bare(folder)


def _fetch(place: Git, url: str, commit: str, options: tuple[str, ...]) -> str:
    """Try to get one commit; what git said when it didn't work."""
    if url.startswith("-"):
        return "this is not a URL"
    arguments = ["-c", "gc.auto=0", "-c", "maintenance.auto=false", "fetch", "--quiet", "--no-tags"]
    arguments += ["--no-write-fetch-head", "--recurse-submodules=no", *options]
    # the URL may be a commit's own words: only the transports that `git submodule update` would use
    done = place.attempt(*arguments, url, commit, variables={"GIT_PROTOCOL_FROM_USER": "0"}, timeout=_FETCH_TIMEOUT)
    return complaint(done).splitlines()[0] if done.returncode else "it does not have that commit"


def _url(parent: Git, link: Gitlink) -> str | None:
    configured = parent.config(f"submodule.{link.name}.url") if link.name is not None else None
    if configured is not None:
        return configured
    if link.url is None or not link.url.startswith(("./", "../")):
        return link.url
    top = parent.git_dirs[-1].parent
    base = parent.config("remote.origin.url") or str(top)
    if ":" not in base.partition("/")[0]:  # a path on this machine, perhaps relative to the repository
        base = os.path.normpath(top / base)
    return relative_url(base, link.url)


def relative_url(base: str, url: str) -> str:
    """A submodule's URL that is relative to its superproject's: ("host:a/b.git", "../c.git") is "host:a/c.git"."""
    base, separator = base.rstrip("/"), "/"
    while url.startswith(("./", "../")):
        step, _, url = url.partition("/")
        if step == "..":
            head, slash, _ = base.rpartition("/")
            if not slash:
                head, slash, _ = base.rpartition(":")
            base, separator = head, slash or "/"
    return f"{base}{separator}{url}"


def _missing(link: Gitlink, why: str) -> WindtunnelError:
    return WindtunnelError(
        f"submodule {link.shown}: commit {link.commit[:12]} is not here and could not be fetched ({why}); "
        "run `git submodule update --init --recursive` (in a workflow: `submodules: recursive`, `fetch-depth: 0`), "
        f"or `git -C {link.shown} fetch origin {link.commit}`"
    )
