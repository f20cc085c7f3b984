"""The sample project for whoever asks for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_project import Project, make_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with a past."""
    return make_project(tmp_path)
