"""The script, the style sheet and the Vega bundle: files of the site itself, the same for all pages."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources

from markupsafe import Markup

from windtunnel.site.charts.bundle import vega_bundle
from windtunnel.site.page import Resource

__all__ = ["BUNDLE", "SCRIPT", "STYLE", "assets", "foot", "head"]

STYLE = "assets/charts.css"
SCRIPT = "assets/charts.js"
BUNDLE = "assets/vega.js"

_PARTS = ("format.js", "data.js", "view.js", "controls.js", "charts.js")
"""Our script in the order in which its parts stand in the file; each is an object of `windtunnel`."""


def assets() -> Iterable[Resource]:
    """All three, to be written once a site. Raises ConfigError where the Vega bundle can't be had."""
    yield Resource(STYLE, _static("charts.css"))
    yield Resource(SCRIPT, b"".join(_static(part) for part in _PARTS))
    yield Resource(BUNDLE, vega_bundle())


def head(root: str) -> Markup:
    """For the `<head>` of a page with charts. `root` is the plug-in's folder as the page links to it ("..")."""
    return Markup('<link rel="stylesheet" href="{}/{}">').format(root, STYLE)


def foot(root: str) -> Markup:
    """For the end of a page with charts; the script finds data and the Vega bundle from its own address, and loads
    the bundle when the first chart comes into view."""
    return Markup('<script defer src="{}/{}"></script>').format(root, SCRIPT)


def _static(name: str) -> bytes:
    return (resources.files(__package__) / "static" / name).read_bytes()
