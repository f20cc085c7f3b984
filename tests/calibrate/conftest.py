"""A suite for every test."""

from __future__ import annotations

from pathlib import Path

import pytest
from calibrate_suite import Suite, new_suite


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """A copy of the suite."""
    return new_suite(tmp_path)
