"""The Vega bundle, with which a reader's browser draws: from the converter, so that the same versions draw here and
there."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from pathlib import Path

from platformdirs import user_cache_path

from windtunnel.site.charts.draw import converter

__all__ = ["vega_bundle"]


@functools.cache
def vega_bundle() -> bytes:
    """Vega, Vega-Lite and vega-embed in one file. Raises ConfigError where the converter is not installed.

    The converter takes longer to make it than all the rest of a small site takes, and makes the same each time. So it
    is kept in the user's cache folder, by the converter's version; what is not as it was written there is made anew.
    """
    convert = converter()
    folder, version = user_cache_path("windtunnel"), str(convert.__version__)
    for path in folder.glob(f"vega-{version}-*.js"):
        with contextlib.suppress(OSError):
            if path == _kept(folder, version, found := path.read_bytes()):
                return found
    made = str(convert.javascript_bundle(None)).encode()
    with contextlib.suppress(OSError):  # a folder that can't be written only costs time
        folder.mkdir(parents=True, exist_ok=True)
        mine = folder / f"vega-{os.getpid()}.part"
        mine.write_bytes(made)
        mine.replace(_kept(folder, version, made))
    return made


def _kept(folder: Path, version: str, bundle: bytes) -> Path:
    return folder / f"vega-{version}-{hashlib.sha256(bundle).hexdigest()}.js"
