"""A canonical machine for asv, so that a first run asks nothing and a series is not cut at every new runner.

asv keys results by host name and splits graphs by every field of the machine. Hosted runners have a new host name
each time; what matters for speed is the class of runner and the CPU model, so that is the name.
"""

from __future__ import annotations

import os
import platform
import re

from asv.machine import Machine, MachineCollection
from asv.util import UserError, get_cpu_info, get_memsize

__all__ = ["canonical_machine", "introduce_machine"]


def runner_class() -> str:
    """What kind of machine runs this: a hosted CI runner by its provider's name, else "host"."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        kind = os.environ.get("RUNNER_ENVIRONMENT", "github-hosted")
        return "github" if kind == "github-hosted" else "self-hosted"
    return "ci" if os.environ.get("CI") == "true" else "host"


def canonical_machine() -> dict[str, str]:
    """asv's machine fields: runner class, CPU model and cores as the name; nothing that a kernel update changes."""
    cpu = re.sub(r"\s+", " ", re.sub(r"\((R|TM|tm|r)\)", "", get_cpu_info() or platform.processor() or "cpu")).strip()
    cores = str(os.cpu_count() or 1)
    name = re.sub(r"[^a-z0-9.]+", "-", f"{runner_class()}-{cpu}-{cores}cpu".lower()).strip("-")
    gibibytes = round(int(get_memsize() or 0) / (1 << 30))
    return {
        "machine": name,
        "os": platform.system(),
        "arch": platform.machine(),
        "cpu": cpu,
        "num_cpu": cores,
        "ram": f"{gibibytes} GiB",
    }


def introduce_machine() -> str:
    """Make asv know this machine, unless its user has introduced it already; returns the name in force."""
    try:
        known = MachineCollection.load(Machine.get_unique_machine_name())
    except UserError:
        known = None
    if known:
        return str(known["machine"])
    ours = canonical_machine()
    MachineCollection.save(ours["machine"], ours)
    Machine.hardcoded_machine_name = ours["machine"]
    return ours["machine"]
