"""Payloads of events, as far as windtunnel reads them."""

from __future__ import annotations

from typing import Any

__all__ = ["dispatch", "merge_group", "pull_request", "push"]

REPOSITORY = "owner/project"


def _repository(name: str, default: str = "main") -> dict[str, Any]:
    owner = name.partition("/")[0]
    return {"full_name": name, "default_branch": default, "owner": {"login": owner}, "fork": name != REPOSITORY}


def pull_request(
    head: str, *, number: int = 7, base: str = "main", base_sha: str = "", fork: str | None = REPOSITORY
) -> dict[str, Any]:
    """A pull request was opened or pushed to. `fork` is where its branch is; None for one that was deleted."""
    source = None if fork is None else _repository(fork)
    return {
        "action": "synchronize",
        "number": number,
        "pull_request": {
            "number": number,
            "head": {"sha": head, "ref": "topic", "repo": source},
            "base": {"sha": base_sha or "f" * 40, "ref": base, "repo": _repository(REPOSITORY)},
        },
        "repository": _repository(REPOSITORY),
    }


def merge_group(head: str, base: str = "main", base_sha: str = "") -> dict[str, Any]:
    """A merge queue wants checks."""
    return {
        "action": "checks_requested",
        "merge_group": {
            "head_sha": head,
            "head_ref": f"refs/heads/gh-readonly-queue/{base}/pr-7-{head}",
            "base_sha": base_sha or "f" * 40,
            "base_ref": f"refs/heads/{base}",
        },
        "repository": _repository(REPOSITORY),
    }


def push(before: str, after: str, ref: str = "refs/heads/main", default: str = "main") -> dict[str, Any]:
    """Somebody has pushed."""
    return {"ref": ref, "before": before, "after": after, "repository": _repository(REPOSITORY, default)}


def dispatch(ref: str = "refs/heads/main") -> dict[str, Any]:
    """Somebody has started the workflow by hand."""
    return {
        "ref": ref,
        "inputs": {},
        "workflow": ".github/workflows/measure.yml",
        "repository": _repository(REPOSITORY),
    }
