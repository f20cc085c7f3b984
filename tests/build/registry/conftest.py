"""A registry, and builders that use it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from registering import bare, forget

from registries import Served, configuration, registry_program, serving
from windtunnel.build.images import ImageBuilder
from windtunnel.build.registry import Registry

__all__ = ["registry_program"]


@pytest.fixture(autouse=True)
def no_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody's own credentials."""
    monkeypatch.setenv("DOCKER_CONFIG", str(configuration(tmp_path / "nobody")))


@pytest.fixture
def served(registry_program: str, tmp_path: Path) -> Iterator[Served]:
    with serving(registry_program, tmp_path / "registry") as served:
        yield served


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def fresh(make_builder, engine, seen, told) -> Iterator[Callable[..., ImageBuilder]]:
    """Call it with a registry's address: a builder on a runner that has nothing of ours yet.

    What was built before loses its name, and so its layers: the engine's cache has none of them left.
    """

    def make(address: str, *, keep: bool = False, patience: float = 30.0, jobs: int = 2) -> ImageBuilder:
        if not keep:
            forget(engine, seen)
        registry = Registry(engine, f"{address}/tests/project", told.append, patience=patience)
        return make_builder(registry=registry, jobs=jobs)

    yield make
    forget(engine, seen)


@pytest.fixture
def base(engine) -> Iterator[str]:
    """A small image to build on."""
    tag = f"windtunnel-test/base:{uuid.uuid4().hex}"
    bare(engine, tag, b"one day")
    yield tag
    engine.remove_image(tag)
