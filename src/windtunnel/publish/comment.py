"""The one comment of a suite on a pull request: its hidden mark, when it is made, and how it is kept up to date.

A forge has no way to say "write if nobody else has written". So whoever writes looks again afterwards: of several
comments the oldest stays and gets the newest state, and nobody removes what another has made.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from windtunnel.compare.rule import Verdict
from windtunnel.compare.verdict import Comparison
from windtunnel.declare.settings import Comment as Policy
from windtunnel.publish.forge import Comment, Forge, ForgeError, ForgeGone

__all__ = ["Deed", "Letter", "Marker", "deliver", "key_of", "parse_marker", "worth_a_comment"]

Deed = Literal["created", "updated", "left alone", "not needed"]

_WORTH = (Verdict.REGRESSION, Verdict.IMPROVEMENT, Verdict.FAILED, Verdict.INVALID)

_LONGEST_KEY = 85
_KEY = r"[A-Za-z0-9._=]*/[A-Za-z0-9._=]*"
_MARKER = re.compile(
    rf"<!-- windtunnel comment (?P<key>{_KEY}) head=(?P<head>[0-9a-f]{{40,64}}) run=(?P<run>[0-9]{{1,20}}) -->"
)

_TRIES = 4
"""So often a comment is written at most: others write too, or delete it meanwhile."""


# ---------------- the mark


@dataclass(frozen=True)
class Marker:
    """What a comment of ours begins with, hidden: which suite it is for, and what it shows."""

    key: str
    head: str
    run: int

    def __str__(self) -> str:
        return f"windtunnel comment {self.key} head={self.head} run={self.run}"


def key_of(slug: str, suite: str) -> str:
    """A suite of a folder in letters, digits and ``._=``: what its comment and its check are found by."""
    key = f"{_encoded(slug)}/{_encoded(suite)}"
    if len(key) <= _LONGEST_KEY:
        return key
    return f"{_encoded(slug)[:30]}/sha256.{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def _encoded(text: str) -> str:
    """Every other character as its bytes, ``=2D``: nothing in it can end an HTML comment."""
    plain = re.compile(r"[A-Za-z0-9._]")
    return "".join(
        char if plain.fullmatch(char) else "".join(f"={byte:02X}" for byte in char.encode(errors="surrogatepass"))
        for char in text
    )


def parse_marker(body: str) -> Marker | None:
    """The mark at the very beginning of a comment. Anywhere else it is somebody's text, and none."""
    match = _MARKER.match(body)
    return None if match is None else Marker(match["key"], match["head"], int(match["run"]))


# ---------------- whether there is to be one


def worth_a_comment(policy: Policy, comparison: Comparison | None) -> bool:
    """Whether a comment is made where none stands; one that stands is kept up to date anyway.

    `comparison` is None where there was nothing to judge.
    """
    if policy == "never" or comparison is None:
        return False
    return policy == "always" or bool(comparison.having(*_WORTH))


# ---------------- bringing it there


@dataclass(frozen=True)
class Letter:
    """A comment to be.

    Attributes:
        pull: the number of the pull request.
        marker: what its text begins with.
        body: the whole text.
        current: the head of the pull request as it is now.
        create: whether it is made where none stands.
    """

    pull: int
    marker: Marker
    body: str
    current: str
    create: bool

    def yields_to(self, standing: Marker) -> bool:
        """Whether what stands is newer: of the current head, or by a later run where neither or both are."""
        ours, theirs = self.marker.head == self.current, standing.head == self.current
        return theirs if ours != theirs else standing.run > self.marker.run


def deliver(forge: Forge, letter: Letter) -> Deed:
    """Create or update the one comment of a suite.

    Raises ForgeError. Afterwards exactly one comment shows the newest state, even if another report was made at the
    same time, unless one of the two was killed half-way; the next report then mends the oldest.
    """
    return _Delivery(forge, letter).run()


@dataclass
class _Delivery:
    forge: Forge
    letter: Letter
    gone: set[int] = field(default_factory=set)
    """Comments that were deleted while we looked at them; a list may still have them."""

    def run(self) -> Deed:
        """Look, write, and look again, until what stands is ours or newer."""
        deed: Deed = "left alone"
        for _ in range(_TRIES):
            standing = self._standing()
            if not standing:
                return self._anew() if deed == "left alone" else deed
            oldest, shown = standing[0]
            written = deed == "updated" and shown == self.letter.marker
            if written or self.letter.yields_to(shown) or _same(oldest.body, self.letter.body):
                return deed
            if self._update(oldest):
                deed = "updated"
        if deed == "left alone":
            raise ForgeError(f"the comment on pull request {self.letter.pull} was deleted again and again")
        return deed

    def _standing(self, besides: Collection[int] = ()) -> list[tuple[Comment, Marker]]:
        """Our comments of this suite, the oldest first."""
        found = [
            (one, marker)
            for one in self.forge.comments(self.letter.pull)
            if one.ours and one.id not in self.gone and one.id not in besides
            if (marker := parse_marker(one.body)) is not None and marker.key == self.letter.marker.key
        ]
        return sorted(found, key=lambda pair: pair[0].id)

    def _update(self, comment: Comment) -> bool:
        try:
            self.forge.update_comment(comment.id, self.letter.body)
        except ForgeGone:
            self.gone.add(comment.id)
            return False
        return True

    def _anew(self) -> Deed:
        return self._create() if self.letter.create else "not needed"

    def _create(self) -> Deed:
        """A new one; if another report has made one meanwhile, that one gets our text, should it be the newer."""
        made = self.forge.create_comment(self.letter.pull, self.letter.body)
        earlier = [pair for pair in self._standing({made.id}) if pair[0].id < made.id]
        if not earlier:
            return "created"
        oldest, shown = earlier[0]
        newer = not self.letter.yields_to(shown)
        if newer and not self._update(oldest):
            return "created"  # the other one was deleted again: ours stays
        self.forge.delete_comment(made.id)
        return "updated" if newer else "left alone"


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same but for how a forge keeps ends of lines."""
    return one.replace("\r\n", "\n").rstrip() == other.replace("\r\n", "\n").rstrip()
