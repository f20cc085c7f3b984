"""Markdown tables, shares with their exact bounds, and where in a page they belong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scipy.stats import beta  # type: ignore[import-untyped]

from windtunnel.errors import ConfigError

__all__ = ["bounds", "place", "share", "table"]


def bounds(hits: int, of: int, confidence: float = 0.95) -> tuple[float, float]:
    """Where the true share lies, exactly (Clopper and Pearson, Biometrika 26, 1934)."""
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, of - hits + 1))
    high = 1.0 if hits == of else float(beta.ppf(1 - tail, hits + 1, of - hits))
    return low, high


def share(hits: int, of: int) -> str:
    """A share in percent with its 95 % bounds: `96.2 (94.9-97.3)`."""
    if not of:
        return "n/a"
    low, high = bounds(hits, of)
    digits = 2 if low < 0.01 or high > 0.99 else 1
    return f"{100 * hits / of:.{digits}f} ({100 * low:.{digits}f}–{100 * high:.{digits}f})"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are figures."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def place(page: Path, name: str, text: str) -> None:
    """Put text between `<!-- NAME -->` and `<!-- end of NAME -->` of a page, in the place of what is there.

    Raises ConfigError where the page has no such place.
    """
    content = page.read_text("utf-8")
    opening, closing = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, found, rest = content.partition(opening)
    _, ended, after = rest.partition(closing)
    if not found or not ended:
        raise ConfigError(f"has no place for {name}; write {opening.strip()} and {closing} into it", file=page)
    page.write_text(f"{before}{opening}\n{text.strip()}\n\n{closing}{after}", "utf-8")
