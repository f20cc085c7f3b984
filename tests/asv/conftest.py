"""One past for all tests of asv's way in."""

from __future__ import annotations

import pytest
from suites import FAST, SLOW, Suite, make_suite, plain_target


@pytest.fixture(scope="session")
def past(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """A suite with commits of every kind; the newest works. Tests may measure it, not change it."""
    suite = make_suite(tmp_path_factory.mktemp("past"), tmp_path_factory.mktemp("home"))
    app = suite.text("hello/app.py")
    slow = app.replace(FAST, SLOW)
    assert slow != app
    suite.commit("without the target plain")
    suite.commit("with it", plain_target(suite))
    suite.commit("readme only", {"README.md": "Hello.\n"})
    suite.commit("does not build", {"hello/app.py": app + "\ndef broken(:\n"})
    suite.commit("does not start", {"hello/app.py": app + '\nraise SystemExit("no GREETING is set")\n'})
    suite.commit("works again", {"hello/app.py": app})
    suite.commit("slow", {"hello/app.py": slow})
    return suite
