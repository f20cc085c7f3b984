"""Text from outside as HTML. Every template of the site is filled here, and only here.

What a template prints is made visible (`report.visible`: one line, no steering characters, no half characters) and
escaped; only `Markup` that was made by a template or by hand goes through as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from windtunnel.history.nouns import Commit
from windtunnel.report.visible import visible
from windtunnel.site.page import Around
from windtunnel.units import format_change

__all__ = [
    "breakable",
    "commit_address",
    "commit_link",
    "comparison_link",
    "day",
    "fill",
    "paragraphs",
    "web_address",
]

_HASH = re.compile(r"[0-9a-fA-F]{7,64}")
_WEB = re.compile(r"https?://[^\s\x00-\x1f\"'<>\\^`{|}]+", re.IGNORECASE)
_SHORT = 8
_PARAGRAPH = 2000


def fill(template: str, **values: Any) -> Markup:
    """The template of that name in `site/templates`, filled. Raises what jinja2 raises: such a fault is ours."""
    filled = _environment().get_template(template).render(values)
    return Markup(filled)  # noqa: S704 - the environment escapes


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("windtunnel.site", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., Any]] = {"breakable": breakable, "change": format_change, "day": day}
    environment.filters.update(filters)
    environment.globals.update({"commit_link": commit_link, "comparison_link": comparison_link})
    return environment


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def day(commit: Commit) -> str:
    """Its date, as ISO 8601 has days."""
    return commit.date.date().isoformat()


def breakable(name: str) -> Markup:
    """A name that may be broken behind its dots and underscores, where a card is narrow."""
    return Markup("<wbr>").join(re.split(r"(?<=[._])(?=[^._])", visible(name)))


def commit_address(commit: Commit, around: Around) -> str:
    """Where the commit is shown, or "" where nobody says so, or says something that is no web address."""
    known = web_address(around.commit_url) and _HASH.fullmatch(commit.hash)
    return f"{around.commit_url}{commit.hash}" if known else ""


def web_address(text: str) -> str:
    """`text` where it is an address of http or https and nothing else, else ""."""
    return text if _WEB.fullmatch(text) else ""


def commit_link(commit: Commit, around: Around) -> Markup:
    """The short hash, linked to where the commit is shown, and the subject as its tooltip."""
    words = Markup("<code>{}</code>").format(visible(commit.hash[:_SHORT]))
    title = visible(f"{commit.date.date().isoformat()} {commit.subject}")
    if address := commit_address(commit, around):
        return Markup('<a class="wt-commit" href="{}" title="{}">{}</a>').format(address, title, words)
    return Markup('<span class="wt-commit" title="{}">{}</span>').format(title, words)


def comparison_link(base: Commit, head: Commit, around: Around) -> Markup:
    """The base's short hash, linked to what lies between two commits where the forge has a page for that."""
    words = Markup("<code>{}</code>").format(visible(base.hash[:_SHORT]))
    known = commit_address(base, around) and commit_address(head, around)
    stem = around.commit_url.removesuffix("commit/")
    if not known or stem == around.commit_url:
        return commit_link(base, around)
    address = f"{stem}compare/{base.hash}...{head.hash}"
    return Markup('<a href="{}" title="{}">{}</a>').format(address, "what lies between the two", words)


def paragraphs(text: str) -> Markup:
    """A documentation string: its paragraphs, as text."""
    parts = re.split(r"\n\s*\n", text[: 8 * _PARAGRAPH].strip())
    shown = [visible(part, _PARAGRAPH) for part in parts]
    return Markup("\n").join(Markup("<p>{}</p>").format(escape(part)) for part in shown if part)
