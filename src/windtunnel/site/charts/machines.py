"""Where the machine changed: absolute values before and after are not comparable. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from windtunnel.history.nouns import Series
from windtunnel.report.visible import visible

__all__ = ["machine_changes"]

_MOST = 12
"""Where machines take turns all the time, marks would be everywhere and say nothing."""


def machine_changes(series: Iterable[Series], cpus: Mapping[str, str]) -> list[tuple[int, str]]:
    """The commits that only other CPU models measured than the commit before, with a sentence each.

    `cpus` has the CPU model of each machine. Nothing where that happened more than a dozen times.
    """
    by_model: dict[str, set[int]] = {}
    for one in series:
        by_model.setdefault(cpus.get(one.key.machine, one.key.machine), set()).update(one.positions)
    if len(by_model) < 2:
        return []
    models: dict[int, set[str]] = {}
    for model, positions in by_model.items():
        for position in positions:
            models.setdefault(position, set()).add(model)
    known = sorted(models)
    changes = [
        (after, f"From here on measured on {_names(models[after])}, before on {_names(models[before])}.")
        for before, after in itertools.pairwise(known)
        if models[before].isdisjoint(models[after])
    ]
    return changes if len(changes) <= _MOST else []


def _names(models: Iterable[str]) -> str:
    return " and ".join(visible(model, 60) for model in sorted(models))
