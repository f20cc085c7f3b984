"""What the reader of a comparison on a forge is told that is in no run file. Pure."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

__all__ = ["ACCEPT_COMMAND", "ACCEPT_LABEL", "Acceptance", "Around"]

ACCEPT_COMMAND = "/windtunnel accept"
"""What a comment begins with that accepts a regression; the reason follows."""

ACCEPT_LABEL = "windtunnel-accepted"
"""The label that accepts a regression."""


@dataclass(frozen=True)
class Acceptance:
    """Somebody with write permission has decided that a regression is worth it.

    Attributes:
        by: who.
        reason: why, in their words; "" for a label.
        created: when, by the forge's clock.
        url: the comment, or "".
        label: the label, or "".
    """

    by: str
    reason: str
    created: datetime.datetime
    url: str = ""
    label: str = ""


@dataclass(frozen=True)
class Around:
    """The surroundings of a report on a pull request.

    Attributes:
        repository_url: where the project's own commits are linked to ("https://.../OWNER/NAME"), or "" for no links.
        run_url: the workflow run that measured; its summary holds what the comment has no room for. Or "".
        suite: the suite's name, or "".
        acceptance: set where a regression was accepted.
        newer_head: the commit that the pull request has moved on to, or "".
        remarks: further sentences of our own for the front ("the base is not ..."), in plain text: what is no plain
            word in them (a commit, a path) is shown as code.
        newer_run_url: the run that measures `newer_head`; "" where none does, None where nobody has looked.
    """

    repository_url: str = ""
    run_url: str = ""
    suite: str = ""
    acceptance: Acceptance | None = None
    newer_head: str = ""
    remarks: tuple[str, ...] = ()
    newer_run_url: str | None = None
