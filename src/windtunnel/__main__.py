"""``windtunnel`` and ``python -m windtunnel``: the command line, with a quiet Ctrl-C from the first moment on."""

from __future__ import annotations

import os
import signal

__all__ = ["main"]


def main() -> None:
    """Load the command line and run it. A Ctrl-C while it loads ends it at once: there is nothing to clean up yet."""
    before = signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from windtunnel.cli.main import main as run

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
