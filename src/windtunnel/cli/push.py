"""`windtunnel push`: images into the registry, so that others need not build them."""

from __future__ import annotations

from pathlib import Path

import click

from windtunnel.adapters.project import Project, open_project
from windtunnel.build.registry import Registry
from windtunnel.cli.console import BuildLog, tell
from windtunnel.declare.cases import discover
from windtunnel.declare.settings import FILE
from windtunnel.errors import ConfigError, VariantMissing, WindtunnelError
from windtunnel.launch.setup import ensure_load_image

__all__ = ["push_command", "push_images"]


@click.command("push", short_help="Put the images of a revision into the registry.")
@click.argument("revision", default="", metavar="[REVISION]")
def push_command(revision: str) -> None:
    """See to it that the registry of windtunnel.toml has the image of every case (nightly ones apart) at REVISION
    (without one: of the working tree), and the load image. What it lacks is built if need be, and pushed.

    \b
    The workflow that records main does this by itself. Credentials are docker's
    own (`docker login`).

    \b
    Exit codes: 0 all are there; 2 usage or configuration; 6 infrastructure
    (engine, registry); 7 one can't be built; 130 interrupted.
    """
    click.echo(_words(push_images(Path.cwd(), revision)))


def _words(count: int) -> str:
    if not count:
        return "nothing to push: the registry has all images"
    return f"pushed {count} image{'s' * (count > 1)}"


def push_images(start: Path, revision: str = "") -> int:
    """See to it that the registry has all images of a suite at a revision ("" is the working tree).

    Returns how many were pushed; what the registry was pulled from is not counted. What can't be built keeps no
    other image from being pushed.

    Raises:
        ConfigError: windtunnel.toml names no registry.
        RegistryError: the registry does not take them; the message has the remedy.
        EngineError: no engine answers.
        BuildFailed: an image can't be built; the others are pushed.
    """
    project = open_project(start, commit=revision, tell=tell, progress=BuildLog())
    registry = project.builder.registry
    if registry is None:
        raise ConfigError(
            'there is none; write where images are to be kept, such as registry = "ghcr.io/owner/name"',
            file=project.suite.root / FILE,
            key="registry",
        )
    load = ensure_load_image(project.engine, tell, registry)
    broken = _built(project)
    pushed = sum(_pushed(registry, tag) for tag in (load, *project.builder.tags))
    if broken:
        raise broken[0]
    return pushed


def _built(project: Project) -> list[WindtunnelError]:
    """Have the builder obtain all images; why some can't be built. What is not to be had here is no fault."""
    whole, skipped = project.select(discover(project.suite))
    found = project.resolve_all(whole)
    lacking = {case: str(error) for case, error in found.items() if isinstance(error, VariantMissing)}
    for case, reason in {**skipped, **lacking}.items():
        tell(f"{case} is skipped: {reason}")
    return [one for one in found.values() if isinstance(one, WindtunnelError) and not isinstance(one, VariantMissing)]


def _pushed(registry: Registry, tag: str) -> bool:
    done = registry.push(tag, lambda _: None)
    tell(f"{'pushed' if done else 'is there already:'} {registry.reference(tag)}")
    return done
