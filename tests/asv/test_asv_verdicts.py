"""`asv continuous`, and how many launches stand behind a figure."""

from __future__ import annotations

import re
import shutil

import pytest
from suites import Suite

pytestmark = [pytest.mark.engine, pytest.mark.slow]

KEEPALIVE = r"Hello\.(time_request|track_cpu_per_request)\('keepalive'\)"


@pytest.fixture(scope="module", autouse=True)
def _nothing_recorded(past: Suite) -> None:
    """asv compares whatever is saved: a single quick launch of another test would be called a change."""
    shutil.rmtree(past.root / ".asv" / "results", ignore_errors=True)


def test_a_planted_slowdown_is_found(past: Suite) -> None:
    output = past.asv("continuous", "--bench", KEEPALIVE, "main~1", "main", code=1)

    assert "PERFORMANCE DECREASED" in output
    assert re.search(r"\+.*http\.Hello\.(time_request|track_cpu_per_request)\('keepalive'\)", output)
    for subject in ("works again", "slow"):
        run = past.run_files(past.commits[subject])["http.Hello(keepalive)"]
        assert [launch.number for launch in run.launches] == list(range(1, 9))


def test_nothing_is_flagged_where_the_images_are_the_same(past: Suite) -> None:
    old, new = past.commits["with it"], past.commits["readme only"]
    output = past.asv("continuous", "-a", "rounds=2", "--bench", KEEPALIVE, old, new)

    assert "NOT SIGNIFICANTLY CHANGED" in output
    assert "building hello" not in output
    launches = [past.run_files(commit)["http.Hello(keepalive)"].launches for commit in (old, new)]
    assert len({launch.identity for side in launches for launch in side}) == 1


def test_where_a_case_fails_there_is_a_way_on(past: Suite) -> None:
    old, new = past.commits["readme only"], past.commits["does not build"]
    output = past.asv("continuous", "--quick", "--bench", KEEPALIVE, old, new, code=2)

    assert "compares nothing once a case has failed" in output
    assert "asv compare" in output


def test_with_other_rounds_every_launch_is_one_sample_of_every_metric(past: Suite) -> None:
    commit = past.commits["readme only"]
    past.asv("run", "-a", "rounds=3", "--record-samples", "--bench", KEEPALIVE, f"{commit}^!")

    run = past.run_files(commit)["http.Hello(keepalive)"]
    assert len(run.launches) == 3
    for name in ("time_request", "track_cpu_per_request"):
        samples = past.results(commit).samples(f"http.Hello.{name}")
        assert samples[1] is not None
        assert len(samples[1]) == len(set(samples[1])) == 3


def test_a_metric_alone_makes_its_own_launches(past: Suite) -> None:
    commit = past.commits["readme only"]
    past.asv("run", "--record-samples", "--bench", r"Plain.track_cpu_per_request", f"{commit}^!")

    assert len(past.run_files(commit)["http.Plain"].launches) == 1  # the class says rounds = 1
    (samples,) = past.results(commit).samples("http.Plain.track_cpu_per_request")
    assert samples is not None
    assert len(samples) == 1
