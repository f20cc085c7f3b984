"""A browser, and a site of the example history, built by the command as a user builds it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from browsing import chromium, served
from example_history import example_history
from example_results import write_results
from example_runs_on_disk import between, store
from playwright.sync_api import Browser

from example_comparisons import Measured, Sides, case

COMMIT_URL = "https://example.org/project/commit/"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of a module, not of the session: while its driver runs, nothing else may run a loop of asyncio."""
    with chromium() as one:
        yield one


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a site."""
    folder = tmp_path_factory.mktemp("site")
    history = example_history()
    write_results(history, folder / "results" / "asv")
    hashes = [one.hash for one in history.commits()]
    measured = [Measured(case(), Sides(cpu=1.06)), Measured(case(mode="close"))]
    store([between(hashes[at], hashes[at + 1], measured) for at in (34, 35, 36)], folder / "results")
    made = subprocess.run(
        [sys.executable, "-m", "windtunnel", "site", "--results", folder / "results", "--out", folder / "out",
         "--commit-url", COMMIT_URL],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def site(built: Path) -> Iterator[str]:
    """Its address."""
    with served(built) as address:
        yield address
