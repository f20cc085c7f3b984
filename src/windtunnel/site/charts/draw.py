"""Static drawings: a specification becomes an SVG, without a browser. A drawing is kept and not drawn twice.

The converter starts a JavaScript engine once per process (about a second); then a chart takes some 0.1 s. A page that
did not change costs nothing: drawings lie in a folder, named by a digest of all that they are made of.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
from pathlib import Path
from types import ModuleType

from windtunnel.errors import ConfigError
from windtunnel.site.charts.chart import Spec

__all__ = ["Drawing", "cache_in", "compact", "converter", "static_svg", "sweep"]

_FORMAT = 2
"""Goes into the digests: what is done here to a drawing has changed where this has."""

_KEPT_DAYS = 60
_REMEDY = "install it with `pip install 'windtunnel[site]'`"


class Drawing:
    """Draws, and remembers in `folder` what was drawn; without a folder, only in this process."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._known: dict[str, str] = {}
        self._lock = threading.Lock()
        self.drawn = 0
        """How many charts had to be drawn."""

    def svg(self, spec: Spec) -> str:
        """The `<svg>` element of `spec`. Raises ConfigError where the converter is not installed."""
        text = compact(spec)
        name = _digest(text)
        with self._lock:
            found = self._known.get(name) or self._read(name)
            if found is None:
                found = _draw(text)
                self.drawn += 1
                self._write(name, found)
            self._known[name] = found
        return found

    def sweep(self) -> None:
        """Remove the drawings that no site has needed for two months."""
        if self._folder is None or not self._folder.is_dir():
            return
        for path in self._folder.glob("*.svg"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < time.time() - _KEPT_DAYS * 86400:
                    path.unlink()

    def _read(self, name: str) -> str | None:
        if self._folder is None:
            return None
        path = self._folder / f"{name}.svg"
        with contextlib.suppress(OSError, UnicodeDecodeError):
            found = path.read_text(encoding="utf-8")
            if found.startswith("<svg") and found.endswith("</svg>"):
                os.utime(path)
                return found
        return None

    def _write(self, name: str, svg: str) -> None:
        """A folder that can't be written only costs time: the drawing is made again."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            mine = self._folder / f"{name}.{os.getpid()}.{threading.get_ident()}.part"
            mine.write_text(svg, encoding="utf-8")
            mine.replace(self._folder / f"{name}.svg")


def compact(value: object) -> str:
    """JSON without spaces; the same value is always the same text. What is not finite is refused with ValueError."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


_shared = Drawing()


def cache_in(folder: Path | None) -> Drawing:
    """Keep the drawings of this process in `folder` from now on."""
    global _shared  # noqa: PLW0603 - one converter per process, as its engine is
    _shared = Drawing(folder)
    return _shared


def static_svg(spec: Spec) -> str:
    """The `<svg>` element of `spec`, by the drawing of this process. Raises ConfigError without a converter."""
    return _shared.svg(spec)


def sweep() -> None:
    """Remove old drawings from the folder of this process's drawing."""
    _shared.sweep()


def _digest(text: str) -> str:
    whole = f"{_FORMAT}\n{_version()}\n{text}"
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _version() -> str:
    return str(converter().__version__)


def converter() -> ModuleType:
    """vl-convert. Raises ConfigError with the remedy where it is not installed."""
    try:
        import vl_convert
    except ImportError:
        raise ConfigError(f"charts need vl-convert-python: {_REMEDY}") from None
    return vl_convert


_SIZE = re.compile(r'^<svg\b[^>]*?\bviewBox="0 0 (?P<width>[\d.]+) (?P<height>[\d.]+)"[^>]*>')
_DEFAULT_PLACE = re.compile(r' pointer-events="none"| stroke-miterlimit="10"| opacity="1"')


def _draw(text: str) -> str:
    svg: str = converter().vegalite_to_svg(text, allowed_base_urls=[])
    size = _SIZE.match(svg)
    assert size is not None, svg[:200]
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="marks" width="{size["width"]}" height="{size["height"]}" '
        f'viewBox="0 0 {size["width"]} {size["height"]}" fill="none" stroke-miterlimit="10">'
    )
    return opening + _shorter(svg[size.end() :])


def _shorter(svg: str) -> str:
    """The same picture in fewer bytes: attributes that say what holds anyway, coordinates of a tenth of a pixel."""
    plain = _DEFAULT_PLACE.sub("", svg)
    return re.sub(r'(?<= d=")[^"]+', lambda path: _NUMBER.sub(_tenth, path[0]), plain)


_NUMBER = re.compile(r"-?\d+\.\d{2,}")


def _tenth(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")
