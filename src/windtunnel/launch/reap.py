"""Containers that a crash left behind: found by label, removed when their owner is gone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from windtunnel.ports import LABEL, ContainerInfo, Engine

__all__ = ["OWNER_LABEL", "reap_group", "reap_stale", "stale"]

OWNER_LABEL = "windtunnel.owner"
_FOREIGN_AGE = 24 * 3600.0
_STEP_AGE = 60.0


def stale(
    containers: Iterable[ContainerInfo], alive: Callable[[str], bool | None], now: float
) -> tuple[ContainerInfo, ...]:
    """Those whose owner has ended; of owners that can't be asked (another machine's), those older than a day.

    `alive` tells of an owner label's value: True, False, or None where this machine can't know. What has no owner
    was not started by windtunnel: a container that somebody runs by hand from one of its images inherits the image's
    label, and so does a step of a build upon it. Only what a build given up has left of its steps goes too. Pure.
    """

    def left_behind(container: ContainerInfo) -> bool:
        owner = container.labels.get(OWNER_LABEL)
        if not owner:
            return container.build_step and now - container.created > _STEP_AGE
        known = alive(owner)
        return not known if known is not None else now - container.created > _FOREIGN_AGE

    return tuple(container for container in containers if left_behind(container))


def reap_stale(engine: Engine, alive: Callable[[str], bool | None], now: float) -> int:
    """Remove what earlier commands left behind; how many containers that were."""
    return _remove(engine, [container.id for container in stale(engine.containers(LABEL), alive, now)])


def reap_group(engine: Engine, group: str) -> int:
    """Remove every container of one command (the value of the label `windtunnel`)."""
    return _remove(engine, [container.id for container in engine.containers(f"{LABEL}={group}")])


def _remove(engine: Engine, identifiers: list[str]) -> int:
    if len(identifiers) > 1 and not sys.is_finalizing():
        try:
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(engine.remove, identifiers))
        except RuntimeError:  # an exit handler may start no threads any more: one after the other, then
            pass
        else:
            return len(identifiers)
    for identifier in identifiers:
        engine.remove(identifier)
    return len(identifiers)
