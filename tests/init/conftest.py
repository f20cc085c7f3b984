from __future__ import annotations

from pathlib import Path

import pytest
from sample_projects import Files, Make, commit, git


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A repository with one commit of the given files, on the branch "trunk"."""

    def repository(files: Files) -> Path:
        top = tmp_path / "project"
        top.mkdir()
        git(top, "init", "-b", "trunk")
        commit(top, files)
        return top

    return repository
