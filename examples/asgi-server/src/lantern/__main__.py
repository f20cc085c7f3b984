"""The command: ``lantern MODULE:NAME``."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import sys
from pathlib import Path

from lantern.server import Application, serve


def main() -> None:
    """Serve an application until the process is told to end."""
    parser = argparse.ArgumentParser(prog="lantern", description="Serve an ASGI application.")
    parser.add_argument("application", metavar="MODULE:NAME")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    options = parser.parse_args()
    asyncio.run(serve(_loaded(options.application), options.host, options.port))


def _loaded(name: str) -> Application:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    application: Application = getattr(importlib.import_module(module), attribute or "application")
    return application


if __name__ == "__main__":
    main()
