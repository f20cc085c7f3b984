"""Which regressions were accepted, as the results branch keeps it, read strictly. The texts are from outside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windtunnel.history.nouns import RunRef, Unreadable
from windtunnel.publish.accepted import FORMAT, VERSION
from windtunnel.site.html import web_address

__all__ = ["AcceptedRegression", "accepted_beside"]

_NAME = re.compile(r"[0-9a-f]{40,64}\.json")
_BYTES = 1 << 20
_CASES = 400


@dataclass(frozen=True)
class AcceptedRegression:
    """One file of `accepted/`. `by` is a name on the forge, `url` what the forge called the comment; maybe ""."""

    commit: str
    pull: int
    by: str
    reason: str
    created: str
    url: str
    regressions: tuple[str, ...]

    @property
    def address(self) -> str:
        """`url` where it is an address of the web, else ""."""
        return web_address(self.url)


class _Odd(ValueError):
    """What is wrong with a file, in a few words."""


def accepted_beside(runs: Iterable[RunRef]) -> tuple[tuple[AcceptedRegression, ...], tuple[Unreadable, ...]]:
    """All that lie in `accepted/` beside the `runs/` of some run files, by commit; and the files that are none."""
    found: dict[str, AcceptedRegression] = {}
    odd: list[Unreadable] = []
    for path in sorted({path for folder in _folders(runs) for path in folder.glob("*.json")}):
        try:
            one = _read(path)
            found[one.commit] = one
        except (OSError, _Odd) as error:
            odd.append(Unreadable(path, str(error)))
    return tuple(found[commit] for commit in sorted(found)), tuple(odd)


def _folders(runs: Iterable[RunRef]) -> Iterator[Path]:
    """``accepted`` beside each ``runs`` that is above a run file."""
    above = {parent for run in runs for parent in run.path.parents if parent.name == "runs"}
    return (parent.with_name("accepted") for parent in above)


def _read(path: Path) -> AcceptedRegression:
    if not _NAME.fullmatch(path.name):
        raise _Odd("is not named by a commit")
    with path.open("rb") as file:
        content = file.read(_BYTES + 1)
    if len(content) > _BYTES:
        raise _Odd("is larger than any of its kind")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _Odd("is no JSON") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT or document.get("version") != VERSION:
        raise _Odd(f"is no {FORMAT} of version {VERSION}")
    return _checked(document, path.stem)


def _checked(document: dict[str, Any], commit: str) -> AcceptedRegression:
    texts = {key: document.get(key) for key in ("commit", "by", "reason", "created", "url")}
    pull, cases = document.get("pull_request"), document.get("regressions")
    if not all(isinstance(text, str) for text in texts.values()) or not isinstance(pull, int):
        raise _Odd("lacks a text or the number of its pull request")
    if not isinstance(cases, list) or not all(isinstance(case, str) for case in cases):
        raise _Odd("has no list of cases")
    if texts["commit"] != commit:
        raise _Odd("is of another commit than its name says")
    return AcceptedRegression(pull=pull, regressions=tuple(cases[:_CASES]), **texts)  # type: ignore[arg-type]
