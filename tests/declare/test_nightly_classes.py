"""Benchmark classes with `nightly = True`: they are there for whoever asks for them, and for nobody else."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from windtunnel.cli.options import check_every
from windtunnel.declare.cases import Discovery, discover
from windtunnel.declare.suite import Suite, find_suite
from windtunnel.errors import ConfigError

CLASSES = """\
from windtunnel import HTTPBenchmark, Workload

class Day(HTTPBenchmark):
    target = "page"
    params = ([1, 2],)
    def workload(self, number): return Workload(concurrency=number)

class Night(Day):
    nightly = True

class Later(Night): ...

class Again(Night):
    nightly = False
"""

DAY = ["n.Again(1)", "n.Again(2)", "n.Day(1)", "n.Day(2)"]
NIGHT = ["n.Later(1)", "n.Later(2)", "n.Night(1)", "n.Night(2)"]

Make = Callable[[str], Suite]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    count = itertools.count()

    def build(text: str) -> Suite:
        root = tmp_path / f"project{next(count)}"
        (root / "benchmarks").mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        (root / "asv.conf.json").write_text('{"version": 1, "repo": "."}')
        (root / "benchmarks" / "__init__.py").touch()
        (root / "benchmarks" / "n.py").write_text(text)
        return find_suite(root)

    return build


def ids(found: Discovery) -> list[str]:
    return sorted(case.id for case in found.cases)


def test_they_are_left_out_where_nothing_is_named_and_that_is_told(make: Make) -> None:
    found = discover(make(CLASSES))
    assert ids(found) == DAY
    assert sorted(found.nightly) == NIGHT
    assert set(found.places) == set(DAY)
    assert found.left_out("--all takes them in") == "4 nightly cases are left out; --all takes them in"


def test_one_is_one(make: Make) -> None:
    found = discover(make(CLASSES.replace("([1, 2],)", "[]").replace("number", "*none").replace("=*none", "=1")))
    assert [len(found.cases), len(found.nightly)] == [2, 2]
    one = Discovery((), (), nightly=("n.Night",))
    assert one.left_out("go on") == "1 nightly case is left out; go on"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"nightly": True}, sorted(DAY + NIGHT)),
        ({"select": ["."]}, sorted(DAY + NIGHT)),
        ({"select": ["Night"]}, ["n.Night(1)", "n.Night(2)"]),
        ({"within": ["Later", "Day"]}, ["n.Day(1)", "n.Day(2)", "n.Later(1)", "n.Later(2)"]),
        ({"within": ["Later", "Day"], "select": [r"\(2"]}, ["n.Day(2)", "n.Later(2)"]),
    ],
)
def test_whoever_asks_for_them_gets_them(make: Make, options: dict[str, object], expected: list[str]) -> None:
    found = discover(make(CLASSES), **options)  # type: ignore[arg-type]
    assert ids(found) == expected
    assert found.nightly == ()
    assert found.left_out("") == ""


def test_what_is_left_out_is_not_asked_for_its_workload(make: Make) -> None:
    suite = make(CLASSES + "    def workload(self, number): 1 / 0\n")
    again = make(CLASSES.replace("nightly = False", "nightly = True") + "    def workload(self, number): 1 / 0\n")
    assert ids(discover(again)) == ["n.Day(1)", "n.Day(2)"]
    with pytest.raises(ConfigError, match="ZeroDivisionError"):
        discover(suite)


def test_a_nightly_case_that_a_class_declines_is_told_only_when_it_is_asked_for(make: Make) -> None:
    suite = make(CLASSES + "\nclass Never(Night):\n    def workload(self, number): raise NotImplementedError('no')\n")
    assert discover(suite).skipped == ()
    assert discover(suite, nightly=True).skipped == (("n.Never(1)", "no"), ("n.Never(2)", "no"))


@pytest.mark.parametrize("value", ["'yes'", "1", "None"])
def test_anything_but_a_truth_value_is_refused_with_its_place(make: Make, value: str) -> None:
    with pytest.raises(ConfigError, match=r"benchmarks/n\.py:8: .*nightly: found .*, expected True or False"):
        discover(make(CLASSES.replace("nightly = True", f"nightly = {value}").partition("class Later")[0]))


def test_a_class_that_becomes_nightly_keeps_its_history(make: Make) -> None:
    """asv drops the results of another version."""
    import importlib

    discover(make(CLASSES))
    module = importlib.import_module("benchmarks.n")
    assert module.Night().version == module.Day().version


# ---------------- --all


def test_all_stands_alone() -> None:
    check_every(True, ())
    check_every(False, ["Night"], "pr")
    with pytest.raises(ConfigError, match='--all is every case there is, nightly ones too; leave "Night" out'):
        check_every(True, ["Night"])
    with pytest.raises(ConfigError, match='leave --suite "pr" out'):
        check_every(True, (), "pr")
