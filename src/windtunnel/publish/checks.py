"""The one check of a suite on a commit: made once, then kept up to date."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from windtunnel.publish.comment import Deed
from windtunnel.publish.forge import CheckReport, CheckRun, Forge, ForgeGone

__all__ = ["SUMMARY", "check_name", "post_check"]

SUMMARY = 65_000
"""The most bytes of a check's summary: GitHub takes 65,535 characters."""

_NAME = 100
_TWINS = 5
_IDENTITY = re.compile(r"windtunnel (?P<key>[A-Za-z0-9._=]*/[A-Za-z0-9._=]*) run=(?P<run>[0-9]{1,20})")


@dataclass(frozen=True)
class _Identity:
    """What `external_id` holds: the suite, and the workflow run whose verdicts the check shows."""

    key: str
    run: int

    def __str__(self) -> str:
        return f"windtunnel {self.key} run={self.run}"


def check_name(suite: str) -> str:
    """What a branch protection knows the check by."""
    return f"windtunnel / {suite[:_NAME]}" if suite else "windtunnel"


def post_check(forge: Forge, report: CheckReport, key: str, run: int, *, update: bool = True) -> Deed:
    """Create the check of a suite, or update the one that is there.

    Args:
        forge: where.
        report: what it says; its `external_id` is set here.
        key: which suite, as `publish.comment.key_of` has it.
        run: the workflow run that measured. What a later run says stays.
        update: whether one that is there is changed at all.

    Raises ForgeError. Two reports at once may make two checks: from then on both are kept up to date.
    """
    report = replace(report, external_id=str(_Identity(key, run)))
    own = _own(forge, report, key)
    if any(identity.run > run for _, identity in own) or (own and not update):
        return "left alone"
    updated = [_update(forge, check, report) for check, _ in own[-_TWINS:]]
    if any(updated):
        return "updated"
    forge.create_check(report)
    return "created"


def _own(forge: Forge, report: CheckReport, key: str) -> list[tuple[CheckRun, _Identity]]:
    found = [(check, _identity(check.external_id)) for check in forge.checks(report.head_sha, report.name)]
    return [(check, identity) for check, identity in found if identity is not None and identity.key == key]


def _identity(external_id: str) -> _Identity | None:
    match = _IDENTITY.fullmatch(external_id)
    return None if match is None else _Identity(match["key"], int(match["run"]))


def _update(forge: Forge, check: CheckRun, report: CheckReport) -> bool:
    try:
        forge.update_check(check.id, report)
    except ForgeGone:
        return False
    return True
