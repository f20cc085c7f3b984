"""What everything was measured on, where it changed, and the files that were passed over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from windtunnel.history.nouns import Commit, History, Machine, Unreadable
from windtunnel.site import paths
from windtunnel.site.groups import groups
from windtunnel.site.html import fill
from windtunnel.site.page import Around, Page
from windtunnel.units import Unit, format_value

__all__ = ["Use", "fact", "machine_page", "uses"]

_FACTS = (("cpu", "CPU"), ("num_cpu", "cores"), ("ram", "memory"), ("os", "system"), ("arch", "architecture"))
_MOST = 200
_DIGITS = 15
_PARTS = 3
"""Of a path: the whole of it is nobody's business."""


@dataclass(frozen=True)
class Use:
    """A machine and when it was used; `first` and `last` are None where it has no result."""

    machine: Machine
    commits: int
    first: Commit | None
    last: Commit | None


def machine_page(history: History, around: Around) -> Iterator[Page]:
    """The page of machines and environments."""
    unreadable = history.unreadable()
    body = fill(
        "machines.html",
        around=around,
        uses=uses(history),
        facts=_FACTS,
        fact=fact,
        switches=list(_switches(uses(history))),
        environments=history.environments()[:_MOST],
        more_environments=max(0, len(history.environments()) - _MOST),
        unreadable=[(_place(one), one.reason) for one in unreadable[:_MOST]],
        more=max(0, len(unreadable) - _MOST),
    )
    yield Page(paths.MACHINES, "Machines", body, section="Performance", summary="machines and environments")


def fact(machine: Machine, key: str) -> str:
    """A field of a machine as people read it: asv has the memory in KiB, as Linux tells it."""
    text = machine.facts.get(key, "")
    if key == "ram" and text.isascii() and text.isdecimal() and len(text) < _DIGITS:
        return format_value(float(text) * 1024, Unit.BYTE)
    return text


def uses(history: History) -> list[Use]:
    """All machines, the one that came last first."""
    known: dict[str, set[int]] = {machine.name: set() for machine in history.machines()}
    for group in groups(history):
        for series in group.everything:
            known.setdefault(series.key.machine, set()).update(series.positions)
    machines = {machine.name: machine for machine in history.machines()}
    found = [_use(history, machines.get(name) or Machine(name), positions) for name, positions in known.items()]
    return sorted(found, key=lambda use: (-use.first.position if use.first else 1, use.machine.name))


def _use(history: History, machine: Machine, positions: set[int]) -> Use:
    commits = history.commits()
    if not positions:
        return Use(machine, 0, None, None)
    return Use(machine, len(positions), commits[min(positions)], commits[max(positions)])


def _switches(known: list[Use]) -> Iterator[tuple[Use, Use]]:
    """Where another CPU model came: (the machine before, the new one), the newest first."""
    used = [use for use in known if use.first]
    for new, old in pairwise(used):
        if new.machine.cpu_model != old.machine.cpu_model:
            yield old, new


def _place(one: Unreadable) -> str:
    """The end of its path."""
    return "/".join(one.path.parts[-_PARTS:])
