"""Fixtures and settings for all tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from engines import TOOLS, second_engine
from localhub.fixture import github
from parallel import pytest_collection_modifyitems, pytest_xdist_make_scheduler

__all__ = [
    "github",
    "open_folder",
    "open_tools",
    "pytest_collection_modifyitems",
    "pytest_xdist_make_scheduler",
    "second_engine",
]

# No test asserts how long something takes: the machine may be busy.
_slow = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
# The same examples every time: whether a change is green must not hang on the luck of a draw. `make test-all` goes
# looking for others, with the profile "search".
settings.register_profile("windtunnel", derandomize=True, max_examples=60, **_slow)
settings.register_profile("search", derandomize=False, print_blob=True, max_examples=400, **_slow)
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
