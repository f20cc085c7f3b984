"""Who runs on which processor: server and load generator apart, on what there is, and what there is not is said."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import material
from windtunnel.launch.pinning import Pinning, pin
from windtunnel.model import Host

Groups = list[list[int]]


def _host(siblings: Groups, online: list[int] | None = None) -> Host:
    everything = [cpu for group in siblings for cpu in group]
    return replace(
        material.HOST,
        cores=len(siblings),
        siblings=tuple(map(tuple, siblings)),
        online=tuple(everything if online is None else online),
    )


def _set(cpus: str) -> set[int]:
    return {int(cpu) for cpu in cpus.split(",")} if cpus else set()


@pytest.mark.parametrize(
    ("siblings", "online", "cpus", "server", "generator", "said"),
    [
        # one core
        ([[0]], None, 1.0, "", "", "take turns"),
        ([[0]], None, 4.0, "", "", "take turns"),
        ([[0, 1]], None, 1.0, "1", "0", "share a physical core"),
        ([[0, 1, 2, 3]], None, 1.0, "3", "0", "share a physical core"),
        # two cores
        ([[0], [1]], None, 1.0, "1", "0", ""),
        ([[0], [1]], None, 0.5, "1", "0", ""),
        ([[0], [1]], None, 2.0, "1", "0", "asks for 2 cpus, 1"),
        # hyper-threads, numbered one after the other and as most machines do it
        ([[0, 1], [2, 3]], None, 1.0, "2", "0", ""),
        ([[0, 2], [1, 3]], None, 1.0, "1", "0", ""),
        ([[0, 2], [1, 3]], None, 2.0, "1,3", "0", ""),
        ([[0, 2], [1, 3]], None, 3.0, "1,3", "0", "asks for 3 cpus, 2"),
        # more cores: whole ones first, their second threads only then
        ([[0, 4], [1, 5], [2, 6], [3, 7]], None, 2.0, "1,2", "0", ""),
        ([[0, 4], [1, 5], [2, 6], [3, 7]], None, 4.0, "1,2,3,5", "0", ""),
        ([[0], [1], [2], [3]], None, 1.5, "1,2", "0", ""),
        # processors that are off, or that belong to others
        ([[0, 1], [2, 3]], [0, 2], 1.0, "2", "0", ""),
        ([[0, 1], [2, 3]], [2, 3], 1.0, "3", "2", "share a physical core"),
        ([[0], [1], [2]], [1, 2], 1.0, "2", "1", ""),
        ([[0], [1]], [1], 1.0, "", "", "take turns"),
        # what the machine does not tell of
        ([], [0, 1], 1.0, "1", "0", ""),
        ([[0]], [0, 1, 2], 2.0, "1,2", "0", ""),
        ([], [], 1.0, "", "", "take turns"),
        # listed in no order
        ([[3, 1], [2, 0]], None, 1.0, "1", "0", ""),
    ],
)
def test_topologies(
    siblings: Groups, online: list[int] | None, cpus: float, server: str, generator: str, said: str
) -> None:
    pinning = pin(_host(siblings, online), cpus)
    assert (pinning.server, pinning.generator) == (server, generator)
    assert said in pinning.note
    assert bool(said) == bool(pinning.note)


@st.composite
def _machines(draw: st.DrawFn) -> Host:
    """Any way of putting processors on cores, some of them off."""
    cores = draw(st.integers(1, 6))
    threads = draw(st.integers(1, 3))
    cpus = draw(st.permutations(range(cores * threads)))
    siblings = [list(cpus[start : start + threads]) for start in range(0, len(cpus), threads)]
    online = draw(st.lists(st.sampled_from(cpus), min_size=1, unique=True))
    return _host(siblings, online)


@given(_machines(), st.floats(0.1, 12.0))
def test_on_any_machine(host: Host, cpus: float) -> None:
    pinning = pin(host, cpus)
    server, generator = _set(pinning.server), _set(pinning.generator)
    usable = set(host.online)
    cores = [group for group in (set(group) & usable for group in host.siblings) if group]
    if len(usable) == 1:
        assert pinning == Pinning("", "", pinning.note)
        assert pinning.note
        return
    assert server
    assert len(generator) == 1
    assert server | generator <= usable
    assert not server & generator
    if len(cores) == 1:
        assert "share" in pinning.note
        return
    (of_generator,) = [core for core in cores if generator <= core]
    assert not of_generator & server
    wanted, left = math.ceil(round(cpus, 3)), len(usable - of_generator)
    assert len(server) == min(wanted, left) or len(server) == min(math.ceil(cpus), left)
    assert bool(pinning.note) == (len(server) < wanted)
    used = [core for core in cores if core & server]
    assert len(used) == min(len(server), len(cores) - 1), "a second thread only when there is no core left"


@given(_machines(), st.floats(0.1, 12.0))
def test_the_order_in_which_the_machine_lists_them_does_not_count(host: Host, cpus: float) -> None:
    other = replace(
        host, siblings=tuple(tuple(reversed(g)) for g in reversed(host.siblings)), online=host.online[::-1]
    )
    assert pin(other, cpus) == pin(host, cpus)
