"""Fixtures and settings for all tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from engines import TOOLS, second_engine

__all__ = ["open_folder", "open_tools", "second_engine"]

# No test asserts how long something takes: the machine may be busy.
settings.register_profile("windtunnel", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("windtunnel")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can enter; pytest's own are closed to others, and long for the path of a socket."""
    folder = Path(tempfile.mkdtemp(prefix="windtunnel-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def open_tools(open_folder: Path) -> Path:
    """A copy of the scripts where every user can read them."""
    shutil.copytree(TOOLS, open_folder / "tools")
    return open_folder / "tools"
