"""Where the tests of the examples find what they share with others."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "docs"))  # reading the pages
