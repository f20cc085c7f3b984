"""From sources to an image: build context -> content digest -> image.

`dockerfile`, `context`, `identity`, `layers` and `resolve` are pure; `images` is the use case that has the engine
build what it does not have yet.
"""

from __future__ import annotations

__all__: list[str] = []
