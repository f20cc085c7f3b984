"""A small ASGI server."""

from lantern.server import serve

__all__ = ["serve"]
