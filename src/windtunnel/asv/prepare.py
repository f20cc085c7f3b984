"""Building a commit's images before asv starts to measure it, so that the wait is seen and is no timeout's."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from windtunnel.adapters.project import Project, open_project
from windtunnel.asv.benchmark import HTTPBenchmark, LoadBenchmark
from windtunnel.asv.call import Call
from windtunnel.asv.memory import refuse
from windtunnel.declare.cases import discover
from windtunnel.errors import BuildFailed, ConfigError, EngineError, VariantMissing, WindtunnelError
from windtunnel.launch.setup import ensure_load_image, load_image_needed
from windtunnel.model import Case, Variant
from windtunnel.ports import Engine

__all__ = ["METHODS", "Announcer", "asv_names", "prepare_commit"]

METHODS = tuple(
    name for kind in (LoadBenchmark, HTTPBenchmark) for name in vars(kind) if name.startswith(("time_", "track_"))
)
"""What asv may call on a benchmark class: one of them for each metric. Not every class has all of them."""
_LASTING = (BuildFailed, ConfigError, VariantMissing)
"""What stays as it is when tried again; an engine that does not answer may answer later."""

_SHOWN = 5
"""Lines of a failed build's log that are shown at once; the message names the file with the others."""


class Announcer(Protocol):
    """Where the person at the terminal looks."""

    def say(self, text: str) -> None:
        """A line."""

    def warn(self, text: str) -> None:
        """A line that matters, or several."""

    def tick(self) -> None:
        """It goes on; called for every line of a log."""


def asv_names(case: Case) -> tuple[str, ...]:
    """The names that asv's --bench is matched against, for a case's metrics; each value with and without quotes."""
    values = itertools.product(*((value, repr(value)) for _, value in case.params))
    shown = [f"({', '.join(one)})" if one else "" for one in values]
    return tuple(f"{case.benchmark}.{method}{params}" for method in METHODS for params in shown)


def prepare_commit(call: Call, selected: Callable[[Sequence[str]], bool], announcer: Announcer) -> None:
    """Build what the selected cases need at the call's commit, and the load image.

    What can't be built is announced, and remembered for the benchmark processes. Raises WindtunnelError where
    nothing can be built at all.
    """
    progress = _Announced(announcer)
    project = open_project(
        call.root,
        commit=call.commit,
        repository=call.repository,
        tell=announcer.say,
        progress=progress,
        name=call.arm,
    )
    found = discover(project.suite, nightly=call.named)
    cases = [case for case in found.cases if selected(asv_names(case))]
    if found.nightly:
        announcer.say(found.left_out("--bench takes in those that it names"))
    if _load_image_needed(project.engine):
        announcer.say("the load image is not there yet: it is pulled or built once, a minute or so")
    ensure_load_image(project.engine, lambda _: announcer.tick(), project.builder.registry)
    refused = _refused(project, cases)
    for case in cases:
        if isinstance(refused.get(case.id), _LASTING):
            refuse(call, case, refused[case.id])
    progress.summarise()
    _tell_refused(refused, announcer)


def _load_image_needed(engine: Engine) -> bool:
    """Also where the image that it stands on is still to come."""
    try:
        return load_image_needed(engine)
    except EngineError:
        return True


def _refused(project: Project, cases: Sequence[Case]) -> dict[str, WindtunnelError]:
    """Build what these cases need; by case id, why one can't be launched at this commit."""
    whole: list[Case] = []
    refused: dict[str, WindtunnelError] = {}
    for case in cases:
        try:
            whole.append(project.whole(case))
        except WindtunnelError as error:
            refused[case.id] = error
    built = project.resolve_all(whole)
    return refused | {name: found for name, found in built.items() if isinstance(found, WindtunnelError)}


def _tell_refused(refused: Mapping[str, WindtunnelError], announcer: Announcer) -> None:
    """Every reason once, with the cases it concerns. A failed build has been told when it failed."""
    reasons: dict[str, list[str]] = {}
    for case, error in refused.items():
        if not isinstance(error, BuildFailed):
            reasons.setdefault(str(error), []).append(case)
    for reason, cases in reasons.items():
        announcer.warn(f"{reason} ({', '.join(cases)})")


@dataclass
class _Announced:
    """Build progress for a person at asv's terminal: what takes long, what went wrong, and a count."""

    announcer: Announcer
    _built: int = field(default=0, init=False)
    _reused: set[str] = field(default_factory=set, init=False)

    def started(self, tag: str, variant: Variant, arm: str) -> None:  # noqa: ARG002 - the protocol's
        """A build begins."""
        self.announcer.say(f"building {variant} as {tag}")

    def line(self, tag: str, text: str) -> None:  # noqa: ARG002 - the protocol's
        """A line of its log."""
        self.announcer.tick()

    def finished(self, tag: str, seconds: float) -> None:
        """It is there."""
        self._built += 1
        self.announcer.say(f"built {tag} in {seconds:.0f} s")

    def reused(self, tag: str, variant: Variant, arm: str) -> None:  # noqa: ARG002 - the protocol's
        """It was there."""
        self._reused.add(tag)

    def pulled(self, tag: str, variant: Variant, arm: str) -> None:  # noqa: ARG002 - the protocol's
        """The registry had it."""
        self._built += 1
        self.announcer.say(f"pulled {tag}")

    def failed(self, tag: str, error: WindtunnelError) -> None:  # noqa: ARG002 - the protocol's
        """It can't be built."""
        last = error.detail.strip().splitlines()[-_SHOWN:]
        self.announcer.warn("\n".join([str(error), *(f"| {line}" for line in last)]))

    def summarise(self) -> None:
        """The count, where nothing was built: it says why there was no wait."""
        if self._reused and not self._built:
            count = len(self._reused)
            self.announcer.say(
                "its image is there already" if count == 1 else f"its {count} images are there already"
            )
