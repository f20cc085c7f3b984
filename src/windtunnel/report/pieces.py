"""Markdown in pieces: text from outside as code, and as many pieces as there is room for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from windtunnel.report.visible import visible

__all__ = [
    "RESERVED",
    "Part",
    "Section",
    "cell",
    "code",
    "fenced",
    "fitted",
    "folded",
    "linked",
    "name_cell",
    "prose",
    "tight",
]

RESERVED = 900
"""Characters that are kept free for the word on what was left out."""

_NAME = 160
_WIDTH = 36
_KINDS = 6
_URL = re.compile(r"https?://[A-Za-z0-9._~:/?#&=%+-]{1,240}")
_PLAIN = re.compile(r"\(?(?:[A-Za-z]+(?:['-][A-Za-z]+)*|[0-9]{1,6}(?:[.,][0-9]{1,6})?|%)[.,;:?!)]*")
"""A word in which neither Markdown nor GitHub sees anything: no mention, no link, no emphasis, no commit."""


# ---------------- text


def code(text: str, *, most: int = 300) -> str:
    """Any text as a code span of one line, also within a table."""
    shown = visible(text, most) or "(no text)"
    marks = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    space = " " if shown[0] == "`" or shown[-1] == "`" else ""
    return f"{marks}{space}{shown}{space}{marks}"


def cell(text: str, *, most: int = _NAME) -> str:
    """A code span for a table: there a bar divides cells even within code, unless a backslash is before it."""
    return code(text, most=most).replace("|", r"\|")


def name_cell(name: str) -> str:
    """A code span for a table; a long name in several lines, or its column would push the others off the screen."""
    shown = visible(name, _NAME)
    if len(shown) <= _WIDTH:
        return cell(shown)
    lines = [""]
    for piece in re.findall(r"[^.,( ]*[.,( ]+|[^.,( ]+", shown):
        for part in (piece[start : start + _WIDTH] for start in range(0, len(piece), _WIDTH)):
            if lines[-1] and len(lines[-1]) + len(part.rstrip()) > _WIDTH:
                lines.append("")
            lines[-1] += part
    return "<br>".join(cell(line) for line in lines if line.strip())


def tight(text: str) -> str:
    """A figure and its unit stay on one line, however narrow the table."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def prose(text: str, *, most: int = 200) -> str:
    """A sentence of ours that names things from outside: whatever is no plain word stands in a code span."""
    parts = groupby(visible(text, most).split(), key=lambda word: bool(_PLAIN.fullmatch(word)))
    return " ".join(" ".join(words) if plain else _named(" ".join(words)) for plain, words in parts)


def _named(words: str) -> str:
    """Code, with the sentence's own punctuation after it."""
    name = words.rstrip(".,;:") or words
    return code(name) + words[len(name) :]


def linked(shown: str, url: str) -> str:
    """`shown` (Markdown) as a link; without one where `url` is not a plain address of the web."""
    return f"[{shown}]({url})" if _URL.fullmatch(url) else shown


def fenced(lines: Sequence[str], language: str = "text") -> str:
    """Lines as a block that they can't end themselves."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    marks = "`" * max(3, longest + 1)
    return "\n".join([marks + language, *lines, marks])


def folded(summary: str, body: str) -> str:
    """Something that is closed at first; `summary` is never from outside."""
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"


# ---------------- what there is room for


@dataclass(frozen=True)
class Part:
    """A piece of the text that may be left out, or cut between its rows.

    Attributes:
        what: what is missed without it, in words; of several rows they are counted.
        head, rows, end: its lines. Without rows it is there as a whole or not at all.
        rank: the lower, the sooner it gets room; where it stands is another matter.
    """

    what: str
    head: str
    rows: tuple[str, ...] = ()
    end: str = ""
    rank: int = 0


@dataclass(frozen=True)
class Section:
    """Parts with a title, which is there when one of them is."""

    title: str
    parts: tuple[Part, ...]


_Place = tuple[int, int]


def fitted(opening: str, sections: Sequence[Section], limit: int, elsewhere: str) -> str:
    """The opening and as much of the sections as there is room for, within `limit` characters.

    `elsewhere` (a sentence of up to 400 characters) says where all of it is.
    """
    kept = _kept(sections, limit - RESERVED - len(opening))
    text = [opening]
    for number, section in enumerate(sections):
        shown = [kept[number, place] for place in range(len(section.parts)) if (number, place) in kept]
        text += [_lines(section.title) if shown else "", *map(_joined, shown)]
    return "".join(text) + _missed(_missing(sections, kept), elsewhere)


def _kept(sections: Sequence[Section], room: int) -> Mapping[_Place, Part]:
    """The parts that are shown, cut to what they get.

    What ranks first gets at most half of the room at first, so that a part with thousands of rows leaves some to the
    others; what is left then is dealt out in the same order, first to what is there as a whole or not at all.
    """
    parts = {(number, place): part for number, one in enumerate(sections) for place, part in enumerate(one.parts)}
    first = sorted(parts, key=lambda at: parts[at].rank)
    then = sorted(first, key=lambda at: bool(parts[at].rows))
    kept: dict[_Place, Part] = {}
    titled: set[int] = set()
    for share, at in [*((2, at) for at in first), *((1, at) for at in then)]:
        number, before = at[0], kept.get(at)
        title = 0 if number in titled else len(_lines(sections[number].title))
        had = len(_joined(before)) if before else 0
        cut = _shortened(parts[at], had + (room - title) // share)
        if cut is None or cut == before:
            continue
        room -= title + len(_joined(cut)) - had
        titled.add(number)
        kept[at] = cut
    return kept


def _lines(*pieces: str) -> str:
    """A block of lines with an empty one before it."""
    shown = [piece for piece in pieces if piece]
    return "\n" + "\n".join(shown) + "\n" if shown else ""


def _joined(part: Part) -> str:
    return _lines(part.head, *part.rows, part.end)


def _shortened(part: Part, room: int) -> Part | None:
    """A part with as many of its rows as fit, or None."""
    room -= len(_lines(part.head, part.end))
    bare = not (part.head or part.end)
    kept: list[str] = []
    for row in part.rows:
        # An empty row takes no room (`_lines`), and the first line of all has an empty one before it.
        room -= (len(row) + 1 + bare) if row else 0
        bare = bare and not row
        if room < 0:
            break
        kept.append(row)
    if room < 0 and not kept:
        return None
    return part if len(kept) == len(part.rows) else replace(part, rows=tuple(kept))


def _missing(sections: Sequence[Section], kept: Mapping[_Place, Part]) -> Iterator[tuple[str, int, int]]:
    """What is left out: in words, how many, and of how many. The most important first."""
    parts = [(part, kept.get((n, m))) for n, one in enumerate(sections) for m, part in enumerate(one.parts)]
    found: dict[str, tuple[int, int]] = {}
    for part, shown in sorted(parts, key=lambda pair: pair[0].rank):
        all_of_it = max(1, len(part.rows))
        missed = all_of_it if shown is None else len(part.rows) - len(shown.rows)
        before = found.get(part.what, (0, 0))
        found[part.what] = (before[0] + missed, before[1] + all_of_it)
    return ((what, missed, whole) for what, (missed, whole) in found.items() if missed)


def _missed(missing: Iterator[tuple[str, int, int]], elsewhere: str) -> str:
    told = [what if whole == 1 else f"{missed:,} of {whole:,} {what}" for what, missed, whole in missing]
    told = [*told[:_KINDS], "and more"] if len(told) > _KINDS else told
    return f"\n**Left out for want of space:** {', '.join(told)}. {elsewhere}\n" if told else ""
