"""How tests are shared out where several processes run them (`pytest -n`, of pytest-xdist).

Tests that need no container engine go to whichever process is free, a module at a time: its fixtures are made once.
What builds images, what starts engines, and what loads containers without a look at the figures are lots for one
process each, which are long and come first. What measures to tell one commit from another comes last, when little
else is going on: two lots, one for the comparisons themselves and one for asv and the action.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

__all__ = ["pytest_collection_modifyitems", "pytest_xdist_make_scheduler"]

MARK = "engine"
LOTS = {
    "images": ("tests/build/", "tests/init/", "tests/adapters/test_imagestore.py", "tests/test_tools.py"),
    "engines": ("tests/test_base_images.py", "tests/test_docker_engine.py", "tests/test_second_engine.py"),
    "comparing": ("tests/calibrate/", "tests/comparing/", "tests/examples/", "tests/history/"),
    "asv and action": ("tests/asv/", "tests/action/"),
}
"""Where the files of each are; files with the mark that are in none of these places are "servers"."""

SERVERS = "servers"
LAST = ("comparing", "asv and action")

_TOP = Path(__file__).resolve().parent.parent


@cache
def lot(file: str) -> str:
    """The lot that the tests of a file are in; `file` is as node ids have it, from the top of the repository.

    Whoever shares out knows the ids of tests and none of their marks, so that the text of the file has to tell.
    """
    if f"pytest.mark.{MARK}" not in (_TOP / file).read_text("utf-8"):
        return file
    return next((name for name, places in LOTS.items() if file.startswith(places)), SERVERS)


def _lot_of(node: str) -> str:
    return lot(node.partition("::")[0])


def _turn(item: pytest.Item) -> int:
    name = _lot_of(item.nodeid)
    return 2 if name in LAST else 0 if name in {SERVERS, *LOTS} else 1


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In one of several processes: the order in which lots begin.

    Raises pytest.UsageError where a mark is not in the file that it marks.
    """
    for item in items:
        if item.get_closest_marker(MARK) and _turn(item) == 1:
            raise pytest.UsageError(f"{item.nodeid}: write `pytest.mark.{MARK}` in the file itself; see {__file__}")
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Shares out lots, in the order of their first tests."""
    from xdist.scheduler import LoadScopeScheduling

    class Lots(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _lot_of(nodeid)

    config.option.loadscopereorder = False  # else the largest lot is the first
    return Lots(config, log)
