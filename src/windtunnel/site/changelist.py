"""Everything that changed: a page, and a feed."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from windtunnel.history.nouns import History
from windtunnel.report.visible import visible
from windtunnel.site import paths
from windtunnel.site.changes import Change, all_changes
from windtunnel.site.comparisons import comparison_paths
from windtunnel.site.groups import groups
from windtunnel.site.html import fill
from windtunnel.site.page import Around, Page, Resource

__all__ = ["change_list"]

_MOST = 500
"""Lines of the page; what is older is on the pages of the classes."""

_ENTRIES = 50
"""Of the feed."""

_NAMES = uuid.UUID("6f4a0f52-6f0e-5f3c-9a51-6f3f0d7b3c11")
"""The ids of entries are made in this name space; another one would show every reader all entries anew."""

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def change_list(history: History, around: Around) -> Iterator[Page | Resource]:
    """The page of all changes, and the Atom feed of the newest ones."""
    changes = all_changes(history, groups(history))
    links = paths.class_paths(history)
    yield Resource(paths.FEED, _feed(changes[:_ENTRIES], around, history))
    body = fill(
        "changes.html",
        around=around,
        changes=changes[:_MOST],
        more=max(0, len(changes) - _MOST),
        counts={tone: sum(change.tone == tone for change in changes) for tone in ("worse", "better")},
        links={group: paths.relative(paths.CHANGES, path) for group, path in links.items()},
        runs={commit: paths.relative(paths.CHANGES, path) for commit, path in comparison_paths(history).items()},
        feed=paths.relative(paths.CHANGES, paths.FEED),
        commits=history.commits(),
    )
    yield Page(paths.CHANGES, "Changes", body, section="Performance", summary="regressions and improvements")


def _feed(changes: Sequence[Change], around: Around, history: History) -> bytes:
    """An Atom feed (RFC 4287). Its dates are those of the commits: it is the same whenever the site is built."""
    links = paths.class_paths(history)
    project = around.title or history.project
    filled = fill(
        "feed.xml",
        title=f"{project}: changes of performance" if project else "Changes of performance",
        author=project or "windtunnel",
        id=_id("feed", project),
        updated=_moment(max((change.commit.date for change in changes), default=_EPOCH)),
        entries=[(change, _entry(change, project), links[change.benchmark.group]) for change in changes],
        address=paths.FEED,
        page=paths.CHANGES,
        around=around,
    )
    return str(Markup('<?xml version="1.0" encoding="utf-8"?>\n{}\n').format(filled)).encode("utf-8")


def _entry(change: Change, project: str) -> dict[str, str]:
    name = f"{change.benchmark.name} ({change.which})" if change.which else change.benchmark.name
    place = (change.place.machine, change.place.environment, "rose" if change.rose else "fell")
    return {
        "id": _id("change", project, change.benchmark.name, change.commit.hash, *place),
        "title": visible(f"{name} {change.words}"),
        "updated": _moment(change.commit.date),
    }


def _id(*names: str) -> str:
    """The same for the same names, for ever."""
    return uuid.uuid5(_NAMES, "\0".join(names).encode("utf-8", "replace").decode("utf-8")).urn


def _moment(date: datetime.datetime) -> str:
    """As RFC 3339 has it."""
    aware = date if date.tzinfo else date.replace(tzinfo=datetime.UTC)
    return aware.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
