"""What a registry saves: the images of bench/suite are built, pushed, removed, and pulled again.

The registry has to run already; `tools/docker-registry DIR` gets one that can be run on loopback.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from benchlib.scratch import DEFAULT, make_repository
from windtunnel.adapters.docker import DockerEngine
from windtunnel.adapters.project import Project, open_project
from windtunnel.build.images import ImageBuilder
from windtunnel.build.registry import Registry
from windtunnel.declare.cases import discover
from windtunnel.errors import EngineError, WindtunnelError
from windtunnel.units import Unit, format_value

__all__ = ["main"]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="bench/pulling", description=__doc__)
    parser.add_argument("registry", help="an address and a path, such as 127.0.0.1:5000/bench")
    parser.add_argument("--rounds", type=int, default=3, help="how often [default: 3]")
    parser.add_argument("--scratch", type=Path, default=DEFAULT, help="where the suite's repository is made")
    options = parser.parse_args()
    try:
        _measure(options)
    except WindtunnelError as error:
        sys.exit(f"bench/pulling: {error}")


def _measure(options: argparse.Namespace) -> None:
    seconds: dict[str, list[float]] = {"build": [], "push": [], "pull": []}
    size = 0
    for _ in range(options.rounds):
        root = make_repository(options.scratch, {})
        _make_unlike_all_others(root)
        size = _round(open_project(root, tell=_tell), Registry(DockerEngine(), options.registry, _tell), seconds)
    print(f"images: {format_value(float(size), Unit.BYTE)}, layers that they share counted each time")
    for what, values in seconds.items():
        print(f"{what}: {statistics.median(values):.1f} s (all: {', '.join(f'{value:.1f}' for value in values)})")


def _make_unlike_all_others(root: Path) -> None:
    """Images that nobody uses, of which the engine has no layer but those of the base."""
    for file in root.glob("targets/*/Dockerfile"):
        lines = file.read_text().splitlines(keepends=True)
        at = max(number for number, line in enumerate(lines) if line.startswith("FROM ")) + 1
        file.write_text("".join([*lines[:at], f"ENV BENCH={uuid.uuid4().hex}\n", *lines[at:]]))


def _round(project: Project, registry: Registry, seconds: dict[str, list[float]]) -> int:
    """Build, push, forget, pull; the images' size in bytes."""
    builder = _builder(project, None)
    seconds["build"].append(_timed(lambda: _prepare(project, builder)))
    seconds["push"].append(_timed(lambda: [registry.push(tag, lambda _: None) for tag in builder.tags]))
    size = sum(info.size for tag in builder.tags if (info := project.engine.image(tag)))
    _forget(project, builder.tags)
    other = _builder(project, Registry(project.engine, registry.name, _tell))
    seconds["pull"].append(_timed(lambda: _prepare(project, other)))
    if not all(other.registry and other.registry.has(tag) for tag in builder.tags):
        raise EngineError("not all images were pulled: what was measured is no pull")
    _forget(project, builder.tags)
    return size


def _builder(project: Project, registry: Registry | None) -> ImageBuilder:
    logs = project.suite.root / ".windtunnel" / "build"
    return ImageBuilder(project.engine, progress=_Silent(), logs=logs, jobs=2, registry=registry)


def _prepare(project: Project, builder: ImageBuilder) -> None:
    cases, _ = project.select(discover(project.suite))
    wanted = [(project.arm, case.variant) for case in cases]
    for found in builder.prepare(wanted, lambda _, name: project.target(name)).values():
        if isinstance(found, WindtunnelError):
            raise found


def _forget(project: Project, tags: tuple[str, ...]) -> None:
    """With their names the images go, and so does what the classic builder's cache has of them."""
    for tag in tags:
        project.engine.remove_image(tag)


def _timed(work: Callable[[], object]) -> float:
    before = time.monotonic()
    work()
    return time.monotonic() - before


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


class _Silent:
    """A BuildProgress for nobody."""

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return lambda *_: None


if __name__ == "__main__":
    main()
