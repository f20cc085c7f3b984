"""The local GitHub as a fixture; tests/conftest.py makes it known to all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from localhub.server import LocalGitHub

__all__ = ["github"]


@pytest.fixture
def github() -> Iterator[LocalGitHub]:
    """A GitHub with one repository, "acme/server". The test fails when anything did not fit GitHub's description."""
    with LocalGitHub() as made:
        yield made
    if made.faults:
        pytest.fail("the local GitHub was asked for, or answered, what does not fit:\n" + "\n".join(made.faults))
