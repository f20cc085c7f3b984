"""Reading the pages of the documentation, for the tests that hold them to the code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from windtunnel.errors import ConfigError

__all__ = [
    "FENCE",
    "PAGES",
    "ROOT",
    "SITE",
    "blocks",
    "known_keys",
    "only_key_tables",
    "prose",
    "read",
    "rows",
    "section",
    "shown",
]

ROOT = Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "site"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(SITE.rglob("*.md"))]

FENCE = re.compile(r"^(?P<fence>```+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)


def shown(path: Path) -> str:
    """How a page is called in test ids."""
    return path.relative_to(ROOT).as_posix()


def read(name: str) -> str:
    return (SITE / name).read_text("utf-8")


def prose(text: str) -> str:
    """A page without its code blocks and comments."""
    return re.sub(r"<!--.*?-->", "", FENCE.sub("", text), flags=re.DOTALL)


def blocks(text: str, language: str) -> list[tuple[str, str]]:
    """(title, code) of every block in that language."""
    found = []
    for match in FENCE.finditer(text):
        words = match["info"].split(None, 1)
        if words and words[0] == language:
            title = re.search(r'title="([^"]*)"', match["info"])
            found.append((title[1] if title else "", match["body"]))
    return found


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its rank or a higher one."""
    level = len(heading) - len(heading.lstrip("#"))
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if line == heading or line.startswith(heading + " {"))
    end = next(
        (number for number in range(start + 1, len(lines)) if re.match(rf"#{{1,{level}}} ", lines[number])),
        len(lines),
    )
    return "\n".join(lines[start + 1 : end])


def rows(text: str) -> dict[str, list[str]]:
    """Table rows by each `name` in their first cell."""
    found: dict[str, list[str]] = {}
    for line in prose(text).splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for name in re.findall(r"`([^`]+)`", cells[0]) if cells else ():
            found[name] = cells[1:]
    return found


def only_key_tables(text: str) -> dict[str, list[str]]:
    """The rows of tables whose first column is called "key"."""
    found: dict[str, list[str]] = {}
    wanted = False
    for line in prose(text).splitlines():
        if not line.startswith("|"):
            wanted = False
        elif line.startswith("| key"):
            wanted = True
        elif wanted:
            found |= rows(line)
    return found


def known_keys(parse: Callable[[str], object], text: str) -> set[str]:
    """The keys that a parser knows in the table that `text` ends with: it lists them for a key that is like none."""
    with pytest.raises(ConfigError) as caught:
        parse(f"{text}\nqqqqqqqq = 1\n")
    listed = re.search(r"qqqqqqqq: unknown key; known here: ([\w, ]+)", str(caught.value))
    assert listed is not None, caught.value
    return set(listed[1].split(", "))
