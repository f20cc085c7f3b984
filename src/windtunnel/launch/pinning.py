"""Which processors the server and the load generator get. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.model import Host

__all__ = ["Pinning", "pin"]


@dataclass(frozen=True)
class Pinning:
    """`server` and `generator` are processor lists as the engine takes them ("1", "1,2"), "" for no pinning.

    `note` says what a reader of the figures should know, or "".
    """

    server: str
    generator: str
    note: str = ""


def pin(host: Host, cpus: float) -> Pinning:
    """Server and generator on different physical cores; what can't be had is said.

    The generator gets the first core (interrupts tend to land there, and the server should not see them), the
    server `cpus` logical processors (rounded up) of the others, one per core as long as there are enough.
    """
    cores = _cores(host)
    wanted = max(1, -(-int(cpus * 1000) // 1000))
    if len(cores) == 1:
        siblings = cores[0]
        if len(siblings) == 1:
            return Pinning("", "", "one processor only: server and load generator take turns on it")
        return Pinning(
            str(siblings[-1]),
            str(siblings[0]),
            "server and load generator share a physical core (hyper-threads): expect more noise",
        )
    generator, rest = cores[0], cores[1:]
    spread = [core[0] for core in rest] + [sibling for core in rest for sibling in core[1:]]
    note = ""
    if len(spread) < wanted:
        note = f"the target asks for {wanted} cpus, {len(spread)} are left beside the load generator's core"
    return Pinning(_list(sorted(spread[:wanted])), str(generator[0]), note)


def _cores(host: Host) -> list[list[int]]:
    """Physical cores with the processors that may be used, in order."""
    online = set(host.online)
    usable = [sorted(online & set(group)) for group in host.siblings]
    known = {cpu for group in usable for cpu in group}
    usable += [[cpu] for cpu in sorted(online - known)]
    return sorted((group for group in usable if group), key=lambda group: group[0]) or [[0]]


def _list(cpus: Sequence[int]) -> str:
    return ",".join(str(cpu) for cpu in cpus)
