"""What several tests of reporting start with."""

from __future__ import annotations

from pathlib import Path

import pytest
from reporting_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)
