"""Building a commit's images before asv starts to measure it, so that the wait is seen and is no timeout's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from windtunnel.adapters.project import Tell, open_project
from windtunnel.asv.benchmark import HTTPBenchmark
from windtunnel.asv.call import Call
from windtunnel.declare.cases import discover
from windtunnel.errors import WindtunnelError
from windtunnel.launch.session import ensure_load_image
from windtunnel.model import Case

__all__ = ["asv_names", "prepare_commit"]

_METHODS = tuple(name for name in vars(HTTPBenchmark) if name.startswith(("time_", "track_")))


def asv_names(case: Case) -> tuple[str, ...]:
    """The names that asv's --bench is matched against, for every metric of a case, with and without quotes."""
    plain = ", ".join(value for _, value in case.params)
    quoted = ", ".join(repr(value) for _, value in case.params)
    return tuple(f"{case.benchmark}.{method}({shown})" for method in _METHODS for shown in (plain, quoted))


def prepare_commit(call: Call, selected: Callable[[Sequence[str]], bool], tell: Tell) -> None:
    """Build what the selected cases need at the call's commit, and the load image.

    Raises WindtunnelError where nothing can be built at all; a single failed build only tells.
    """
    project = open_project(call.root, commit=call.commit, repository=call.repository, tell=tell)
    cases = [case for case in discover(project.suite).cases if selected(asv_names(case))]
    ensure_load_image(project.engine, tell)
    whole: list[Case] = []
    for case in cases:
        try:
            whole.append(project.whole(case))
        except WindtunnelError as error:
            tell(f"{case.id}: {error}")
    project.resolve_all(whole)
