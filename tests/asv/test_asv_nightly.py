"""`asv run` and classes with `nightly = True`: skipped, unless `--bench` names them."""

from __future__ import annotations

import math

import pytest
from suites import Suite, make_suite, plain_target

pytestmark = [pytest.mark.engine, pytest.mark.slow]

CLASSES = '''
from windtunnel import Expect, HTTPBenchmark, Workload


class Day(HTTPBenchmark):
    """A target that is there."""

    target = "plain"
    rounds = 1

    def workload(self):
        return Workload(keepalive=False, concurrency=2, requests=40, expect=Expect(status=200, length=5))


class Night(Day):
    """The same, but not today."""

    nightly = True
'''


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    suite = make_suite(tmp_path_factory.mktemp("nights"), tmp_path_factory.mktemp("home"))
    suite.commit("one", {**plain_target(suite), "benchmarks/http.py": CLASSES})
    return suite


def test_a_plain_run_skips_it_and_says_so_and_a_name_takes_it_in(suite: Suite) -> None:
    quick = ("run", "--quick", "--show-stderr", "-a", "timeout=120")
    output = suite.asv(*quick)
    results = suite.results(suite.commits["one"])
    (day,), (night,) = (results.values(f"http.{name}.time_request") for name in ("Day", "Night"))

    assert day is not None and day > 0
    assert night is not None and math.isnan(night)
    assert "1 nightly case is left out; --bench takes in those that it names" in output
    assert set(suite.run_files(suite.commits["one"])) == {"http.Day"}

    output = suite.asv(*quick, "--bench", "Night.time_request")
    (night,) = suite.results(suite.commits["one"]).values("http.Night.time_request")

    assert night is not None and night > 0
    assert "left out" not in output
    assert set(suite.run_files(suite.commits["one"])) == {"http.Night"}
