"""A suite of faulty servers for every test, and one lock for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from faulty import Suite, new_suite


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """A folder for the lock of the machine that other windtunnels on it do not use: only faults are looked for here,
    so it does not matter if they load it too.
    """
    return {"TMPDIR": str(tmp_path_factory.mktemp("lock")), "TERM": "dumb", "COLUMNS": "200"}


@pytest.fixture
def suite(tmp_path: Path, environment: Mapping[str, str]) -> Suite:
    """A copy of the suite."""
    return new_suite(tmp_path / "suite", tmp_path, environment)


@pytest.fixture
def long(suite: Suite) -> Suite:
    """The same, with launches that are under load for a second or two."""
    suite.configure(slices=20, single_slices=2, seconds="40ms")
    return suite


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory, environment: Mapping[str, str]) -> str:
    """The image of the faulty server, built by windtunnel: for tests that leave no room for a build."""
    folder = tmp_path_factory.mktemp("image")
    suite = new_suite(folder / "suite", folder, environment)
    suite.run("run", "Server.ok", "--quick").expect(0)
    run = suite.recorded()
    assert run is not None
    return run.launches[0].image
