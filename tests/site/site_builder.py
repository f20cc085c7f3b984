"""A process that builds one site of MkDocs after the other, for `sites.build`: a folder of tests is not on its path.

It reads lines of JSON (`{"path": "…/mkdocs.yml", "out": "…"}`) and answers each with one:
`{"said": [[level, text], …], "error": [class, text] or null}`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any

os.environ["NO_MKDOCS_2_WARNING"] = "1"

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import MkDocsException


class Listener(logging.Handler):
    """Keeps what is said."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.said.append((record.levelname, record.getMessage()))


def built(path: str, out: str) -> dict[str, Any]:
    """Build one."""
    listener, error = Listener(), None
    logger = logging.getLogger("mkdocs")
    logger.addHandler(listener)
    logger.setLevel(logging.INFO)
    try:
        config = load_config(path, site_dir=out)
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
        config.plugins.on_shutdown()
    except (MkDocsException, SystemExit) as caught:
        error = [type(caught).__name__, str(caught)]
    finally:
        logger.removeHandler(listener)
    return {"said": listener.said, "error": error}


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(built(**json.loads(line))) + "\n")
        sys.stdout.flush()
