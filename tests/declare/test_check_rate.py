"""A workload with a rate: which generators can't, and what else does not go with it."""

from __future__ import annotations

from typing import Any

import pytest

from windtunnel.declare.workload import Where, check_workload
from windtunnel.errors import ConfigError
from windtunnel.model import Workload

WHERE = Where("psgi.Starlet", "benchmarks/psgi.py", 7)


def test_one_that_can_be_had() -> None:
    for changes in ({}, {"keepalive": False}, {"method": "POST", "body": "x"}):
        values: dict[str, Any] = {"rate": 1000, "concurrency": 10, **changes}
        check_workload(Workload(**values), WHERE)


@pytest.mark.parametrize("generator", ["wrk", "ab"])
def test_another_generator_can_not(generator: Any) -> None:
    with pytest.raises(ConfigError, match=f"rate: {generator} can't hold one; leave generator out"):
        check_workload(Workload(rate=1000.0, generator=generator), WHERE)


def test_no_http2() -> None:
    with pytest.raises(ConfigError, match=r"benchmarks/psgi.py:7.*rate: the open loop can't speak HTTP/2"):
        check_workload(Workload(rate=1000.0, h2=True), WHERE)


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), "1000", True, 2_000_000])
def test_a_rate_is_a_number_of_requests_per_second(rate: Any) -> None:
    with pytest.raises(ConfigError, match="rate: found"):
        check_workload(Workload(rate=rate), WHERE)
