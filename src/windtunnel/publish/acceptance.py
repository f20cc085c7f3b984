"""Accepting a regression: a label, or a comment, by somebody with write permission, for the commit that was measured.

Both have to be made after the first run for that commit was created. So what was accepted for one commit does not
hold for the next, and whoever writes the pull request can't accept on its own behalf: the text of the pull request
counts for nothing, and permissions are what the forge says.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from windtunnel.publish.forge import Comment, Forge, LabelEvent, PullRequest
from windtunnel.report.around import ACCEPT_COMMAND, ACCEPT_LABEL, Acceptance
from windtunnel.report.visible import visible

__all__ = [
    "COMMAND",
    "LABEL",
    "REASON",
    "Sought",
    "acceptance_of",
    "accepted_reason",
    "first_measured",
    "is_command",
    "may_accept",
    "seek",
]

LABEL = ACCEPT_LABEL
COMMAND = ACCEPT_COMMAND.partition(" ")[0]

REASON = 300
"""The most characters of a reason that are shown and recorded."""

_ACCEPT = re.compile(rf"{COMMAND}[ \t]+accept(?:[ \t]+(?P<reason>.*))?", re.IGNORECASE)
_ANY = re.compile(rf"{COMMAND}(?!\S)", re.IGNORECASE)
_MAY = frozenset({"admin", "write"})

_MOST = 30
"""So many people are asked for; more of them who accept one commit are noise."""

_NO_REASON = f"A comment says {ACCEPT_COMMAND} and no reason: it counts once the reason is on the same line."


@dataclass(frozen=True)
class Sought:
    """What was found.

    Attributes:
        acceptance: the one that counts, or None.
        remarks: sentences of our own for the report.
        notes: for the log; they name people.
    """

    acceptance: Acceptance | None = None
    remarks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def acceptance_of(forge: Forge, pull: PullRequest, since: datetime.datetime) -> Acceptance | None:
    """Who has accepted what a pull request costs, at or after `since`: when its head was first measured.

    A comment is preferred to a label, since it has a reason; the newest comment to older ones. Raises ForgeError.
    """
    return seek(forge, pull, since).acceptance


def seek(forge: Forge, pull: PullRequest, since: datetime.datetime) -> Sought:
    """As `acceptance_of`, with what is to be told of the others who tried."""
    people = _People(forge)
    commented = _by_comment(forge.comments(pull.number), since, people)
    if commented.acceptance is not None or not _has_label(pull.labels):
        return commented
    labelled = _by_label(forge.label_events(pull.number), since, people)
    return Sought(labelled.acceptance, commented.remarks, (*commented.notes, *labelled.notes))


def first_measured(forge: Forge, head: str, otherwise: datetime.datetime) -> datetime.datetime:
    """When the first run for a commit was created: from then on it can be accepted, however often it is measured.

    `otherwise` is when the run at hand was. Raises ForgeError.
    """
    return min([otherwise, *(run.created for run in forge.workflow_runs(head, "pull_request"))])


def is_command(body: str) -> bool:
    """Whether a comment speaks to us: it begins with the command."""
    return _ANY.match(body) is not None


def accepted_reason(body: str) -> str | None:
    """The reason, within bounds, "" where there is none; None for a comment that accepts nothing.

    Only the first line counts: what is quoted or follows below is talk.
    """
    match = _ACCEPT.fullmatch(re.split(r"[\r\n]", body, maxsplit=1)[0].rstrip())
    return None if match is None else visible(match["reason"] or "", REASON)


def may_accept(forge: Forge, user: str) -> bool:
    """Whether a user has write permission. Raises ForgeError."""
    return forge.permission(user) in _MAY


@dataclass
class _People:
    """Who may accept; everybody is asked for once, and not more people than are bearable."""

    forge: Forge
    known: dict[str, bool] = field(default_factory=dict)

    def may(self, user: str) -> bool:
        if user not in self.known:
            self.known[user] = len(self.known) < _MOST and may_accept(self.forge, user)
        return self.known[user]


# ---------------- comments


def _by_comment(comments: Sequence[Comment], since: datetime.datetime, people: _People) -> Sought:
    remarks: list[str] = []
    notes: list[str] = []
    for comment, reason in _accepting(comments, since):
        if not people.may(comment.author):
            notes.append(_refused(comment.author, "commented"))
        elif not reason:
            remarks.append(_NO_REASON)
        else:
            found = Acceptance(comment.author, reason, comment.created, comment.url)
            return Sought(found, (), tuple(dict.fromkeys(notes)))
    return Sought(None, tuple(dict.fromkeys(remarks)), tuple(dict.fromkeys(notes)))


def _accepting(comments: Sequence[Comment], since: datetime.datetime) -> Iterator[tuple[Comment, str]]:
    """Those that count by their time and text, the newest first."""
    for comment in reversed(comments):
        reason = accepted_reason(comment.body)
        if reason is not None and comment.created >= since:
            yield comment, reason


# ---------------- labels


def _by_label(events: Sequence[LabelEvent], since: datetime.datetime, people: _People) -> Sought:
    """Whoever put the label on last is who counts."""
    own = [one for one in events if _has_label([one.label])]
    last = own[-1] if own else None
    if last is None or not last.added or last.created < since:
        return Sought()
    if not people.may(last.actor):
        return Sought(notes=(_refused(last.actor, "put the label on"),))
    return Sought(Acceptance(last.actor, "", last.created, label=LABEL))


def _has_label(labels: Sequence[str]) -> bool:
    return any(one.casefold() == LABEL for one in labels)  # GitHub's labels have no case


def _refused(user: str, what: str) -> str:
    return f"{visible(user, 60)} {what} and has no write permission: nothing is accepted by that"
