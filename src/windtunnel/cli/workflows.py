"""The workflows that `windtunnel init --github` writes. Pure but for reading the templates and pip's own records."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import dataclass
from importlib import metadata

from windtunnel.cli.render import filled
from windtunnel.declare.settings import Settings
from windtunnel.publish.acceptance import LABEL
from windtunnel.version import HOME, __version__

__all__ = ["FOLDER", "Source", "installed_source", "source_of", "workflow_files", "workflow_steps"]

FOLDER = ".github/workflows"
"""Where GitHub looks for workflows, below the repository's top."""

_FILES = ("windtunnel.yml", "windtunnel-report.yml", "windtunnel-record.yml")
_CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"
_DEPLOY = "actions/deploy-pages@cd2ce8fcbc39b97be8ca5fce6e763baed58fa128 # v5.0.0"

_URL = re.compile(r"(?:https://|ssh://git@|git@)github\.com[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_PLAIN = re.compile(r"\.|[A-Za-z_][A-Za-z0-9_./-]*")
_WORDS = frozenset(("true", "false", "yes", "no", "on", "off", "null", "y", "n"))


@dataclass(frozen=True)
class Source:
    """Where a workflow takes windtunnel's actions from: `repository` is OWNER/NAME, `ref` a tag or a commit."""

    repository: str
    ref: str

    @property
    def pinned(self) -> bool:
        """Whether it is a commit, which nobody can move."""
        return _COMMIT.fullmatch(self.ref) is not None


def installed_source() -> Source:
    """The very windtunnel that runs here, if it came from a repository on GitHub; else the release of its version."""
    try:
        record = metadata.distribution("windtunnel").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        record = None
    return source_of(record)


def source_of(record: str | None) -> Source:
    """As `installed_source`, from what pip has kept of an installation (the text of direct_url.json, or None)."""
    try:
        found = json.loads(record or "null")
        url, commit = found["url"], found["vcs_info"]["commit_id"]
    except (ValueError, TypeError, KeyError):
        url, commit = "", ""
    match = _URL.fullmatch(url) if isinstance(url, str) else None
    if match is None or not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        return Source(HOME, f"v{__version__}")
    return Source(match[1], commit)


def workflow_files(directory: str, branch: str, source: Source) -> dict[str, str]:
    """Path below the repository's top -> text.

    Args:
        directory: POSIX path of the suite's folder below the repository's top, "" for the top itself.
        branch: the main branch.
        source: where the actions come from.
    """
    values = {
        "checkout": _CHECKOUT,
        "deploy": _DEPLOY,
        "repository": source.repository,
        "ref": _reference(source),
        "directory": _scalar(directory or "."),
        "branch": _scalar(_literal_pattern(branch)),
    }
    return {f"{FOLDER}/{name}": filled(f"github/{name}", values) for name in _FILES}


def _reference(source: Source) -> str:
    if source.pinned:
        return f"{source.ref} # windtunnel {__version__}"
    return f"{source.ref} # zizmor: ignore[unpinned-uses] a release; the hash of its commit is stricter"


def _literal_pattern(branch: str) -> str:
    """A branch filter that means this name alone. git takes no other of the characters that mean something there."""
    text = branch.replace("+", r"\+")
    return f"\\{text}" if text.startswith("!") else text


def _scalar(text: str) -> str:
    """`text` as YAML and as an expression of GitHub's: both have characters that mean something."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return text if plain else json.dumps(text.replace("${{", "${{ '${{' }}"), ensure_ascii=False)


def workflow_steps(branch: str, settings: Settings, source: Source) -> list[str]:
    """What is left to do after the workflows have been written; lines for a person."""
    told = _STEPS if settings.gate == "on" else _STEPS + _GATE
    steps = told.format(branch=branch, results=settings.results_branch, label=LABEL).splitlines()
    return [
        "",
        f"The workflows take windtunnel from {source.repository} at {source.ref}; change that if yours is elsewhere.",
        "What is left to do on GitHub:",
        *(_numbered(number, step) for number, step in enumerate(steps, 1)),
    ]


_STEPS = """\
Commit them and bring them to {branch}: GitHub takes the report from there alone, so the first comment comes with \
the pull request after that.
Make the label that accepts a regression: gh label create {label}
For the site choose GitHub Actions as its source (Settings, Pages); without Pages remove the job `deploy` from \
windtunnel-record.yml.
Where rules protect every branch, leave out {results}: the history is kept there.
"""

_GATE = """\
A regression is told and stops nothing. To stop it: gate = "on" in windtunnel.toml, and the check "windtunnel" \
required on {branch}.
"""


def _numbered(number: int, step: str) -> str:
    return textwrap.fill(step, 100, initial_indent=f"  {number}. ", subsequent_indent="     ", break_on_hyphens=False)
